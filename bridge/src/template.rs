//! Chat templates as Hugging Face renders them: Jinja2's immutable sandbox with trim_blocks,
//! lstrip_blocks, loop controls, the `tojson` of transformers, raise_exception and strftime_now.
//! Templates come out of model files: compiling and rendering run on a thread with a big stack, with
//! fuel, and with a cap on the output.

use std::collections::HashSet;
use std::ffi::CString;
use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, Value};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde_json::{Map, Value as Json};

use crate::ffi::{fill, guarded, panic_text, slice, FolioBuffer, FolioBytes, FolioIds};
use crate::markers::{collect_private_use_text, unused_mark, Markers};
use crate::python;

/// Flat chains of operators in a source of 128 KiB overflow 8 MiB; with 64 MiB there is room.
const STACK_BYTES: usize = 64 << 20;
const RECURSION_LIMIT: usize = 100;
const NAME: &str = "chat";

const RENDER_OK: i32 = 0;
const RENDER_BAD_CONTEXT: i32 = 1;
const RENDER_RAISED: i32 = 2;
const RENDER_FAILED: i32 = 3;
const RENDER_LIMIT: i32 = 4;

pub struct FolioTemplate {
    environment: Environment<'static>,
    markers: Markers,
    private_use: HashSet<char>,
}

#[repr(C)]
pub struct FolioRenderInput {
    messages: FolioBytes,
    extra: FolioBytes,
    bos_token: FolioBytes,
    eos_token: FolioBytes,
    add_generation_prompt: i32,
    protect: i32,
    join_text_parts: i32,
    parse_arguments: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct FolioRenderLimits {
    fuel: u64,
    output_bytes: usize,
    input_bytes: usize,
}

/// What raise_exception makes of its message, so that it can be told from a template's own faults.
#[derive(Debug)]
struct Raised;
impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("raised by the template")
    }
}
impl std::error::Error for Raised {}

fn on_big_stack<T: Send>(body: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, body)
            .map_err(|e| Failure::failed(format!("no thread to render on: {e}")))?
            .join()
            .unwrap_or_else(|payload| Err(Failure::failed(panic_text(&*payload))))
    })
}

struct Failure {
    status: i32,
    text: String,
}

impl Failure {
    fn failed(text: String) -> Self {
        Self {
            status: RENDER_FAILED,
            text,
        }
    }

    fn bad_context(text: String) -> Self {
        Self {
            status: RENDER_BAD_CONTEXT,
            text,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let line = error
            .line()
            .map_or(String::new(), |l| format!("line {l}: "));
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(e) = cause {
            if e.is::<Raised>() {
                return Self {
                    status: RENDER_RAISED,
                    text: innermost_detail(&error),
                };
            }
            cause = e.source();
        }
        let mut text = error.detail().map_or_else(
            || error.kind().to_string(),
            |d| format!("{}: {d}", error.kind()),
        );
        let mut status = RENDER_FAILED;
        if error.kind() == ErrorKind::OutOfFuel {
            (status, text) = (RENDER_LIMIT, "too much work for a chat template".into());
        } else if error.kind() == ErrorKind::WriteFailure {
            (status, text) = (RENDER_LIMIT, "output too long".into());
        }
        Self {
            status,
            text: line + &text,
        }
    }
}

/// The message given to raise_exception, from under the errors of blocks and macros around it.
fn innermost_detail(error: &Error) -> String {
    let mut detail = error.detail().unwrap_or_default();
    let mut cause = std::error::Error::source(error);
    while let Some(e) = cause {
        if let Some(inner) = e.downcast_ref::<Error>().and_then(|i| i.detail()) {
            detail = inner;
        }
        cause = e.source();
    }
    detail.to_owned()
}

fn make_environment(source: &str) -> Result<Environment<'static>, Error> {
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

struct CappedOutput {
    text: Vec<u8>,
    most: usize,
}

impl io::Write for CappedOutput {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.len() > self.most - self.text.len() {
            return Err(io::Error::other("output too long"));
        }
        self.text.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// {"function": {"arguments": "{...}"}} of the OpenAI API becomes an object, which is what Hugging
/// Face's callers give templates.
fn parse_arguments(message: &mut Json) {
    let calls = message.get_mut("tool_calls").and_then(Json::as_array_mut);
    for call in calls.into_iter().flatten() {
        let arguments = match call.get_mut("function") {
            Some(function) => function.get_mut("arguments"),
            None => call.get_mut("arguments"),
        };
        if let Some(arguments) = arguments {
            if let Some(Ok(parsed @ Json::Object(_))) =
                arguments.as_str().map(serde_json::from_str::<Json>)
            {
                *arguments = parsed;
            }
        }
    }
}

/// A content that is a list of text parts becomes their text; other lists stay as they are.
fn join_text_parts(message: &mut Json) {
    let Some(content) = message.get_mut("content") else {
        return;
    };
    let Some(parts) = content.as_array() else {
        return;
    };
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| part.get("text").and_then(Json::as_str))
        .collect();
    if let Some(texts) = texts {
        *content = Json::String(texts.concat());
    }
}

fn parse_json(text: &str, what: &str) -> Result<Json, Failure> {
    serde_json::from_str(text).map_err(|e| Failure::bad_context(format!("{what}: {e}")))
}

impl FolioTemplate {
    fn new(source: &str, markers: &[&str]) -> Result<Self, Failure> {
        let mut private_use = HashSet::new();
        collect_private_use_text(source, &mut private_use);
        Ok(Self {
            environment: make_environment(source)?,
            markers: Markers::new(markers).map_err(Failure::failed)?,
            private_use,
        })
    }

