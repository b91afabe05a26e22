#include "folio/options.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include <CLI/CLI.hpp>

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

// An option whose value `take` gets, and refuses by throwing, as CLI11 wants it.
template <typename Take>
CLI::Option& AddChecked(CLI::App& app, const std::string& heading, const std::string& name,
                        const std::string& type, const std::string& help, const Take& take) {
  const auto take_one = [take](const CLI::results_t& results) {
    take(results.front());
    return true;
  };
  return *app.add_option(name, take_one, help)->type_name(type)->group(heading);
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

Option Option::Required() const {
  option_->required();
  return *this;
}

Option Option::Takes(const std::string& type) const {
  option_->type_name(type);
  return *this;
}

Option Option::Once() const {
  option_->expected(1);
  return *this;
}

struct Command::Added {
  std::string name;
  const CLI::Option* option = nullptr;
  std::function<OptionValue()> value;
};

Command::Command(CLI::App& app, Action& action)
    : app_(&app), action_(&action), added_(std::make_shared<std::vector<Added>>()) {}

Option Command::Note(const std::string& name, CLI::Option& option,
                     std::function<OptionValue()> value) const {
  added_->push_back({.name = name, .option = &option, .value = std::move(value)});
  return Option(option);
}

std::vector<OptionFact> Command::Facts() const {
  std::vector<OptionFact> facts;
  for (const Added& added : *added_) {
    facts.push_back(
        {.name = added.name, .value = added.value(), .given = added.option->count() > 0});
  }
  return facts;
}

std::string Command::Name() const { return app_->get_name(); }

Command Command::Group(const std::string& heading) const {
  Command group = *this;
  group.heading_ = heading;
  return group;
}

Option Command::AddFlag(const std::string& name, bool& value, const std::string& help) const {
  return Note(name, *app_->add_flag(name, value, help)->group(heading_),
              [&value] { return OptionValue(value); });
}

Option Command::AddText(const std::string& name, std::string& value,
                        const std::string& help) const {
  return Note(name, *app_->add_option(name, value, help)->group(heading_),
              [&value] { return OptionValue(value); });
}

Option Command::AddTexts(const std::string& name, std::vector<std::string>& values,
                         const std::string& help) const {
  CLI::Option* const option = app_->add_option(name, values, help)
                                  ->type_name("TEXT")
                                  ->type_size(1)
                                  ->allow_extra_args(!name.starts_with('-'))
                                  ->group(heading_);
  return Note(name, *option, [&values] { return OptionValue(values); });
}

Option Command::AddWhole(const std::string& name, std::int64_t& value, std::int64_t low,
                         std::int64_t high, const std::string& help) const {
  const auto take = [&value, name, low, high](const std::string& text) {
    const std::optional<std::int64_t> number = ParseNumber<std::int64_t>(text);
    if (!number || *number < low || *number > high) {
      Refuse(name, text,
             "is not a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    }
    value = *number;
  };
  return Note(name, AddChecked(*app_, heading_, name, "N", help, take),
              [&value] { return OptionValue(value); });
}

Option Command::AddSeed(const std::string& name, std::optional<std::uint64_t>& value,
                        const std::string& help) const {
  const auto take = [&value, name](const std::string& text) {
    value = ParseNumber<std::uint64_t>(text);
    if (!value) Refuse(name, text, "is not a whole number from 0 to 2^64 - 1");
  };
  return Note(name, AddChecked(*app_, heading_, name, "N", help, take),
              [&value] { return OptionValue(value.value_or(0)); });
}

Option Command::AddReal(const std::string& name, float& value, const std::string& help) const {
  const auto take = [&value, name](const std::string& text) {
    const std::optional<float> number = ParseNumber<float>(text);
    if (!number || !std::isfinite(*number)) Refuse(name, text, "is not a number");
    value = *number;
  };
  return Note(name, AddChecked(*app_, heading_, name, "X", help, take),
              [&value] { return OptionValue(double{value}); });
}

Option Command::AddByteSize(const std::string& name, std::uint64_t& value,
                            const std::string& help) const {
  const auto take = [&value, name](const std::string& text) {
    const std::optional<std::uint64_t> bytes = ParseByteSize(text);
    if (!bytes || *bytes == 0) Refuse(name, text, "is not a size such as 8GiB or 512MiB");
    value = *bytes;
  };
  return Note(name, AddChecked(*app_, heading_, name, "SIZE", help, take),
              [&value] { return OptionValue(value); });
}

void Command::SetFooter(const std::string& text) const { app_->footer(text); }

Command Command::AddCommand(const std::string& name, const std::string& help) const {
  return {*app_->add_subcommand(name, help), *action_};
}

void Command::SetAction(Action action) const {
  // CLI11 calls a command's own commands back before it.
  app_->callback([&chosen = *action_, action = std::move(action)] {
    if (!chosen) chosen = action;
  });
}

}  // namespace folio
