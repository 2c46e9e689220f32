import KioskCommands
import Remote
import Testing

@Suite struct JSONValueTests {
    @Test(arguments: [
        ("null", JSONValue.null), (" true ", .bool(true)), ("false", .bool(false)), ("0", .number(0)), ("-12.5e1", .number(-125)),
        ("[]", .array([])), ("[1,[ ], \"a\"]", .array([.number(1), .array([]), .string("a")])), ("{}", .object([:])),
        ("{ \"a\" : 1 , \"b\" : {\"c\":null} }", .object(["a": .number(1), "b": .object(["c": .null])])),
        ("{\"a\":1,\"a\":2}", .object(["a": .number(2)])), (#""\"\\\/\b\f\n\r\t""#, .string("\"\\/\u{8}\u{c}\n\r\t")),
        (#""\u00e9\uD83D\ude00 日本""#, .string("é😀 日本")),
    ])
    func `what is JSON`(text: String, value: JSONValue) {
        #expect(JSONValue(text) == value)
        #expect(JSONValue(value.line) == value)
    }

    @Test(arguments: [
        "", " ", "nul", "truefalse", "1 2", "01", "+1", "1.", ".5", "1e", "-", "1e999", "\"", "\"a", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"",
        "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\\u+123\"", "\"a\nb\"", "[", "[1", "[1,]", "[,]", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
        "{a:1}", "{1:1}",
        "'a'", "NaN", "[1]]",
    ])
    func `what is not`(text: String) { #expect(JSONValue(text) == nil) }

    @Test func `nesting has a limit`() {
        #expect(JSONValue(String(repeating: "[", count: 16) + String(repeating: "]", count: 16)) != nil)
        #expect(JSONValue(String(repeating: "[", count: 17) + String(repeating: "]", count: 17)) == nil)
        #expect(JSONValue(String(repeating: "{\"a\":", count: 100_000)) == nil)
    }

    @Test func `it is written on one line`() {
        let value = JSONValue.object(["b": .string("a\n\"\u{1}\u{7f}"), "a": .array([.number(7), .number(0.5), .bool(false)])])
        #expect(value.line == #"{"a":[7,0.5,false],"b":"a\n\"\u0001\u007f"}"#)
        #expect(JSONValue.number(.infinity).line == "null" && JSONValue.number(1e300).line == "1e+300")
    }
}