    fn render(
        &self,
        input: &RenderInput,
        limits: &FolioRenderLimits,
    ) -> Result<(String, Vec<u32>), Failure> {
        let size = input.messages.len() + input.extra.len();
        if size > limits.input_bytes {
            return Err(Failure::bad_context(format!(
                "{size} bytes of conversation; at most {} are taken",
                limits.input_bytes
            )));
        }
        let mut messages = parse_json(input.messages, "messages")?;
        let mut extra = match parse_json(input.extra, "variables")? {
            Json::Object(members) => Json::Object(members),
            _ => return Err(Failure::bad_context("variables: not a JSON object".into())),
        };
        let Some(list) = messages.as_array_mut() else {
            return Err(Failure::bad_context("messages: not a JSON array".into()));
        };
        for message in list {
            if input.parse_arguments {
                parse_arguments(message);
            }
            if input.join_text_parts {
                join_text_parts(message);
            }
        }
        let mut mark = None;
        if input.protect {
            mark = unused_mark(&[&messages, &extra], self.private_use.clone());
            let Some(mark) = mark else {
                return Err(Failure::bad_context(
                    "every private-use character of Unicode is in it".into(),
                ));
            };
            self.markers.break_in(&mut messages, mark);
            self.markers.break_in(&mut extra, mark);
        }
        let text = self.render_context(input, messages, extra, limits, mark)?;
        if input.protect {
            Ok(self.markers.cut(&text, mark))
        } else {
            Ok((text, Vec::new()))
        }
    }

    fn render_context(
        &self,
        input: &RenderInput,
        messages: Json,
        extra: Json,
        limits: &FolioRenderLimits,
        mark: Option<char>,
    ) -> Result<String, Failure> {
        let mut context = Map::new();
        context.insert("bos_token".into(), input.bos_token.into());
        context.insert("eos_token".into(), input.eos_token.into());
        context.insert("tools".into(), Json::Null);
        context.insert("documents".into(), Json::Null);
        context.insert(
            "add_generation_prompt".into(),
            input.add_generation_prompt.into(),
        );
        if let Json::Object(members) = extra {
            context.extend(members);
        }
        context.insert("messages".into(), messages);
        python::MARK.set(mark);
        let mut environment = self.environment.clone();
        // Callers' text is paid for on top, so that a long conversation isn't taken for a flood.
        let size = (input.messages.len() + input.extra.len()) as u64;
        environment.set_fuel(Some(limits.fuel + size));
        let mut output = CappedOutput {
            text: Vec::new(),
            most: limits.output_bytes,
        };
        environment
            .get_template(NAME)?
            .render_captured_to(Value::from(Serde(&Json::Object(context))), &mut output)?;
        String::from_utf8(output.text).map_err(|e| Failure::failed(e.to_string()))
    }
}

struct RenderInput<'a> {
    messages: &'a str,
    extra: &'a str,
    bos_token: &'a str,
    eos_token: &'a str,
    add_generation_prompt: bool,
    protect: bool,
    join_text_parts: bool,
    parse_arguments: bool,
}

impl<'a> RenderInput<'a> {
    unsafe fn new(input: &FolioRenderInput) -> Result<Self, String> {
        let text = |bytes: FolioBytes, name: &str| bytes.text().map_err(|e| format!("{name}: {e}"));
        let extra = text(input.extra, "variables")?;
        Ok(Self {
            messages: text(input.messages, "messages")?,
            extra: if extra.is_empty() { "{}" } else { extra },
            bos_token: text(input.bos_token, "bos_token")?,
            eos_token: text(input.eos_token, "eos_token")?,
            add_generation_prompt: input.add_generation_prompt != 0,
            protect: input.protect != 0,
            join_text_parts: input.join_text_parts != 0,
            parse_arguments: input.parse_arguments != 0,
        })
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_template_new(
    source: FolioBytes,
    markers: *const FolioBytes,
    marker_count: usize,
    error: *mut FolioBuffer,
) -> *mut FolioTemplate {
    let made = guarded(|| {
        let source = source.text()?;
        let markers = slice(markers, marker_count)
            .iter()
            .map(|marker| marker.text())
            .collect::<Result<Vec<_>, _>>()?;
        on_big_stack(|| FolioTemplate::new(source, &markers)).map_err(|f| f.text)
    });
    match made {
        Ok(compiled) => Box::into_raw(Box::new(compiled)),
        Err(text) => {
            fill(error, text.into_bytes());
            std::ptr::null_mut()
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_template_free(compiled: *mut FolioTemplate) {
    if !compiled.is_null() {
        drop(Box::from_raw(compiled));
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_template_render(
    compiled: *const FolioTemplate,
    input: *const FolioRenderInput,
    limits: *const FolioRenderLimits,
    text: *mut FolioBuffer,
    pieces: *mut FolioIds,
    error: *mut FolioBuffer,
) -> i32 {
    let rendered = guarded(|| {
        Ok(match RenderInput::new(&*input) {
            Err(bad) => Err(Failure::bad_context(bad)),
            Ok(input) => {
                let (compiled, limits) = (&*compiled, *limits);
                on_big_stack(move || compiled.render(&input, &limits))
            }
        })
    })
    .unwrap_or_else(|panic| Err(Failure::failed(panic)));
    match rendered {
        Ok((rendered, ends)) => {
            fill(text, rendered.into_bytes());
            fill(pieces, ends);
            RENDER_OK
        }
        Err(failure) => {
            fill(error, failure.text.into_bytes());
            failure.status
        }
    }
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
