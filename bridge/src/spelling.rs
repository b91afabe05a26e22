//! How a text of a grammar of its own stands inside a reply: in a JSON string, or as it is up to a
//! closing mark. What the reply's bytes mean in the text, byte by byte.

/// A text that keeps to its grammar, with steps back.
pub trait Text {
    fn push(&mut self, byte: u8) -> bool;
    fn pop(&mut self, bytes: usize);
    fn may_end(&mut self) -> bool;

    fn may_go_on_with(&mut self, byte: u8) -> bool {
        let pushed = self.push(byte);
        if pushed {
            self.pop(1);
        }
        pushed
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Spelling {
    /// Up to a quote. What JSON doesn't escape, and / and DEL, stand as they are; what it does has
    /// one spelling: the short one, or \u00 and two small digits.
    Json,
    /// Up to a line break and this mark, which begins with < and has no other.
    Raw(Vec<u8>),
}

/// Where a reply stands in its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    Json,
    Backslash,
    /// Behind \u and digits that make up `value`.
    Digits {
        count: u8,
        value: u8,
    },
    Raw(Mark),
    After,
}

impl Place {
    /// Whether bytes that aren't odd are just text here.
    pub fn is_plain(self) -> bool {
        match self {
            Self::Json => true,
            Self::Raw(mark) => mark.matched == 0 && !mark.only_mark,
            _ => false,
        }
    }
}

/// Bytes that are more than just text, in one spelling or the other.
pub fn is_odd(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'<' | 0..=0x1f)
}

/// What comes may be the text or its mark: both are followed until one can't be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mark {
    /// Bytes of the mark that came last.
    matched: usize,
    /// The text may end in front of the line break that comes before them (or that came last).
    ends: bool,
    /// The text can't go on with what came: it's the mark.
    only_mark: bool,
}

/// The short spellings of JSON.
const SHORT: [(u8, u8); 7] = [
    (b'"', b'"'),
    (b'\\', b'\\'),
    (b'b', 0x08),
    (b'f', 0x0c),
    (b'n', b'\n'),
    (b'r', b'\r'),
    (b't', b'\t'),
];

fn short_of(byte: u8) -> Option<u8> {
    SHORT.iter().find(|(c, _)| *c == byte).map(|(_, of)| *of)
}

/// Those spelled with digits.
fn controls() -> impl Iterator<Item = u8> {
    (0..0x20).filter(|c| SHORT.iter().all(|(_, of)| of != c))
}

