#include "server/request_log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace folio {
namespace {

std::string CacheWords(const MissReport& cache) {
  std::string words = std::to_string(cache.cached_tokens) + " cached";
  if (cache.cause == MissCause::kFullHit) return words;
  words += ": " + std::string(MissCauseName(cache.cause));
  if (cache.position >= 0 && !cache.part_here.empty()) {
    words += " at token " + std::to_string(cache.position) + ", " + cache.part_here;
  }
  return words;
}

std::string NoteWords(const std::vector<std::string>& notes) {
  std::string words;
  for (const std::string& note : notes) words += "; " + note;
  return words;
}

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  return out;
}

}  // namespace

std::string LogLine(const ReplyRecord& record) {
  const std::string who = record.key.empty() ? "" : " [" + record.key + "]";
  const std::string head = record.endpoint + " " + record.id + who;
  const ReplyTotals& totals = record.totals;
  if (record.cancelled) {
    return Escaped(fmt::format(
        "{} cancelled: the client went away: prompt {} ({} cached), {} generated, {:.2f} s{}", head,
        totals.prompt_tokens, totals.cached_tokens, totals.generated_tokens, record.seconds,
        NoteWords(record.notes)));
  }
  if (record.failed) return Escaped(head + " failed: " + record.error + NoteWords(record.notes));
  const Timings& timings = record.timings;
  const double first = timings.queued_seconds + timings.prefill_seconds;
  return Escaped(
      fmt::format("{} ok: prompt {} ({}), {} generated, first after {:.2f} s, {:.2f} s{}", head,
                  totals.prompt_tokens, CacheWords(record.cache), totals.generated_tokens, first,
                  first + timings.decode_seconds, NoteWords(record.notes)));
}

struct RequestLog::Impl {
  spdlog::logger logger{"folio", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
};

RequestLog::RequestLog(bool quiet) : impl_(std::make_unique<Impl>()) {
  impl_->logger.set_pattern("%Y-%m-%d %H:%M:%S.%e %v");
  impl_->logger.set_level(quiet ? spdlog::level::warn : spdlog::level::info);
}

RequestLog::~RequestLog() = default;

void RequestLog::Write(const ReplyRecord& record) {
  impl_->logger.log(record.failed ? spdlog::level::warn : spdlog::level::info, LogLine(record));
}

void RequestLog::Say(const std::string& line) { impl_->logger.info(Escaped(line)); }

}  // namespace folio
