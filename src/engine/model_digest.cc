#include "engine/model_digest.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/sha256.h"

namespace folio {
namespace {

constexpr std::size_t kSampleBytes = 4096;

// Each value is written with its length or its type before it, so that no two contents give the
// same bytes. Integers are little-endian.
class Digest {
 public:
  void Bytes(std::span<const std::byte> bytes) { sha256_.Update(bytes); }
  void Add(std::uint64_t value) { Bytes(std::as_bytes(std::span(&value, 1))); }
  void Add(std::int64_t value) { Add(static_cast<std::uint64_t>(value)); }
  void Add(double value) { Add(std::bit_cast<std::uint64_t>(value)); }
  void Add(bool value) { Add(std::uint64_t{value}); }
  void Add(std::string_view text) {
    Add(std::uint64_t{text.size()});
    Bytes(std::as_bytes(std::span(text)));
  }
  template <typename T>
  void Add(const std::vector<T>& list) {
    Add(std::uint64_t{list.size()});
    for (const auto& item : list) Add(T(item));
  }
  void Add(const MetadataValue& value) {
    Add(std::uint64_t{value.index()});
    std::visit([this](const auto& held) { Add(held); }, value);
  }

  // 32 bytes.
  std::string Finish() {
    const Sha256Digest digest = sha256_.Digest().value_or(Sha256Digest{});
    return {digest.begin(), digest.end()};
  }

 private:
  Sha256 sha256_;
};

void AddTensor(const ModelTensor& tensor, Digest& digest) {
  digest.Add(tensor.name);
  digest.Add(static_cast<std::uint64_t>(tensor.type));
  digest.Add(tensor.dims);
  const std::size_t middle = (tensor.data.size() / 2) & ~(kSampleBytes - 1);
  digest.Bytes(tensor.data.subspan(middle, std::min(kSampleBytes, tensor.data.size() - middle)));
}

}  // namespace

std::string ModelDigest(const ModelFile& file) {
  Digest digest;
  for (const auto& [key, value] : file.metadata()) {
    if (key.starts_with("split.")) continue;
    digest.Add(std::string_view(key));
    digest.Add(value);
  }
  std::vector<const ModelTensor*> tensors;
  for (const ModelTensor& tensor : file.tensors()) tensors.push_back(&tensor);
  std::ranges::sort(tensors, {}, &ModelTensor::name);
  for (const ModelTensor* tensor : tensors) {
    AddTensor(*tensor, digest);
    file.LetGo(*tensor, tensor->data);  // with the sample's page come its neighbours
  }
  return digest.Finish();
}

}  // namespace folio
