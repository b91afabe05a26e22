#include "api/anthropic_models.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

namespace folio {

std::string Rfc3339(std::int64_t seconds) {
  constexpr std::int64_t kLast = 253'402'300'799;  // 9999-12-31T23:59:59Z
  const std::chrono::sys_seconds time{
      std::chrono::seconds{std::clamp<std::int64_t>(seconds, 0, kLast)}};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text.data();
}

Json AnthropicModelJson(const AnthropicModel& model) {
  return {{"type", "model"},
          {"id", model.id},
          {"display_name", model.display_name},
          {"created_at", Rfc3339(model.created)},
          {"lifecycle", "active"},
          {"max_input_tokens", model.max_input},
          {"max_tokens", model.max_output}};
}

Json AnthropicModelsJson(std::span<const AnthropicModel> models) {
  Json data = Json::array();
  for (const AnthropicModel& model : models) data.push_back(AnthropicModelJson(model));
  const bool none = models.empty();
  return {{"data", std::move(data)},
          {"has_more", false},
          {"first_id", none ? Json() : Json(models.front().id)},
          {"last_id", none ? Json() : Json(models.back().id)}};
}

}  // namespace folio
