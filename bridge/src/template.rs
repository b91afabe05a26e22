//! Compiles and renders chat templates. They come out of model files: both run on a thread with a
//! big stack, with fuel, and with a cap on the output.

use std::collections::HashSet;
use std::io;
use std::rc::Rc;

use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, Value};
use serde_json::{Map, Value as Json};

use crate::environment::{make_environment, Raised, NAME};
use crate::ffi::{fill, guarded, slice, FolioBuffer, FolioBytes, FolioIds};
use crate::markers::{collect_private_use_text, unused_marks, without_mark, Markers};
use crate::names::{self, Part};
use crate::parts::{Anchors, Coverage, Stretch, ANCHORS};
use crate::python;
use crate::stack::on_stack;

/// Flat chains of operators in a source of 128 KiB overflow 8 MiB; with 64 MiB there is room.
const STACK_BYTES: usize = 64 << 20;

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

#[repr(C)]
pub struct FolioParts {
    labels: FolioBuffer,
    messages: FolioIds,
    stretches: FolioIds,
}

fn on_big_stack<T: Send>(body: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    on_stack(STACK_BYTES, body).unwrap_or_else(|e| Err(Failure::failed(e)))
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

    fn render(&self, input: &RenderInput, limits: &FolioRenderLimits) -> Result<Rendered, Failure> {
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
        if !input.protect {
            let text = self.render_context(input, messages, extra, limits, None)?;
            return Ok(Rendered {
                text,
                ..Rendered::default()
            });
        }
        let mut unused = unused_marks(&[&messages, &extra], self.private_use.clone());
        let Some(mark) = unused.next() else {
            return Err(Failure::bad_context(
                "every private-use character of Unicode is in it".into(),
            ));
        };
        self.markers.break_in(&mut messages, mark);
        self.markers.break_in(&mut extra, mark);
        if !input.parts {
            let text = self.render_context(input, messages, extra, limits, Some(mark))?;
            let (text, ends) = self.markers.cut(&text, Some(mark));
            return Ok(Rendered {
                text,
                ends,
                ..Rendered::default()
            });
        }
        let plain =
            self.render_context(input, messages.clone(), extra.clone(), limits, Some(mark))?;
        let mut parts = names::describe(&messages, &extra);
        let stretches = [Coverage::AllValues, Coverage::Prose]
            .into_iter()
            .find_map(|coverage| {
                let (mut messages, mut extra) = (messages.clone(), extra.clone());
                let anchors =
                    Anchors::put(&mut messages, &mut extra, &parts, coverage, unused.clone())?;
                self.locate(input, messages, extra, limits, mark, &plain, anchors)
            })
            .unwrap_or_default();
        for part in &mut parts {
            part.label.retain(|c| c != mark);
        }
        let (text, ends) = self.markers.cut(&plain, Some(mark));
        Ok(Rendered {
            text,
            ends,
            parts,
            stretches,
        })
    }

    /// Renders the values with their anchors; None if they changed what the template does.
    #[allow(clippy::too_many_arguments)]
    fn locate(
        &self,
        input: &RenderInput,
        messages: Json,
        extra: Json,
        limits: &FolioRenderLimits,
        mark: char,
        plain: &str,
        anchors: Anchors,
    ) -> Option<Vec<Stretch>> {
        let anchors = Rc::new(anchors);
        let limits = FolioRenderLimits {
            output_bytes: 2 * limits.output_bytes,
            ..*limits
        };
        ANCHORS.set(Some(anchors.clone()));
        let anchored = self.render_context(input, messages, extra, &limits, Some(mark));
        ANCHORS.set(None);
        let mut stretches = anchors.locate(plain, &anchored.ok()?)?;
        let mut offsets: Vec<&mut usize> = stretches
            .iter_mut()
            .flat_map(|s| [&mut s.begin, &mut s.end])
            .collect();
        without_mark(plain, Some(mark), &mut offsets);
        Some(stretches)
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

#[derive(Default)]
struct Rendered {
    text: String,
    ends: Vec<u32>, // of its pieces
    parts: Vec<Part>,
    stretches: Vec<Stretch>,
}

impl Rendered {
    /// One label a line.
    fn labels(&self) -> Vec<u8> {
        let mut lines = String::new();
        for part in &self.parts {
            lines.push_str(&part.label);
            lines.push('\n');
        }
        lines.into_bytes()
    }

    /// Begin, end and part of each.
    fn stretch_fields(&self) -> Vec<u32> {
        self.stretches
            .iter()
            .flat_map(|s| [s.begin as u32, s.end as u32, s.part])
            .collect()
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
    parts: bool,
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
            parts: false,
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

unsafe fn render_guarded(
    compiled: *const FolioTemplate,
    input: *const FolioRenderInput,
    limits: *const FolioRenderLimits,
    parts: bool,
) -> Result<Rendered, Failure> {
    guarded(|| {
        Ok(match RenderInput::new(&*input) {
            Err(bad) => Err(Failure::bad_context(bad)),
            Ok(input) => {
                let (compiled, limits) = (&*compiled, *limits);
                let input = RenderInput { parts, ..input };
                on_big_stack(move || compiled.render(&input, &limits))
            }
        })
    })
    .unwrap_or_else(|panic| Err(Failure::failed(panic)))
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
    match render_guarded(compiled, input, limits, false) {
        Ok(rendered) => {
            fill(text, rendered.text.into_bytes());
            fill(pieces, rendered.ends);
            RENDER_OK
        }
        Err(failure) => {
            fill(error, failure.text.into_bytes());
            failure.status
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_template_render_parts(
    compiled: *const FolioTemplate,
    input: *const FolioRenderInput,
    limits: *const FolioRenderLimits,
    text: *mut FolioBuffer,
    pieces: *mut FolioIds,
    parts: *mut FolioParts,
    error: *mut FolioBuffer,
) -> i32 {
    match render_guarded(compiled, input, limits, true) {
        Ok(rendered) => {
            if let Some(parts) = parts.as_mut() {
                parts.labels.fill(rendered.labels());
                parts
                    .messages
                    .fill(rendered.parts.iter().map(|part| part.message).collect());
                parts.stretches.fill(rendered.stretch_fields());
            }
            fill(text, rendered.text.into_bytes());
            fill(pieces, rendered.ends);
            RENDER_OK
        }
        Err(failure) => {
            fill(error, failure.text.into_bytes());
            failure.status
        }
    }
}
