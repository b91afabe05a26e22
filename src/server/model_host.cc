#include "server/model_host.h"

#include <algorithm>
#include <utility>

namespace folio {

void ModelHost::Add(std::shared_ptr<ServedModel> model) {
  const std::lock_guard lock(mutex_);
  models_.push_back(std::move(model));
}

std::expected<std::shared_ptr<ServedModel>, ApiError> ModelHost::Find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  if (models_.empty()) {
    return std::unexpected(ApiError{.kind = ApiError::Kind::kUnavailable,
                                    .message = "the model is being loaded: try again"});
  }
  const auto found =
      std::ranges::find_if(models_, [name](const auto& model) { return model->id() == name; });
  if (found != models_.end()) return *found;
  if (!strict_) return models_.front();
  return std::unexpected(
      ApiError{.kind = ApiError::Kind::kNotFound,
               .message = "the model '" + std::string(name) + "' is not served here",
               .param = "model"});
}

std::vector<std::shared_ptr<ServedModel>> ModelHost::All() const {
  const std::lock_guard lock(mutex_);
  return models_;
}

bool ModelHost::ready() const {
  const std::lock_guard lock(mutex_);
  return !models_.empty();
}

}  // namespace folio
