/// A language by its code, as people and files write it: `de`, `deu`, `ger`, `de-AT`.
///
/// MP4 has the three-letter codes of ISO 639-2/T (`deu`). Matroska and MPEG have those of 639-2/B (`ger`) or a tag of BCP 47 (`de-AT`).
/// People write those of 639-1 (`de`). All of them mean the same language, so comparisons use ``primary``, the shortest code.
package struct LanguageCode: Hashable, Sendable, CustomStringConvertible {
    /// The code as written, in lower case.
    package let description: String
    /// The language without its region: two letters if ISO 639-1 has the language, else the three letters as written.
    package let primary: String

    /// nil unless `text` is the code of a language; `und` (undetermined) and the like are none.
    package init?(_ text: String) {
        let tag = String(text.lowercased().map { $0 == "_" ? "-" : $0 })
        let parts = tag.split(separator: "-", omittingEmptySubsequences: false)
        guard let first = parts.first, 2...3 ~= first.utf8.count, first.utf8.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 }),
            parts.dropFirst().allSatisfy({ part in
                1...8 ~= part.utf8.count && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
            }), tag.utf8.count <= 35, !["und", "zxx", "mul", "mis"].contains(first)
        else { return nil }
        description = tag
        primary = Self.shortest[String(first)] ?? String(first)
    }

    /// Whether a track in `other` is in this language, and in this region if one is named.
    package func matches(_ other: LanguageCode) -> Bool {
        primary == other.primary && (!description.contains("-") || description == other.description)
    }

    /// The code of ISO 639-1 for each one of 639-2.
    private static let shortest: [String: String] = {
        var shortest: [String: String] = [:]
        for line in table.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            let codes = line.split(separator: "/").map(String.init)
            for code in codes.dropFirst() { shortest[code] = codes[0] }
        }
        return shortest
    }()

    /// ISO 639-1, 639-2/T and, if different, 639-2/B.
    private static let table = """
        aa/aar ab/abk ae/ave af/afr ak/aka am/amh an/arg ar/ara as/asm av/ava ay/aym az/aze ba/bak be/bel bg/bul bh/bih bi/bis bm/bam bn/ben
        bo/bod/tib br/bre bs/bos ca/cat ce/che ch/cha co/cos cr/cre cs/ces/cze cu/chu cv/chv cy/cym/wel da/dan de/deu/ger dv/div dz/dzo ee/ewe
        el/ell/gre en/eng eo/epo es/spa et/est eu/eus/baq fa/fas/per ff/ful fi/fin fj/fij fo/fao fr/fra/fre fy/fry ga/gle gd/gla gl/glg gn/grn
        gu/guj gv/glv ha/hau he/heb hi/hin ho/hmo hr/hrv ht/hat hu/hun hy/hye/arm hz/her ia/ina id/ind ie/ile ig/ibo ii/iii ik/ipk io/ido
        is/isl/ice it/ita iu/iku ja/jpn jv/jav ka/kat/geo kg/kon ki/kik kj/kua kk/kaz kl/kal km/khm kn/kan ko/kor kr/kau ks/kas ku/kur kv/kom
        kw/cor ky/kir la/lat lb/ltz lg/lug li/lim ln/lin lo/lao lt/lit lu/lub lv/lav mg/mlg mh/mah mi/mri/mao mk/mkd/mac ml/mal mn/mon mr/mar
        ms/msa/may mt/mlt my/mya/bur na/nau nb/nob nd/nde ne/nep ng/ndo nl/nld/dut nn/nno no/nor nr/nbl nv/nav ny/nya oc/oci oj/oji om/orm
        or/ori os/oss pa/pan pi/pli pl/pol ps/pus pt/por qu/que rm/roh rn/run ro/ron/rum ru/rus rw/kin sa/san sc/srd sd/snd se/sme sg/sag
        si/sin sk/slk/slo sl/slv sm/smo sn/sna so/som sq/sqi/alb sr/srp ss/ssw st/sot su/sun sv/swe sw/swa ta/tam te/tel tg/tgk th/tha ti/tir
        tk/tuk tl/tgl tn/tsn to/ton tr/tur ts/tso tt/tat tw/twi ty/tah ug/uig uk/ukr ur/urd uz/uzb ve/ven vi/vie vo/vol wa/wln wo/wol xh/xho
        yi/yid yo/yor za/zha zh/zho/chi zu/zul
        """
}
