#include "server/turn_probe.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "formats/json.h"

namespace folio {
namespace {

constexpr const char* kThought = "seven times eight";

const Json& Question() {
  static const Json kQuestion = {{"role", "user"}, {"content", "How much?"}};
  return kQuestion;
}

Json Answer() { return {{"role", "assistant"}, {"content", "56"}}; }

Json Thinking(Json answer) {
  answer["reasoning_content"] = kThought;
  return answer;
}

Json Call() {
  return {{"role", "assistant"},
          {"content", ""},
          {"tool_calls",
           Json::array({{{"id", "a1b2c3d4e"},
                         {"type", "function"},
                         {"function", {{"name", "count"}, {"arguments", Json::object()}}}}})}};
}

Json ResultOfCall() {
  return {{"role", "tool"}, {"tool_call_id", "a1b2c3d4e"}, {"name", "count"}, {"content", "56"}};
}

// Nothing where the template refuses it.
std::optional<std::string> Rendered(const ServedModel& model, const Json& messages) {
  const auto prompt = model.engine().RenderChat(DumpJson(messages));
  if (!prompt) return std::nullopt;
  std::string text;
  for (const std::int32_t token : prompt->tokens) {
    const std::string_view bytes = model.TokenBytes(token);
    text += bytes.empty() ? model.TokenPiece(token) : bytes;
  }
  return text;
}

// Of the first of both texts, from where they differ on; empty if the second goes on from it.
std::string LostEnd(const std::string& earlier, const std::string& later) {
  const auto [here, there] = std::ranges::mismatch(earlier, later);
  return {here, earlier.end()};
}

std::string OnOneLine(const std::string& text) { return DumpJson(Json(text)); }

}  // namespace

std::vector<std::string> TurnNotes(const ServedModel& model) {
  std::vector<std::string> notes;
  const auto first = Rendered(model, Json::array({Question()}));
  const auto second = Rendered(model, Json::array({Question(), Answer(), Question()}));
  if (!first || !second) return notes;
  if (const std::string lost = LostEnd(*first, *second); !lost.empty()) {
    notes.push_back("the chat template begins a reply with " + OnOneLine(lost) +
                    " only while it is the last: each turn is found up to the reply before it, "
                    "which is computed again");
  }
  if (model.syntax().reasoning == ReasoningSyntax::kNone) return notes;
  const auto keeps = [&](const Json& messages) {
    const auto text = Rendered(model, messages);
    return text && text->contains(kThought);
  };
  if (keeps(Json::array({Question(), Thinking(Answer()), Question()}))) return notes;
  const bool in_turn = keeps(Json::array({Question(), Thinking(Call()), ResultOfCall()}));
  notes.push_back(
      std::string("the chat template leaves the reasoning of earlier turns out: after a reply with "
                  "reasoning, the next turn is found up to that reply") +
      (in_turn ? "; between a turn's calls and their results it stays" : ""));
  return notes;
}

}  // namespace folio
