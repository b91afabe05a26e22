#include "folio/lab_positions.h"

#include <string>
#include <utility>

#include "folio/lab_model_shape.h"
#include "formats/open_model.h"
#include "store/model_store.h"

namespace folio {
namespace {

Result<PositionsModel> OpenModel(const std::string& name) {
  const Result<ModelStore> store = ModelStore::FromEnvironment();
  if (!store) return std::unexpected(store.error());
  const Result<std::string> path = store->Resolve(name);
  if (!path) return std::unexpected(path.error());
  Result<ModelFile> file = OpenModelFile(*path);
  if (!file) return std::unexpected(file.error());
  Result<ModelConfig> config = ReadModelConfig(*file);
  if (!config) return std::unexpected(config.error());
  if (Status status = RefuseLatent(*file, *config); !status) return std::unexpected(status.error());
  return PositionsModel{.file = *std::move(file), .config = *std::move(config)};
}

LabStep NeedsModel(std::string id, std::string title, const Error& why) {
  LabStep step{.id = std::move(id), .title = std::move(title)};
  step.facts = {{"missing_model", why.Message()}};
  step.lines = {"This step needs a model: " + why.Message()};
  return step;
}

}  // namespace

Result<LabSteps> PositionsLab(const LabArgs& args) {
  const Result<PositionsModel> model = OpenModel(args.model);
  // Only the default model may be absent: the other steps need none.
  if (!model && !args.model.empty()) return std::unexpected(model.error());
  LabSteps steps;
  if (model) {
    Result<LabStep> order = WordOrder(*model, args.threads);
    if (!order) return std::unexpected(order.error());
    steps.push_back(*std::move(order));
  } else {
    steps.push_back(NeedsModel("Q1", "who hits whom, without positions", model.error()));
  }
  steps.push_back(PositionAsFraction());
  steps.push_back(PositionInBinary());
  steps.push_back(SinusoidalWaves());
  steps.push_back(LongestWaves(args.dim));
  steps.push_back(model ? ClockHands(*model)
                        : NeedsModel("Q6", "each pair a clock hand", model.error()));
  return steps;
}

}  // namespace folio
