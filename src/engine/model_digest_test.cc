#include "engine/model_digest.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace folio {
namespace {

class ModelDigestTest : public ::testing::Test {
 protected:
  ModelDigestTest() {
    parts_.path = "here";
    parts_.metadata["llama.block_count"] = std::uint64_t{3};
    parts_.metadata["tokenizer.huggingface.json"] = std::string_view("{}");
    AddTensor("blk.0.ffn_gate.0.weight", matrix_);
    AddTensor("output_norm.weight", norm_);
  }

  void AddTensor(std::string_view name, std::span<const float> values) {
    parts_.tensors.push_back({.name = name,
                              .type = GgmlType::kF32,
                              .dims = {static_cast<std::int64_t>(values.size())},
                              .elements = static_cast<std::int64_t>(values.size()),
                              .bytes = values.size_bytes(),
                              .file = -1,
                              .offset = 0,
                              .data = std::as_bytes(values)});
  }
  std::string Digest() const { return ModelDigest(ModelFile(parts_)); }

  std::array<float, 6> matrix_ = {1, 2, 3, 4, 5, 6};
  std::array<float, 2> norm_ = {1, 1};
  ModelFileParts parts_;
};

TEST_F(ModelDigestTest, WhereAModelLiesDoesNotMatter) {
  const std::string digest = Digest();
  parts_.path = "there";
  parts_.files = {"there/model.safetensors"};
  std::swap(parts_.tensors[0], parts_.tensors[1]);
  EXPECT_EQ(Digest(), digest);
}

TEST_F(ModelDigestTest, EveryPartOfItsContentDoes) {
  const std::string digest = Digest();
  const std::vector<std::function<void()>> changes = {
      [this] { parts_.metadata["llama.rope.halves"] = true; },
      [this] { parts_.metadata["tokenizer.huggingface.json"] = std::string_view("[]"); },
      [this] { parts_.tensors[0].name = "blk.0.ffn_gate.1.weight"; },
      [this] { matrix_[4] = 7; },
      [this] { norm_[1] = 2; },  // a vector that was computed
  };
  std::string before = digest;
  for (const auto& change : changes) {
    change();
    EXPECT_NE(Digest(), before);
    before = Digest();
  }
}

}  // namespace
}  // namespace folio
