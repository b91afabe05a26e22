#include "folio/lab_model_shape.h"

#include "formats/open_model.h"
#include "model/config.h"
#include "store/model_store.h"

namespace folio {

LabModelShape Qwen3_8B() {
  return {.name = "Qwen3-8B",
          .query_heads = 32,
          .kv = {.layers = std::vector<KvLayerSpec>(36, {.kv_heads = 8, .head_dim = 128})}};
}

Status RefuseLatent(const ModelFile& file, const ModelConfig& config) {
  if (config.latent.rank == 0) return {};
  return InputError(file.path(), "general.architecture",
                    "'" + config.architecture +
                        "' keeps latent vectors; this lab is about keys and values of heads");
}

Result<LabModelShape> ShapeOf(const LabArgs& args) {
  if (args.model.empty()) return Qwen3_8B();
  const Result<ModelStore> store = ModelStore::FromEnvironment();
  if (!store) return std::unexpected(store.error());
  const Result<std::string> path = store->Resolve(args.model);
  if (!path) return std::unexpected(path.error());
  const Result<ModelFile> file = OpenModelFile(*path);
  if (!file) return std::unexpected(file.error());
  const Result<ModelConfig> config = ReadModelConfig(*file);
  if (!config) return std::unexpected(config.error());
  if (Status status = RefuseLatent(*file, *config); !status) return std::unexpected(status.error());
  return LabModelShape{.name = config->name.empty() ? *path : config->name,
                       .query_heads = config->query_heads,
                       .kv = KvSpecOf(*config)};
}

}  // namespace folio
