//! Values written as Python writes them: str(), repr() of floats, and json.dumps as Hugging Face's
//! `tojson` filter calls it. Every node and every 64 bytes cost fuel, since a small template can
//! build a value whose text has no end (a list that holds the same list twice, forty times over).

use std::cell::Cell;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, State, Value};

use crate::parts;

const DEEPEST: usize = 500;
const WIDEST_INDENT: usize = 64;

thread_local! {
    /// The private-use character that breaks markers in this rendering: it must survive escaping.
    pub static MARK: Cell<Option<char>> = const { Cell::new(None) };
}

/// Python's repr(float): the shortest digits that read back the same, scientific from 1e16 and below
/// 1e-4.
pub fn float_repr(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = value.to_string();
        return if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// A float, and not an integer: minijinja calls both numbers.
fn as_float(value: &Value) -> Option<f64> {
    if value.kind() == ValueKind::Number && !value.is_integer() {
        f64::try_from(value.clone()).ok()
    } else {
        None
    }
}

struct Charger<'a, 'b> {
    state: &'a State<'a, 'b>,
    charged: usize,
}

impl Charger<'_, '_> {
    /// One for the node, one for each 64 bytes written since the last call.
    fn node(&mut self, written: usize) -> Result<(), Error> {
        let bytes = written.saturating_sub(self.charged);
        self.charged = written;
        self.state.consume_fuel(1 + bytes as u64 / 64)
    }
}

fn too_deep() -> Error {
    Error::new(ErrorKind::InvalidOperation, "value nested too deeply")
}

/// Python's str().
pub fn to_str(state: &State, value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    let mut charger = Charger { state, charged: 0 };
    match value.kind() {
        ValueKind::String | ValueKind::Bytes => out = value.to_string(),
        _ => write_repr(value, 0, &mut charger, &mut out)?,
    }
    charger.node(out.len())?;
    Ok(out)
}

fn write_repr(
    value: &Value,
    depth: usize,
    charger: &mut Charger,
    out: &mut String,
) -> Result<(), Error> {
    if depth > DEEPEST {
        return Err(too_deep());
    }
    charger.node(out.len())?;
    match value.kind() {
        ValueKind::Number if as_float(value).is_some() => {
            out.push_str(&float_repr(as_float(value).unwrap_or_default()));
        }
        ValueKind::Map => {
            out.push('{');
            for (index, key) in value.try_iter()?.checked().enumerate() {
                let key = key?;
                if index > 0 {
                    out.push_str(", ");
                }
                write_repr(&key, depth + 1, charger, out)?;
                out.push_str(": ");
                write_repr(&value.get_item(&key)?, depth + 1, charger, out)?;
            }
            out.push('}');
        }
        ValueKind::Seq => {
            let tuple = value.is_tuple();
            out.push(if tuple { '(' } else { '[' });
            for (index, item) in value.try_iter()?.checked().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_repr(&item?, depth + 1, charger, out)?;
            }
            if tuple && value.len() == Some(1) {
                out.push(',');
            }
            out.push(if tuple { ')' } else { ']' });
        }
        ValueKind::String if depth > 0 => out.push_str(&format!("{value:?}")),
        _ => out.push_str(&value.to_string()),
    }
    Ok(())
}

