#include <algorithm>
#include <memory>
#include <utility>

#include "cpu/thread_pool.h"
#include "folio/commands.h"
#include "folio/plan_args.h"
#include "folio/plan_checks.h"
#include "folio/plan_compare.h"
#include "folio/plan_explain.h"
#include "folio/plan_list.h"
#include "folio/plan_report.h"
#include "kernels/machine_limits.h"

namespace folio {
namespace {

std::int64_t BatchOf(const PlanArgs& args) { return args.batch > 0 ? args.batch : args.users; }

// Measured, or given, which goes before; nothing if neither.
Result<std::optional<MachineSpeed>> SpeedOf(const PlanArgs& args, const EngineSizes& engine) {
  std::optional<MachineSpeed> speed;
  if (args.measure) {
    ThreadPool pool(engine.threads);
    const Result<MachineLimits> limits = MeasureMachineLimits(engine.isa, pool);
    if (!limits) return std::unexpected(limits.error());
    speed = MachineSpeed{.bytes_per_s = limits->dram_bytes_per_s,
                         .operations_per_s = limits->dot_op_per_s};
  }
  constexpr double kGiga = 1e9;
  if (args.bandwidth > 0) {
    if (!speed) speed.emplace();
    speed->bytes_per_s = kGiga * static_cast<double>(args.bandwidth);
  }
  if (args.compute > 0) speed->operations_per_s = kGiga * static_cast<double>(args.compute);
  return speed;
}

// The same parts of a size that is known.
WeightShape Scaled(const WeightShape& weights, std::uint64_t bytes) {
  if (weights.all == 0) return {.all = bytes, .always = bytes};
  const double factor = static_cast<double>(bytes) / static_cast<double>(weights.all);
  const auto part = [&](std::uint64_t one) {
    return static_cast<std::uint64_t>(factor * static_cast<double>(one));
  };
  return {.all = bytes, .always = part(weights.always), .experts = part(weights.experts)};
}

// What a step reads its weights from: of the size that the plan counts, where it is not the file's.
Result<std::optional<WeightShape>> WeightsToRead(const PlanArgs& args, const ModelShape& shape) {
  std::optional<WeightShape> weights = shape.weights;
  const bool given = !args.weights.empty();
  if ((!weights || given) && shape.parameters) {
    const Result<WeightShape> estimate = EstimateWeights(
        shape, given ? args.weights : shape.stored_type, given ? "" : shape.expert_type);
    if (!estimate) return std::unexpected(estimate.error());
    weights = *estimate;
  }
  if (args.weights_bytes > 0) return Scaled(weights.value_or(WeightShape{}), args.weights_bytes);
  if (weights && !given && shape.engine_weights) return Scaled(*weights, shape.engine_weights->all);
  return weights;
}

Status AddTraffic(const PlanArgs& args, PlanAnswer& answer) {
  const ModelShape& shape = *answer.shape;
  const Result<std::optional<WeightShape>> read = WeightsToRead(args, shape);
  if (!read) return std::unexpected(read.error());
  if (!*read) return {};
  const WeightShape& weights = **read;
  TrafficQuestion question = {.context = answer.plan.context,
                              .codings = answer.settings.kv.codings};
  answer.one = PlanTraffic(shape, weights, question, answer.machine);
  question.batch = BatchOf(args);
  answer.batch = PlanTraffic(shape, weights, question, answer.machine);
  return {};
}

Status AddHosted(const PlanArgs& args, PlanAnswer& answer) {
  if (args.requests == 0) return {};
  HostedAnswer hosted = {.traffic = {.requests = args.requests,
                                     .prompt_tokens = answer.plan.context,
                                     .shared_prefix = args.shared_prefix,
                                     .interval_seconds = static_cast<double>(args.interval)},
                         .prices = {.write_factor = static_cast<double>(args.write_factor),
                                    .read_factor = static_cast<double>(args.read_factor),
                                    .ttl_seconds = static_cast<double>(args.ttl),
                                    .per_million = static_cast<double>(args.price)},
                         .cost = {}};
  const Result<HostedCost> cost = PriceHosted(hosted.traffic, hosted.prices);
  if (!cost) return std::unexpected(cost.error());
  hosted.cost = *cost;
  answer.hosted = hosted;
  return {};
}

Result<PlanAnswer> Answer(const PlanArgs& args, const PlanSettings& settings,
                          const std::optional<MachineSpeed>& machine,
                          const std::shared_ptr<const ModelShape>& shape) {
  const Result<Planner> planner = Planner::Create(shape, settings);
  if (!planner) return std::unexpected(planner.error());
  const std::int64_t context = PlanContext(args, *shape);
  Result<Plan> plan = planner->At(args.users, context);
  if (!plan) return std::unexpected(plan.error());
  PlanAnswer answer = {.shape = shape,
                       .settings = settings,
                       .kv_type = args.kv_type,
                       .plan = *std::move(plan),
                       .max_users = planner->MaxUsers(context),
                       .max_context = planner->MaxContext(args.users),
                       .machine = machine};
  if (Status added = AddTraffic(args, answer); !added) return std::unexpected(added.error());
  if (Status added = AddHosted(args, answer); !added) return std::unexpected(added.error());
  return answer;
}

Status Write(const std::string& text) {
  return WriteOutput(OutputIsTerminal() ? ForTerminal(text) : text);
}

// Those that can be planned are, whatever the others lack; that is an error after all.
Status CompareModels(const PlanArgs& args, const PlanSettings& settings,
                     const std::optional<MachineSpeed>& machine,
                     const std::vector<std::shared_ptr<const ModelShape>>& shapes) {
  std::vector<ComparedModel> models;
  Status all_known;
  for (const auto& shape : shapes) {
    ComparedModel& model = models.emplace_back(ComparedModel{.shape = shape, .answer = {}});
    if (shape->layers.empty()) {
      if (all_known) all_known = InputError(shape->source, "layers", shape->unknown);
      continue;
    }
    Result<PlanAnswer> answer = Answer(args, settings, machine, shape);
    if (!answer) return std::unexpected(answer.error());
    model.answer = *std::move(answer);
  }
  Status written =
      args.json ? WriteJson(CompareJson(models, BatchOf(args))) : Write(CompareText(models));
  return written ? all_known : written;
}

Status WriteOne(const PlanArgs& args, const PlanAnswer& answer) {
  if (!args.json) return Write(PlanText(answer) + (args.explain ? ExplainText(answer) : ""));
  OutputJson json = PlanJson(answer);
  if (args.explain) json["explain"] = ExplainJson(answer);
  return WriteJson(json);
}

Status RunPlan(PlanArgs& args, const std::vector<OptionFact>& given) {
  if (Status checked = CheckPlanOptions(args, given); !checked) return checked;
  if (args.list) return args.json ? WriteJson(KnownJson()) : Write(KnownText());
  if (args.models.empty()) args.models.emplace_back();
  const Result<PlanSettings> settings = PlanSettingsOf(args);
  if (!settings) return std::unexpected(settings.error());
  std::vector<std::shared_ptr<const ModelShape>> shapes;
  for (const std::string& model : args.models) {
    const auto shape = ShapeForPlan(model);
    if (!shape) return std::unexpected(shape.error());
    shapes.push_back(*shape);
  }
  if (!args.compare && shapes[0]->layers.empty()) {
    return args.json ? WriteJson(FactsJson(*shapes[0], BatchOf(args)))
                     : Write(FactsText(*shapes[0], BatchOf(args)));
  }
  const Result<std::optional<MachineSpeed>> machine = SpeedOf(args, settings->engine);
  if (!machine) return std::unexpected(machine.error());
  if (args.compare) return CompareModels(args, *settings, *machine, shapes);
  const Result<PlanAnswer> answer = Answer(args, *settings, *machine, shapes[0]);
  return answer ? WriteOne(args, *answer) : Status(std::unexpected(answer.error()));
}

}  // namespace

void AddPlan(const Command& folio) {
  auto args = std::make_shared<PlanArgs>();
  const Command command =
      folio.AddCommand("plan", "will it fit? memory of a model, a context and so many users");
  command.AddTexts(
      "MODEL", args->models,
      "a GGUF file, a folder with config.json, a config.json, hf:ORG/REPO[:QUANT], a name in the "
      "store or a well-known model's; several with --compare");
  AddPlanArgs(command, *args);
  command.SetAction([args, command] { return RunPlan(*args, command.Facts()); });
}

}  // namespace folio