fn digit_of(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

impl Spelling {
    pub fn of(closing: &[u8]) -> Result<Self, String> {
        match closing {
            [] => Ok(Self::Json),
            [b'<', rest @ ..] if !rest.contains(&b'<') => Ok(Self::Raw(closing.to_vec())),
            _ => Err("has a closing mark that can't be told apart from text".into()),
        }
    }

    pub fn start(&self) -> Place {
        match self {
            Self::Json => Place::Json,
            Self::Raw(_) => Place::Raw(Mark::default()),
        }
    }

    /// The place behind `byte` and whether one was pushed into the text; nothing where none fits.
    pub fn step(&self, place: Place, byte: u8, text: &mut impl Text) -> Option<(Place, bool)> {
        match (place, self) {
            (Place::After, _) => Some((Place::After, false)),
            (Place::Raw(mark), Self::Raw(closing)) => step_raw(mark, closing, byte, text),
            _ => step_json(place, byte, text),
        }
    }
}

fn step_json(place: Place, byte: u8, text: &mut impl Text) -> Option<(Place, bool)> {
    let pushed = |text: &mut dyn FnMut() -> bool| text().then_some((Place::Json, true));
    match (place, byte) {
        (Place::Json, b'"') => text.may_end().then_some((Place::After, false)),
        (Place::Json, b'\\') => {
            let may_follow = SHORT.iter().any(|(_, of)| text.may_go_on_with(*of))
                || controls().any(|c| text.may_go_on_with(c));
            may_follow.then_some((Place::Backslash, false))
        }
        (Place::Json, 0..=0x1f) => None,
        (Place::Json, _) => pushed(&mut || text.push(byte)),
        (Place::Backslash, b'u') => digits(0, 0, text),
        (Place::Backslash, _) => {
            let of = short_of(byte)?;
            pushed(&mut || text.push(of))
        }
        (Place::Digits { count: 3, value }, _) => {
            let control = value << 4 | digit_of(byte)?;
            if !controls().any(|c| c == control) {
                return None;
            }
            pushed(&mut || text.push(control))
        }
        (Place::Digits { count, value }, _) => {
            let digit = digit_of(byte)?;
            if digit > u8::from(count == 2) {
                return None;
            }
            digits(count + 1, value << 4 | digit, text)
        }
        _ => None,
    }
}

/// If a control character goes on with these digits and the text with it.
fn digits(count: u8, value: u8, text: &mut impl Text) -> Option<(Place, bool)> {
    let may_follow = controls().any(|c| (count < 3 || c >> 4 == value) && text.may_go_on_with(c));
    may_follow.then_some((Place::Digits { count, value }, false))
}

fn step_raw(before: Mark, closing: &[u8], byte: u8, text: &mut impl Text) -> Option<(Place, bool)> {
    let mut mark = Mark::default();
    if byte == b'\n' {
        mark.ends = !before.only_mark && text.may_end();
    } else if byte == closing[before.matched] {
        mark.matched = before.matched + 1;
        mark.ends = before.ends;
        if mark.matched == closing.len() {
            return mark.ends.then_some((Place::After, false));
        }
    } else if byte == closing[0] {
        mark.matched = 1;
    }
    let pushed = !before.only_mark && text.push(byte);
    mark.only_mark = !pushed;
    (pushed || mark.ends).then_some((Place::Raw(mark), pushed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps to one of a few whole texts.
    struct OneOf {
        texts: &'static [&'static str],
        so_far: Vec<u8>,
    }

    impl OneOf {
        fn new(texts: &'static [&'static str]) -> Self {
            Self {
                texts,
                so_far: vec![],
            }
        }
    }

    impl Text for OneOf {
        fn push(&mut self, byte: u8) -> bool {
            self.so_far.push(byte);
            let begins = |t: &&str| t.as_bytes().starts_with(&self.so_far);
            let fits = self.texts.iter().any(begins);
            if !fits {
                self.so_far.pop();
            }
            fits
        }
        fn pop(&mut self, bytes: usize) {
            self.so_far.truncate(self.so_far.len() - bytes);
        }
        fn may_end(&mut self) -> bool {
            self.texts.iter().any(|t| t.as_bytes() == self.so_far)
        }
    }

    /// How much of `reply` fits, and where that is.
    fn run(spelling: &Spelling, texts: &'static [&'static str], reply: &str) -> (usize, Place) {
        let mut text = OneOf::new(texts);
        let mut place = spelling.start();
        for (at, byte) in reply.bytes().enumerate() {
            match spelling.step(place, byte, &mut text) {
                Some((next, _)) => place = next,
                None => return (at, place),
            }
        }
        (reply.len(), place)
    }

    fn fits(spelling: &Spelling, texts: &'static [&'static str], reply: &str) -> bool {
        run(spelling, texts, reply) == (reply.len(), Place::After)
    }

    fn raw() -> Spelling {
        Spelling::of(b"</p>").unwrap()
    }

    #[test]
    fn json_has_one_spelling_for_each_text() {
        const TEXTS: &[&str] = &["a\"b\\c/\n\u{1}\u{1f}é\u{7f}"];
        let reply = "a\\\"b\\\\c/\\n\\u0001\\u001fé\u{7f}\"";
        assert!(fits(&Spelling::Json, TEXTS, reply));
        for (part, other) in [
            ("/", "\\/"),
            ("\\n", "\\u000a"),
            ("1f", "1F"),
            ("a", "\\u0061"),
        ] {
            let another = reply.replacen(part, other, 1);
            assert!(!fits(&Spelling::Json, TEXTS, &another), "{another}");
        }
    }

    #[test]
    fn no_escape_begins_that_has_no_end() {
        assert_eq!(run(&Spelling::Json, &["ab"], "a\\"), (1, Place::Json));
        assert_eq!(run(&Spelling::Json, &["a\n"], "a\\u").0, 2);
        assert_eq!(run(&Spelling::Json, &["\u{1}"], "\\u001").0, 4);
        assert_eq!(run(&Spelling::Json, &["\u{11}"], "\\u0010").0, 5);
        assert_eq!(run(&Spelling::Json, &["\u{11}"], "\\u01").0, 3);
    }

    #[test]
    fn a_string_ends_where_its_text_may() {
        assert!(fits(&Spelling::Json, &["ab"], "ab\""));
        assert_eq!(run(&Spelling::Json, &["ab"], "a\"").0, 1);
        assert!(fits(&Spelling::Json, &[""], "\"} and more"));
    }

    #[test]
    fn raw_text_ends_before_its_mark() {
        assert!(fits(&raw(), &["ab"], "ab\n</p>"));
        assert!(fits(&raw(), &[""], "\n</p>"));
        assert!(fits(&raw(), &["a\n"], "a\n\n</p>"));
        assert!(fits(&raw(), &["<a>\n<<b>\n</q>"], "<a>\n<<b>\n</q>\n</p>"));
        assert!(!fits(&raw(), &["ab"], "a\n</p>"));
        assert!(!fits(&raw(), &["ab"], "ab</p>"));
        assert!(!fits(&raw(), &["ab"], "ab\n\n</p>"));
    }

    #[test]
    fn a_mark_inside_the_text_is_its_end() {
        const TEXTS: &[&str] = &["a\n</p>b", "a", "a\n</q>"];
        assert!(fits(&raw(), TEXTS, "a\n</p>"));
        assert!(fits(&raw(), TEXTS, "a\n</q>\n</p>"));
        assert_eq!(run(&raw(), &["a\n</p>b"], "a\n</p>").0, 5);
    }

    #[test]
    fn marks_are_told_apart_from_text() {
        assert!(Spelling::of(b"\n</p>").is_err());
        assert!(Spelling::of(b"</p></").is_err());
        assert_eq!(Spelling::of(b""), Ok(Spelling::Json));
    }
}
