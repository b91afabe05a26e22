"""Lines of text that tokenizers find hard, made by rules from a seed: nothing is fetched and every run has the same.

`lines(count)` covers languages and scripts, emoji with joiners and skin tones, combining marks in both normal forms,
code, numbers, control characters, long runs of spaces and line breaks, URLs, and spellings of special tokens.
"""
import random
import unicodedata

WORDS = {
    "English": "the quick brown fox can't won't it's they'll I'd you've Hello world understanding tokenization",
    "German": "Straße größer Übermut Donaudampfschiff dass müßte schön weiß Äpfel und läuft",
    "French": "l'été où garçon naïve cœur déjà français être aujourd'hui",
    "Spanish": "niño mañana ¿cómo ¡hola corazón pingüino año",
    "Polish": "źdźbło łódź pięć gęś żółty",
    "Vietnamese": "tiếng Việt xin chào người đường phố nước",
    "Turkish": "İstanbul ışık çocuk güneş şeker",
    "Russian": "привет мир объект ёлка съешь ещё этих",
    "Ukrainian": "їжак ґанок Київ",
    "Greek": "καλημέρα κόσμε Ωμέγα ἀρχή",
    "Hebrew": "שלום עולם בְּרֵאשִׁית",
    "Arabic": "مرحبا بالعالم السَّلامُ ٣٤٥",
    "Persian": "می‌خواهم سلام ۱۲۳",
    "Hindi": "नमस्ते दुनिया क्षत्रिय हिन्दी १२३",
    "Bengali": "নমস্কার বিশ্ব",
    "Tamil": "வணக்கம் உலகம்",
    "Thai": "สวัสดีชาวโลก ภาษาไทย",
    "Georgian": "გამარჯობა მსოფლიო",
    "Amharic": "ሰላም ለዓለም",
    "Khmer": "សួស្តី ពិភពលោក",
    "Chinese": "你好,世界 人工智能 繁體中文 「引号」 二〇二六年",
    "Japanese": "こんにちは世界 カタカナ 漢字かな交じり文 ｶﾀｶﾅ",
    "Korean": "안녕하세요 세계 한국어 ㅋㅋㅋ",
    "Math": "∀x∈ℝ: ∑ᵢ₌₁ⁿ x² ≤ ∞ ∂f/∂t ½ Ⅷ ²³",
}
EMOJI = ["😀", "👍🏽", "👩‍💻", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇨🇭🇯🇵", "❤️", "☃", "1️⃣", "🫠", "🧑🏿‍🚀", "✈️"]
CODE = ["def f(x):\n    return x**2  # square", "for (int i = 0; i < n; ++i) { a[i] += b[i]; }", "\tif err != nil {\n\t\treturn err\n\t}",
        "SELECT * FROM t WHERE a='b' AND c>=10;", "<div class=\"x\">&nbsp;</div>", "x = {'a': [1, 2.5e-3, None], \"b\": True}",
        "std::vector<std::string>&& v", "$HOME/.config/*.json | grep -v '^#'", "fn main() -> Result<(), Box<dyn Error>> {}",
        "\\frac{a}{b} \\alpha_{ij}^{2}", "snake_case camelCase PascalCase SCREAMING_CASE kebab-case", "0xDEADBEEF 0b1010 1_000_000"]
SPECIAL = ["<|im_end|>", "<|im_start|>user\n", "<|endoftext|>", "<s>", "</s>", "<bos>", "<start_of_turn>user", "<end_of_turn>", "<|eot_id|>",
           "<|start_header_id|>", "[INST]", "<unk>", "<pad>", "<0x0A>", "<think>", "</think>", "<tool_call>", "<|fim_prefix|>", "<table>", "<h1>"]
PUNCTUATION = ["...", "!!!", "?!", "—", "–", "“quoted”", "‘x’", "«»", "()[]{}", "---", "===", "***", "~~~", "```", "::", ";;", "¿¡", "、。", "…", "#$%^&*"]


def word(rng):
    return rng.choice(WORDS[rng.choice(list(WORDS))].split())


def sentence(rng):
    language = WORDS[rng.choice(list(WORDS))].split()
    return " ".join(rng.choice(language) for _ in range(rng.randint(1, 9))) + rng.choice([".", "", "!", "?", "。", ", "])


def number(rng):
    return rng.choice([str(rng.randint(0, 10 ** rng.randint(1, 12))), f"{rng.random() * 1000:.3f}", f"{rng.randint(1, 9999):,}",
                       "1" * rng.randint(1, 12), f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}", "٣٤٥٦", "１２３", "१२३४"])


def spaces(rng):
    run = rng.choice([" ", "\n", "\t", "\r\n", " \n", "\u00a0", "\u3000", "\u200b", "\u2003"]) * rng.choice([1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100])
    return rng.choice(["", "x", "."]) + run + rng.choice(["", "x", "  y", "1"])


def controls(rng):
    return "".join(chr(rng.choice([*range(0x00, 0x20), 0x7F, *range(0x80, 0xA0), 0xAD, 0xFEFF, 0x2028, 0x202E, 0xFFFD])) for _ in range(rng.randint(1, 8)))


def any_characters(rng):
    ranges = [(0x20, 0x7E), (0xA0, 0x24F), (0x300, 0x36F), (0x400, 0x4FF), (0x600, 0x6FF), (0x900, 0x97F), (0x1F00, 0x1FFF), (0x2000, 0x22FF),
              (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xE000, 0xE0FF), (0x1F300, 0x1FAFF), (0x20000, 0x20100), (0xE0000, 0xE007F)]
    return "".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(rng.randint(1, 12)))


def repeated(rng):
    return rng.choice(["a", "ab", "=", "-", "!", "0", "的", "é", "😀", "aA", "the", "ha"]) * rng.randint(2, 70)


def decomposed(rng):
    return unicodedata.normalize(rng.choice(["NFD", "NFC", "NFKD"]), sentence(rng))


def mixed(rng):
    parts = [word, number, spaces, sentence, lambda r: r.choice(EMOJI), lambda r: r.choice(PUNCTUATION), lambda r: r.choice(CODE)]
    return rng.choice(["", " "]).join(rng.choice(parts)(rng) for _ in range(rng.randint(2, 7)))


def special(rng):
    parts = [lambda r: r.choice(SPECIAL), word, lambda r: r.choice(SPECIAL), lambda r: r.choice(["", " ", "\n"])]
    return "".join(rng.choice(parts)(rng) for _ in range(rng.randint(1, 6)))


def lines(count, seed=20261129):
    rng = random.Random(seed)
    makers = [sentence, mixed, spaces, controls, any_characters, repeated, decomposed, special,
              lambda r: "".join(r.choice(EMOJI) + r.choice(["", " "]) for _ in range(r.randint(1, 6))),
              lambda r: r.choice(CODE) + r.choice(["", "\n", "  "]) + r.choice(CODE),
              lambda r: " ".join(number(r) for _ in range(r.randint(1, 5)))]
    fixed = ["", " ", "  ", "\n", "\t", "\r", "\0", "a", " a", "a ", "\u2581", "\u2581a \u2581", "Ġ", "Ċ", "é", "e\u0301", "\ufeff", "<", "<|", "|>"]
    return fixed + [makers[i % len(makers)](rng) for i in range(count - len(fixed))]
