#include "server/start_reply.h"

#include <string>
#include <utility>
#include <vector>

#include "server/archive_reply.h"
#include "server/rendered_request.h"
#include "server/submit_reply.h"
#include "server/wall_clock.h"

namespace folio {
namespace {

std::string Printable(const std::string& label) {
  std::string out;
  for (const char c : label) out += c >= ' ' && c <= '~' && c != '"' && c != '\\' ? c : '?';
  return out;
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

}  // namespace

PromptEdit EditOf(const ServedModel& model, const std::string& salt, const ApiRequest& request,
                  ConversationMemory& memory) {
  if (!memory.splices || !request.prompts.empty()) return {};
  return [&model, &salt, &request, &memory](Engine::Prompt& prompt) {
    return memory.splicer.Splice(
        salt, model.id(), request.messages,
        {.end_tokens = model.end_tokens(),
         .bytes = [&model](std::int32_t token) { return model.TokenBytes(token); }},
        prompt);
  };
}

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
  auto rendered =
      RenderRequest(*job.model, job.request, EditOf(*job.model, job.salt, job.request, memory));
  if (!rendered) return std::unexpected(rendered.error());
  ArchivedPrompt archived = ArchivedOf(job, *rendered);
  auto keep_reply = KeeperOf(job, memory, rendered->prompts.front());
  const std::size_t spliced = rendered->spliced;
  auto streams = SubmitReply(job, *rendered, memory.sessions);
  if (!streams) return std::unexpected(streams.error());
  archived.engine_id = streams->front().id();
  archived.notes = job.request.notes;  // of its schemas, too
  const auto prompt = memory.archive.Add(std::move(archived));
  auto arrived = [question = job.question, prompt, spliced, &archive = memory.archive](
                     const MissReport& arrival, ReplyStart& start, HttpFields& fields) {
    start.cached_tokens = arrival.cached_tokens;
    fields.emplace_back("x-folio-cache", CacheField(arrival, spliced));
    if (question) start.diagnostics = DiagnosticsOf(*question, *prompt, arrival, archive);
    archive.SetReport(prompt->id, arrival);
  };
  ReplyStart start;
  start.id = job.id;
  start.model = job.model->id();
  start.created = SecondsSince1970();
  start.prompt_tokens = rendered->prompt_tokens;
  std::vector<std::string> notes = std::move(job.request.notes);
  ReplyStream::Parts parts{.model = job.model,
                           .request = std::move(job.request),
                           .streams = *std::move(streams),
                           .writer = std::move(job.writer),
                           .start = std::move(start),
                           .fields = std::move(job.fields),
                           .arrived = std::move(arrived),
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
  parts.record.model = parts.model->id();
  parts.record.key = job.key;
  parts.record.notes = std::move(notes);
  parts.record.stream = parts.request.stream;
  parts.record.engine_id = parts.streams.front().id();
  return std::make_unique<ReplyStream>(std::move(parts));
}

}  // namespace folio
