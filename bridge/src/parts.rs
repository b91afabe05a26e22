//! Which of the callers' values each stretch of a rendering came from. A copy of the values gets
//! private-use characters between its words ("anchors") and is rendered again: where the anchors come
//! out is where their values do. From an anchor a stretch grows both ways as far as
//! the text equals the value, which is exact to the byte wherever the template prints a value as it
//! is or trimmed. JSON that `tojson` writes has two more characters just inside its own brackets and
//! belongs as a whole to the one part whose anchors are in it. The second rendering counts only if it is the first one
//! plus these characters, so an anchor that changed what the template does is no harm.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value as Json;

use crate::names::{member_label, message_label, Part, LONGEST_NAME, STRUCTURE};

/// Anchors in one value: enough to see which pieces of it the template kept.
const MOST_ANCHORS: usize = 8;
/// The member of a JSON schema whose keys are the caller's words.
const NAMES: &str = "properties";
/// What templates print and hardly ever look into.
const PROSE: [&str; 4] = ["content", "text", "description", "reasoning_content"];

/// How many of the values get anchors: the fewer, the less a template can notice.
#[derive(Clone, Copy, PartialEq)]
pub enum Coverage {
    AllValues,
    Prose,
}

/// Bytes [begin, end) of the rendering come from `part`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    pub begin: usize,
    pub end: usize,
    pub part: u32,
}

struct Leaf {
    text: String,
    part: u32,
}

/// The characters of one anchored rendering and what they stand for.
pub struct Anchors {
    open: char,
    close: char,
    leaves: Vec<Leaf>,
    places: HashMap<char, (usize, usize)>, // leaf and byte offset in its text
    /// One word is spelled the same all over its part, so that a template can look for a name in a
    /// list of names.
    words: HashMap<(u32, String), String>,
}

thread_local! {
    /// Those of the rendering under way: they must survive escaping.
    pub static ANCHORS: RefCell<Option<Rc<Anchors>>> = const { RefCell::new(None) };
}

impl Anchors {
    /// Puts anchors, taken from `unused`, into `messages` and `extra`, which `parts` describes.
    /// Values past the last unused character get none.
    pub fn put(
        messages: &mut Json,
        extra: &mut Json,
        parts: &[Part],
        coverage: Coverage,
        mut unused: impl Iterator<Item = char>,
    ) -> Option<Self> {
        let mut anchors = Self {
            open: unused.next()?,
            close: unused.next()?,
            leaves: Vec::new(),
            places: HashMap::new(),
            words: HashMap::new(),
        };
        let mut next = 0;
        let items = messages.as_array_mut();
        for (index, message) in items.into_iter().flatten().enumerate() {
            let base = message_label(index, message);
            let end = next + count_of(&parts[next..], |p| p.message == index as u32 + 1);
            if end == next {
                break;
            }
            for (key, member) in message.as_object_mut().into_iter().flatten() {
                let label = member_label(&base, key, member);
                let own = parts[next..end].iter().position(|p| p.label == label);
                let part = (next + own.unwrap_or(0)) as u32;
                anchors.put_in(member, key, part, coverage, &mut unused);
            }
            next = end;
        }
        for (key, member) in extra.as_object_mut().into_iter().flatten() {
            match member {
                Json::Array(items) => {
                    for item in items.iter_mut().take(parts.len().saturating_sub(next)) {
                        anchors.put_in(item, key, next as u32, coverage, &mut unused);
                        next += 1;
                    }
                }
                _ => {
                    // One word is a setting, which the template compares with its own.
                    let prose = member.as_str().is_none_or(|text| text.contains(' '));
                    if prose && next < parts.len() {
                        anchors.put_in(member, key, next as u32, coverage, &mut unused);
                    }
                    next += 1;
                }
            }
        }
        Some(anchors)
    }

    fn put_in(
        &mut self,
        value: &mut Json,
        key: &str,
        part: u32,
        coverage: Coverage,
        unused: &mut impl Iterator<Item = char>,
    ) {
        match value {
            Json::String(text) => {
                let covered = match coverage {
                    Coverage::AllValues => !STRUCTURE.contains(&key),
                    Coverage::Prose => PROSE.contains(&key),
                };
                if covered {
                    self.put_in_text(text, part, unused);
                }
            }
            Json::Array(items) => items
                .iter_mut()
                .for_each(|item| self.put_in(item, key, part, coverage, unused)),
            Json::Object(members) if key == NAMES && coverage == Coverage::AllValues => {
                for (mut name, mut member) in std::mem::take(members) {
                    self.put_in(&mut member, &name, part, coverage, unused);
                    self.put_in_text(&mut name, part, unused);
                    members.insert(name, member);
                }
            }
            Json::Object(members) => members
                .iter_mut()
                .for_each(|(key, member)| self.put_in(member, key, part, coverage, unused)),
            _ => {}
        }
    }

