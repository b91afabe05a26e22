// The subcommands of `folio`: each adds itself, with what it does, to the command line.
#ifndef FOLIO_APPS_FOLIO_COMMANDS_H_
#define FOLIO_APPS_FOLIO_COMMANDS_H_

#include "folio/options.h"

namespace folio {

void AddBatch(const Command& folio);
void AddBench(const Command& folio);
void AddChat(const Command& folio);
void AddConnect(const Command& folio);
void AddLab(const Command& folio);
void AddLogits(const Command& folio);
void AddModels(const Command& folio);
void AddPerplexity(const Command& folio);
void AddPlan(const Command& folio);
void AddPull(const Command& folio);
void AddRun(const Command& folio);
void AddServe(const Command& folio);
void AddShow(const Command& folio);
void AddTokenize(const Command& folio);
void AddVerify(const Command& folio);

// The whole command line: parses, runs, reports an error as one line on stderr. Returns the exit
// code of cli.md.
int RunCommandLine(int argc, const char* const* argv);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_COMMANDS_H_