struct JsonStyle {
    ensure_ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

/// `value | tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False)`.
pub fn tojson(
    state: &State,
    value: &Value,
    ensure_ascii: Option<bool>,
    kwargs: Kwargs,
) -> Result<Value, Error> {
    let style = json_style(ensure_ascii, &kwargs)?;
    let mut out = String::new();
    let mut charger = Charger { state, charged: 0 };
    write_json(value, 0, &style, &mut charger, &mut out)?;
    charger.node(out.len())?;
    Ok(Value::from(out))
}

fn json_style(ensure_ascii: Option<bool>, kwargs: &Kwargs) -> Result<JsonStyle, Error> {
    let indent: Option<Value> = kwargs.get("indent")?;
    let indent = match indent.filter(|v| !v.is_none()) {
        None => None,
        Some(v) if v.kind() == ValueKind::String => Some(v.to_string()),
        Some(v) => Some(" ".repeat(usize::try_from(v)?.min(WIDEST_INDENT))),
    };
    if indent.as_ref().is_some_and(|i| i.len() > WIDEST_INDENT) {
        return Err(Error::new(ErrorKind::InvalidOperation, "indent too wide"));
    }
    let separators: Option<Value> = kwargs.get("separators")?;
    let (item_separator, key_separator) = match separators.filter(|v| !v.is_none()) {
        Some(pair) => (
            pair.get_item_by_index(0)?.to_string(),
            pair.get_item_by_index(1)?.to_string(),
        ),
        None if indent.is_some() => (",".into(), ": ".into()),
        None => (", ".into(), ": ".into()),
    };
    let style = JsonStyle {
        ensure_ascii: match ensure_ascii {
            Some(flag) => flag,
            None => kwargs.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        },
        indent,
        item_separator,
        key_separator,
        sort_keys: kwargs.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
    };
    kwargs.assert_all_used()?;
    Ok(style)
}

fn write_json(
    value: &Value,
    depth: usize,
    style: &JsonStyle,
    charger: &mut Charger,
    out: &mut String,
) -> Result<(), Error> {
    if depth > DEEPEST {
        return Err(too_deep());
    }
    charger.node(out.len())?;
    let bracketed = depth == 0 || (depth == 1 && value.kind() == ValueKind::Map);
    let begin = out.len();
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&json_number(value)),
        ValueKind::String => write_json_string(&value.to_string(), style, out),
        ValueKind::Map => {
            let mut keys = value.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
            if style.sort_keys {
                keys.sort();
            }
            out.push('{');
            for (index, key) in keys.iter().enumerate() {
                next_item(index, depth, style, out);
                write_json_string(&json_key(key), style, out);
                out.push_str(&style.key_separator);
                write_json(&value.get_item(key)?, depth + 1, style, charger, out)?;
            }
            close(keys.is_empty(), depth, style, out);
            out.push('}');
        }
        ValueKind::Seq | ValueKind::Iterable => {
            out.push('[');
            let mut empty = true;
            for (index, item) in value.try_iter()?.checked().enumerate() {
                empty = false;
                next_item(index, depth, style, out);
                write_json(&item?, depth + 1, style, charger, out)?;
            }
            close(empty, depth, style, out);
            out.push(']');
        }
        kind => {
            return Err(Error::new(
                ErrorKind::BadSerialization,
                format!("a value of type {kind} has no JSON form"),
            ))
        }
    }
    if bracketed {
        parts::bracket(out, begin);
    }
    Ok(())
}

fn next_item(index: usize, depth: usize, style: &JsonStyle, out: &mut String) {
    if index > 0 {
        out.push_str(&style.item_separator);
    }
    if style.indent.is_some() {
        new_line(depth + 1, style, out);
    }
}

fn close(empty: bool, depth: usize, style: &JsonStyle, out: &mut String) {
    if !empty && style.indent.is_some() {
        new_line(depth, style, out);
    }
}

fn new_line(depth: usize, style: &JsonStyle, out: &mut String) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str(style.indent.as_deref().unwrap_or_default());
    }
}

fn json_number(value: &Value) -> String {
    match as_float(value) {
        Some(f) if f.is_nan() => "NaN".into(),
        Some(f) if f.is_infinite() => if f > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        Some(f) => float_repr(f),
        None => value.to_string(),
    }
}

fn json_key(key: &Value) -> String {
    match key.kind() {
        ValueKind::None => "null".into(),
        ValueKind::Bool => if key.is_true() { "true" } else { "false" }.into(),
        ValueKind::Number => json_number(key),
        _ => key.to_string(),
    }
}

fn write_json_string(text: &str, style: &JsonStyle, out: &mut String) {
    let mark = MARK.get();
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if style.ensure_ascii && !c.is_ascii() && Some(c) != mark && !parts::is_anchor(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::float_repr;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (123456789.123, "123456789.123"),
        ] {
            assert_eq!(float_repr(value), text);
        }
    }
}