    fn put_in_text(
        &mut self,
        text: &mut String,
        part: u32,
        unused: &mut impl Iterator<Item = char>,
    ) {
        let offsets = anchor_offsets(text);
        let word = offsets.len() == 1 && text.len() <= LONGEST_NAME;
        if word {
            if let Some(anchored) = self.words.get(&(part, text.clone())) {
                *text = anchored.clone();
                return;
            }
        }
        let mut anchored = String::with_capacity(text.len() + 4 * offsets.len());
        let mut from = 0;
        for offset in offsets {
            let Some(anchor) = unused.next() else { break };
            self.places.insert(anchor, (self.leaves.len(), offset));
            anchored.push_str(&text[from..offset]);
            anchored.push(anchor);
            from = offset;
        }
        if from == 0 {
            return;
        }
        anchored.push_str(&text[from..]);
        if word {
            self.words.insert((part, text.clone()), anchored.clone());
        }
        let text = std::mem::replace(text, anchored);
        self.leaves.push(Leaf { text, part });
    }

    pub fn contains(&self, c: char) -> bool {
        c == self.open || c == self.close || self.places.contains_key(&c)
    }

    /// The stretches of `plain`, in order and apart, if `anchored` is `plain` with characters of
    /// these put in.
    pub fn locate(&self, plain: &str, anchored: &str) -> Option<Vec<Stretch>> {
        let found = self.find(plain, anchored)?;
        let mut stretches = self.bracketed(plain, &found);
        self.grow(plain, &found, &mut stretches);
        stretches.sort_by_key(|s| (s.begin, usize::MAX - s.end));
        let mut apart: Vec<Stretch> = Vec::new();
        for mut stretch in stretches {
            if let Some(last) = apart.last_mut() {
                stretch.begin = stretch.begin.max(last.end);
                if stretch.part == last.part && stretch.begin == last.end {
                    last.end = last.end.max(stretch.end);
                    continue;
                }
            }
            if stretch.begin < stretch.end {
                apart.push(stretch);
            }
        }
        Some(apart)
    }

    /// Offsets in `plain` of the characters in `anchored`.
    fn find(&self, plain: &str, anchored: &str) -> Option<Vec<(usize, char)>> {
        let mut found = Vec::new();
        let (mut at, mut from) = (0, 0);
        for (index, c) in anchored.char_indices() {
            if c < '\u{E000}' || !self.contains(c) {
                continue;
            }
            let between = &anchored[from..index];
            if !plain[at..].starts_with(between) {
                return None;
            }
            at += between.len();
            from = index + c.len_utf8();
            found.push((at, c));
        }
        (plain[at..] == anchored[from..]).then_some(found)
    }

    /// JSON that holds anchors of one part only.
    fn bracketed(&self, plain: &str, found: &[(usize, char)]) -> Vec<Stretch> {
        struct Open {
            begin: usize,
            part: Option<u32>,
            mixed: bool,
        }
        impl Open {
            fn add(&mut self, part: Option<u32>) {
                self.mixed |= self.part.is_some() && part.is_some() && self.part != part;
                self.part = self.part.or(part);
            }
        }
        let mut stretches = Vec::new();
        let mut stack: Vec<Open> = Vec::new();
        for &(at, c) in found {
            if c == self.open {
                stack.push(Open {
                    begin: at,
                    part: None,
                    mixed: false,
                });
            } else if c != self.close {
                if let Some(innermost) = stack.last_mut() {
                    innermost.add(Some(self.leaves[self.places[&c].0].part));
                }
            } else if let Some(closed) = stack.pop() {
                if let Some(part) = closed.part.filter(|_| !closed.mixed) {
                    // The template may have cut the JSON's own brackets off.
                    let opened = plain[..closed.begin].ends_with(['{', '[', '"']);
                    let ended = plain[at..].starts_with(['}', ']', '"']);
                    stretches.push(Stretch {
                        begin: closed.begin - usize::from(opened),
                        end: at + usize::from(ended),
                        part,
                    });
                }
                if let Some(outer) = stack.last_mut() {
                    outer.add(closed.part);
                    outer.mixed |= closed.mixed;
                }
            }
        }
        stretches
    }

