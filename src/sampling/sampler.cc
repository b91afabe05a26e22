#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "sampling/block_maxima.h"
#include "sampling/counter_rng.h"
#include "sampling/softmax_weights.h"

namespace folio {
namespace {

constexpr std::size_t kFirstGuess = 64;  // candidates that usually hold a top-p of 0.9
constexpr std::size_t kGrowth = 16;
constexpr std::size_t kTokensInWord = 32;  // of a mask

Status CheckRange(const char* option, float value, float low, float high) {
  if (value >= low && value <= high) return {};  // false for NaN
  const auto text = [](float number) {
    std::string digits = std::to_string(number);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.ends_with('.')) digits.pop_back();
    return digits;
  };
  return UsageError(option, "",
                    text(value) + " is not between " + text(low) + " and " + text(high));
}

Status CheckCount(const char* option, int value, int high) {
  if (value >= 0 && value <= high) return {};
  return UsageError(option, "",
                    std::to_string(value) + " is not between 0 and " + std::to_string(high));
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Names the first logit that is no number below infinity; there is one.
std::unexpected<Error> BadLogit(std::span<const float> logits) {
  std::size_t i = 0;
  while (logits[i] < kInfinity) ++i;
  return RuntimeError("sampling", "logit of token " + std::to_string(i),
                      "is " + std::string(std::isnan(logits[i]) ? "not a number" : "infinite"));
}

// The index at which the running sum of the weights first exceeds `random` of `total`.
std::size_t InvertCumulative(std::span<const float> weights, double total, double random) {
  const double target = random * total;
  double sum = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0.0F) continue;
    last = i;
    sum += static_cast<double>(weights[i]);
    if (sum > target) break;
  }
  return last;
}

}  // namespace

Status CheckSamplingParams(const SamplingParams& params) {
  if (auto ok = CheckRange("temperature", params.temperature, 0.0F, 100.0F); !ok) return ok;
  if (auto ok = CheckCount("top-k", params.top_k, std::numeric_limits<int>::max()); !ok) return ok;
  if (auto ok = CheckRange("top-p", params.top_p, 0.0F, 1.0F); !ok) return ok;
  if (params.top_p == 0.0F) return UsageError("top-p", "", "0 keeps no token; it is at most 1");
  if (auto ok = CheckRange("min-p", params.min_p, 0.0F, 1.0F); !ok) return ok;
  if (auto ok = CheckRange("repeat-penalty", params.repeat_penalty, 0.01F, 100.0F); !ok) return ok;
  if (auto ok = CheckRange("presence-penalty", params.presence_penalty, -2.0F, 2.0F); !ok)
    return ok;
  if (auto ok = CheckRange("frequency-penalty", params.frequency_penalty, -2.0F, 2.0F); !ok)
    return ok;
  return CheckCount("logprobs", params.logprobs.value_or(0), 100);
}

Sampler::Sampler(const SamplingParams& params, std::uint32_t choice)
    : params_(params), choice_(choice) {}

bool Sampler::HasPenalties() const {
  return params_.repeat_penalty != 1.0F || params_.presence_penalty != 0.0F ||
         params_.frequency_penalty != 0.0F;
}

// A forbidden logit that is no number stays one: it is an error, whatever may be drawn.
std::span<const float> Sampler::Mask(std::span<const float> logits,
                                     std::span<const std::uint32_t> allowed) {
  masked_.resize(logits.size());
  const std::size_t known = std::min(logits.size(), allowed.size() * kTokensInWord);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const bool may = i < known && (allowed[i / kTokensInWord] >> (i % kTokensInWord) & 1U) != 0;
    masked_[i] = may || !(logits[i] < kInfinity) ? logits[i] : -kInfinity;
  }
  return masked_;
}

std::span<const float> Sampler::Penalise(std::span<const float> logits,
                                         std::span<const std::int32_t> history) {
  penalised_.assign(logits.begin(), logits.end());
  counts_.resize(logits.size(), 0);
  const auto known = [&](std::int32_t token) {
    return token >= 0 && static_cast<std::size_t>(token) < logits.size();
  };
  for (const std::int32_t token : history) {
    if (known(token)) ++counts_[static_cast<std::size_t>(token)];
  }
  for (const std::int32_t token : history) {
    if (!known(token)) continue;
    std::int32_t& count = counts_[static_cast<std::size_t>(token)];
    if (count == 0) continue;  // already penalised
    float& logit = penalised_[static_cast<std::size_t>(token)];
    logit = logit > 0.0F ? logit / params_.repeat_penalty : logit * params_.repeat_penalty;
    logit -= params_.presence_penalty + params_.frequency_penalty * static_cast<float>(count);
    count = 0;  // leaves counts_ zeroed for the next draw
  }
  return penalised_;
}

// The index of the largest logit (the lowest such index), or an error if the logits are no
// distribution.
Result<std::size_t> Sampler::ScanLogits(std::span<const float> logits) {
  if (!BlockMaxima(logits, maxima_)) return BadLogit(logits);
  const auto best = std::ranges::max_element(maxima_);
  if (best == maxima_.end() || *best == -kInfinity) {
    return RuntimeError("sampling", "logits", "no token is possible: all are -infinity");
  }
  const auto block = static_cast<std::size_t>(best - maxima_.begin());
  std::size_t index = block * kLogitsInBlock;
  while (logits[index] < *best) ++index;
  return index;
}

