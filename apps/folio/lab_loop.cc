#include "folio/lab_loop.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/run_request.h"
#include "folio/engine_args.h"
#include "folio/progress_bar.h"

namespace folio {
namespace {

std::uint32_t Bits(float value) { return std::bit_cast<std::uint32_t>(value); }

}  // namespace

std::vector<TokenId> LabReply::tokens() const {
  std::vector<TokenId> tokens;
  for (const Sample& sample : outcome.choices.front().samples) tokens.push_back(sample.token);
  return tokens;
}

LogitsDifference CompareLogits(const LabReply& a, const LabReply& b) {
  LogitsDifference difference;
  const std::size_t rows = std::min(a.logits.size(), b.logits.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < a.logits[row].size(); ++i) {
      ++difference.compared;
      difference.different += Bits(a.logits[row][i]) != Bits(b.logits[row][i]) ? 1 : 0;
    }
  }
  return difference;
}

Result<std::unique_ptr<LabLoop>> LabLoop::Create(const LabArgs& args, std::int64_t context,
                                                 bool prefix_cache) {
  constexpr std::uint64_t kPromptLogBytes = std::uint64_t{1} << 20;
  constexpr std::size_t kEvents = std::size_t{1} << 16;
  LoadOptions options{.threads = static_cast<int>(args.threads),
                      .context = context,
                      .kv_type = KvTypeFromName(args.kv_type).value_or(KvType::kBf16),
                      .prefix_cache = prefix_cache,
                      .trace_events = kEvents,
                      .prompt_log_bytes = kPromptLogBytes};
  Result<std::unique_ptr<LoadedModel>> model = LoadModel(args.model, options);
  if (!model) return std::unexpected(model.error());
  ProgressBar bar("preparing weights");
  (*model)->weights().packing.Finish((*model)->pool(), [&bar](double done) { bar.Update(done); });
  std::unique_ptr<LabLoop> lab(new LabLoop(*std::move(model)));
  Result<std::unique_ptr<EngineLoop>> loop = EngineLoop::Create(
      *lab->model_, {.max_requests = 1,
                     .prompt_log_bytes = kPromptLogBytes,
                     .on_logits = [raw = lab.get()](std::uint64_t, int, std::span<float> logits) {
                       raw->logits_.emplace_back(logits.begin(), logits.end());
                     }});
  if (!loop) return std::unexpected(loop.error());
  lab->loop_ = *std::move(loop);
  return lab;
}

Result<LabReply> LabLoop::Run(Request request) {
  request.sampling.temperature = 0;
  request.ignore_end_tokens = true;
  LabReply reply{.prompt = request.prompt};
  logits_.clear();
  Result<Outcome> outcome = RunRequest(*loop_, ++last_id_, std::move(request));
  if (!outcome) return std::unexpected(outcome.error());
  reply.outcome = *std::move(outcome);
  reply.logits = std::exchange(logits_, {});
  return reply;
}

Result<std::vector<TokenId>> LabLoop::Words(std::string_view text, std::size_t count) const {
  const auto words = model_->tokenizer().Encode(text, SpecialTokens::kAsText);
  if (!words) return std::unexpected(words.error());
  if (words->empty()) return InputError(model_->file().path(), "tokenizer", "gives no tokens");
  std::vector<TokenId> tokens;
  while (tokens.size() < count) tokens.push_back((*words)[tokens.size() % words->size()]);
  return tokens;
}

}  // namespace folio