    /// Around each anchor, as far as the text is the value's and no other value's anchor comes.
    fn grow(&self, plain: &str, found: &[(usize, char)], stretches: &mut Vec<Stretch>) {
        let leaf_of = |found: &(usize, char)| self.places.get(&found.1).map(|place| place.0);
        let mut next = 0;
        let mut begin_limit = 0;
        for run in found.chunk_by(|a, b| leaf_of(a) == leaf_of(b)) {
            next += run.len();
            let end_limit = found.get(next).map_or(plain.len(), |f| f.0);
            let mut grown_end = begin_limit;
            for &(at, c) in run {
                let Some(&(leaf, offset)) = self.places.get(&c).filter(|_| at >= grown_end) else {
                    continue;
                };
                let Leaf { text, part } = &self.leaves[leaf];
                let begin = at - equal_ends(&plain[grown_end..at], &text[..offset]);
                grown_end = at + equal_starts(&plain[at..end_limit], &text[offset..]);
                stretches.push(Stretch {
                    begin,
                    end: grown_end,
                    part: *part,
                });
            }
            begin_limit = run[run.len() - 1].0;
        }
    }
}

fn count_of<T>(items: &[T], holds: impl Fn(&T) -> bool) -> usize {
    items.iter().take_while(|item| holds(item)).count()
}

/// Bytes of the longest common prefix, in whole characters.
fn equal_starts(a: &str, b: &str) -> usize {
    let pairs = a.bytes().zip(b.bytes());
    let mut equal = pairs.take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(equal) {
        equal -= 1;
    }
    equal
}

/// Bytes of the longest common suffix, in whole characters.
fn equal_ends(a: &str, b: &str) -> usize {
    let pairs = a.bytes().rev().zip(b.bytes().rev());
    let mut equal = pairs.take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(a.len() - equal) {
        equal -= 1;
    }
    equal
}

/// Where anchors go: before words that follow white space (there neither trimming nor a test for a
/// tag at an end or in the middle notices), spread over the text; a text of one word has its own
/// after its first letter.
fn anchor_offsets(text: &str) -> Vec<usize> {
    let mut words = Vec::new();
    let (mut seen, mut space) = (false, false);
    let mut lone: Option<(usize, bool)> = None;
    for (offset, c) in text.char_indices() {
        if space && seen && c.is_alphanumeric() {
            words.push(offset);
        }
        space = c.is_whitespace();
        seen |= !space;
        if !space && lone.is_none_or(|(_, letter)| !letter && c.is_alphanumeric()) {
            lone = Some((offset + c.len_utf8(), c.is_alphanumeric()));
        }
    }
    if words.is_empty() {
        return lone.map(|(offset, _)| offset).into_iter().collect();
    }
    let last = words.len() - 1;
    let count = words.len().min(MOST_ANCHORS);
    (0..count)
        .map(|k| words[k * last / (count - 1).max(1)])
        .collect()
}

/// Marks the JSON text from `begin` on as one value's, if a rendering with anchors is under way.
pub fn bracket(out: &mut String, begin: usize) {
    ANCHORS.with_borrow(|anchors| {
        if let Some(anchors) = anchors.as_ref().filter(|_| out.len() >= begin + 2) {
            out.insert(out.len() - 1, anchors.close);
            out.insert(begin + 1, anchors.open);
        }
    });
}

