// The models of a server, by name.
#ifndef FOLIO_SERVER_MODEL_HOST_H_
#define FOLIO_SERVER_MODEL_HOST_H_

#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "server/served_model.h"

namespace folio {

// Thread safe.
class ModelHost {
 public:
  // `strict`: a name that is none of the models' is an error; else it means the first model, since
  // clients ask for names of their own.
  explicit ModelHost(bool strict) : strict_(strict) {}

  void Add(std::shared_ptr<ServedModel> model);
  // The model of that name, or the first; kUnavailable while there is none yet.
  std::expected<std::shared_ptr<ServedModel>, ApiError> Find(std::string_view name) const;
  std::vector<std::shared_ptr<ServedModel>> All() const;
  bool ready() const;

 private:
  bool strict_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<ServedModel>> models_;
};

}  // namespace folio

#endif  // FOLIO_SERVER_MODEL_HOST_H_
