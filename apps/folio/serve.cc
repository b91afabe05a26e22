#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/machine.h"
#include "engine/loaded_model.h"
#include "folio/commands.h"
#include "folio/engine.h"
#include "folio/engine_args.h"
#include "folio/memory_line.h"
#include "folio/options.h"
#include "folio/output.h"
#include "folio/serve_config.h"
#include "folio/serve_models.h"
#include "folio/signals.h"
#include "http/file_limit.h"
#include "http/http_server.h"
#include "server/api_keys.h"
#include "server/api_server.h"
#include "server/model_host.h"
#include "server/request_log.h"

namespace folio {
namespace {

struct ServeArgs {
  EngineArgs engine;
  std::vector<std::string> models;
  std::string models_folder;
  std::string host = "127.0.0.1";
  std::int64_t port = 8080;
  std::string unix_socket;
  std::string api_keys;
  std::string cors;
  std::string hygiene = "default";
  std::int64_t max_queue = 1024;
  std::int64_t drain_seconds = 30;
  std::int64_t max_reply_tokens = 0;
  bool insecure = false;
  bool shared_cache = false;
  bool strict_models = false;
  bool no_splice = false;
  bool drop_media = false;
  bool quiet = false;
  bool print_config = false;
  bool json = false;
};

bool IsLoopback(const std::string& host) {
  return host.empty() || host == "localhost" || host == "::1" || host.starts_with("127.");
}

Status CheckSafety(const ServeArgs& args) {
  if (IsLoopback(args.host) || !args.api_keys.empty() || args.insecure) return {};
  return UsageError("serve", "--host",
                    "'" + args.host +
                        "' lets others in: give --api-keys FILE, or --insecure if all of them may "
                        "use it");
}

Result<ApiKeys> KeysOf(const ServeArgs& args) {
  if (args.api_keys.empty()) return ApiKeys();
  return ApiKeys::Load(args.api_keys);
}

// What the server keeps beside the engine, out of the one budget.
struct ServerMemory {
  std::uint64_t budget = 0;  // --memory, or what the machine has
  // Of it for the server: half for bodies, a quarter for prompts that wait or run, and one for what
  // is kept of them.
  std::uint64_t bytes = 0;

