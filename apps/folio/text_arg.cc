#include "folio/text_arg.h"

#include <algorithm>
#include <utility>

#include "folio/engine_args.h"
#include "folio/input.h"

namespace folio {

void TextArg::AddTo(const Command& command, const std::string& name, const std::string& help,
                    std::string& model) {
  Add(command, name, help, model).Once();
}

void TextArg::AddManyTo(const Command& command, const std::string& name, const std::string& help,
                        std::string& model) {
  Add(command, name, help, model);
}

Option TextArg::Add(const Command& command, const std::string& name, const std::string& help,
                    std::string& model) {
  command_ = command.Name();
  name_ = name;
  model_ = &model;
  AddModelArg(command, model);
  command.AddText("STDIN", dash_, "- reads the text from standard input, byte for byte");
  return command.AddTexts(name, texts_, help);
}

Result<std::string> TextArg::Read() {
  Result<std::vector<std::string>> texts = ReadAll();
  if (!texts) return std::unexpected(texts.error());
  return std::move(texts->front());
}

Result<std::vector<std::string>> TextArg::ReadAll() {
  if (*model_ == "-" && dash_.empty()) std::swap(*model_, dash_);  // without MODEL
  if (!dash_.empty() && dash_ != "-") {
    return UsageError(command_, dash_, "is one argument too many");
  }
  if (!texts_.empty() && !dash_.empty()) {
    return UsageError(command_, "-", "stdin and " + name_ + " exclude each other");
  }
  if (texts_.empty() && dash_.empty()) {
    return UsageError(command_, name_, "is missing; give " + name_ + " TEXT, or - for stdin");
  }
  if (std::ranges::count(texts_, "-") > 1) {
    return UsageError(command_, name_, "- stands twice, but stdin can be read once");
  }
  std::vector<std::string> texts;
  for (const std::string& given : texts_.empty() ? std::vector{dash_} : texts_) {
    Result<std::string> text = TextOrStdin(given);
    if (!text) return std::unexpected(text.error());
    texts.push_back(*std::move(text));
  }
  return texts;
}

}  // namespace folio
