// A model that the server answers with.
#ifndef FOLIO_SERVER_SERVED_MODEL_H_
#define FOLIO_SERVER_SERVED_MODEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/reply_parser/reply_parser.h"
#include "folio/engine.h"

namespace folio {

class ServedModel {
 public:
  // `id`: its name in the API.
  ServedModel(std::string id, std::unique_ptr<Engine> engine);

  const std::string& id() const { return id_; }
  Engine& engine() const { return *engine_; }
  std::int64_t context() const;          // most tokens of prompt and reply
  std::int64_t trained_context() const;  // those that the model was made for
  const ReplySyntax& syntax() const { return syntax_; }
  // The vocabulary has the mark of its syntax's calls as a control token.
  bool marks_are_controls() const { return marks_are_controls_; }
  // The template has no place for tools: they are described in the system message instead.
  bool needs_tool_block() const { return needs_tool_block_; }
  int block_size() const;
  const std::vector<std::int32_t>& end_tokens() const;
  bool HasToken(std::uint64_t id) const;
  // The bytes that a token stands for; of a control token its spelling is TokenPiece.
  std::string_view TokenBytes(std::int32_t token) const;
  std::string_view TokenPiece(std::int32_t token) const;

 private:
  std::string id_;
  std::unique_ptr<Engine> engine_;
  ReplySyntax syntax_;
  bool marks_are_controls_ = false;
  bool needs_tool_block_ = false;
};

}  // namespace folio

#endif  // FOLIO_SERVER_SERVED_MODEL_H_
