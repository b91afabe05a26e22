#include "folio/plan_compare.h"

#include <algorithm>

#include "folio/text_table.h"

namespace folio {
namespace {

constexpr const char* kUnknown = "-";

std::string CountOr(const std::optional<std::uint64_t>& number) {
  return number ? HumanCount(*number) : kUnknown;
}

std::vector<std::string> Row(const ComparedModel& model, bool speed) {
  const ModelShape& shape = *model.shape;
  std::vector<std::string> row = {OneLine(shape.name, 40), CountOr(AllParameters(shape)),
                                  CountOr(ActiveParameters(shape))};
  if (!model.answer) {
    row.resize(speed ? 11 : 9, kUnknown);
    return row;
  }
  const Plan& plan = model.answer->plan;
  row.insert(row.end(), {Grouped(plan.context),
                         plan.weights_known ? HumanBytes(plan.parts.weights_bytes) : kUnknown,
                         Grouped(plan.kv.bytes_per_token), HumanBytes(plan.kv.bytes),
                         plan.weights_known ? HumanBytes(plan.total_bytes()) : kUnknown,
                         plan.weights_known ? Grouped(model.answer->max_users) : kUnknown});
  if (!speed) return row;
  const std::optional<TrafficPlan>& batch = model.answer->batch;
  row.push_back(batch ? HumanBytes(static_cast<std::uint64_t>(batch->step_bytes())) : kUnknown);
  row.push_back(batch && batch->tokens_per_s ? Decimal(*batch->tokens_per_s, 1) : kUnknown);
  return row;
}

// What the row of a model does not tell.
std::string Remarks(const ComparedModel& model) {
  const ModelShape& shape = *model.shape;
  if (!model.answer) {
    std::string text = shape.name + ": " + shape.unknown;
    if (shape.experts > 0) {
      text += "; " + std::to_string(shape.top_k) + " of " + std::to_string(shape.experts) +
              " experts a token";
    }
    return text + "\n";
  }
  std::string text;
  const Plan& plan = model.answer->plan;
  if (!plan.weights_known) text += shape.name + ": the weights are not known (--weights-bytes)\n";
  if (const std::string past = ContextRemark(shape, plan.context); !past.empty())
    text += shape.name + ": " + past + "\n";
  return text;
}

std::string Footer(const PlanAnswer& answer, bool speed) {
  const Plan& plan = answer.plan;
  std::string text = Grouped(plan.users) + (plan.users == 1 ? " user, " : " users, ");
  if (answer.settings.kv.shared_prefix > 0)
    text += "the first " + Grouped(answer.settings.kv.shared_prefix) + " tokens shared, ";
  text += answer.kv_type + "; users: the most that fit in " + HumanBytes(answer.settings.memory);
  if (!speed) return text + "\n";
  const std::int64_t batch = answer.batch ? answer.batch->batch : 1;
  return text + "; tokens/s: at best, " + Grouped(batch) + " a step, " +
         SpeedRemark(*answer.machine) + "\n";
}

}  // namespace

std::string CompareText(const std::vector<ComparedModel>& models) {
  const auto planned = std::ranges::find_if(
      models, [](const ComparedModel& model) { return model.answer.has_value(); });
  const bool speed = planned != models.end() && planned->answer->machine.has_value();
  TextTable table(speed ? "lrrrrrrrrrr" : "lrrrrrrrr");
  std::vector<std::string> titles = {"model",      "parameters", "a token's", "context", "weights",
                                     "KV a token", "KV cache",   "total",     "users"};
  if (speed) titles.insert(titles.end(), {"a step reads", "tokens/s"});
  table.Add(std::move(titles));
  for (const ComparedModel& model : models) table.Add(Row(model, speed));
  std::string text;
  for (const std::string& line : table.Lines()) text += line + "\n";
  for (const ComparedModel& model : models) text += Remarks(model);
  return planned == models.end() ? text : text + Footer(*planned->answer, speed);
}

OutputJson CompareJson(const std::vector<ComparedModel>& models, std::int64_t batch) {
  OutputJson list = OutputJson::array();
  for (const ComparedModel& model : models)
    list.push_back(model.answer ? PlanJson(*model.answer) : FactsJson(*model.shape, batch));
  return {{"models", list}};
}

}  // namespace folio
