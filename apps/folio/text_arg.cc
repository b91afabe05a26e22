#include "folio/text_arg.h"

#include <algorithm>
#include <utility>

#include "folio/engine_args.h"
#include "folio/input.h"

namespace folio {

void TextArg::AddTo(CLI::App& app, const std::string& name, const std::string& help,
                    std::string& model) {
  AddManyTo(app, name, help, model);
  option_->expected(1);
}

void TextArg::AddManyTo(CLI::App& app, const std::string& name, const std::string& help,
                        std::string& model) {
  app_ = &app;
  name_ = name;
  model_ = &model;
  AddModelArg(app, model);
  app.add_option("STDIN", dash_, "- reads the text from standard input, byte for byte");
  option_ =
      app.add_option(name, texts_, help)->type_name("TEXT")->type_size(1)->allow_extra_args(false);
}

Result<std::string> TextArg::Read() {
  Result<std::vector<std::string>> texts = ReadAll();
  if (!texts) return std::unexpected(texts.error());
  return std::move(texts->front());
}

Result<std::vector<std::string>> TextArg::ReadAll() {
  const std::string command = app_->get_name();
  if (*model_ == "-" && dash_.empty()) std::swap(*model_, dash_);  // without MODEL
  if (!dash_.empty() && dash_ != "-") {
    return UsageError(command, dash_, "is one argument too many");
  }
  if (!texts_.empty() && !dash_.empty()) {
    return UsageError(command, "-", "stdin and " + name_ + " exclude each other");
  }
  if (texts_.empty() && dash_.empty()) {
    return UsageError(command, name_, "is missing; give " + name_ + " TEXT, or - for stdin");
  }
  if (std::ranges::count(texts_, "-") > 1) {
    return UsageError(command, name_, "- stands twice, but stdin can be read once");
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
