#include "api/sampling_fields.h"

#include <limits>
#include <utility>

namespace folio {
namespace {

constexpr std::size_t kMostStops = 32;
constexpr std::size_t kLongestStop = 4096;  // bytes
constexpr std::int64_t kMostTopK = std::numeric_limits<std::int32_t>::max();

void AddStop(Fields& fields, const std::string& path, const Json& stop,
             std::vector<std::string>& stops) {
  if (!stop.is_string()) return fields.RefuseKind(path, stop, "a string");
  auto text = stop.get<std::string>();
  if (text.empty()) return fields.Refuse(path, "is empty");
  if (text.size() > kLongestStop) {
    return fields.Refuse(path, "has " + std::to_string(text.size()) + " bytes; at most " +
                                   std::to_string(kLongestStop) + " are taken");
  }
  stops.push_back(std::move(text));
}

}  // namespace

void ReadSampling(Fields& fields, SamplingParams& sampling) {
  sampling.temperature = fields.Real("temperature", 0.0F, 100.0F).value_or(1.0F);
  sampling.top_p = fields.Real("top_p", 0.0F, 1.0F).value_or(1.0F);
  // OpenAI's 0 means the best token alone, and so does the smallest share.
  if (sampling.top_p == 0.0F) sampling.top_p = std::numeric_limits<float>::min();
  const std::int64_t top_k = fields.Whole("top_k", -1, kMostTopK).value_or(0);
  sampling.top_k = top_k < 0 ? 0 : static_cast<int>(top_k);
  sampling.min_p = fields.Real("min_p", 0.0F, 1.0F).value_or(0.0F);
  sampling.repeat_penalty = fields.Real("repeat_penalty", 0.01F, 100.0F).value_or(1.0F);
  sampling.presence_penalty = fields.Real("presence_penalty", -2.0F, 2.0F).value_or(0.0F);
  sampling.frequency_penalty = fields.Real("frequency_penalty", -2.0F, 2.0F).value_or(0.0F);
}

std::optional<std::uint64_t> ReadSeed(Fields& fields) {
  const Json* found = fields.Find("seed");
  if (found == nullptr) return std::nullopt;
  if (!found->is_number_integer()) {
    fields.RefuseKind("seed", *found, "a whole number");
    return std::nullopt;
  }
  if (found->is_number_unsigned()) return found->get<std::uint64_t>();
  return static_cast<std::uint64_t>(found->get<std::int64_t>());
}

void ReadStops(Fields& fields, std::string_view name, std::vector<std::string>& stops) {
  const Json* stop = fields.Find(name);
  if (stop == nullptr) return;
  if (stop->is_string()) return AddStop(fields, std::string(name), *stop, stops);
  if (!stop->is_array()) return fields.RefuseKind(name, *stop, "a string or a list of strings");
  if (stop->size() > kMostStops) {
    return fields.Refuse(name, "has " + std::to_string(stop->size()) + " strings; at most " +
                                   std::to_string(kMostStops) + " are taken");
  }
  for (std::size_t i = 0; i < stop->size(); ++i) {
    AddStop(fields, ItemPath(name, i), (*stop)[i], stops);
  }
}

}  // namespace folio
