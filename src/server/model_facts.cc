#include "server/model_facts.h"

#include <ctime>
#include <string>
#include <utility>

namespace folio {
namespace {

// RFC 3339, in UTC.
std::string DateOf(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::string text(20, '\0');
  std::strftime(text.data(), text.size() + 1, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

Json ModelJson(const ModelListing& model) {
  const std::int64_t context = model.context;
  Json meta = {{"n_ctx", context}};
  if (model.trained_context > 0) meta["n_ctx_train"] = model.trained_context;
  return {{"id", model.id},
          {"object", "model"},
          {"created", model.known_since},
          {"owned_by", "folio"},
          {"context_length", context},
          {"context_window", context},
          {"max_model_len", context},
          {"max_context_length", context},
          {"meta", std::move(meta)},
          {"loaded", model.loaded},
          {"type", "model"},
          {"display_name", model.id},
          {"created_at", DateOf(model.known_since)},
          {"max_input_tokens", context},
          {"max_tokens", context}};
}

Json ModelListJson(std::span<const ModelListing> models) {
  Json list = Json::array();
  for (const ModelListing& model : models) list.push_back(ModelJson(model));
  const Json first = list.empty() ? Json() : list.front()["id"];
  const Json last = list.empty() ? Json() : list.back()["id"];
  // Codex looks for `models`.
  return {{"object", "list"},  {"models", list},    {"data", std::move(list)},
          {"has_more", false}, {"first_id", first}, {"last_id", last}};
}

}  // namespace folio
