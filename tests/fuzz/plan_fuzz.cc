// Any bytes as a model to plan: a GGUF file's header, or else a config.json. Refused with a whole
// error, or planned for some users with sums that add up.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "formats/gguf_header.h"
#include "plan/config_shape.h"
#include "plan/gguf_shape.h"
#include "plan/planner.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequireWhole(const folio::Error& error) {
  Require(!error.why.empty());
  Require(error.Message().find('\n') == std::string_view::npos);
}

class MemoryBytes final : public folio::ByteSource {
 public:
  explicit MemoryBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  folio::Status Read(std::uint64_t offset, std::span<std::byte> into) const override {
    Require(offset <= bytes_.size() && into.size() <= bytes_.size() - offset);
    std::ranges::copy(bytes_.subspan(static_cast<std::size_t>(offset), into.size()), into.begin());
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
};

folio::Result<folio::ModelShape> ShapeOf(std::string_view text) {
  if (!text.starts_with("GGUF")) return folio::ReadConfigShape("config.json", text);
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  const auto file = folio::OpenGgufHeader("fuzz.gguf", [&](const std::string&) {
    return folio::Result<std::unique_ptr<folio::ByteSource>>(std::make_unique<MemoryBytes>(bytes));
  });
  if (!file) return std::unexpected(file.error());
  return folio::ReadGgufShape(*file);
}

void PlanIt(folio::ModelShape shape) {
  constexpr std::int64_t kUsers = 3;
  constexpr std::int64_t kContext = 5000;
  folio::PlanSettings settings;
  settings.kv.codings = folio::KvCodingsOf(folio::KvType::kQ8_0);
  settings.memory = std::uint64_t{1} << 40;
  const auto planner =
      folio::Planner::Create(std::make_shared<const folio::ModelShape>(std::move(shape)), settings);
  if (!planner) return RequireWhole(planner.error());
  const auto plan = planner->At(kUsers, kContext);
  if (!plan) return RequireWhole(plan.error());
  Require(plan->kv.bytes == static_cast<std::uint64_t>(plan->kv.num_blocks) * plan->kv.block_bytes);
  const auto more = planner->At(kUsers, 2 * kContext);
  Require(!more || more->kv.bytes >= plan->kv.bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto shape = ShapeOf({reinterpret_cast<const char*>(data), size});
  if (!shape) {
    RequireWhole(shape.error());
    return 0;
  }
  PlanIt(*std::move(shape));
  return 0;
}
