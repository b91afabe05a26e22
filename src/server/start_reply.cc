#include "server/start_reply.h"

#include <algorithm>
#include <random>
#include <utility>

#include "api/reply_grammar.h"
#include "engine/loaded_model.h"
#include "server/miss_explanation.h"
#include "server/rendered_request.h"
#include "server/wall_clock.h"

namespace folio {
namespace {

// The engine takes requests between two steps; a head isn't held back longer than this for what it
// tells of the cache.
constexpr std::chrono::milliseconds kArrivalWait(1000);

ApiError SubmitError(const Error& error, const RenderedRequest& rendered,
                     const ServedModel& model) {
  ApiError out = ApiErrorOf(error);
  if (error.kind == ErrorKind::kRuntime) {
    out.kind = ApiError::Kind::kUnavailable;  // a full queue, or an engine that ends
  } else if (error.what == "prompt" && error.where == "tokens") {
    out.kind = ApiError::Kind::kContextOverflow;
    out.prompt_tokens = rendered.prompt_tokens;
    out.limit_tokens = model.engine().LongestPrompt();
  } else if (error.what == "choices") {
    out.param = "n";
    out.message = "n: " + error.why;
  } else if (out.param.empty() && error.what == "prompt") {
    out.param = "prompt";
  }
  return out;
}

std::uint64_t RandomSeed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

// The longest wish of all marks, up to where it stands.
void SetRetention(const ApiRequest& api, const std::vector<std::int64_t>& mark_tokens,
                  Request& request) {
  for (std::size_t i = 0; i < mark_tokens.size(); ++i) {
    if (api.marks[i].retention < request.retention) continue;
    request.retention = api.marks[i].retention;
    request.retained_tokens = mark_tokens[i];
  }
}

// A turn of a conversation asks to be kept like a marked prompt, if it carries no mark.
void SetSessionRetention(const ApiRequest& api, std::int64_t prompt_tokens, const std::string& salt,
                         SessionTable& sessions, Request& request) {
  if (api.session.empty()) return;
  const bool is_turn = sessions.IsTurn(salt + "\n" + api.session, prompt_tokens);
  if (!is_turn || request.retained_tokens > 0) return;
  request.retention = std::max(request.retention, CacheRetention::k5Minutes);
  request.retained_tokens = prompt_tokens;
}

std::string Printable(const std::string& label) {
  std::string out;
  for (const char c : label) out += c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '?';
  return out;
}

// What a conversation's reply must keep to.
ReplyGrammar GrammarFor(const ReplyJob& job, bool in_reasoning) {
  if (!job.request.prompts.empty()) return {};
  const ServedModel& model = *job.model;
  return GrammarOf(job.request,
                   FrameOf(model.syntax(), in_reasoning, [&model](const std::string& mark) {
                     return model.engine().model().tokenizer().FindSpecial(mark);
                   }));
}

std::expected<std::vector<Stream>, ApiError> SubmitAll(const ReplyJob& job,
                                                       RenderedRequest& rendered,
                                                       ConversationMemory& memory) {
  std::vector<Stream> streams;
  const ReplyGrammar grammar = GrammarFor(job, rendered.in_reasoning);
  const std::uint64_t seed = job.request.seed ? *job.request.seed : RandomSeed();
  for (Engine::Prompt& prompt : rendered.prompts) {
    Request request = job.request.request;
    request.prompt = std::move(prompt.tokens);
    request.parts = std::move(prompt.parts);
    request.sampling.seed = seed + streams.size();
    request.cache_salt = job.salt + job.request.request.cache_salt;
    request.tell_controls = job.request.prompts.empty();
    request.tell_arrival = true;
    request.grammar = grammar;
    SetRetention(job.request, rendered.mark_tokens, request);
    SetSessionRetention(job.request, static_cast<std::int64_t>(request.prompt.size()), job.salt,
                        memory.sessions, request);
    auto stream = job.model->engine().Submit(std::move(request));
    if (!stream) {
      return std::unexpected(
          SubmitError(BlameRequest(job.request, stream.error()), rendered, *job.model));
    }
    streams.push_back(*std::move(stream));
  }
  return streams;
}

// Replaces replies of earlier turns by the tokens that they were generated as.
PromptEdit EditOf(const ReplyJob& job, ConversationMemory& memory) {
  if (!memory.splices || !job.request.prompts.empty()) return {};
  return [&job, &memory](Engine::Prompt& prompt) {
    const ServedModel& model = *job.model;
    return memory.splicer.Splice(
        job.salt, model.id(), job.request.messages,
        {.end_tokens = model.end_tokens(),
         .bytes = [&model](std::int32_t token) { return model.TokenBytes(token); }},
        prompt);
  };
}

std::function<void(GeneratedReply reply)> KeeperOf(const ReplyJob& job, ConversationMemory& memory,
                                                   const Engine::Prompt& prompt) {
  if (!memory.splices || !job.request.prompts.empty()) return {};
  ReplyPlace place =
      PlaceAfter(job.salt, job.model->id(), job.request.messages.size(), prompt.tokens);
  return [&splicer = memory.splicer, place = std::move(place)](GeneratedReply reply) {
    splicer.Keep(place, std::move(reply));
  };
}

std::string DigestOf(const Json& value) {
  Sha256 hasher;
  hasher.Update(DumpJson(value));
  return hasher.HexDigest();
}

Json SystemOf(const Json& messages) {
  if (!messages.is_array() || messages.empty()) return {};
  return messages.front().value("role", "") == "system" ? messages.front() : Json();
}

ArchivedPrompt ArchivedOf(const ReplyJob& job, const RenderedRequest& rendered) {
  const Engine::Prompt& prompt = rendered.prompts.front();
  return {.id = job.id,
          .owner = job.salt,
          .model = job.model->id(),
          .tokens = prompt.tokens,
          .parts = prompt.parts,
          .tools_digest = DigestOf(ToolsForTemplate(job.request.tools)),
          .system_digest = DigestOf(SystemOf(job.request.messages)),
          .spliced = rendered.spliced};
}

// The dialect's answer to why the cache missed; null if nobody asked.
Json DiagnosticsOf(const ReplyJob& job, const ArchivedPrompt& prompt, std::int64_t cached_tokens,
                   const ConversationMemory& memory) {
  if (!job.question) return {};
  const auto earlier = memory.archive.Find(job.salt, job.question->earlier_id);
  const ArchivedPrompt* const compared = earlier ? earlier->prompt.get() : nullptr;
  return job.question->form == DiagnosticsQuestion::Form::kAnthropic
             ? AnthropicDiagnostics(compared, prompt)
             : OpenAiDiagnostics(compared, prompt, cached_tokens);
}

// Tells the archive, too, what became of the request.
ReplyObserver Reporting(ReplyObserver observer, PromptArchive& archive) {
  return [observer = std::move(observer), &archive](const ReplyRecord& record) {
    if (!record.failed && !record.cancelled) archive.SetReport(record.id, record.cache);
    if (observer) observer(record);
  };
}

}  // namespace

std::string CacheField(const MissReport& report, std::size_t spliced) {
  std::string field = "cached=" + std::to_string(report.cached_tokens) +
                      ", prompt=" + std::to_string(report.prompt_tokens) +
                      ", reason=" + std::string(MissCauseName(report.cause));
  if (spliced > 0) field += ", spliced=" + std::to_string(spliced);
  if (report.position < 0) return field;
  return field + ", token=" + std::to_string(report.position) + ", at=\"" +
         Printable(report.part_here) + "\"+" + std::to_string(report.offset_in_part);
}

std::expected<std::unique_ptr<HttpStream>, ApiError> StartReply(ReplyJob job,
                                                                ConversationMemory& memory) {
  auto rendered = RenderRequest(*job.model, job.request, EditOf(job, memory));
  if (!rendered) return std::unexpected(rendered.error());
  ArchivedPrompt archived = ArchivedOf(job, *rendered);
  auto keep_reply = KeeperOf(job, memory, rendered->prompts.front());
  auto streams = SubmitAll(job, *rendered, memory);
  if (!streams) return std::unexpected(streams.error());
  archived.engine_id = streams->front().id();
  const auto arrival = streams->front().Arrival(kArrivalWait);
  const std::int64_t cached = arrival ? arrival->cached_tokens : 0;
  if (arrival) job.fields.emplace_back("x-folio-cache", CacheField(*arrival, rendered->spliced));
  Json diagnostics = DiagnosticsOf(job, archived, cached, memory);
  memory.archive.Add(std::move(archived));
  if (arrival) memory.archive.SetReport(job.id, *arrival);
  ReplyStream::Parts parts{.model = job.model,
                           .request = std::move(job.request),
                           .streams = *std::move(streams),
                           .writer = std::move(job.writer),
                           .start = {.id = job.id,
                                     .model = job.model->id(),
                                     .created = SecondsSince1970(),
                                     .prompt_tokens = rendered->prompt_tokens,
                                     .cached_tokens = cached,
                                     .diagnostics = std::move(diagnostics)},
                           .fields = std::move(job.fields),
                           .mark_tokens = std::move(rendered->mark_tokens),
                           .syntax = job.model->syntax(),
                           .parsing = {.in_reasoning = rendered->in_reasoning,
                                       .marks_are_controls = job.model->marks_are_controls()},
                           .error_response = std::move(job.error_response),
                           .observer = Reporting(std::move(job.observer), memory.archive),
                           .place = std::move(job.place),
                           .keep = std::move(job.keep),
                           .keep_reply = std::move(keep_reply)};
  parts.record.id = job.id;
  parts.record.endpoint = job.endpoint;
  parts.record.key = job.key;
  parts.record.stream = parts.request.stream;
  parts.record.engine_id = parts.streams.front().id();
  return std::make_unique<ReplyStream>(std::move(parts));
}

}  // namespace folio
