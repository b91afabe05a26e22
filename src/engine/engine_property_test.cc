// Promise P1: a request's logits do not depend on what runs beside it, on cache hits, on how its
// prompt was cut, on preemption, cancellation of others, or threads. Random workloads against each
// request run alone.
//
//   FOLIO_P1_CASES   workloads for each tiny model (default: RapidCheck's own number)
//   FOLIO_P1_MODEL   a GGUF file for kGivenCases of them, in the place of one tiny model
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/engine_testing.h"

namespace folio {
namespace {

constexpr int kGivenCases = 200;
constexpr int kContext = 192;
constexpr int kMostDraft = 20;

// One model file, loaded alone as the reference and with pools from tiny to ample.
class Models {
 public:
  Models(const std::string& path, KvType kv_type) {
    const LoadOptions base{.context = kContext, .kv_type = kv_type};
    LoadOptions options = base;
    options.threads = 1;
    alone_ = LoadOrFail(path, options);
    if (alone_ == nullptr) return;
    const std::int64_t one = alone_->plan().num_blocks;
    for (const std::int64_t blocks : {one, one + 3, 2 * one, 6 * one}) {
      for (const int threads : {1, 2}) {
        options = base;
        options.threads = threads;
        options.pool = PoolSize::kGiven;
        options.num_blocks = blocks;
        options.max_logit_rows = 16 + kMostDraft;
        models_.push_back(LoadOrFail(path, options));
      }
    }
  }

  LoadedModel& alone() { return *alone_; }
  LoadedModel& any() { return *models_[*rc::gen::inRange<std::size_t>(0, models_.size())]; }
  bool loaded() const {
    return alone_ != nullptr &&
           std::ranges::none_of(models_, [](const auto& model) { return model == nullptr; });
  }

