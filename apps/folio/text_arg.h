// "[MODEL] --OPTION TEXT | -": a text given as an option, or standard input for a last "-".
#ifndef FOLIO_APPS_FOLIO_TEXT_ARG_H_
#define FOLIO_APPS_FOLIO_TEXT_ARG_H_

#include <string>
#include <vector>

#include "base/error.h"
#include "folio/options.h"

namespace folio {

class TextArg {
 public:
  // Adds [MODEL], [-] and --NAME. `this` and `model` must live until the command has run.
  void AddTo(const Command& command, const std::string& name, const std::string& help,
             std::string& model);
  // The same, and --NAME may be given several times.
  void AddManyTo(const Command& command, const std::string& name, const std::string& help,
                 std::string& model);
  // The text, from where it was asked for; "-" as the option's value means stdin too. Both or none
  // of the two is a usage error.
  Result<std::string> Read();
  // All of them, at least one. Stdin can be one of them.
  Result<std::vector<std::string>> ReadAll();

 private:
  Option Add(const Command& command, const std::string& name, const std::string& help,
             std::string& model);

  std::string command_;
  std::string name_;
  std::vector<std::string> texts_;
  std::string dash_;
  std::string* model_ = nullptr;
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_TEXT_ARG_H_
