#include "folio/plan_checks.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace folio {
namespace {

class Options {
 public:
  explicit Options(const std::vector<OptionFact>& facts) : facts_(facts) {}

  bool Have(std::string_view name) const {
    return std::ranges::any_of(
        facts_, [&](const OptionFact& fact) { return fact.given && fact.name == name; });
  }
  // The first of `names` that was given is an error.
  template <std::size_t N>
  Status RefuseAny(const std::array<std::string_view, N>& names, const char* why) const {
    for (const std::string_view name : names) {
      if (Have(name)) return UsageError("plan", std::string(name), why);
    }
    return {};
  }

 private:
  const std::vector<OptionFact>& facts_;
};

Status CheckList(const PlanArgs& args, const std::vector<OptionFact>& facts) {
  if (!args.list) return {};
  for (const OptionFact& fact : facts) {
    if (fact.given && fact.name != "--list" && fact.name != "--json")
      return UsageError("plan", fact.name, "says nothing about --list, which is about no model");
  }
  return {};
}

Status CheckModels(const PlanArgs& args, const Options& options) {
  if (args.models.size() > 1 && !args.compare)
    return UsageError("plan", args.models[1], "one model only, or several with --compare");
  if (!args.compare) return {};
  if (args.explain)
    return UsageError("plan", "--explain", "explains one model: not with --compare");
  return options.RefuseAny(std::to_array<std::string_view>({"--requests"}),
                           "costs the same with every model: not with --compare");
}

Status CheckSpeed(const PlanArgs& args, const Options& options) {
  for (const auto& [name, value] :
       {std::pair<std::string_view, float>{"--bandwidth", args.bandwidth},
        std::pair<std::string_view, float>{"--compute", args.compute}}) {
    if (options.Have(name) && value <= 0)
      return UsageError("plan", std::string(name), "is not above 0");
  }
  if (args.compute > 0 && args.bandwidth == 0 && !args.measure)
    return UsageError("plan", "--compute", "needs --bandwidth, too, or --measure");
  if (args.measure && args.bandwidth > 0 && args.compute > 0)
    return UsageError("plan", "--measure",
                      "has nothing to measure beside --bandwidth and --compute");
  return {};
}

Status CheckWeights(const Options& options) {
  if (options.Have("--weights") && options.Have("--weights-bytes"))
    return UsageError("plan", "--weights", "or --weights-bytes: one of them says the size");
  return {};
}

Status CheckHosted(const PlanArgs& args, const Options& options) {
  if (args.requests == 0) {
    return options.RefuseAny(std::to_array<std::string_view>({"--price", "--interval", "--ttl",
                                                              "--write-factor", "--read-factor"}),
                             "needs --requests: how many there are");
  }
  if (args.shared_prefix > 0) return {};
  return options.RefuseAny(
      std::to_array<std::string_view>({"--interval", "--ttl", "--write-factor", "--read-factor"}),
      "needs --shared-prefix: without one nothing is kept");
}

}  // namespace

Status CheckPlanOptions(const PlanArgs& args, const std::vector<OptionFact>& given) {
  const Options options(given);
  for (const Status& checked :
       {CheckList(args, given), CheckModels(args, options), CheckSpeed(args, options),
        CheckWeights(options), CheckHosted(args, options)}) {
    if (!checked) return checked;
  }
  return {};
}

}  // namespace folio
