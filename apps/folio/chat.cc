#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <string>

#include "folio/commands.h"
#include "folio/conversation.h"
#include "folio/engine_args.h"
#include "folio/interrupt.h"
#include "folio/options.h"
#include "folio/output.h"
#include "folio/sampling_args.h"
#include "folio/terminal_editor.h"

namespace folio {
namespace {

struct ChatArgs {
  EngineArgs engine;
  SamplingArgs sampling;
  std::string system;
};

constexpr const char* kHelp =
    "  /help            this list\n"
    "  /reset           forget the conversation\n"
    "  /undo            take the last question and reply back\n"
    "  /again           another reply to the last question\n"
    "  /system TEXT     set the system message (and /reset)\n"
    "  /stats           numbers of the last reply\n"
    "  /quit            leave (also Ctrl-D)\n"
    "  Several lines: end a line with \\, press Ctrl-J or Alt-Enter, paste, or put the text "
    "between\n"
    "  \"\"\" and \"\"\". Up and Down bring back earlier lines. Ctrl-C stops a reply.\n";

// One run of `folio chat`.
class Chat {
 public:
  Chat(Engine& engine, const ChatArgs& args, const Request& request)
      : model_(engine.model()), request_(request), conversation_(engine) {
    conversation_.SetSystem(args.system);
  }

  Status Run() {
    Greet();
    bool leaving = false;  // one Ctrl-C on an empty line
    std::string message;
    while (output_ && failure_) {
      const ReadResult read = editor_.Read(message);
      if (read == ReadResult::kEnd) break;
      if (read == ReadResult::kInterrupted) {
        if (leaving) break;
        leaving = true;
        Note("Ctrl-C again, or /quit, to leave");
        continue;
      }
      leaving = false;
      if (message.empty()) continue;
      if (message.front() == '/') {
        if (!Command(message)) break;
      } else {
        Reply(message);
      }
    }
    return output_ ? failure_ : output_;
  }

 private:
  void Write(const std::string& text) {
    if (!output_) return;
    output_ = WriteOutput(text);
    if (output_) output_ = FlushOutput();
  }
  // For the person at the terminal; a pipe gets replies only.
  void Note(const std::string& text) {
    if (editor_.interactive()) Write("[" + ForTerminal(text) + "]\n");
  }

  void Greet() {
    const std::string& name = model_.config().name;
    Note((name.empty() ? model_.file().path() : name) + ", context " +
         std::to_string(model_.plan().context) + " tokens; /help for commands");
  }

  // False to leave.
  bool Command(const std::string& line) {
    const std::size_t space = line.find(' ');
    const std::string name = line.substr(0, space);
    const std::string rest = space == std::string::npos ? std::string() : line.substr(space + 1);
    if (name == "/quit" || name == "/exit" || name == "/bye") return false;
    if (name == "/help") {
      Write(kHelp);
    } else if (name == "/reset" || name == "/clear") {
      conversation_.Reset();
      Note("forgotten");
    } else if (name == "/undo") {
      Note(conversation_.Undo().empty() ? "nothing to take back" : "taken back");
    } else if (name == "/again") {
      Again();
    } else if (name == "/system") {
      conversation_.SetSystem(rest);
      conversation_.Reset();
      Note(rest.empty() ? "no system message" : "system message set");
    } else if (name == "/stats") {
      Write(Stats());
    } else {
      Note("there is no " + name + "; /help lists the commands");
    }
    return true;
  }

  void Again() {
    const std::string user = conversation_.Undo();
    if (user.empty()) {
      Note("nothing to reply to yet");
      return;
    }
    ++request_.sampling.seed;
    Reply(user);
  }

  void Reply(const std::string& user) {
    const InterruptGuard guard;
    const bool terminal = OutputIsTerminal();
    Result<Outcome> outcome = conversation_.Reply(
        user, request_,
        [&](std::string_view text) { Write(terminal ? ForTerminal(text) : std::string(text)); },
        [&] { return guard.interrupted() || !output_; });
    if (!outcome) {
      Fail(outcome.error());
      return;
    }
    last_ = *std::move(outcome);
    const folio::Reply& reply = last_.choices.front();
    if (!reply.text.ends_with('\n')) Write("\n");
    if (reply.finish_reason == FinishReason::kCancelled) Note("stopped");
    if (reply.finish_reason == FinishReason::kLength) Note("cut at the limit of tokens");
  }

  // At a terminal a turn that fails is said and the conversation goes on; a script's ends.
  void Fail(const Error& error) {
    if (editor_.interactive()) {
      Note(error.Message());
    } else {
      failure_ = std::unexpected(error);
    }
  }

  std::string Stats() const {
    if (last_.usage.prompt_tokens == 0) return "no reply yet\n";
    std::array<char, 240> line{};
    const Usage& usage = last_.usage;
    // The first token comes of the prompt's last row: the time after it made the others.
    const double rate = static_cast<double>(std::max<std::int64_t>(usage.generated_tokens - 1, 0)) /
                        std::max(last_.timings.decode_seconds, 1e-9);
    std::snprintf(
        line.data(), line.size(),
        "prompt %lld tokens, %lld of them cached, %.2f s; reply %lld tokens, %.2f s, %.1f "
        "tokens/s\n",
        static_cast<long long>(usage.prompt_tokens), static_cast<long long>(usage.cached_tokens),
        last_.timings.prefill_seconds, static_cast<long long>(usage.generated_tokens),
        last_.timings.decode_seconds, rate);
    return line.data();
  }

  const LoadedModel& model_;
  Request request_;
  Conversation conversation_;
  TerminalEditor editor_;
  Outcome last_;
  Status output_;
  Status failure_;
};

Status RunChat(const ChatArgs& args) {
  const Result<Request> request = RequestOf(args.sampling, std::random_device{}() & 0xffffffffU);
  if (!request) return std::unexpected(request.error());
  EngineOptions options = EngineOptionsOf(args.engine);
  options.contexts = 1;
  options.max_requests = 1;
  options.prompt_log_bytes = 1 << 20;
  const auto engine = OpenEngine(args.engine.model, options);
  if (!engine) return std::unexpected(engine.error());
  if (const auto& chat_template = (*engine)->model().chat_template(); !chat_template) {
    return std::unexpected(chat_template.error());
  }
  if (const Status checked = CheckGrammarFile(args.sampling, *request, **engine); !checked) {
    return checked;
  }
  return Chat(**engine, args, *request).Run();
}

}  // namespace

void AddChat(const Command& folio) {
  auto args = std::make_shared<ChatArgs>();
  const Command command = folio.AddCommand("chat", "talk with a model in the terminal");
  AddModelArg(command, args->engine.model);
  command.AddText("--system", args->system, "a system message");
  AddSamplingArgs(command, args->sampling);
  AddEngineArgs(command, args->engine);
  command.SetAction([args] { return RunChat(*args); });
}

}  // namespace folio
