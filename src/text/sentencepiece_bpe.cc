// SentencePiece's byte-pair encoding (Kudo and Richardson 2018), where a vocabulary has scores
// and no merges: of all neighbours whose joined spelling is a token, the pair with the best score
// is joined first. Hugging Face derives a list of merges from the scores instead; ties are broken
// here as the order of that list breaks them, so the ids are the same, but nothing is built that
// grows with the half million ways to cut the tokens.
//
// Control, unknown and byte tokens are never formed from text. A character that no token covers
// becomes its <0xXX> bytes, or the unknown token (runs fused) where those are missing.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <string>
#include <utility>

#include "text/stretch_encoder.h"
#include "text/token_index.h"

namespace folio {
namespace {

constexpr std::string_view kSpaceMark = "\u2581";

std::uint32_t Characters(std::string_view text) {
  std::uint32_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

std::uint32_t CharacterBytes(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// Part of the text, in a doubly linked list of neighbours.
// 24 bytes, since there is one for each character of a prompt; prompts are far below 4 GiB.
struct Symbol {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;  // == begin once it was joined to its left neighbour
  std::int32_t left = -1;
  std::int32_t right = -1;
  TokenId id = -1;
  bool joinable = true;  // false for byte and unknown tokens
};

struct Merge {
  float score = 0;
  std::uint32_t left_characters = 0;
  std::uint32_t right_characters = 0;
  TokenId id = -1;
  std::int32_t left = 0;  // index of the left symbol
  // Later in the queue: worse score, then shorter halves, then higher id, then further right.
  bool operator<(const Merge& other) const {
    if (score != other.score) return score < other.score;
    if (left_characters != other.left_characters) return left_characters < other.left_characters;
    if (right_characters != other.right_characters) {
      return right_characters < other.right_characters;
    }
    if (id != other.id) return id > other.id;
    return left > other.left;
  }
};

class SentencePieceEncoder final : public StretchEncoder {
 public:
  SentencePieceEncoder(const Vocabulary& vocabulary, bool add_space_prefix)
      : vocabulary_(vocabulary),
        index_(vocabulary.spellings, vocabulary.spellings.size()),
        add_space_prefix_(add_space_prefix) {
    byte_ids_.fill(-1);
    for (TokenId id = 0; id < vocabulary.size(); ++id) {
      const TokenKind kind = vocabulary.kinds[static_cast<std::size_t>(id)];
      if (kind == TokenKind::kByte) AddByteToken(id);
      if (kind != TokenKind::kByte && kind != TokenKind::kControl) index_.Add(id);
    }
  }

  Status Encode(std::string_view text, std::vector<TokenId>& ids) const override {
    const std::string marked = MarkSpaces(text);
    std::vector<Symbol> symbols = Split(marked);
    std::priority_queue<Merge> queue;
    for (std::size_t i = 0; i < symbols.size(); ++i)
      Offer(marked, symbols, static_cast<std::int32_t>(i), queue);
    while (!queue.empty()) {
      const Merge merge = queue.top();
      queue.pop();
      Symbol& left = symbols[static_cast<std::size_t>(merge.left)];
      if (left.begin == left.end || left.right < 0) continue;
      Symbol& right = symbols[static_cast<std::size_t>(left.right)];
      // Either half may have grown since this was offered.
      if (Joined(marked, left, right) != merge.id) continue;
      left.end = right.end;
      left.id = merge.id;
      left.right = right.right;
      right.begin = right.end;
      if (left.right >= 0) {
        symbols[static_cast<std::size_t>(left.right)].left = merge.left;
      }
      if (left.left >= 0) Offer(marked, symbols, left.left, queue);
      Offer(marked, symbols, merge.left, queue);
    }
    for (const Symbol& symbol : symbols) {
      if (symbol.begin != symbol.end) ids.push_back(symbol.id);
    }
    return {};
  }

 private:
  void AddByteToken(TokenId id) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    const std::string_view spelling = vocabulary_.spellings[static_cast<std::size_t>(id)];
    if (spelling.size() != 6) return;  // refused when the table of bytes is made
    const std::size_t high = kHex.find(spelling[3]);
    const std::size_t low = kHex.find(spelling[4]);
    if (high < 16 && low < 16) byte_ids_[high * 16 + low] = id;
  }

  std::string MarkSpaces(std::string_view text) const {
    std::string marked;
    marked.reserve(text.size() + text.size() / 2 + kSpaceMark.size());
    if (add_space_prefix_) marked += kSpaceMark;
    for (const char c : text) {
      if (c == ' ') {
        marked += kSpaceMark;
      } else {
        marked += c;
      }
    }
    return marked;
  }

  bool HasBytes(std::string_view character) const {
    for (const char c : character) {
      if (byte_ids_[static_cast<unsigned char>(c)] < 0) return false;
    }
    return true;
  }

  static void Append(Symbol symbol, std::vector<Symbol>& symbols) {
    const auto at = static_cast<std::int32_t>(symbols.size());
    symbol.left = at - 1;
    if (at > 0) symbols.back().right = at;
    symbols.push_back(symbol);
  }

  std::vector<Symbol> Split(std::string_view text) const {
    std::vector<Symbol> symbols;
    symbols.reserve(text.size());
    const auto size = static_cast<std::uint32_t>(text.size());
    for (std::uint32_t begin = 0; begin < size;) {
      const std::uint32_t end = std::min(begin + CharacterBytes(text[begin]), size);
      const std::string_view character = text.substr(begin, end - begin);
      const TokenId id = index_.Find(character);
      if (id >= 0) {
        Append({.begin = begin, .end = end, .id = id}, symbols);
      } else if (HasBytes(character)) {
        for (std::uint32_t i = begin; i < end; ++i) {
          const TokenId byte_id = byte_ids_[static_cast<unsigned char>(text[i])];
          Append({.begin = i, .end = i + 1, .id = byte_id, .joinable = false}, symbols);
        }
      } else if (vocabulary_.unknown >= 0) {
        const bool fuse = !symbols.empty() && symbols.back().id == vocabulary_.unknown &&
                          symbols.back().end == begin && !symbols.back().joinable;
        if (fuse) {
          symbols.back().end = end;
        } else {
          Append({.begin = begin, .end = end, .id = vocabulary_.unknown, .joinable = false},
                 symbols);
        }
      }
      begin = end;
    }
    return symbols;
  }

  // The token that two neighbours spell together, or -1.
  TokenId Joined(std::string_view text, const Symbol& left, const Symbol& right) const {
    if (!left.joinable || !right.joinable || left.end != right.begin) return -1;
    return index_.Find(text.substr(left.begin, right.end - left.begin));
  }

  void Offer(std::string_view text, const std::vector<Symbol>& symbols, std::int32_t at,
             std::priority_queue<Merge>& queue) const {
    const Symbol& left = symbols[static_cast<std::size_t>(at)];
    if (left.right < 0) return;
    const Symbol& right = symbols[static_cast<std::size_t>(left.right)];
    const TokenId id = Joined(text, left, right);
    if (id < 0) return;
    queue.push({.score = vocabulary_.scores[static_cast<std::size_t>(id)],
                .left_characters = Characters(text.substr(left.begin, left.end - left.begin)),
                .right_characters = Characters(text.substr(right.begin, right.end - right.begin)),
                .id = id,
                .left = at});
  }

  const Vocabulary& vocabulary_;
  TokenIndex index_;
  std::array<TokenId, 256> byte_ids_;
  bool add_space_prefix_;
};

}  // namespace

std::unique_ptr<StretchEncoder> MakeSentencePieceEncoder(const Vocabulary& vocabulary,
                                                         bool add_space_prefix) {
  return std::make_unique<SentencePieceEncoder>(vocabulary, add_space_prefix);
}

}  // namespace folio
