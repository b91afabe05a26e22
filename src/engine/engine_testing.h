// Tiny models and requests for tests of the engine.
#ifndef FOLIO_ENGINE_ENGINE_TESTING_H_
#define FOLIO_ENGINE_ENGINE_TESTING_H_

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine_loop.h"
#include "engine/loaded_model.h"
#include "engine/session.h"
#include "support/tiny_model.h"

namespace folio {

class TinyModelFile {
 public:
  explicit TinyModelFile(const TinyModelSpec& spec)
      : path_(testing::TempDir() + "folio_engine_" + spec.architecture + "_" +
              std::to_string(getpid()) + "_" + std::to_string(++Count()) + ".gguf"),
        written_(WriteTinyModel(spec, path_)) {}
  ~TinyModelFile() { std::filesystem::remove(path_); }
  TinyModelFile(const TinyModelFile&) = delete;
  TinyModelFile& operator=(const TinyModelFile&) = delete;
  const std::string& path() const { return path_; }
  bool written() const { return written_; }

 private:
  static int& Count() {
    static int count = 0;
    return count;
  }

  std::string path_;
  bool written_ = false;
};

inline std::unique_ptr<LoadedModel> LoadOrFail(const std::string& path,
                                               const LoadOptions& options) {
  Result<std::unique_ptr<LoadedModel>> model = LoadedModel::Load(path, options);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().Message());
  return model ? *std::move(model) : nullptr;
}

inline std::vector<TokenId> TestPrompt(int length, int seed = 0) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < length; ++i) tokens.push_back((i * i * 7 + 13 * i + 5 + seed) % 256);
  return tokens;
}

// Keeps all that comes.
struct CollectingSink final : RequestSink {
  void OnProgress(const Progress& told) override { progress.push_back(told); }
  void OnScheduled() override { ++scheduled; }
  void OnDelta(Delta delta) override { deltas.push_back(std::move(delta)); }
  void OnDone(Outcome result) override { outcome = std::move(result); }

  int scheduled = 0;
  std::vector<Progress> progress;
  std::vector<Delta> deltas;
  std::optional<Outcome> outcome;
};

// The logits of every drawn token, as their bits.
class LogitsRecord {
 public:
  void Take(std::uint64_t request, int choice, std::span<const float> logits) {
    all_[{request, choice}].emplace_back(logits.begin(), logits.end());
  }
  const std::vector<std::vector<float>>& Of(std::uint64_t request, int choice) const {
    static const std::vector<std::vector<float>> kNone;
    const auto found = all_.find({request, choice});
    return found == all_.end() ? kNone : found->second;
  }
  void Clear() { all_.clear(); }

 private:
  std::map<std::pair<std::uint64_t, int>, std::vector<std::vector<float>>> all_;
};

// What a request's logits differ in from those of the same tokens computed alone on `alone`; empty
// if they are bit-identical.
inline std::string DifferenceFromAlone(LoadedModel& alone, std::span<const TokenId> prompt,
                                       std::span<const Sample> generated,
                                       const std::vector<std::vector<float>>& logits) {
  if (logits.size() != generated.size()) {
    return std::to_string(logits.size()) + " rows of logits for " +
           std::to_string(generated.size()) + " tokens";
  }
  if (generated.empty()) return "";
  std::vector<TokenId> tokens(prompt.begin(), prompt.end());
  for (std::size_t i = 0; i + 1 < generated.size(); ++i) tokens.push_back(generated[i].token);
  Session session(alone);
  std::vector<float> all;
  if (const Status done = session.Append(tokens, &all); !done) return done.error().Message();
  const auto vocab = static_cast<std::size_t>(alone.config().vocab);
  for (std::size_t i = 0; i < generated.size(); ++i) {
    const float* expected = all.data() + (prompt.size() - 1 + i) * vocab;
    if (std::memcmp(expected, logits[i].data(), vocab * sizeof(float)) != 0) {
      return "the logits of generated token " + std::to_string(i) + " differ";
    }
  }
  return "";
}

}  // namespace folio

#endif  // FOLIO_ENGINE_ENGINE_TESTING_H_
