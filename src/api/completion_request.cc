#include <limits>
#include <string>
#include <utility>

#include "api/openai_request.h"
#include "api/openai_sampling.h"

namespace folio {
namespace {

constexpr std::int64_t kDefaultMaxTokens = 16;  // OpenAI's
constexpr std::size_t kMostPrompts = 2048;

std::vector<std::int32_t> ReadIds(Fields& fields, const std::string& path, const Json& list) {
  std::vector<std::int32_t> ids;
  ids.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Json& id = list[i];
    const std::string at = path + "[" + std::to_string(i) + "]";
    if (!id.is_number_integer()) {
      fields.RefuseKind(at, id, "a token id");
      break;
    }
    const auto value = id.get<std::int64_t>();
    if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) {
      fields.Refuse(at, "is " + id.dump() + ", no token id");
      break;
    }
    ids.push_back(static_cast<std::int32_t>(value));
  }
  return ids;
}

ApiPrompt ReadPrompt(Fields& fields, const std::string& path, const Json& prompt) {
  if (prompt.is_string()) return prompt.get<std::string>();
  if (!prompt.is_array()) {
    fields.RefuseKind(path, prompt, "a string or a list of token ids");
    return {};
  }
  if (prompt.empty()) fields.Refuse(path, "is empty");
  return ReadIds(fields, path, prompt);
}

// A string, token ids, or a list of either.
void ReadPrompts(Fields& fields, std::vector<ApiPrompt>& prompts) {
  const Json* prompt = fields.Find("prompt");
  if (prompt == nullptr) return fields.Refuse("prompt", "is missing");
  if (!prompt->is_array() || prompt->empty() || prompt->front().is_number()) {
    prompts.push_back(ReadPrompt(fields, "prompt", *prompt));
    return;
  }
  if (prompt->size() > kMostPrompts) {
    return fields.Refuse("prompt", "has " + std::to_string(prompt->size()) + " prompts; at most " +
                                       std::to_string(kMostPrompts) + " are taken");
  }
  for (std::size_t i = 0; i < prompt->size() && !fields.refused(); ++i) {
    prompts.push_back(ReadPrompt(fields, "prompt[" + std::to_string(i) + "]", (*prompt)[i]));
  }
}

void RefuseUnlessNeutral(Fields& fields, int choices) {
  if (fields.Flag("echo").value_or(false)) {
    fields.Refuse("echo", "is true: the prompt is not given back");
  }
  if (const auto suffix = fields.Text("suffix"); suffix && !suffix->empty()) {
    fields.Refuse("suffix", "is not supported");
  }
  const auto best_of = fields.Whole("best_of", 0, std::numeric_limits<std::int32_t>::max());
  if (best_of && *best_of != choices) {
    fields.Refuse("best_of", "is " + std::to_string(*best_of) + ", not n: replies are not ranked");
  }
}

}  // namespace

Result<ApiRequest> ParseCompletion(const Json& body) {
  ApiRequest request;
  std::optional<Error> refusal;
  Fields fields(body, "", refusal);
  ReadPrompts(fields, request.prompts);
  ReadCommonFields(fields, request);
  if (const auto top = fields.Whole("logprobs", 0, kMostTopLogprobs)) {
    request.request.sampling.logprobs = static_cast<int>(*top);
  }
  request.request.max_tokens =
      fields.Whole("max_tokens", 1, kMostTokens).value_or(kDefaultMaxTokens);
  RefuseUnlessNeutral(fields, request.request.choices);
  if (refusal) return std::unexpected(*refusal);
  return request;
}

}  // namespace folio
