//! Keeps the spellings of control tokens in callers' values apart from those that the template
//! writes. Before rendering, each one in a value is broken with a private-use character that occurs
//! nowhere in the context; so are beginnings at a value's end and endings at its start, which
//! neighbouring values or the template's own brackets could complete. After rendering, the text is
//! cut at the markers that are whole, and the character is taken out.

use std::collections::HashSet;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::Value as Json;

/// Longer spellings never count as markers; no model has one.
const LONGEST: usize = 256;

pub struct Markers {
    anywhere: AhoCorasick,
    whole: AhoCorasick,
    sorted: Vec<String>,
    sorted_reversed: Vec<Vec<u8>>,
}

impl Markers {
    pub fn new(spellings: &[&str]) -> Result<Self, String> {
        let mut sorted: Vec<String> = spellings
            .iter()
            .filter(|s| s.chars().nth(1).is_some() && s.len() <= LONGEST)
            .map(|s| s.to_string())
            .collect();
        sorted.sort();
        sorted.dedup();
        let mut sorted_reversed: Vec<Vec<u8>> =
            sorted.iter().map(|s| s.bytes().rev().collect()).collect();
        sorted_reversed.sort();
        let build = |kind| {
            AhoCorasick::builder()
                .match_kind(kind)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(&sorted)
                .map_err(|e| e.to_string())
        };
        Ok(Self {
            anywhere: build(MatchKind::Standard)?,
            whole: build(MatchKind::LeftmostLongest)?,
            sorted,
            sorted_reversed,
        })
    }

