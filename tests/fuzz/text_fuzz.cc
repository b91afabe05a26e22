// The text room on hostile vocabularies and texts. The first byte chooses the family, the second
// how many tokens follow (each a length byte and its spelling, its first byte also giving type and
// score); what is left is encoded, decoded and streamed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "formats/utf8.h"
#include "text/test_vocabulary.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

std::string Take(std::string_view& input, std::size_t bytes) {
  const std::string taken(input.substr(0, bytes));
  input.remove_prefix(std::min(bytes, input.size()));
  return taken;
}

folio::testing::TestVocabulary MakeVocabulary(std::string_view& input) {
  const std::string head = Take(input, 2);
  const bool sentence_piece = head[0] & 1;
  auto vocabulary = sentence_piece ? folio::testing::SentencePieceVocabulary()
                                   : folio::testing::ByteLevelVocabulary();
  vocabulary.flags = {{"add_space_prefix", (head[0] & 2) != 0}};
  for (int i = 0; i < (head[1] & 31) && !input.empty(); ++i) {
    const auto kind = static_cast<unsigned char>(input[0]);
    input.remove_prefix(1);
    const std::string spelling = Take(input, kind & 15);
    vocabulary.Add(spelling, 1 + (kind >> 4) % 7, static_cast<float>(kind >> 5));
    if (!sentence_piece && (kind & 128) != 0) vocabulary.merges.push_back(spelling);
  }
  return vocabulary;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = MakeVocabulary(input).Load();
  if (!tokenizer) {
    Require(!tokenizer.error().Message().empty());
    return 0;
  }
  for (const auto special : {folio::SpecialTokens::kAsText, folio::SpecialTokens::kParse}) {
    const auto ids = tokenizer->Encode(input, special);
    Require(ids.has_value() == folio::IsValidUtf8(input));
    if (!ids) continue;
    folio::IncrementalDecoder decoder(*tokenizer);
    for (const folio::TokenId id : *ids) {
      Require(id >= 0 && id < tokenizer->vocab_size());
      Require(special == folio::SpecialTokens::kParse || !tokenizer->IsControl(id) ||
              tokenizer->TokenPiece(id) == "<unk>");
      Require(folio::IsValidUtf8(decoder.Push(id)));
    }
    Require(folio::IsValidUtf8(decoder.Finish()));
  }
  return 0;
}
