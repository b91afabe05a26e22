// The text on Mixture of Experts, on the engine's own router, dispatch and layer.
#include "folio/lab_moe.h"

#include <utility>

#include "cpu/machine.h"
#include "folio/lab_moe_growth.h"

namespace folio {
namespace {

// Experts' sides are whole blocks of every type.
Status CheckSide(const char* option, std::int64_t value) {
  constexpr std::int64_t kBlock = 32;
  if (value % kBlock == 0) return {};
  return UsageError("lab moe", option, std::to_string(value) + " is not a multiple of 32");
}

Result<MoeSetting> SettingOf(const LabArgs& args) {
  MoeSetting setting{.measure = args.measure, .svg = args.svg};
  if (args.hidden > 0) setting.hidden = args.hidden;
  if (args.expert_ffn > 0) setting.expert_ffn = args.expert_ffn;
  if (const Status checked = CheckSide("--hidden", setting.hidden); !checked)
    return std::unexpected(checked.error());
  if (const Status checked = CheckSide("--expert-ffn", setting.expert_ffn); !checked)
    return std::unexpected(checked.error());
  if (!args.expert_type.empty()) {
    const Result<GgmlType> type = GrowthType(args.expert_type);
    if (!type) return std::unexpected(type.error());
    setting.type = *type;
  }
  const Result<Isa> isa = ChooseIsa();
  if (!isa) return std::unexpected(isa.error());
  setting.isa = *isa;
  return setting;
}

}  // namespace

Result<LabSteps> MoeLab(const LabArgs& args) {
  const Result<MoeSetting> setting = SettingOf(args);
  if (!setting) return std::unexpected(setting.error());
  ThreadPool pool(args.threads > 0 ? static_cast<int>(args.threads) : NumCores());
  Result<LabSteps> steps = MoeRouting(*setting, pool);
  if (!steps) return std::unexpected(steps.error());
  Result<LabSteps> dispatching = MoeDispatching(*setting, pool);
  if (!dispatching) return std::unexpected(dispatching.error());
  Result<LabStep> growth = MoeGrowth(*setting, pool);
  if (!growth) return std::unexpected(growth.error());
  for (LabStep& step : *dispatching) steps->push_back(std::move(step));
  for (LabStep& step : MoeBalance()) steps->push_back(std::move(step));
  steps->push_back(*std::move(growth));
  steps->push_back(MoeCollapse());
  steps->push_back(MoeShapes());
  return steps;
}

}  // namespace folio
