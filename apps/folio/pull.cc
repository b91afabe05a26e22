#include "store/pull.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "folio/commands.h"
#include "folio/hub_environment.h"
#include "folio/options.h"
#include "folio/output.h"
#include "folio/progress_bar.h"

namespace folio {
namespace {

struct PullArgs {
  std::string source;
  std::string sha256;
  std::int64_t timeout = 30;
  bool json = false;
};

Result<PullOptions> OptionsOf(const PullArgs& args) {
  PullOptions options;
  options.sha256 = args.sha256;
  options.stall = std::chrono::seconds(args.timeout);
  if (!args.sha256.empty() && !IsSha256Hex(args.sha256)) {
    return UsageError("--sha256", "", "'" + args.sha256 + "' is not 64 hex digits");
  }
  Result<HubEnvironment> environment = ReadHubEnvironment();
  if (!environment) return std::unexpected(environment.error());
  options.hub = std::move(environment->hub);
  options.token = std::move(environment->token);
  return options;
}

Status PrintFiles(const std::vector<PulledFile>& files, const PullArgs& args) {
  if (args.json) {
    OutputJson list = OutputJson::array();
    for (const PulledFile& file : files) {
      list.push_back({{"path", file.path},
                      {"bytes", file.bytes},
                      {"sha256", file.sha256.empty() ? OutputJson() : OutputJson(file.sha256)},
                      {"verified", file.verified},
                      {"was_there", file.was_there}});
    }
    return WriteJson({{"source", ShownUrl(args.source)}, {"files", list}});
  }
  for (const PulledFile& file : files) {
    const char* state = file.was_there  ? "already there"
                        : file.verified ? "checksum verified"
                                        : "the server gave no checksum to verify";
    const std::string line = file.path + "  " + HumanBytes(file.bytes) + ", " + state + "\n";
    if (Status written = WriteOutput(line); !written) return written;
  }
  return {};
}

Status RunPull(const PullArgs& args) {
  const Result<ModelSource> source = ParseModelSource(args.source);
  if (!source) return std::unexpected(source.error());
  const Result<PullOptions> options = OptionsOf(args);
  if (!options) return std::unexpected(options.error());
  const Result<ModelStore> store = ModelStore::FromEnvironment();
  if (!store) return std::unexpected(store.error());
  ProgressBar bar("fetching");
  const auto files = Pull(*source, *store, *options, [&bar](const PullProgress& progress) {
    bar.SetLabel(ForTerminal(std::filesystem::path(progress.file).filename().string()));
    bar.UpdateBytes(progress.done, progress.total);
  });
  if (!files) return std::unexpected(files.error());
  return PrintFiles(*files, args);
}

}  // namespace

void AddPull(const Command& folio) {
  auto args = std::make_shared<PullArgs>();
  const Command command = folio.AddCommand("pull", "fetch a model into the store");
  command.AddText("SOURCE", args->source, "hf:ORG/REPO[:QUANT] or the URL of a .gguf file")
      .Required();
  command.AddText("--sha256", args->sha256, "the file's SHA-256, to verify it");
  command.AddWhole("--timeout", args->timeout, 1, 86400,
                   "give up after so many seconds without a byte (default: 30)");
  command.AddFlag("--json", args->json, "print one JSON document");
  command.SetFooter(
      "Environment: HF_TOKEN for private models, HF_ENDPOINT for another hub, FOLIO_HOME for "
      "another store.");
  command.SetAction([args] { return RunPull(*args); });
}

}  // namespace folio
