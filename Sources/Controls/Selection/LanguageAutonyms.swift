import KioskVocabulary

extension LanguageCode {
    /// The language's name in the language itself, so that its speakers find it in any script: `Deutsch`, `Português (BR)`. It is nil if
    /// the table does not have it.
    var autonym: String? {
        if let name = Self.autonyms[description] { return name }
        let parts = description.split(separator: "-").map(String.init)
        let rest = parts.dropFirst()
        if let name = rest.first.flatMap({ Self.autonyms["\(primary)-\($0)"] }) { return name }
        guard let name = Self.autonyms[primary] else { return nil }
        return rest.isEmpty ? name : "\(name) (\(rest.joined(separator: "-").uppercased()))"
    }

    /// The names from Unicode's CLDR, capitalized if the language does that in lists.
    private static let autonyms: [String: String] = {
        var autonyms: [String: String] = [:]
        for entry in table.split(whereSeparator: { $0 == "|" || $0 == "\n" }) {
            let parts = entry.split(separator: " ", maxSplits: 1).map(String.init)
            autonyms[parts[0]] = parts[1]
        }
        return autonyms
    }()

    private static let table = """
        af Afrikaans|am አማርኛ|ar العربية|ast Asturianu|az Azərbaycan|be Беларуская|bg Български|bn বাংলা|bo བོད་སྐད་|br Brezhoneg|bs Bosanski
        ca Català|ceb Cebuano|co Corsu|cs Čeština|cy Cymraeg|da Dansk|de Deutsch|dv ދިވެހި|el Ελληνικά|en English|eo Esperanto|es Español|et Eesti
        eu Euskara|fa فارسی|fi Suomi|fil Filipino|fo Føroyskt|fr Français|fur Furlan|fy Frysk|ga Gaeilge|gd Gàidhlig|gl Galego|gn Avañe’ẽ
        gsw Schwiizertüütsch|gu ગુજરાતી|ha Hausa|haw ʻŌlelo Hawaiʻi|he עברית|hi हिन्दी|hr Hrvatski|hsb Hornjoserbšćina|dsb Dolnoserbšćina
        ht Kreyòl ayisyen|hu Magyar|hy Հայերեն|id Indonesia|ig Igbo|is Íslenska|it Italiano|ja 日本語|jv Jawa|ka ქართული|kk Қазақ тілі|kl Kalaallisut
        km ខ្មែរ|kn ಕನ್ನಡ|ko 한국어|ku Kurdî|ky Кыргызча|la Latina|lb Lëtzebuergesch|ln Lingála|lo ລາວ|lt Lietuvių|lv Latviešu|mg Malagasy|mi Māori
        mk Македонски|ml മലയാളം|mn Монгол|mr मराठी|ms Melayu|mt Malti|my မြန်မာ|nb Norsk bokmål|nds Plattdüütsch|ne नेपाली|nl Nederlands
        nn Norsk nynorsk|no Norsk|oc Occitan|or ଓଡ଼ିଆ|pa ਪੰਜਾਬੀ|pl Polski|ps پښتو|pt Português|qu Runasimi|rm Rumantsch|ro Română|ru Русский
        rw Ikinyarwanda|sa संस्कृतम्|sc Sardu|sd سنڌي|se Davvisámegiella|si සිංහල|sk Slovenčina|sl Slovenščina|sm Gagana Sāmoa|sn ChiShona|so Soomaali
        sq Shqip|sr Српски|sr-latn Srpski|sv Svenska|sw Kiswahili|ta தமிழ்|te తెలుగు|tg Тоҷикӣ|th ไทย|ti ትግርኛ|tk Türkmen dili|tl Tagalog|to Lea fakatonga
        tr Türkçe|tt Татар|ug ئۇيغۇرچە|uk Українська|ur اردو|uz O‘zbek|vi Tiếng Việt|wo Wolof|xh IsiXhosa|yi ייִדיש|yo Yorùbá|yue 粵語|zh 中文
        zh-hans 简体中文|zh-cn 简体中文|zh-sg 简体中文|zh-hant 繁體中文|zh-tw 繁體中文|zh-hk 繁體中文|zh-mo 繁體中文|zu IsiZulu
        """
}
