#include "folio/options.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace folio {
namespace {

template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

[[noreturn]] void Refuse(const std::string& name, const std::string& value,
                         const std::string& why) {
  throw CLI::ValidationError(name, "'" + value + "' " + why);
}

// `take` gets the text and refuses it by throwing, as CLI11 wants it.
template <typename Take>
CLI::Option* AddChecked(CLI::App& app, const std::string& name, const std::string& type,
                        const std::string& help, const Take& take) {
  return app
      .add_option(
          name,
          [take](const CLI::results_t& results) {
            take(results.front());
            return true;
          },
          help)
      ->type_name(type);
}

}  // namespace

std::optional<std::uint64_t> ParseByteSize(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 9> kUnits = {{{"KiB", 0x1p10},
                                                                          {"MiB", 0x1p20},
                                                                          {"GiB", 0x1p30},
                                                                          {"TiB", 0x1p40},
                                                                          {"KB", 1e3},
                                                                          {"MB", 1e6},
                                                                          {"GB", 1e9},
                                                                          {"TB", 1e12},
                                                                          {"B", 1}}};
  double factor = 1;
  for (const auto& [unit, bytes] : kUnits) {
    if (!text.ends_with(unit)) continue;
    factor = bytes;
    text.remove_suffix(unit.size());
    break;
  }
  while (text.ends_with(' ')) text.remove_suffix(1);
  const std::optional<double> value = ParseNumber<double>(text);
  if (!value || !(*value >= 0) || *value * factor > 0x1p60) return std::nullopt;
  return static_cast<std::uint64_t>(std::floor(*value * factor));
}

std::optional<std::vector<std::int32_t>> ParseIds(std::string_view text) {
  std::vector<std::int32_t> ids;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    const std::size_t first = part.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return std::nullopt;
    part = part.substr(first, part.find_last_not_of(" \t\r\n") - first + 1);
    const std::optional<std::int32_t> id = ParseNumber<std::int32_t>(part);
    if (!id) return std::nullopt;
    ids.push_back(*id);
    if (comma == std::string_view::npos) return ids;
    text.remove_prefix(comma + 1);
  }
}

CLI::Option* AddWhole(CLI::App& app, const std::string& name, std::int64_t& value, std::int64_t low,
                      std::int64_t high, const std::string& help) {
  return AddChecked(app, name, "N", help, [&value, name, low, high](const std::string& text) {
    const std::optional<std::int64_t> number = ParseNumber<std::int64_t>(text);
    if (!number || *number < low || *number > high) {
      Refuse(name, text,
             "is not a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    }
    value = *number;
  });
}

CLI::Option* AddSeed(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& value,
                     const std::string& help) {
  return AddChecked(app, name, "N", help, [&value, name](const std::string& text) {
    value = ParseNumber<std::uint64_t>(text);
    if (!value) Refuse(name, text, "is not a whole number from 0 to 2^64 - 1");
  });
}

CLI::Option* AddReal(CLI::App& app, const std::string& name, float& value,
                     const std::string& help) {
  return AddChecked(app, name, "X", help, [&value, name](const std::string& text) {
    const std::optional<float> number = ParseNumber<float>(text);
    if (!number || !std::isfinite(*number)) Refuse(name, text, "is not a number");
    value = *number;
  });
}

CLI::Option* AddByteSize(CLI::App& app, const std::string& name, std::uint64_t& value,
                         const std::string& help) {
  return AddChecked(app, name, "SIZE", help, [&value, name](const std::string& text) {
    const std::optional<std::uint64_t> bytes = ParseByteSize(text);
    if (!bytes || *bytes == 0) Refuse(name, text, "is not a size such as 8GiB or 512MiB");
    value = *bytes;
  });
}

}  // namespace folio