  static ServerMemory Of(const ServeArgs& args) {
    constexpr std::uint64_t kMost = std::uint64_t{192} << 20;
    const std::uint64_t budget = args.engine.memory > 0 ? args.engine.memory : AvailableMemory();
    return {.budget = budget, .bytes = std::min(kMost, budget / 8)};
  }
};

HttpServerOptions HttpOptionsOf(const ServeArgs& args, const ServerMemory& memory) {
  HttpServerOptions options;
  options.max_bodies_bytes = memory.bytes / 2;
  options.max_body_bytes = std::min(options.max_body_bytes, options.max_bodies_bytes);
  options.max_connections = std::min(options.max_connections, ConnectionsAllowed());
  options.host = args.host == "localhost" ? "127.0.0.1" : args.host;
  options.port = static_cast<int>(args.port);
  options.unix_socket = args.unix_socket;
  return options;
}

Result<std::vector<HostedModel>> ModelsOf(const ServeArgs& args, const ServerMemory& memory,
                                          RequestLog& log) {
  EngineOptions options = EngineOptionsOf(args.engine);
  options.max_queue = args.max_queue;
  options.max_prompts_bytes = memory.bytes / 4;
  return HostedModelsOf({.names = args.models,
                         .folder = args.models_folder,
                         .options = std::move(options),
                         .memory = memory.budget - memory.bytes},
                        [&log](const std::string& line) { log.Say(line); });
}

std::string Address(const ServeArgs& args, int port) {
  if (args.host.empty()) return args.unix_socket;
  const bool is_v6 = args.host.find(':') != std::string::npos;
  return "http://" + (is_v6 ? "[" + args.host + "]" : args.host) + ":" + std::to_string(port);
}

// What the one who starts it wants to know: where it is, how long prompts may be, what it takes.
void SayReady(const ServeArgs& args, const ServerMemory& memory, const ServedModel& model,
              std::size_t models, int port, RequestLog& log) {
  const Snapshot now = model.engine().TakeSnapshot();
  log.Say("serving " + model.id() + " at " + Address(args, port) + ": context " +
          std::to_string(model.context()) + " tokens, " + std::to_string(now.blocks_total) +
          " KV blocks of " + std::to_string(now.block_size) + ", at most " +
          HumanBytes(now.memory.total_bytes + memory.bytes) + " of memory, " +
          HumanBytes(memory.bytes) + " of it for requests and what is kept of them; " +
          MemoryLine(model.engine().model()));
  if (models > 1) {
    log.Say("loading on demand: " + std::to_string(models) + " models within " +
            HumanBytes(memory.budget));
  }
  const auto& chat_template = model.engine().model().chat_template();
  if (!chat_template) {
    log.Say("no chat template, so that only /v1/completions works (--chat-template FILE): " +
            chat_template.error().Message());
  }
}

void ReloadKeys(const ServeArgs& args, Callers& callers, RequestLog& log) {
  if (args.api_keys.empty()) return;
  auto keys = ApiKeys::Load(args.api_keys);
  if (!keys) return log.Say("keys not read again: " + keys.error().Message());
  const std::size_t count = keys->size();
  callers.Replace(*std::move(keys));
  log.Say("keys read again: " + std::to_string(count));
}

Status Serve(const ServeArgs& args) {
  if (const Status safe = CheckSafety(args); !safe) return safe;
  auto keys = KeysOf(args);
  if (!keys) return std::unexpected(keys.error());
  const auto hygiene = ParseHygiene(args.hygiene);
  if (!hygiene) return std::unexpected(hygiene.error());
  std::signal(SIGPIPE, SIG_IGN);
  Signals signals;
  RequestLog log(args.quiet);
  const ServerMemory memory = ServerMemory::Of(args);
  auto hosted = ModelsOf(args, memory, log);
  if (!hosted) return std::unexpected(hosted.error());
  ModelHost models({.strict = args.strict_models,
                    .memory = memory.budget - memory.bytes,
                    .max_waiting = static_cast<std::size_t>(args.max_queue),
                    .log = [&log](const std::string& line) { log.Say(line); }},
                   *std::move(hosted));
  Callers callers(*std::move(keys), args.shared_cache);
  ServerMetrics metrics;
  std::atomic<HttpServer*> listening = nullptr;
  ApiServer api(models, callers, metrics,
                {.store_bytes = memory.bytes / 4,
                 .cors_origin = args.cors,
                 .splices = !args.no_splice,
                 .hygiene = *hygiene,
                 .max_reply_tokens = args.max_reply_tokens,
                 .drop_media = args.drop_media,
                 .observer =
                     [&](const ReplyRecord& record) {
                       metrics.Observe(record);
                       log.Write(record);
                     },
                 .refused = [&log](const std::string& line) { log.Say(line); },
                 .http_counts =
                     [&listening] {
                       const HttpServer* http = listening;
                       return http == nullptr ? HttpServerCounts{} : http->counts();
                     }});
  const auto started = HttpServer::Start(HttpOptionsOf(args, memory), api);
  if (!started) return std::unexpected(started.error());
  HttpServer* const http = started->get();
  listening = http;
  auto first = models.LoadFirst();
  if (!first) return std::unexpected(first.error());
  SayReady(args, memory, **first, models.size(), http->port(), log);
  first->reset();
  int signal = signals.Wait();
  for (; signal == SIGHUP; signal = signals.Wait()) ReloadKeys(args, callers, log);
  signals.Release();
  api.StartDraining();
  log.Say("ending: waiting for " + std::to_string(http->counts().connections) + " connections");
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(args.drain_seconds);
  const bool all = http->Drain(deadline);
  models.Stop();
  log.Say(all ? "ended" : "ended: some replies were cut off");
  return {};
}

}  // namespace

void AddServe(const Command& folio) {
  auto args = std::make_shared<ServeArgs>();
  const Command command =
      folio.AddCommand("serve", "answers OpenAI's and Anthropic's APIs over HTTP");
  command.AddTexts("MODEL", args->models,
                   "GGUF files, Hugging Face folders or names in the store, each as it is or "
                   "as NAME=MODEL; with several, requests choose, and the first answers for "
                   "other names (default: $FOLIO_MODEL, else the default model)");
  const Command server = command.Group("Server");
  server.AddText("--models", args->models_folder, "serve every model in this folder, too")
      .Takes("FOLDER");
  server.AddText("--host", args->host, "address to listen at (default: 127.0.0.1)");
  server.AddWhole("--port", args->port, 0, 65535, "0 = one that is free (default: 8080)");
  server.AddText("--unix-socket", args->unix_socket, "listen at this path, too").Takes("PATH");
  server
      .AddText("--api-keys", args->api_keys,
               "who may use it: NAME and the SHA-256 of their key on each line; read again on "
               "SIGHUP")
      .Takes("FILE");
  server.AddFlag("--insecure", args->insecure, "let others than this machine in without keys");
  server.AddFlag("--shared-cache", args->shared_cache, "one prompt cache for all keys");
  server.AddFlag("--strict-models", args->strict_models,
                 "refuse names of models that are not served, instead of answering with the first");
  server.AddText("--cors", args->cors, "origin whose pages may call, or *").Takes("ORIGIN");
  server.AddWhole("--max-queue", args->max_queue, 1, 1 << 20,
                  "requests that wait; more are told to try again (default: 1024)");
  server.AddWhole("--max-reply-tokens", args->max_reply_tokens, 0, 1 << 30,
                  "tokens of a reply whose request names no limit; 0 = what the context leaves");
  server.AddWhole("--drain-seconds", args->drain_seconds, 0, 3600,
                  "how long replies may go on after SIGTERM (default: 30)");
  server.AddFlag("--no-splice", args->no_splice,
                 "render replies that come back anew, instead of taking the tokens that they were");
  server
      .AddText("--hygiene", args->hygiene,
               "what is mended that keeps prompts from being found again, between commas: "
               "client-headers, tool-order, schema-order (these three are the default), "
               "session-tools (a request that drops its conversation's tools is shown them); or "
               "none")
      .Takes("KINDS");
  server.AddFlag("--drop-media", args->drop_media,
                 "replace images and files by a note to the model, instead of refusing them");
  server.AddFlag("--quiet", args->quiet, "log failures only");
  AddEngineArgs(command, args->engine);
  server.AddFlag("--print-config", args->print_config,
                 "tell what it would run with, and where each value is from, and end");
  server.AddFlag("--json", args->json, "with --print-config: as JSON");
  command.SetAction([args, command] {
    if (args->print_config) return PrintServeConfig(command.Facts(), args->json);
    if (args->json) return Status(UsageError("serve", "--json", "is for --print-config"));
    return Serve(*args);
  });
}

}  // namespace folio