pub fn is_anchor(c: char) -> bool {
    ANCHORS.with_borrow(|anchors| anchors.as_ref().is_some_and(|a| a.contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{describe, MOST_PARTS};
    use serde_json::json;

    const UNUSED: std::ops::Range<char> = '\u{F0000}'..'\u{FFFFD}';

    fn anchored(messages: &mut Json, extra: &mut Json) -> (Vec<Part>, Anchors) {
        let parts = describe(messages, extra);
        let anchors = Anchors::put(messages, extra, &parts, Coverage::AllValues, UNUSED).unwrap();
        (parts, anchors)
    }

    fn located(anchors: &Anchors, rendered: &str) -> (String, Vec<Stretch>) {
        let plain: String = rendered.chars().filter(|&c| !anchors.contains(c)).collect();
        let stretches = anchors.locate(&plain, rendered).unwrap();
        (plain, stretches)
    }

    #[test]
    fn of_very_many_values_the_first_are_parts() {
        let mut messages = Json::Array(vec![json!({"role": "user", "content": "x"}); 10_000]);
        let mut extra = json!({"a": vec!["b"; 10_000], "c": vec!["d"; 10_000], "e": "f g"});
        let (parts, anchors) = anchored(&mut messages, &mut extra);
        assert_eq!(parts.len(), MOST_PARTS);
        let marked = |text: &Json| text.as_str().unwrap().contains(|c| anchors.contains(c));
        assert!(marked(&messages[0]["content"]) && marked(&extra["a"][0]));
        assert!(!marked(&extra["a"][9_999]) && !marked(&extra["c"][0]) && !marked(&extra["e"]));
    }

    #[test]
    fn a_value_is_found_whole_or_trimmed() {
        let mut messages = json!([{"role": "user", "content": " one two <b>three</b> \n"}]);
        let (_, anchors) = anchored(&mut messages, &mut json!({}));
        let content = messages[0]["content"].as_str().unwrap();
        for (value, expected) in [
            (content, " one two <b>three</b> \n"),
            (content.trim(), "one two <b>three</b>"),
        ] {
            let (plain, stretches) = located(&anchors, &format!("[{value}]"));
            assert_eq!(stretches.len(), 1);
            assert_eq!(&plain[stretches[0].begin..stretches[0].end], expected);
        }
    }

    #[test]
    fn a_dropped_beginning_leaves_the_rest() {
        let mut messages = json!([{"role": "a", "content": "<think>\nhm\n</think>\n\nThe answer"}]);
        let (_, anchors) = anchored(&mut messages, &mut json!({}));
        let kept = messages[0]["content"].as_str().unwrap();
        let kept = kept.split("</think>").last().unwrap().trim_start();
        let (plain, stretches) = located(&anchors, &format!("x {kept} y"));
        assert_eq!(&plain[stretches[0].begin..stretches[0].end], "The answer");
    }

    #[test]
    fn json_of_one_part_is_that_parts_as_a_whole() {
        let mut extra = json!({"tools": [{"name": "f", "n": 1}, {"name": "g", "n": 2}]});
        let (_, anchors) = anchored(&mut json!([]), &mut extra);
        let anchors = Rc::new(anchors);
        ANCHORS.set(Some(anchors.clone()));
        let mut list = "[".to_owned();
        for item in extra["tools"].as_array().unwrap() {
            let begin = list.len();
            list.push_str(&item.to_string());
            bracket(&mut list, begin);
        }
        bracket(&mut list, 0); // the list is not closed: its last byte is an item's
        ANCHORS.set(None);
        let (plain, stretches) = located(&anchors, &list);
        let texts: Vec<&str> = stretches.iter().map(|s| &plain[s.begin..s.end]).collect();
        assert_eq!(texts, [r#"{"name":"f","n":1}"#, r#"{"name":"g","n":2}"#]);
        assert_eq!((stretches[0].part, stretches[1].part), (0, 1));
    }

    #[test]
    fn names_stay_equal_to_themselves() {
        let mut extra = json!({"tools": [{"parameters":
            {"properties": {"city": {"type": "string"}}, "required": ["city"]}}]});
        anchored(&mut json!([]), &mut extra);
        let parameters = &extra["tools"][0]["parameters"];
        let (name, value) = parameters["properties"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        assert_ne!(name, "city");
        assert_eq!(parameters["required"][0], name.as_str());
        assert_eq!(value["type"], "string");
    }

    #[test]
    fn a_rendering_that_the_anchors_changed_is_not_used() {
        let mut messages = json!([{"role": "user", "content": "one two"}]);
        let (_, anchors) = anchored(&mut messages, &mut json!({}));
        let content = messages[0]["content"].as_str().unwrap();
        assert!(anchors.locate("one two!", content).is_none());
        assert!(anchors
            .locate("one two", &content[..content.len() - 1])
            .is_none());
    }

    #[test]
    fn anchors_stand_before_words_inside() {
        assert_eq!(anchor_offsets("hi"), [1]);
        assert_eq!(anchor_offsets("<b>"), [2]);
        assert_eq!(anchor_offsets(" ?"), [2]);
        assert!(anchor_offsets(" \n").is_empty());
        assert_eq!(anchor_offsets(" a b\n<c> d "), [3, 9]);
        let long = "w ".repeat(1000);
        assert_eq!(anchor_offsets(&long).len(), MOST_ANCHORS);
        assert_eq!(anchor_offsets(&long).last(), Some(&1998));
    }
}
