// Hands out 64-byte aligned pieces of a workspace, so that what is reserved and what is used are
// one description.
#ifndef FOLIO_MODEL_WORKSPACE_CARVER_H_
#define FOLIO_MODEL_WORKSPACE_CARVER_H_

#include <cstddef>
#include <cstdint>

namespace folio {

class WorkspaceCarver {
 public:
  // With a null base it only counts.
  explicit WorkspaceCarver(std::byte* base) : base_(base) {}

  std::byte* Bytes(std::size_t bytes) {
    std::byte* piece = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return piece;
  }
  float* Floats(std::int64_t rows, std::int64_t columns) {
    return reinterpret_cast<float*>(
        Bytes(static_cast<std::size_t>(rows * columns) * sizeof(float)));
  }
  std::size_t used() const { return used_; }

 private:
  static constexpr std::size_t kAlignment = 64;

  std::byte* base_;
  std::size_t used_ = 0;
};

}  // namespace folio

#endif  // FOLIO_MODEL_WORKSPACE_CARVER_H_
