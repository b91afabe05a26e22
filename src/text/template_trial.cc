#include "text/template_trial.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/bridge.h"

namespace folio {
namespace {

// CPU time of the child. The interval timer ends it; the resource limit, in whole seconds, is the
// net below.
constexpr suseconds_t kCpuMicroseconds = 500'000;
constexpr rlim_t kCpuSeconds = 1;
// Only for a child that gets no CPU: a template can loop, which the CPU limit ends, but not sleep.
constexpr auto kWallTime = std::chrono::seconds(20);
constexpr rlim_t kMemoryBytes = rlim_t{512} << 20;  // on top of what the program has mapped
constexpr std::size_t kMostOutput = std::size_t{1} << 20;
constexpr std::size_t kMostReport = 4096;

// What the child found, as the first byte of its report; the rest is an error text.
enum Verdict : char { kTakesParts = 'P', kTakesText = 'T', kDoesNotCompile = 'C', kLimit = 'L' };

constexpr std::string_view kPartsText = "folio-trial-part";

struct Conversation {
  std::string_view messages;
  std::string_view extra;
};

constexpr std::array kConversations = {
    Conversation{R"([{"role":"user","content":"Hello"}])", ""},
    Conversation{R"([{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}])",
                 ""},
    Conversation{R"([{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi."},)"
                 R"({"role":"user","content":"What is 2+2?"}])",
                 ""},
    Conversation{
        R"([{"role":"user","content":"Weather?"},{"role":"assistant","content":"","tool_calls":)"
        R"([{"id":"a1b2c3d4e","type":"function","function":{"name":"weather","arguments":)"
        R"({"city":"Bern"}}}]},{"role":"tool","tool_call_id":"a1b2c3d4e","name":"weather",)"
        R"("content":"sunny"}])",
        R"({"tools":[{"type":"function","function":{"name":"weather","description":"Weather",)"
        R"("parameters":{"type":"object","properties":{"city":{"type":"string"}},)"
        R"("required":["city"]}}}]})"},
};
constexpr std::string_view kToolCallTurn =
    R"({"role":"user","content":"Weather?"},{"role":"assistant","content":"","tool_calls":[{"id":)"
    R"("a1b2c3d4e","type":"function","function":{"name":"weather","arguments":{"city":"Bern"}}}]},)"
    R"({"role":"tool","tool_call_id":"a1b2c3d4e","name":"weather","content":"sunny"},)"
    R"({"role":"assistant","content":"It is sunny."})";
constexpr int kLongTurns = 40;

// As long as an agent's session: what a template does only then shows here. 160 messages.
std::string LongConversation() {
  std::string messages = R"([{"role":"system","content":"Be brief."})";
  for (int i = 0; i < kLongTurns; ++i) messages.append(",").append(kToolCallTurn);
  return messages + R"(,{"role":"user","content":"Thanks."}])";
}

constexpr std::string_view kPartsConversation =
    R"([{"role":"user","content":[{"type":"text","text":"folio-trial-part"}]}])";

FolioRenderInput MakeInput(const Conversation& conversation, std::string_view bos,
                           std::string_view eos) {
  FolioRenderInput input{};
  input.messages = ToBridge(conversation.messages);
  input.extra = ToBridge(conversation.extra);
  input.bos_token = ToBridge(bos);
  input.eos_token = ToBridge(eos);
  input.add_generation_prompt = 1;
  return input;
}

std::string Try(std::string_view source, std::string_view bos, std::string_view eos) {
  BridgeBuffer error;
  const BridgeTemplate compiled(folio_template_new(ToBridge(source), nullptr, 0, error.get()));
  if (compiled == nullptr) return static_cast<char>(kDoesNotCompile) + error.str();
  const FolioRenderLimits limits{kTemplateFuel, kMostOutput, kMostOutput};
  const std::string long_messages = LongConversation();
  std::vector<Conversation> conversations(kConversations.begin(), kConversations.end());
  conversations.push_back({long_messages, kConversations.back().extra});
  for (const Conversation& conversation : conversations) {
    BridgeBuffer text;
    const FolioRenderInput input = MakeInput(conversation, bos, eos);
    const int status =
        folio_template_render(compiled.get(), &input, &limits, text.get(), nullptr, error.get());
    if (status == FOLIO_RENDER_LIMIT) return static_cast<char>(kLimit) + error.str();
  }
  BridgeBuffer text;
  const FolioRenderInput input = MakeInput({kPartsConversation, ""}, bos, eos);
  const int status =
      folio_template_render(compiled.get(), &input, &limits, text.get(), nullptr, error.get());
  if (status == FOLIO_RENDER_LIMIT) return static_cast<char>(kLimit) + error.str();
  // A template that prints the list itself, Python-fashion, doesn't take parts.
  const bool takes_parts = status == FOLIO_RENDER_OK &&
                           text.text().find(kPartsText) != std::string_view::npos &&
                           text.text().find("'type'") == std::string_view::npos &&
                           text.text().find("\"type\"") == std::string_view::npos;
  return std::string(1, takes_parts ? kTakesParts : kTakesText);
}

