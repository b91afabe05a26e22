#include "server/served_model.h"

#include <utility>

#include "engine/loaded_model.h"

namespace folio {

ServedModel::ServedModel(std::string id, std::unique_ptr<Engine> engine)
    : id_(std::move(id)), engine_(std::move(engine)) {
  const LoadedModel& model = engine_->model();
  const std::string source = model.chat_template() ? model.chat_template()->source() : "";
  syntax_ = ReplySyntaxOf(source, model.config().architecture);
  const std::string_view mark = CallMark(syntax_.calls);
  marks_are_controls_ = !mark.empty() && model.tokenizer().FindSpecial(mark) >= 0;
  needs_tool_block_ = source.find("tools") == std::string::npos;
}

std::int64_t ServedModel::context() const { return engine_->LongestPrompt() + 1; }

std::int64_t ServedModel::trained_context() const {
  return engine_->model().config().context_length;
}

int ServedModel::block_size() const {
  return static_cast<int>(engine_->model().options().block_size);
}

const std::vector<std::int32_t>& ServedModel::end_tokens() const {
  return engine_->model().tokenizer().end_tokens();
}

bool ServedModel::HasToken(std::uint64_t id) const {
  return id < static_cast<std::uint64_t>(engine_->model().tokenizer().vocab_size());
}

std::string_view ServedModel::TokenBytes(std::int32_t token) const {
  return engine_->model().tokenizer().TokenBytes(token);
}

std::string_view ServedModel::TokenPiece(std::int32_t token) const {
  return engine_->model().tokenizer().TokenPiece(token);
}

}  // namespace folio
