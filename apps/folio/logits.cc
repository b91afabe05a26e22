#include <memory>
#include <string>
#include <vector>

#include "engine/session.h"
#include "folio/chunked_logits.h"
#include "folio/commands.h"
#include "folio/engine_args.h"
#include "folio/input.h"
#include "folio/npy_writer.h"
#include "folio/options.h"
#include "folio/output.h"

namespace folio {
namespace {

struct LogitsArgs {
  EngineArgs engine;
  std::string tokens;
  std::string out;
  bool json = false;
};

Status RunLogits(const LogitsArgs& args) {
  const Result<std::string> text = TextOrStdin(args.tokens);
  if (!text) return std::unexpected(text.error());
  const auto ids = ParseIds(*text);
  if (!ids) {
    return UsageError("logits", "--tokens", "'" + *text + "' is not a list of ids such as 1,2,3");
  }
  EngineArgs engine_args = args.engine;
  if (engine_args.context == 0) engine_args.context = static_cast<std::int64_t>(ids->size());
  const auto model = LoadModel(engine_args);
  if (!model) return std::unexpected(model.error());
  Session session(**model);
  // Before the file: a refusal must leave what was there.
  if (Status checked = session.CheckTokens(*ids); !checked) return checked;
  const std::int64_t vocab = (*model)->config().vocab;
  Result<NpyWriter> writer =
      NpyWriter::Create(args.out, static_cast<std::int64_t>(ids->size()), vocab);
  if (!writer) return std::unexpected(writer.error());
  const Status computed = ForEachLogits(
      **model, session, *ids,
      [&](std::size_t, std::span<const float> logits) { return writer->Write(logits); });
  if (!computed) return computed;
  if (Status closed = writer->Close(); !closed) return closed;
  if (!args.json) return {};
  OutputJson document;
  document["path"] = args.out;
  document["positions"] = ids->size();
  document["vocab"] = vocab;
  document["isa"] = std::string(IsaName((*model)->isa()));
  return WriteJson(document);
}

}  // namespace

void AddLogits(const Command& folio) {
  auto args = std::make_shared<LogitsArgs>();
  const Command command = folio.AddCommand(
      "logits", "logits after every token, to a file that other engines can be checked with");
  AddModelArg(command, args->engine.model);
  command.AddText("--tokens", args->tokens, "ids, 1,2,3; - reads them from stdin").Required();
  command.AddText("--out", args->out, "a NumPy file: float32 [positions, vocab]").Required();
  command.AddFlag("--json", args->json, "print one JSON document about it");
  AddEngineArgs(command, args->engine);
  command.SetAction([args] { return RunLogits(*args); });
}

}  // namespace folio