    /// Breaks the markers in all strings and keys of `value`.
    pub fn break_in(&self, value: &mut Json, mark: char) {
        match value {
            Json::String(text) => {
                if let Some(broken) = self.broken(text, mark) {
                    *text = broken;
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.break_in(item, mark)),
            Json::Object(members) => {
                for (key, mut member) in std::mem::take(members) {
                    self.break_in(&mut member, mark);
                    members.insert(self.broken(&key, mark).unwrap_or(key), member);
                }
            }
            _ => {}
        }
    }

    /// The text with its markers broken; None if there is nothing to break.
    fn broken(&self, text: &str, mark: char) -> Option<String> {
        let mut cuts = Vec::new();
        if self.starts_with_an_ending(text) {
            cuts.push(0);
        }
        for found in self.anywhere.find_overlapping_iter(text) {
            let first = text[found.start()..]
                .chars()
                .next()
                .map_or(1, char::len_utf8);
            cuts.push(found.start() + first);
        }
        if self.ends_with_a_beginning(text) {
            cuts.push(text.len());
        }
        if cuts.is_empty() {
            return None;
        }
        cuts.sort_unstable();
        cuts.dedup();
        let mut out = String::with_capacity(text.len() + 4 * cuts.len());
        let mut from = 0;
        for cut in cuts {
            out.push_str(&text[from..cut]);
            out.push(mark);
            from = cut;
        }
        out.push_str(&text[from..]);
        Some(out)
    }

    fn ends_with_a_beginning(&self, text: &str) -> bool {
        let tail = text.len().saturating_sub(LONGEST);
        (tail..text.len())
            .filter(|&at| text.is_char_boundary(at))
            .any(|at| {
                let end = &text[at..];
                let first = self.sorted.partition_point(|m| m.as_str() < end);
                self.sorted
                    .get(first)
                    .is_some_and(|m| m.len() > end.len() && m.starts_with(end))
                    || self
                        .sorted
                        .get(first + 1)
                        .is_some_and(|m| m.starts_with(end))
            })
    }

    fn starts_with_an_ending(&self, text: &str) -> bool {
        let mut reversed = Vec::with_capacity(LONGEST);
        (1..=text.len().min(LONGEST))
            .filter(|&at| text.is_char_boundary(at))
            .any(|at| {
                reversed.clear();
                reversed.extend(text.as_bytes()[..at].iter().rev());
                let first = self
                    .sorted_reversed
                    .partition_point(|m| m.as_slice() < reversed.as_slice());
                self.sorted_reversed[first..]
                    .iter()
                    .take(2)
                    .any(|m| m.len() > at && m.starts_with(&reversed))
            })
    }

    /// Where `text` has whole markers: the text without the mark, and the ends of its pieces,
    /// alternately plain text and a marker.
    pub fn cut(&self, text: &str, mark: Option<char>) -> (String, Vec<u32>) {
        let mut out = String::with_capacity(text.len());
        let mut ends = Vec::new();
        let mut from = 0;
        let push_plain = |out: &mut String, plain: &str| match mark {
            Some(mark) => out.extend(plain.chars().filter(|&c| c != mark)),
            None => out.push_str(plain),
        };
        for found in self.whole.find_iter(text) {
            push_plain(&mut out, &text[from..found.start()]);
            ends.push(out.len() as u32);
            out.push_str(&text[found.range()]);
            ends.push(out.len() as u32);
            from = found.end();
        }
        push_plain(&mut out, &text[from..]);
        ends.push(out.len() as u32);
        (out, ends)
    }
}

fn is_private_use(c: char) -> bool {
    matches!(c as u32, 0xE000..=0xF8FF | 0xF0000..=0xFFFFD | 0x100000..=0x10FFFD)
}

pub fn collect_private_use_text(text: &str, used: &mut HashSet<char>) {
    // All of them have a lead byte of 0xEE or more in UTF-8.
    if text.bytes().any(|b| b >= 0xEE) {
        used.extend(text.chars().filter(|&c| is_private_use(c)));
    }
}

fn collect_private_use(value: &Json, used: &mut HashSet<char>) {
    match value {
        Json::String(text) => collect_private_use_text(text, used),
        Json::Array(items) => items
            .iter()
            .for_each(|item| collect_private_use(item, used)),
        Json::Object(members) => {
            for (key, member) in members {
                collect_private_use_text(key, used);
                collect_private_use(member, used);
            }
        }
        _ => {}
    }
}

/// The private-use characters that neither the values nor `used` have.
pub fn unused_marks(
    values: &[&Json],
    mut used: HashSet<char>,
) -> impl Iterator<Item = char> + Clone {
    values
        .iter()
        .for_each(|value| collect_private_use(value, &mut used));
    (0xE000..=0xF8FF)
        .chain(0xF0000..=0xFFFFD)
        .chain(0x100000..=0x10FFFD)
        .filter_map(char::from_u32)
        .filter(move |c| !used.contains(c))
}

/// Offsets in `text`, rising, as they are once the mark is taken out.
pub fn without_mark(text: &str, mark: Option<char>, offsets: &mut [&mut usize]) {
    let Some(mark) = mark else { return };
    let mut marks = text.match_indices(mark).map(|(at, _)| at).peekable();
    let mut removed = 0;
    for offset in offsets {
        while marks.next_if(|&at| at < **offset).is_some() {
            removed += mark.len_utf8();
        }
        **offset -= removed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn markers() -> Markers {
        Markers::new(&["<|im_end|>", "<|im_start|>", "</s>", "<s>"]).unwrap()
    }

    fn broken(text: &str) -> String {
        markers()
            .broken(text, '#')
            .unwrap_or_else(|| text.to_owned())
    }

    #[test]
    fn whole_markers_are_broken_wherever_they_stand() {
        assert_eq!(broken("a<|im_end|>b"), "a<#|im_end|>b");
        assert_eq!(broken("<s></s>x"), "<#s><#/s>x");
        assert_eq!(
            broken("plain text, 1 < 2 and 3 > 2."),
            "plain text, 1 < 2 and 3 > 2."
        );
    }

    #[test]
    fn parts_that_a_neighbour_could_complete_are_closed_off() {
        assert_eq!(broken("x<|im_"), "x<|im_#");
        assert_eq!(broken("end|>x"), "#end|>x");
        assert_eq!(broken("<"), "<#");
        assert_eq!(broken("user"), "user");
    }

    #[test]
    fn keys_are_broken_too_and_keep_their_order() {
        let mut value = json!({"<s>": 1, "b": ["</s>"], "a": {"c": null}});
        markers().break_in(&mut value, '#');
        assert_eq!(
            value.to_string(),
            r##"{"<#s>":1,"b":["<#/s>"],"a":{"c":null}}"##
        );
    }

    #[test]
    fn rendered_text_is_cut_at_whole_markers_only() {
        let (text, ends) = markers().cut("<s>a<#/s>b<|im_end|>", Some('#'));
        assert_eq!(text, "<s>a</s>b<|im_end|>");
        assert_eq!(ends, vec![0, 3, 9, 19, 19]);
    }

    #[test]
    fn offsets_move_with_the_marks_taken_out() {
        let mut offsets = [0, 1, 2, 6, 7];
        without_mark("a##b<#s>", Some('#'), &mut offsets.each_mut());
        assert_eq!(offsets, [0, 1, 1, 3, 4]);
    }

    #[test]
    fn the_mark_is_a_character_that_nobody_wrote() {
        let value = json!(["\u{E000}", {"\u{E001}": "x"}]);
        assert_eq!(
            unused_marks(&[&value], HashSet::from(['\u{E002}'])).next(),
            Some('\u{E003}')
        );
    }
}
