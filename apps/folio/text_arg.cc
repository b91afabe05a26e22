#include "folio/text_arg.h"

#include <utility>

#include "folio/engine_args.h"
#include "folio/input.h"

namespace folio {

void TextArg::AddTo(CLI::App& app, const std::string& name, const std::string& help,
                    std::string& model) {
  app_ = &app;
  name_ = name;
  model_ = &model;
  AddModelArg(app, model);
  app.add_option("STDIN", dash_, "- reads the text from standard input, byte for byte");
  option_ = app.add_option(name, text_, help)->type_name("TEXT");
}

Result<std::string> TextArg::Read() {
  const std::string command = app_->get_name();
  if (*model_ == "-" && dash_.empty()) std::swap(*model_, dash_);  // without MODEL
  if (!dash_.empty() && dash_ != "-") {
    return UsageError(command, dash_, "is one argument too many");
  }
  const bool has_option = option_->count() > 0;
  if (has_option && !dash_.empty()) {
    return UsageError(command, "-", "stdin and " + name_ + " exclude each other");
  }
  if (!has_option && dash_.empty()) {
    return UsageError(command, name_, "is missing; give " + name_ + " TEXT, or - for stdin");
  }
  return TextOrStdin(has_option ? text_ : dash_);
}

}  // namespace folio
