//! Chat templates' language as Hugging Face sets it up: Jinja2's immutable sandbox with trim_blocks,
//! lstrip_blocks, loop controls, the `tojson` of transformers, raise_exception and strftime_now.

use std::ffi::CString;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;

use crate::python;

const RECURSION_LIMIT: usize = 100;
/// Of the one template in an environment.
pub const NAME: &str = "chat";

/// What raise_exception makes of its message, so that it can be told from a template's own faults.
#[derive(Debug)]
pub struct Raised;
impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("raised by the template")
    }
}
impl std::error::Error for Raised {}

pub fn make_environment(source: &str) -> Result<Environment<'static>, Error> {
    let mut env = Environment::new();
    env.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_unknown_method_callback(python_method);
    env.set_recursion_limit(RECURSION_LIMIT);
    env.set_formatter(format_value);
    env.add_filter("tojson", python::tojson);
    env.add_filter(
        "string",
        |state: &State, value: &Value| -> Result<Value, Error> {
            if value.kind() == ValueKind::String {
                return Ok(value.clone());
            }
            python::to_str(state, value).map(Value::from)
        },
    );
    // Python's None is not iterable; minijinja's none is, as an empty one.
    env.add_test("iterable", |value: &Value| {
        !value.is_none() && value.try_iter().is_ok()
    });
    env.add_function(
        "raise_exception",
        |message: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message).with_source(Raised))
        },
    );
    env.add_function("strftime_now", strftime_now);
    env.add_template_owned(NAME, rewrite_generation_tags(source))?;
    Ok(env)
}

fn format_value(out: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::String => out.write_str(value.as_str().unwrap_or_default())?,
        ValueKind::Undefined => {}
        _ => out.write_str(&python::to_str(state, value)?)?,
    }
    Ok(())
}

/// Python's methods. minijinja charges nothing for the width of a format, so a wide one is refused.
fn python_method(
    state: &mut State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    if method == "format" && value.as_str().is_some_and(has_wide_format) {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "a format with a width over 9999 or taken from an argument",
        ));
    }
    unknown_method_callback(state, value, method, args)
}

fn has_wide_format(format: &str) -> bool {
    let (mut depth, mut digits, mut in_spec) = (0, 0, false);
    for c in format.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = 0,
            _ => {}
        }
        in_spec = depth > 0 && (in_spec || c == ':');
        digits = if in_spec && c.is_ascii_digit() {
            digits + 1
        } else {
            0
        };
        if digits > 4 || (in_spec && depth > 1) {
            return true;
        }
    }
    false
}

/// The local time by C's strftime, as Python's datetime.now().strftime does.
fn strftime_now(format: String) -> Result<String, Error> {
    let bad = || Error::new(ErrorKind::InvalidOperation, "strftime_now: unusable format");
    let format = CString::new(format).map_err(|_| bad())?;
    if format.as_bytes().len() > 256 {
        return Err(bad());
    }
    let mut buffer = vec![0u8; 4096];
    // SAFETY: the buffers outlive the calls and their sizes are passed; localtime_r fills `now`.
    let written = unsafe {
        let clock = libc::time(std::ptr::null_mut());
        let mut now: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&clock, &mut now).is_null() {
            return Err(bad());
        }
        libc::strftime(
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            format.as_ptr(),
            &now,
        )
    };
    buffer.truncate(written);
    String::from_utf8(buffer).map_err(|_| bad())
}

/// Hugging Face marks the assistant's part with {% generation %}; for rendering it is a block that
/// always runs. Tags in comments and raw blocks are text.
fn rewrite_generation_tags(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut raw = false;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = if rest.starts_with("{#") && !raw {
            rest.find("#}").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("{{") && !raw {
            tag_length(rest, "}}")
        } else if rest.starts_with("{%") {
            let length = tag_length(rest, "%}");
            let word = tag_word(&rest[..length]);
            if raw {
                raw = word != "endraw";
            } else if word == "raw" {
                raw = true;
            } else if word == "generation" || word == "endgeneration" {
                let replacement = if word == "generation" {
                    "if true"
                } else {
                    "endif"
                };
                out.push_str(&rest[..length].replacen(word, replacement, 1));
                rest = &rest[length..];
                continue;
            }
            if raw && word != "raw" {
                1
            } else {
                length
            }
        } else {
            1
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// Length of the tag that `text` begins with; its end inside a string literal doesn't count.
fn tag_length(text: &str, end: &str) -> usize {
    let bytes = text.as_bytes();
    let mut quote = None;
    let mut at = 2;
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (Some(_), b'\\') => at += 1,
            (Some(open), c) if c == open => quote = None,
            (None, c @ (b'\'' | b'"')) => quote = Some(c),
            (None, _) if bytes[at..].starts_with(end.as_bytes()) => return at + end.len(),
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn tag_word(tag: &str) -> &str {
    tag[2..]
        .trim_start_matches(['-', '+'])
        .trim_start()
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .next()
        .unwrap_or_default()
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generation_tags_become_plain_blocks_outside_comments_and_raw() {
        assert_eq!(
            rewrite_generation_tags("{%- generation -%}x{% endgeneration %}{# {% generation %} #}"),
            "{%- if true -%}x{% endif %}{# {% generation %} #}"
        );
        let raw = "{% raw %}{% generation %}{% endraw %}{{ '{% generation %}' }}";
        assert_eq!(rewrite_generation_tags(raw), raw);
    }

    #[test]
    fn wide_formats_are_found() {
        assert!(has_wide_format("{:>1000000000}"));
        assert!(has_wide_format("{:{}}"));
        assert!(!has_wide_format("{:>20} {} 123456789"));
    }
}
