// The subcommands of `folio`: each adds itself to the command line and, when it is the one that was
// asked for, leaves what there is to do in `action`.
#ifndef FOLIO_APPS_FOLIO_COMMANDS_H_
#define FOLIO_APPS_FOLIO_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "base/error.h"

namespace folio {

using Action = std::function<Status()>;

void AddBatch(CLI::App& app, Action& action);
void AddBench(CLI::App& app, Action& action);
void AddChat(CLI::App& app, Action& action);
void AddLab(CLI::App& app, Action& action);
void AddLogits(CLI::App& app, Action& action);
void AddModels(CLI::App& app, Action& action);
void AddPerplexity(CLI::App& app, Action& action);
void AddPull(CLI::App& app, Action& action);
void AddRun(CLI::App& app, Action& action);
void AddShow(CLI::App& app, Action& action);
void AddTokenize(CLI::App& app, Action& action);
void AddVerify(CLI::App& app, Action& action);

// The whole command line: parses, runs, reports an error as one line on stderr. Returns the exit
// code of cli.md.
int RunCommandLine(int argc, const char* const* argv);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_COMMANDS_H_
