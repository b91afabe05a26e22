//! Names for what a prompt is made of: by place and role, as in "messages[3] user".

use serde_json::Value as Json;

pub const LONGEST_NAME: usize = 64;
/// Members of a message that are parts of their own; further ones belong to the first.
const MOST_MEMBERS: usize = 16;
/// What comes after them is the last one's.
pub const MOST_PARTS: usize = 1 << 14;

/// What templates compare with words of their own, or count the letters of.
pub const STRUCTURE: [&str; 5] = ["role", "type", "id", "tool_call_id", "format"];

/// One message's content, its tool calls, one tool, one variable.
pub struct Part {
    pub label: String,
    /// 1 + the index of its message; 0 for what is no message.
    pub message: u32,
}

/// The parts that messages and variables consist of, in order; the first ones of very many.
pub fn describe(messages: &Json, extra: &Json) -> Vec<Part> {
    let mut parts = Vec::new();
    let items = messages.as_array().into_iter().flatten();
    for (index, message) in items.enumerate().take(MOST_PARTS) {
        let own = message_parts(index, message);
        let message = index as u32 + 1;
        parts.extend(own.into_iter().map(|label| Part { label, message }));
    }
    for (key, member) in extra.as_object().into_iter().flatten() {
        let room = MOST_PARTS.saturating_sub(parts.len());
        match member {
            Json::Array(items) => parts.extend(items.iter().enumerate().take(room).map(
                |(index, item)| Part {
                    label: item_label(key, index, item),
                    message: 0,
                },
            )),
            _ => parts.extend((room > 0).then(|| Part {
                label: shown(key),
                message: 0,
            })),
        }
    }
    parts.truncate(MOST_PARTS);
    parts
}

fn message_parts(index: usize, message: &Json) -> Vec<String> {
    let base = message_label(index, message);
    let mut own = vec![];
    for (key, member) in message.as_object().into_iter().flatten() {
        let label = member_label(&base, key, member);
        let fits = own.len() < MOST_MEMBERS && !own.contains(&label);
        if fits && key != "role" && has_text(member) {
            own.push(label);
        }
    }
    if own.is_empty() {
        own.push(base);
    }
    own
}

pub fn message_label(index: usize, message: &Json) -> String {
    match message.get("role").and_then(Json::as_str) {
        Some("system" | "developer") if index == 0 => "system".into(),
        Some(role) => format!("messages[{index}] {}", shown(role)),
        None => format!("messages[{index}]"),
    }
}

pub fn member_label(base: &str, key: &str, member: &Json) -> String {
    if key == "content" || STRUCTURE.contains(&key) || (key == "name" && member.is_string()) {
        base.to_owned()
    } else {
        format!("{base} {}", shown(key))
    }
}

fn item_label(key: &str, index: usize, item: &Json) -> String {
    let name = item.get("function").unwrap_or(item).get("name");
    match name.and_then(Json::as_str) {
        Some(name) => format!("{}[{index}] {}", shown(key), shown(name)),
        None => format!("{}[{index}]", shown(key)),
    }
}

/// A caller's name as one short line.
fn shown(name: &str) -> String {
    name.chars()
        .take(LONGEST_NAME)
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}

fn has_text(value: &Json) -> bool {
    match value {
        Json::String(text) => !text.trim().is_empty(),
        Json::Array(items) => items.iter().any(has_text),
        Json::Object(members) => members.values().any(has_text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_are_named_by_their_place() {
        let messages = json!([
            {"role": "system", "content": "x"},
            {"role": "user", "content": [{"type": "text", "text": "y"}]},
            {"role": "assistant", "content": "", "reasoning_content": "why",
             "tool_calls": [{"function": {"name": "f"}}]},
            {"role": "tool", "content": "", "tool_call_id": "1"},
            "no object"
        ]);
        let extra = json!({"tools": [{"function": {"name": "f\ng"}}, 1], "date": "today"});
        let labels: Vec<String> = describe(&messages, &extra)
            .into_iter()
            .map(|p| format!("{} {}", p.message, p.label))
            .collect();
        assert_eq!(
            labels,
            [
                "1 system",
                "2 messages[1] user",
                "3 messages[2] assistant reasoning_content",
                "3 messages[2] assistant tool_calls",
                "4 messages[3] tool",
                "5 messages[4]",
                "0 tools[0] f?g",
                "0 tools[1]",
                "0 date"
            ]
        );
    }
}
