// Appends a reply's pieces to the list at hand; what follows in kind is joined, so that a piece has
// whole characters wherever its parser cuts.
#ifndef FOLIO_API_REPLY_PARSER_PIECE_WRITER_H_
#define FOLIO_API_REPLY_PARSER_PIECE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/reply_piece.h"

namespace folio {

class PieceWriter {
 public:
  // Pieces go to `pieces` from now on; those that it holds stay as they are.
  void Into(std::vector<ReplyPiece>& pieces);

  void Text(std::string_view text);
  void Reasoning(std::string_view text);
  void StartCall(std::string name);
  void Arguments(std::string_view text);
  void EndCall();  // with arguments {} if there were none

  // A call began and didn't end, and nothing else came since.
  bool call_open() const { return call_open_; }
  std::int64_t calls_started() const { return calls_started_; }

 private:
  void Add(ReplyPiece::Kind kind, std::string_view text);

  std::vector<ReplyPiece>* pieces_ = nullptr;
  std::size_t first_ = 0;  // of the pieces that may be joined
  bool call_open_ = false;
  bool has_arguments_ = false;
  std::int64_t calls_started_ = 0;
};

}  // namespace folio

#endif  // FOLIO_API_REPLY_PARSER_PIECE_WRITER_H_
