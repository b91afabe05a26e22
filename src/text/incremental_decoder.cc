#include "text/tokenizer.h"
#include "text/utf8_repair.h"

namespace folio {

std::string IncrementalDecoder::Push(TokenId id) {
  std::string_view bytes = tokenizer_->TokenBytes(id);
  if (bytes.empty()) return {};
  if (at_start_ && tokenizer_->adds_leading_space() && bytes.starts_with(' ')) {
    bytes.remove_prefix(1);
  }
  at_start_ = false;
  pending_ += bytes;
  std::string text;
  const std::size_t used = AppendRepaired(pending_, /*at_end=*/false, text);
  pending_.erase(0, used);
  return text;
}

std::string IncrementalDecoder::Finish() {
  std::string text;
  AppendRepaired(pending_, /*at_end=*/true, text);
  pending_.clear();
  return text;
}

}  // namespace folio