void SetLimit(int resource, rlim_t value) {
  const rlimit limit{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// Bytes of address space that the program has now.
rlim_t MappedBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long pages = 0;
  const int read = std::fscanf(file, "%lu", &pages);
  std::fclose(file);
  return read == 1 ? rlim_t{pages} * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) : 0;
}

[[noreturn]] void RunChild(int report, rlim_t mapped, std::string_view source, std::string_view bos,
                           std::string_view eos) {
  for (const int fatal : {SIGSEGV, SIGABRT, SIGBUS, SIGTERM, SIGINT}) signal(fatal, SIG_DFL);
  SetLimit(RLIMIT_CORE, 0);
  SetLimit(RLIMIT_CPU, kCpuSeconds);
  signal(SIGPROF, SIG_DFL);
  const itimerval timer{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = kCpuMicroseconds}};
  setitimer(ITIMER_PROF, &timer, nullptr);
  if (mapped != 0) SetLimit(RLIMIT_AS, mapped + kMemoryBytes);
  // An allocation that fails makes the Rust runtime write a line and abort; the line is not ours.
  if (std::FILE* null = std::fopen("/dev/null", "w")) dup2(fileno(null), STDERR_FILENO);
  std::string found = Try(source, bos, eos);
  found.resize(std::min(found.size(), kMostReport));
  for (std::size_t sent = 0; sent < found.size();) {
    const ssize_t n = write(report, found.data() + sent, found.size() - sent);
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  _exit(0);
}

// What arrives until the pipe closes; nothing once the time is up.
std::optional<std::string> ReadReport(int report) {
  const auto deadline = std::chrono::steady_clock::now() + kWallTime;
  std::string text;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    pollfd waiting{report, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    std::array<char, 1024> buffer;
    const ssize_t n = read(report, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > kMostReport) return text;
  }
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) {
    const int signal_number = WTERMSIG(status);
    if (signal_number == SIGPROF || signal_number == SIGXCPU || signal_number == SIGKILL) {
      return "took more than " + std::to_string(kCpuMicroseconds / 1000) +
             " ms on a conversation of 160 messages or fewer";
    }
    if (signal_number == SIGABRT)
      return "used too much memory or stack on a conversation of 160 messages or fewer";
    return "crashed on a conversation of 160 messages or fewer (" +
           std::string(strsignal(signal_number)) + ")";
  }
  return "ended without an answer";
}

}  // namespace

Result<TrialResult> TryTemplate(std::string_view source, const std::string& name,
                                std::string_view bos_token, std::string_view eos_token) {
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) return RuntimeError(name, "pipe", std::strerror(errno));
  const rlim_t mapped = MappedBytes();
  const pid_t child = fork();
  if (child < 0) {
    const std::string why = std::strerror(errno);
    close(ends[0]);
    close(ends[1]);
    return RuntimeError(name, "fork", why);
  }
  if (child == 0) {
    close(ends[0]);
    RunChild(ends[1], mapped, source, bos_token, eos_token);
  }
  close(ends[1]);
  const auto report = ReadReport(ends[0]);
  close(ends[0]);
  if (!report) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!report || report->empty()) {
    return InputError(name, "refused", "the template " + HowItEnded(status));
  }
  switch (report->front()) {
    case kTakesParts:
    case kTakesText:
      return TrialResult{.takes_parts = report->front() == kTakesParts};
    case kDoesNotCompile:
      return InputError(name, "", report->substr(1));
    default:
      return InputError(name, "refused", report->substr(1));
  }
}

}  // namespace folio
