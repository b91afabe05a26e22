//! Bounds of a grammar's text, checked before it is compiled: llguidance counts its own work well,
//! but not that of everything that a short text can ask for. Each bound stops an input that was seen
//! to take seconds or gigabytes.

use std::collections::HashMap;

use serde_json::{Deserializer, Value as Json};

const MOST_TEXT_BYTES: usize = 64 << 10;
const MOST_DEPTH: usize = 64;
/// Optional properties each are a way to go on, and llguidance takes 2,000 at a time.
const MOST_MEMBERS: usize = 400;
/// Each pair of an object's patterns is compared.
const MOST_PATTERN_PROPERTIES: usize = 32;
/// A multiple of n is an automaton of n states; the digits that count, added up over a schema.
const MOST_MULTIPLES: u64 = 20_000;

pub fn check_size(text: &str) -> Result<(), String> {
    if text.len() <= MOST_TEXT_BYTES {
        return Ok(());
    }
    Err(format!(
        "has {} bytes, more than {MOST_TEXT_BYTES}",
        text.len()
    ))
}

/// What the schemas of one grammar may ask for together.
#[derive(Default)]
pub struct SchemaLimits {
    multiples: u64,
    patterns: usize,
}

impl SchemaLimits {
    pub fn check(&mut self, schema: &Json) -> Result<(), String> {
        self.check_below(schema, MOST_DEPTH)
    }

