#include "server/archive_reply.h"

#include <string>
#include <utility>

#include "base/sha256.h"
#include "server/miss_explanation.h"

namespace folio {
namespace {

std::string DigestOf(const Json& value) {
  Sha256 hasher;
  hasher.Update(DumpJson(value));
  return hasher.HexDigest();
}

Json SystemOf(const Json& messages) {
  if (!messages.is_array() || messages.empty()) return {};
  return messages.front().value("role", "") == "system" ? messages.front() : Json();
}

}  // namespace

ArchivedPrompt ArchivedOf(const ReplyJob& job, const RenderedRequest& rendered) {
  const Engine::Prompt& prompt = rendered.prompts.front();
  return {.id = job.id,
          .owner = job.salt,
          .model = job.model->id(),
          .tokens = prompt.tokens,
          .parts = prompt.parts,
          .tools_digest = DigestOf(ToolsForTemplate(job.request.tools)),
          .system_digest = DigestOf(SystemOf(job.request.messages)),
          .notes = job.request.notes,
          .spliced = rendered.spliced};
}

Json DiagnosticsOf(const DiagnosticsQuestion& question, const ArchivedPrompt& prompt,
                   const MissReport& arrival, const PromptArchive& archive) {
  const auto earlier = archive.Find(prompt.owner, question.earlier_id);
  const ArchivedPrompt* const compared = earlier ? earlier->prompt.get() : nullptr;
  return question.form == DiagnosticsQuestion::Form::kAnthropic
             ? AnthropicDiagnostics(compared, prompt)
             : OpenAiDiagnostics(compared, prompt, arrival.cached_tokens);
}

ReplyObserver Reporting(ReplyObserver observer, PromptArchive& archive) {
  return [observer = std::move(observer), &archive](const ReplyRecord& record) {
    if (!record.failed && !record.cancelled) archive.SetReport(record.id, record.cache);
    if (observer) observer(record);
  };
}

}  // namespace folio
