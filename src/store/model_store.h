// The folder of models on this machine and the rule by which a MODEL argument finds a file.
//
//   $FOLIO_HOME, else $XDG_DATA_HOME/folio, else ~/.local/share/folio
//     models/NAME.gguf                         from ./run or `folio pull URL`
//     models/ORG/REPO/NAME.gguf                from `folio pull hf:ORG/REPO`
//
// A model's name is its path below models/ without ".gguf" and without the "-00001-of-0000N" of a
// split one. Its last components are enough where they are unique.
#ifndef FOLIO_STORE_MODEL_STORE_H_
#define FOLIO_STORE_MODEL_STORE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace folio {

struct StoredModel {
  std::string name;
  std::string path;                // the first file
  std::vector<std::string> files;  // all of them; one, but for split models
  std::uint64_t bytes = 0;         // of all files
};

class ModelStore {
 public:
  // From the environment; an error if it names no home at all.
  static Result<ModelStore> FromEnvironment();
  explicit ModelStore(std::string home) : home_(std::move(home)) {}

  std::string ModelsDir() const { return home_ + "/models"; }
  // The model that is used when none is named; it need not be there.
  std::string DefaultModelPath() const;

  // Every model, by name. A store that does not exist yet is empty.
  Result<std::vector<StoredModel>> List() const;
  // The model with this name, or whose last components are this; an error where none or several
  // are.
  Result<StoredModel> Find(std::string_view name) const;
  // Deletes a model's files, and its folders where that leaves them empty.
  Result<StoredModel> Remove(std::string_view name) const;

  // The file or folder that a MODEL argument means: an existing path, else a name in the store. An
  // empty argument means $FOLIO_MODEL, and without that the default model.
  Result<std::string> Resolve(std::string_view model) const;

 private:
  std::string home_;
};

}  // namespace folio

#endif  // FOLIO_STORE_MODEL_STORE_H_
