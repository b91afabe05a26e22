#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>

#include "folio/bus_error.h"
#include "folio/commands.h"
#include "folio/output.h"

namespace folio {
namespace {

constexpr int kRuntime = static_cast<int>(ErrorKind::kRuntime);

int Report(const Error& error) {
  std::fprintf(stderr, "folio: error: %s\n", error.Message().c_str());
  return static_cast<int>(error.kind);
}

// The command that was being parsed: the first argument that names one, or an empty string.
std::string CommandName(const CLI::App& app, int argc, const char* const* argv) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (int i = 1; i < argc; ++i) {
    for (const CLI::App* command : commands) {
      if (command->get_name() == argv[i]) return argv[i];
    }
  }
  return {};
}

int ReportUsage(const CLI::App& app, const CLI::ParseError& error, int argc,
                const char* const* argv) {
  const std::string command = CommandName(app, argc, argv);
  if (!command.empty()) {
    return Report({ErrorKind::kUsage, command, error.what(), "see `folio " + command + " --help`"});
  }
  const std::string wanted = argc > 1 ? argv[1] : "";
  if (wanted.empty() || wanted.starts_with('-')) {
    return Report({ErrorKind::kUsage, "command", error.what(), "see `folio --help`"});
  }
  return Report(
      {ErrorKind::kUsage, wanted, "command", "there is none of this name; see `folio --help`"});
}

int RunAction(const Action& action) {
  const Status status = action();
  const Status flushed = FlushOutput();
  if (OutputClosed()) return kRuntime;  // the reader left: it does not want a message either
  if (!status) return Report(status.error());
  return flushed ? 0 : Report(flushed.error());
}

// Help or the version.
int PrintAbout(const CLI::App& app, const CLI::ParseError& about) {
  std::ostringstream text;
  app.exit(about, text, text);
  return RunAction([&text] { return WriteOutput(text.str()); });
}

}  // namespace

int RunCommandLine(int argc, const char* const* argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed reader is a write error
  std::signal(SIGXFSZ, SIG_IGN);  // and so is a file size limit
  ReportBusErrors();
  CLI::App app("Folio runs large language models on this machine's CPUs.", "folio");
  app.set_version_flag("--version", std::string("folio ") + FOLIO_VERSION);
  app.require_subcommand(1);
  app.failure_message([](const CLI::App*, const CLI::Error&) { return std::string(); });
  Action action;
  const Command folio(app, action);
  AddChat(folio);
  AddRun(folio);
  AddBatch(folio);
  AddPull(folio);
  AddModels(folio);
  AddServe(folio);
  AddConnect(folio);
  AddShow(folio);
  AddTokenize(folio);
  AddLogits(folio);
  AddPerplexity(folio);
  AddPlan(folio);
  AddBench(folio);
  AddVerify(folio);
  AddLab(folio);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return PrintAbout(app, help);
  } catch (const CLI::CallForAllHelp& help) {
    return PrintAbout(app, help);
  } catch (const CLI::CallForVersion& version) {
    return PrintAbout(app, version);
  } catch (const CLI::ParseError& error) {
    return ReportUsage(app, error, argc, argv);
  }
  try {
    return RunAction(action);
  } catch (const std::bad_alloc&) {
    return Report({ErrorKind::kRuntime, "memory", "", "the system gives no more"});
  } catch (const std::exception& error) {
    return Report({ErrorKind::kRuntime, "internal", "", error.what()});
  }
}

}  // namespace folio