    fn check_below(&mut self, value: &Json, depth: usize) -> Result<(), String> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(format!("is nested deeper than {MOST_DEPTH}"));
        };
        match value {
            Json::Array(items) => items.iter().try_for_each(|v| self.check_below(v, depth)),
            Json::Object(members) if members.len() > MOST_MEMBERS => Err(format!(
                "has an object of {} members, more than {MOST_MEMBERS}",
                members.len()
            )),
            Json::Object(members) => members.iter().try_for_each(|(name, v)| {
                self.check_member(name, v)?;
                self.check_below(v, depth)
            }),
            _ => Ok(()),
        }
    }

    fn check_member(&mut self, name: &str, value: &Json) -> Result<(), String> {
        match value {
            Json::Number(number) if name == "multipleOf" => {
                self.multiples = self
                    .multiples
                    .saturating_add(digits_that_count(&number.to_string()));
                if self.multiples > MOST_MULTIPLES {
                    return Err(format!(
                        "has values of multipleOf that are too much together: without their \
                         zeros and points more than {MOST_MULTIPLES}"
                    ));
                }
            }
            Json::Object(members) if name == "patternProperties" => {
                self.patterns += members.len();
                if self.patterns > MOST_PATTERN_PROPERTIES {
                    return Err(format!(
                        "has more than {MOST_PATTERN_PROPERTIES} patternProperties"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// 125 of 0.0125e10: what makes an automaton of multiples large.
fn digits_that_count(number: &str) -> u64 {
    let significand = number.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = significand.chars().filter(char::is_ascii_digit).collect();
    digits.trim_end_matches('0').parse().unwrap_or(0)
}

/// Checks the JSON schemas inside a Lark grammar, and how deep its terminals go into one another:
/// they become one regular expression.
pub fn check_lark(text: &str) -> Result<(), String> {
    let mut reader = LarkReader {
        rest: text,
        ..LarkReader::default()
    };
    reader.read()?;
    let mut depths = HashMap::new();
    for name in reader.definitions.keys() {
        depth_of(name, &reader.definitions, &mut depths, MOST_DEPTH)?;
    }
    Ok(())
}

/// A text inside a reply has no control tokens.
pub fn refuse_tokens(lark: &str) -> Result<(), String> {
    let mut reader = LarkReader {
        rest: lark,
        ..LarkReader::default()
    };
    reader.read()?;
    match reader.token {
        None => Ok(()),
        Some(token) => Err(format!("names the token {token}, which stands in no text")),
    }
}

#[derive(Default)]
struct Definition<'a> {
    depth: usize, // of groups, those of regular expressions too
    terminals: Vec<&'a str>,
}

/// Reads a grammar only as far as it takes to tell definitions and groups from the text of strings,
/// regular expressions and comments. What is no grammar is left for the compiler to refuse.
#[derive(Default)]
struct LarkReader<'a> {
    rest: &'a str,
    definitions: HashMap<&'a str, Definition<'a>>,
    current: &'a str,
    depth: usize,
    at_line_start: bool,
    schemas: SchemaLimits,
    token: Option<&'a str>, // the last that is named
}

impl<'a> LarkReader<'a> {
    fn read(&mut self) -> Result<(), String> {
        self.at_line_start = true;
        while let Some(first) = self.rest.chars().next() {
            match first {
                '\n' => {
                    self.at_line_start = true;
                    self.skip(1);
                }
                '#' => self.skip_line(),
                '/' if self.rest.starts_with("//") => self.skip_line(),
                '"' => self.skip_string(),
                '/' => self.skip_regex(),
                '<' => self.skip_special_token(),
                '(' | '[' | '{' => {
                    self.depth += 1;
                    self.note_depth(0);
                    self.skip(1);
                }
                ')' | ']' | '}' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.skip(1);
                }
                '%' if self.rest.starts_with("%json") => self.read_schema()?,
                c if c.is_alphabetic() || c == '_' => self.read_name(),
                c => {
                    self.at_line_start &= c.is_whitespace() || c == '?' || c == '!';
                    self.skip(c.len_utf8());
                }
            }
        }
        Ok(())
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    fn skip_line(&mut self) {
        self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
    }

    /// Skips to behind the next `quote` that isn't escaped and gives what stands before it; over one
    /// character where there is none.
    fn skip_quoted(&mut self, quote: char, many_lines: bool) -> &'a str {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                '\n' if !many_lines => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == quote => {
                    let inner = &self.rest[1..at];
                    self.skip(at + 1);
                    return inner;
                }
                _ => {}
            }
        }
        self.skip(1);
        ""
    }

    fn skip_string(&mut self) {
        self.skip_quoted('"', /*many_lines=*/ false);
    }

    fn skip_regex(&mut self) {
        let regex = self.skip_quoted('/', /*many_lines=*/ true);
        let (mut depth, mut deepest, mut escaped) = (0usize, 0, false);
        for c in regex.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            deepest = deepest.max(depth);
        }
        self.note_depth(deepest);
    }

    fn skip_special_token(&mut self) {
        let inside = |c: char| c != '<' && c != '>' && !c.is_whitespace();
        let end = self.rest[1..].find(|c| !inside(c)).map_or(0, |end| end + 1);
        let closed = end > 1 && self.rest[end..].starts_with('>');
        let token = &self.rest[..if closed { end + 1 } else { 1 }];
        self.token = Some(token);
        self.skip(token.len());
    }

    fn note_depth(&mut self, inner: usize) {
        let depth = self.depth + inner;
        let definition = self.definitions.entry(self.current).or_default();
        definition.depth = definition.depth.max(depth);
    }

    fn read_schema(&mut self) -> Result<(), String> {
        self.skip("%json".len());
        let mut values = Deserializer::from_str(self.rest).into_iter::<Json>();
        if let Some(Ok(schema)) = values.next() {
            self.schemas
                .check(&schema)
                .map_err(|e| format!("a schema of it {e}"))?;
            let end = values.byte_offset();
            self.skip(end);
        }
        Ok(())
    }

    fn read_name(&mut self) {
        let end = self
            .rest
            .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
            .unwrap_or(self.rest.len());
        let name = &self.rest[..end];
        self.skip(end);
        let begins_line = std::mem::take(&mut self.at_line_start) && self.depth == 0;
        if begins_line || is_colon_next(self.rest) {
            self.current = name;
        } else if name
            .chars()
            .find(|c| c.is_alphabetic())
            .is_some_and(char::is_uppercase)
        {
            let definition = self.definitions.entry(self.current).or_default();
            definition.terminals.push(name);
        }
    }
}

/// Whether what stood before is being defined, be it in a grammar inside a group: attributes and a
/// priority may come first.
fn is_colon_next(rest: &str) -> bool {
    let mut rest = rest.trim_start();
    if rest.starts_with('[') {
        rest = rest.find(']').map_or("", |end| &rest[end + 1..]);
    }
    if let Some(priority) = rest.strip_prefix('.') {
        rest = priority.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
    }
    let rest = rest.trim_start();
    rest.starts_with(':') && !rest.starts_with("::")
}