 private:
  std::unique_ptr<LoadedModel> alone_;
  std::vector<std::unique_ptr<LoadedModel>> models_;
};

Request AnyRequest() {
  Request request;
  request.prompt = TestPrompt(*rc::gen::inRange(0, 120), *rc::gen::inRange(0, 3));
  const int tail = *rc::gen::inRange(0, 20);
  for (int i = 0; i < tail; ++i) request.prompt.push_back(*rc::gen::inRange(0, 256));
  if (request.prompt.empty()) request.prompt.push_back(7);
  request.max_tokens = *rc::gen::inRange(0, 12);
  request.choices = *rc::gen::weightedElement<int>({{6, 1}, {1, 2}, {1, 3}});
  request.priority = *rc::gen::inRange(-1, 2);
  request.ignore_end_tokens = true;
  request.sampling.temperature = *rc::gen::element(0.0F, 1.0F);
  request.sampling.seed = *rc::gen::inRange<std::uint64_t>(0, 3);
  request.cache_salt = *rc::gen::element<std::string>("", "", "tenant");
  return request;
}

std::string Describe(const Request& request) {
  std::ostringstream text;
  text << "prompt [";
  for (const std::int32_t token : request.prompt) text << token << ' ';
  text << "], " << request.max_tokens << " tokens, " << request.choices << " choices, priority "
       << request.priority << ", temperature " << request.sampling.temperature << ", seed "
       << request.sampling.seed << ", salt '" << request.cache_salt << "'";
  return text.str();
}

struct Submitted {
  std::uint64_t id = 0;
  Request request;
  std::shared_ptr<CollectingSink> sink;
  bool cancelled = false;
};

void CheckRequest(LoadedModel& alone, const Submitted& submitted, const LogitsRecord& logits) {
  RC_ASSERT(submitted.sink->outcome.has_value());
  RC_ASSERT(submitted.sink->scheduled == 1);
  const Outcome& outcome = *submitted.sink->outcome;
  RC_ASSERT(outcome.choices.size() == static_cast<std::size_t>(submitted.request.choices));
  RC_ASSERT(outcome.usage.cached_tokens < outcome.usage.prompt_tokens);
  for (int i = 0; i < submitted.request.choices; ++i) {
    const Reply& reply = outcome.choices[static_cast<std::size_t>(i)];
    if (!submitted.cancelled) {
      RC_ASSERT(reply.finish_reason == FinishReason::kLength);
      RC_ASSERT(static_cast<std::int64_t>(reply.samples.size()) == submitted.request.max_tokens);
    }
    const std::string difference = DifferenceFromAlone(alone, submitted.request.prompt,
                                                       reply.samples, logits.Of(submitted.id, i));
    if (!difference.empty()) {
      RC_FAIL("request " + std::to_string(submitted.id) + ", choice " + std::to_string(i) + ": " +
              difference);
    }
  }
}

void RunWorkload(Models& models) {
  LoadedModel& model = models.any();
  model.cache().pool().DropCached();
  LogitsRecord logits;
  EngineLoopOptions options{.max_requests = *rc::gen::inRange<std::int64_t>(3, 16),
                            .max_batch_tokens = *rc::gen::element<std::int64_t>(1, 7, 16, 33, 512),
                            .max_draft_tokens = *rc::gen::element<std::int64_t>(0, 1, 4, 20),
                            .draft_row_cost = 0.05};
  options.on_logits = [&](std::uint64_t request, int choice, std::span<float> row) {
    logits.Take(request, choice, row);
  };
  const auto loop = EngineLoop::Create(model, options);
  RC_ASSERT(loop.has_value());
  RC_LOG() << model.plan().num_blocks << " blocks, " << model.options().threads << " threads, "
           << options.max_requests << " requests, " << options.max_batch_tokens << " rows a step, "
           << options.max_draft_tokens << " drafted\n";
  std::vector<Submitted> all;
  const int events = *rc::gen::inRange(1, 30);
  for (int i = 0; i < events; ++i) {
    const int what = *rc::gen::inRange(0, 10);
    if (what < 4) {
      Submitted next{.id = all.size() + 1, .request = AnyRequest(), .sink = {}};
      next.sink = std::make_shared<CollectingSink>();
      RC_LOG() << "submit " << next.id << ": " << Describe(next.request) << "\n";
      RC_ASSERT((*loop)->Check(next.request).has_value());
      (*loop)->Submit(next.id, next.request, next.sink);
      all.push_back(next);
    } else if (what == 4 && !all.empty()) {
      Submitted& victim = all[*rc::gen::inRange<std::size_t>(0, all.size())];
      victim.cancelled = victim.cancelled || !victim.sink->outcome;
      RC_LOG() << "cancel " << victim.id << "\n";
      (*loop)->Cancel(victim.id);
    } else {
      RC_LOG() << "step\n";
      (*loop)->Step();
    }
    RC_ASSERT((*loop)->CheckIntegrity() == "");
  }
  while ((*loop)->Step()) {
  }
  RC_ASSERT((*loop)->CheckIntegrity() == "");
  RC_ASSERT((*loop)->num_requests() == 0U);
  RC_ASSERT(model.cache().pool().num_free() == model.cache().pool().num_blocks());
  for (const Submitted& submitted : all) CheckRequest(models.alone(), submitted, logits);
}

// RapidCheck's own number of cases where `cases` is nothing. A failure shows the smallest workload
// found that fails, and the seed.
void CheckWorkloads(Models& models, const std::string& name, std::optional<int> cases) {
  ASSERT_TRUE(models.loaded());
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  if (cases) params.maxSuccess = *cases;
  const rc::detail::TestResult result =
      rc::detail::checkTestable([&] { RunWorkload(models); },
                                rc::detail::TestMetadata{.id = name, .description = name}, params);
  if (result.is<rc::detail::SuccessResult>()) return;
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  ADD_FAILURE() << name << ", RC_PARAMS=\"seed=" << params.seed
                << " max_success=" << params.maxSuccess << "\"\n"
                << text.str();
}

std::optional<int> CasesFromEnvironment() {
  const char* const cases = std::getenv("FOLIO_P1_CASES");
  if (cases == nullptr) return std::nullopt;
  // RapidCheck's own number where that is more, as in the long tier.
  return std::max(std::atoi(cases), rc::detail::configuration().testParams.maxSuccess);
}

void CheckTinyModel(const TinyModelSpec& spec, KvType kv_type, const std::string& name) {
  const TinyModelFile file(spec);
  Models models(file.path(), kv_type);
  CheckWorkloads(models, name, CasesFromEnvironment());
}

TEST(EngineProperty, LogitsAreThoseOfTheRequestAlone) {
  CheckTinyModel({.architecture = "llama", .type = GgmlType::kQ8_0, .layers = 2}, KvType::kBf16,
                 "full attention");
}

TEST(EngineProperty, LogitsAreThoseOfTheRequestAloneWithWindows) {
  CheckTinyModel({.architecture = "gemma3", .type = GgmlType::kQ4_0, .layers = 6, .window = 24},
                 KvType::kBf16, "sliding windows");
}

TEST(EngineProperty, LogitsAreThoseOfTheRequestAloneWithQ8Kv) {
  CheckTinyModel({.architecture = "qwen3", .type = GgmlType::kQ8_0, .layers = 2}, KvType::kQ8_0,
                 "q8_0 keys and values");
}

TEST(EngineProperty, LogitsAreThoseOfTheRequestAloneWithExperts) {
  CheckTinyModel(
      {.architecture = "qwen2moe", .type = GgmlType::kQ8_0, .layers = 2, .experts = 7, .top_k = 3},
      KvType::kBf16, "a Mixture of Experts");
}

// Heads of 64, so that the plain half of a quantised key is a block of 32.
TEST(EngineProperty, LogitsAreThoseOfTheRequestAloneWithLatentAttention) {
  CheckTinyModel({.architecture = "deepseek2",
                  .type = GgmlType::kQ8_0,
                  .layers = 2,
                  .head_dim = 64,
                  .experts = 8},
                 KvType::kBf16, "latent attention");
}

TEST(EngineProperty, LogitsAreThoseOfTheRequestAloneOnTheGivenModel) {
  const char* const given = std::getenv("FOLIO_P1_MODEL");
  if (given != nullptr && *given != '\0') {
    Models models(given, KvType::kBf16);
    CheckWorkloads(models, given, kGivenCases);
  } else {
    CheckTinyModel({.architecture = "qwen2", .type = GgmlType::kF32, .layers = 2}, KvType::kF16,
                   "f16 keys and values");
  }
}

}  // namespace
}  // namespace folio
