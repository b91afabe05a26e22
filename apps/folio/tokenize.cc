#include <memory>
#include <string>
#include <vector>

#include "folio/commands.h"
#include "folio/options.h"
#include "folio/output.h"
#include "folio/text_arg.h"
#include "formats/open_model.h"
#include "store/model_store.h"
#include "text/tokenizer.h"

namespace folio {
namespace {

struct TokenizeArgs {
  std::string model;
  TextArg text;
  bool special = false;
  bool json = false;
};

Result<Tokenizer> OpenTokenizer(const std::string& model) {
  const Result<ModelStore> store = ModelStore::FromEnvironment();
  if (!store) return std::unexpected(store.error());
  const Result<std::string> path = store->Resolve(model);
  if (!path) return std::unexpected(path.error());
  const Result<ModelFile> file = OpenModelFile(*path);
  if (!file) return std::unexpected(file.error());
  return Tokenizer::FromModel(*file);
}

std::string OnOneLine(std::string_view piece) {
  std::string line;
  for (const char c : piece) {
    if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  return OutputIsTerminal() ? ForTerminal(line) : line;
}

Status PrintTokens(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, bool json) {
  if (json) {
    OutputJson pieces = OutputJson::array();
    for (const TokenId id : ids) pieces.push_back(std::string(tokenizer.TokenPiece(id)));
    OutputJson document;
    document["ids"] = ids;
    document["pieces"] = pieces;
    return WriteJson(document);
  }
  for (const TokenId id : ids) {
    const std::string line = std::to_string(id) + "\t" + OnOneLine(tokenizer.TokenPiece(id)) + "\n";
    if (Status written = WriteOutput(line); !written) return written;
  }
  return {};
}

Status RunTokenize(TokenizeArgs& args) {
  const Result<std::string> text = args.text.Read();
  if (!text) return std::unexpected(text.error());
  const Result<Tokenizer> tokenizer = OpenTokenizer(args.model);
  if (!tokenizer) return std::unexpected(tokenizer.error());
  const auto ids =
      tokenizer->Encode(*text, args.special ? SpecialTokens::kParse : SpecialTokens::kAsText);
  if (!ids) return std::unexpected(ids.error());
  return PrintTokens(*tokenizer, *ids, args.json);
}

}  // namespace

void AddTokenize(const Command& folio) {
  auto args = std::make_shared<TokenizeArgs>();
  const Command command = folio.AddCommand("tokenize", "the ids and pieces of a text");
  args->text.AddTo(command, "--text", "the text; - reads stdin", args->model);
  command.AddFlag("--special", args->special, "parse spellings of control tokens");
  command.AddFlag("--json", args->json, "print one JSON document: ids and pieces");
  command.SetAction([args] { return RunTokenize(*args); });
}

}  // namespace folio