fn depth_of<'a>(
    name: &'a str,
    definitions: &HashMap<&'a str, Definition<'a>>,
    depths: &mut HashMap<&'a str, usize>,
    left: usize,
) -> Result<usize, String> {
    if let Some(depth) = depths.get(name) {
        return Ok(*depth);
    }
    let Some(definition) = definitions.get(name) else {
        return Ok(0); // unknown, or one whose definition holds nothing of interest
    };
    let too_deep = || format!("has terminals that are nested deeper than {MOST_DEPTH}");
    let left = left.checked_sub(1).ok_or_else(too_deep)?;
    let mut below = 0;
    for terminal in &definition.terminals {
        below = below.max(depth_of(terminal, definitions, depths, left)?);
    }
    let depth = 1 + definition.depth + below;
    if depth > MOST_DEPTH {
        return Err(too_deep());
    }
    depths.insert(name, depth);
    Ok(depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Result<(), String> {
        SchemaLimits::default().check(&serde_json::from_str(text).unwrap())
    }

    fn chain(link: &str, length: usize) -> String {
        let name = |i: usize| format!("T{}", "x".repeat(i).to_uppercase());
        let mut text = format!("start: {}\n", name(0));
        for i in 0..length {
            text += &format!("{}: {}\n", name(i), link.replace('@', &name(i + 1)));
        }
        text + &format!("{}: \"a\"\n", name(length))
    }

    #[test]
    fn nesting_is_counted_over_terminals_groups_and_regexes() {
        assert!(check_lark(&chain("@ \"b\"", 50)).is_ok());
        assert!(check_lark(&chain("@ \"b\"", 70)).is_err());
        assert!(check_lark(&chain("(((@ \"b\")+)+)+", 20)).is_err());
        assert!(check_lark(&chain("/(((a)))/ @", 20)).is_err());
        assert!(check_lark(&chain("\"(((\" @", 20)).is_ok());
        assert!(check_lark(&chain("/\\(\\(\\(/ @", 20)).is_ok());
        assert!(check_lark(&format!("start: {}\"a\"{}", "(".repeat(70), ")".repeat(70))).is_err());
    }

    #[test]
    fn nothing_hides_a_chain() {
        let deep = chain("@ \"b\"", 70);
        for around in [
            "start: \"\\\"\"\n@",
            "start: /\n\"/ \n@",
            "start: <\"> \"a\"\n@",
            "start: \"a\" // \"\n@",
            "start: \"a\" # /\n@",
            "start: %lark {\n@}\n",
            "%llguidance {\"a\": \"{\"}\n@",
        ] {
            assert!(check_lark(&around.replace('@', &deep)).is_err(), "{around}");
        }
        assert!(check_lark(&deep.replace(": ", "[lazy].1 : ")).is_err());
        assert!(check_lark(&deep.replace('T', "T-")).is_err());
    }

    #[test]
    fn rules_may_recur() {
        assert!(
            check_lark("start: a\na: \"x\" | \"(\" a \")\" | _b\n_b: a _b | A\nA: \"q\"").is_ok()
        );
    }

    #[test]
    fn tokens_are_refused_where_a_text_is_held() {
        for named in [
            "start: <|im_end|>",
            "start: \"a\" <[5]>",
            "start: a\na: <[*]>+",
        ] {
            assert!(refuse_tokens(named).is_err(), "{named}");
        }
        assert!(refuse_tokens("start: \"<a>\" /<b>/ // <c>\n").is_ok());
    }

    #[test]
    fn schemas_inside_a_grammar_are_checked() {
        let deep = format!("{}1{}", "[".repeat(70), "]".repeat(70));
        assert!(check_lark(&format!("start: %json {{\"enum\": {deep}}} \"x\"")).is_err());
        assert!(check_lark("start: %json {\"multipleOf\": 30001}").is_err());
        assert!(
            check_lark("a: %json {\"multipleOf\": 15001}\nb: %json {\"multipleOf\": 15001}")
                .is_err()
        );
        assert!(check_lark("start: %json {\"multipleOf\": 5}").is_ok());
    }

    #[test]
    fn only_digits_that_count_are_added_up() {
        for fine in ["1000000", "0.01", "1.5", "2e300", "0.000125"] {
            assert!(
                schema(&format!("{{\"multipleOf\": {fine}}}")).is_ok(),
                "{fine}"
            );
        }
        assert!(schema("{\"multipleOf\": 99991}").is_err());
        assert!(schema("{\"multipleOf\": 0.099991}").is_err());
    }

    #[test]
    fn patterns_and_members_are_counted() {
        let members = |n: usize| {
            (0..n)
                .map(|i| format!("\"p{i}\": {{}}"))
                .collect::<Vec<_>>()
                .join(",")
        };
        assert!(schema(&format!("{{\"properties\": {{{}}}}}", members(400))).is_ok());
        assert!(schema(&format!("{{\"properties\": {{{}}}}}", members(401))).is_err());
        assert!(schema(&format!("{{\"patternProperties\": {{{}}}}}", members(32))).is_ok());
        assert!(schema(&format!("{{\"patternProperties\": {{{}}}}}", members(33))).is_err());
    }
}