// With as many blocks as tokens wanted, the one with the least maximum of the best blocks bounds
// the tokens from below.
float Sampler::LeastOfBest(std::size_t count) {
  if (count == 0 || count > maxima_.size()) return -kInfinity;
  sorted_maxima_.assign(maxima_.begin(), maxima_.end());
  const auto nth = sorted_maxima_.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(sorted_maxima_.begin(), nth, sorted_maxima_.end(), std::greater<>());
  return *nth;
}

void Sampler::FindBest(std::span<const float> logits, std::size_t count) {
  count = std::min(count, logits.size());
  const float least = LeastOfBest(count);
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
  };
  // A heap of the best so far with the worst of them on top: most tokens cost one comparison.
  candidates_.clear();
  for (std::size_t block = 0; block < maxima_.size(); ++block) {
    if (maxima_[block] < least) continue;
    const std::size_t end = std::min((block + 1) * kLogitsInBlock, logits.size());
    for (std::size_t i = block * kLogitsInBlock; i < end; ++i) {
      if (logits[i] < least) continue;
      const Candidate candidate{static_cast<std::int32_t>(i), logits[i]};
      if (candidates_.size() < count) {
        candidates_.push_back(candidate);
        if (candidates_.size() == count) {
          std::make_heap(candidates_.begin(), candidates_.end(), better);
        }
      } else if (count > 0 && better(candidate, candidates_.front())) {
        std::pop_heap(candidates_.begin(), candidates_.end(), better);
        candidates_.back() = candidate;
        std::push_heap(candidates_.begin(), candidates_.end(), better);
      }
    }
  }
  std::sort_heap(candidates_.begin(), candidates_.end(), better);
}

void Sampler::WeighCandidates(float max) {
  candidate_logits_.clear();
  for (const Candidate& candidate : candidates_) candidate_logits_.push_back(candidate.logit);
  weights_.resize(candidates_.size());
  SoftmaxWeights(candidate_logits_, max, params_.temperature, weights_);
}

void Sampler::KeepTopKAndP(std::span<const float> logits, float max) {
  double total = 0;
  std::size_t count = kFirstGuess;
  if (params_.top_k > 0) {
    count = static_cast<std::size_t>(params_.top_k);
    FindBest(logits, count);
    WeighCandidates(max);
    total = SumOf(weights_);
  } else {
    weights_.resize(logits.size());
    SoftmaxWeights(logits, max, params_.temperature, weights_);
    total = SumOf(weights_);
    FindBest(logits, count);
    WeighCandidates(max);
  }
  if (params_.top_p >= 1.0F) return;
  const double wanted = static_cast<double>(params_.top_p) * total;
  while (true) {
    double sum = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      sum += static_cast<double>(weights_[i]);
      if (sum < wanted) continue;
      weights_.resize(i + 1);
      return;
    }
    if (params_.top_k > 0 || candidates_.size() == logits.size()) return;  // by rounding
    count *= kGrowth;
    FindBest(logits, count);
    WeighCandidates(max);
  }
}

std::int32_t Sampler::DrawFromAll(std::span<const float> logits, float max, double random) {
  weights_.resize(logits.size());
  SoftmaxWeights(logits, max, params_.temperature, weights_);
  for (float& weight : weights_) {
    if (weight < params_.min_p) weight = 0.0F;  // the best weighs 1
  }
  return static_cast<std::int32_t>(InvertCumulative(weights_, SumOf(weights_), random));
}

std::int32_t Sampler::DrawTruncated(std::span<const float> logits, float max, double random) {
  KeepTopKAndP(logits, max);
  std::size_t kept = 1;  // weights fall, and the best (which weighs 1) always stays
  while (kept < weights_.size() && weights_[kept] >= params_.min_p) ++kept;
  weights_.resize(kept);
  return candidates_[InvertCumulative(weights_, SumOf(weights_), random)].token;
}

void Sampler::ReportLogprobs(std::span<const float> logits, Sample& sample) {
  FindBest(logits, static_cast<std::size_t>(std::max(1, *params_.logprobs)));
  const float max = candidates_.front().logit;
  weights_.resize(logits.size());
  SoftmaxWeights(logits, max, 1.0F, weights_);
  const double log_sum = std::log(SumOf(weights_));  // reported only: it decides no token
  const auto logprob = [&](float logit) {
    return static_cast<float>(static_cast<double>(logit) - static_cast<double>(max) - log_sum);
  };
  sample.logprob = logprob(logits[static_cast<std::size_t>(sample.token)]);
  candidates_.resize(std::min(candidates_.size(), static_cast<std::size_t>(*params_.logprobs)));
  for (const Candidate& candidate : candidates_) {
    sample.top.push_back({candidate.token, logprob(candidate.logit)});
  }
}

Result<Sample> Sampler::Draw(std::span<const float> logits, std::span<const std::int32_t> history,
                             std::int64_t position, std::span<const std::uint32_t> allowed) {
  std::span<const float> scores = allowed.empty() ? logits : Mask(logits, allowed);
  if (HasPenalties()) scores = Penalise(scores, history);
  const Result<std::size_t> best = ScanLogits(scores);
  if (!best) return std::unexpected(best.error());
  Sample sample;
  sample.token = static_cast<std::int32_t>(*best);
  if (params_.temperature > 0.0F) {
    const float max = scores[*best];
    const double random = UniformAt(params_.seed, choice_, position);
    const bool whole = params_.top_k == 0 && params_.top_p >= 1.0F;
    sample.token = whole ? DrawFromAll(scores, max, random) : DrawTruncated(scores, max, random);
  }
  if (params_.logprobs) {
    if (scores.data() != logits.data()) BlockMaxima(logits, maxima_);
    ReportLogprobs(logits, sample);
  }
  return sample;
}

}  // namespace folio
