// The options of a command. This is all that commands see of CLI11, a header that costs seconds in
// every file that includes it: options.cc, its test and command_line.cc alone do.
#ifndef FOLIO_APPS_FOLIO_OPTIONS_H_
#define FOLIO_APPS_FOLIO_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace folio {

// "8GiB", "512MiB", "1.5GB" or a plain count of bytes; nothing if it is none of these or too large.
std::optional<std::uint64_t> ParseByteSize(std::string_view text);
// "1,2,3", blanks allowed; nothing unless every part is a number that fits.
std::optional<std::vector<std::int32_t>> ParseIds(std::string_view text);

// What a command does once the command line has been read.
using Action = std::function<Status()>;

// An option that was just added, to say more about it.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option Required() const;
  // What the help says that it takes, in place of TEXT.
  Option Takes(const std::string& type) const;
  // Given twice, it is a usage error, though its values go to a list.
  Option Once() const;

 private:
  CLI::Option* option_;
};

// What an option's value is, once the command line has been read.
using OptionValue =
    std::variant<bool, std::int64_t, std::uint64_t, double, std::string, std::vector<std::string>>;
struct OptionFact {
  std::string name;  // "--port", "MODEL"
  OptionValue value;
  bool given = false;  // on the command line; else it is the default
};

// A command of the command line, or under Group() the part of it that the help shows under one
// heading. A handle: the CLI::App, the action and every `value` have to live until the command line
// has been read. A name without dashes is an argument: its place among those counts. A value that
// is refused becomes a usage error that names the option and the value in one line.
class Command {
 public:
  Command(CLI::App& app, Action& action);

  std::string Name() const;
  // The same command; what is added to it stands under this heading.
  Command Group(const std::string& heading) const;

  Option AddFlag(const std::string& name, bool& value, const std::string& help) const;
  Option AddText(const std::string& name, std::string& value, const std::string& help) const;
  // May be given several times, with one text each time; an argument takes all that are left.
  Option AddTexts(const std::string& name, std::vector<std::string>& values,
                  const std::string& help) const;
  // A whole number from `low` to `high`.
  Option AddWhole(const std::string& name, std::int64_t& value, std::int64_t low, std::int64_t high,
                  const std::string& help) const;
  Option AddSeed(const std::string& name, std::optional<std::uint64_t>& value,
                 const std::string& help) const;
  // A decimal number; its range is checked where it is used.
  Option AddReal(const std::string& name, float& value, const std::string& help) const;
  // At least one byte.
  Option AddByteSize(const std::string& name, std::uint64_t& value, const std::string& help) const;

  // Its options in the order in which they were added, after the command line has been read.
  std::vector<OptionFact> Facts() const;

  // The last words of its help.
  void SetFooter(const std::string& text) const;
  Command AddCommand(const std::string& name, const std::string& help) const;
  // What there is to do if this command was asked for, and none of its own commands.
  void SetAction(Action action) const;

 private:
  CLI::App* app_;
  Action* action_;
  std::string heading_ = "Options";
  struct Added;
  // Shared with the command's groups.
  std::shared_ptr<std::vector<Added>> added_;
  Option Note(const std::string& name, CLI::Option& option,
              std::function<OptionValue()> value) const;
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_OPTIONS_H_
