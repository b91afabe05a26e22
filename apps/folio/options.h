// Options with a checked value: the message names the option and the value in one line.
#ifndef FOLIO_APPS_FOLIO_OPTIONS_H_
#define FOLIO_APPS_FOLIO_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace folio {

// "8GiB", "512MiB", "1.5GB" or a plain count of bytes; nothing if it is none of these or too large.
std::optional<std::uint64_t> ParseByteSize(std::string_view text);
// "1,2,3", blanks allowed; nothing unless every part is a number that fits.
std::optional<std::vector<std::int32_t>> ParseIds(std::string_view text);

// An option that takes a whole number from `low` to `high`.
CLI::Option* AddWhole(CLI::App& app, const std::string& name, std::int64_t& value, std::int64_t low,
                      std::int64_t high, const std::string& help);
CLI::Option* AddSeed(CLI::App& app, const std::string& name, std::optional<std::uint64_t>& value,
                     const std::string& help);
// An option that takes a decimal number; its range is checked where it is used.
CLI::Option* AddReal(CLI::App& app, const std::string& name, float& value, const std::string& help);
CLI::Option* AddByteSize(CLI::App& app, const std::string& name, std::uint64_t& value,
                         const std::string& help);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_OPTIONS_H_
