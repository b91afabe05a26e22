// `folio connect`: how a coding agent is told of this server.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "folio/agent_config.h"
#include "folio/commands.h"
#include "folio/config_file.h"
#include "folio/options.h"
#include "folio/output.h"
#include "formats/json.h"
#include "store/http_client.h"
#include "store/model_source.h"

namespace folio {
namespace {

constexpr std::size_t kMostListBytes = std::size_t{1} << 20;
constexpr std::chrono::seconds kPatience(5);

struct ConnectArgs {
  std::string agent;
  std::string url = "http://127.0.0.1:8080";
  std::string model;
  std::int64_t context = 0;
  std::string key_variable;
  bool write = false;
};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string JoinNames(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// "http://host:port", whether or not the API's own path was given with it.
Result<std::string> RootUrl(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  if (url.ends_with("/v1")) url.resize(url.size() - 3);
  if (!url.starts_with("http") || UrlOrigin(url).empty()) {
    return UsageError("connect", "--url", "'" + ShownUrl(url) + "' is not a URL");
  }
  return url;
}

bool IsName(const std::string& variable) {
  return !variable.empty() && std::ranges::all_of(variable, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The model that the server has, or nothing where the list is another kind of document.
std::optional<Json> FindModel(const Json& list, const std::string& name) {
  if (!list.is_object() || !list.contains("data") || !list["data"].is_array()) return std::nullopt;
  for (const Json& model : list["data"]) {
    if (!model.is_object() || !model.contains("id") || !model["id"].is_string()) continue;
    if (name.empty() || model["id"] == name) return model;
  }
  return std::nullopt;
}

Status AskServer(const ConnectArgs& args, AgentTarget& target) {
  HttpClient::Options options;
  options.stall = kPatience;
  options.token = args.key_variable.empty() ? "" : Variable(args.key_variable.c_str());
  options.token_origin = UrlOrigin(target.url);
  const std::string url = target.url + "/v1/models";
  const std::string mend = "; give --model and --context to go on without it";
  const auto text = HttpClient(options).GetText(url, kMostListBytes);
  if (!text) return RuntimeError("connect", url, text.error().error.why + mend);
  const Result<Json> list = ParseJson(*text);
  const std::optional<Json> model = list ? FindModel(*list, args.model) : std::nullopt;
  if (!model) {
    const std::string which = args.model.empty() ? "no model" : "no model '" + args.model + "'";
    return RuntimeError("connect", url, "names " + which + mend);
  }
  target.model = (*model)["id"];
  if (target.context > 0) return {};
  if (!model->contains("context_length") || !(*model)["context_length"].is_number_integer()) {
    return RuntimeError("connect", url, "tells no context; give --context");
  }
  target.context = (*model)["context_length"];
  return {};
}

Result<AgentTarget> TargetOf(const ConnectArgs& args) {
  const Result<std::string> url = RootUrl(args.url);
  if (!url) return std::unexpected(url.error());
  if (!args.key_variable.empty() && !IsName(args.key_variable)) {
    return UsageError("connect", "--api-key-env",
                      "'" + args.key_variable + "' is no variable's name");
  }
  AgentTarget target{
      .url = *url, .model = args.model, .context = args.context, .key_variable = args.key_variable};
  if (!target.model.empty() && target.context > 0) return target;
  if (const Status asked = AskServer(args, target); !asked) return std::unexpected(asked.error());
  return target;
}

void Say(const std::string& line) {
  std::fprintf(stderr, "folio: %s\n", ForTerminal(line).c_str());
}

// The settings alone, as they would stand in a new file.
Status Print(const AgentFile& file) {
  const Result<std::string> text = file.merge("");
  if (!text) return std::unexpected(text.error());
  Say("for " + file.path + ", where --write puts it:");
  if (const Status written = WriteOutput(*text); !written) return written;
  return FlushOutput();  // before what is said next
}

Status Write(const AgentFile& file) {
  const Result<std::string> old = ReadConfigFile(file.path);
  if (!old) return std::unexpected(old.error());
  const Result<std::string> text = file.merge(*old);
  if (!text) {
    // What can't be merged is for the user to merge.
    if (const Status printed = Print(file); !printed) return printed;
    return InputError(file.path, text.error().where,
                      text.error().why + "; left as it is: put the lines above into it");
  }
  if (*text == *old) {
    Say(file.path + " has it already");
    return {};
  }
  const Result<std::string> backup = ReplaceConfigFile(file.path, *old, *text);
  if (!backup) return std::unexpected(backup.error());
  Say("wrote " + file.path + (backup->empty() ? "" : "; what it was is in " + *backup));
  return {};
}

Status Connect(const ConnectArgs& args) {
  if (std::ranges::find(AgentNames(), args.agent) == AgentNames().end()) {
    return UsageError("connect", "AGENT",
                      "'" + args.agent + "' is none of " + JoinNames(AgentNames()));
  }
  const std::string home = Variable("HOME");
  if (home.empty()) return RuntimeError("connect", "HOME", "is not set");
  const Result<AgentTarget> target = TargetOf(args);
  if (!target) return std::unexpected(target.error());
  const AgentConfig config =
      ConfigOfAgent(args.agent, *target, {.home = home, .variable = Variable});
  for (const AgentFile& file : config.files) {
    if (const Status done = args.write ? Write(file) : Print(file); !done) return done;
  }
  for (const std::string& note : config.notes) Say(note);
  return {};
}

}  // namespace

void AddConnect(const Command& folio) {
  auto args = std::make_shared<ConnectArgs>();
  const Command command =
      folio.AddCommand("connect", "a coding agent's configuration for this server");
  command.AddText("AGENT", args->agent, JoinNames(AgentNames())).Required();
  command.AddText("--url", args->url, "the server (default: http://127.0.0.1:8080)");
  command.AddText("--model", args->model, "a model of it (default: its first)");
  command.AddWhole("--context", args->context, 1, std::int64_t{1} << 30,
                   "tokens that fit (default: what the server says)");
  command
      .AddText("--api-key-env", args->key_variable,
               "the environment variable with the API key, where the server asks for one")
      .Takes("NAME");
  command.AddFlag("--write", args->write,
                  "write it to the agent's file, whose other settings stay; a backup is kept");
  command.SetAction([args] { return Connect(*args); });
}

}  // namespace folio
