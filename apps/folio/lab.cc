#include "folio/lab.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string_view>

#include "folio/commands.h"
#include "folio/options.h"
#include "folio/text_table.h"
#include "quant/kv_type.h"

namespace folio {
namespace {

struct Lab {
  std::string_view name;
  std::string_view about;
  Result<LabSteps> (*run)(const LabArgs& args);
  bool takes_tokens = false;
  bool takes_tiles = false;
};

constexpr std::array<Lab, 7> kLabs = {{
    {"paged", "three requests on a pool of four blocks; what paging wastes; what a block is",
     PagedLab},
    {"kv-size", "what keys and values take, factor by factor, and in whole blocks", KvSizeLab,
     true},
    {"prompt-cache", "what a second request with the same prefix is spared, and what makes it miss",
     PromptCacheLab},
    {"kv-cache", "the work of one decode step with and without a KV cache", KvCacheLab, true},
    {"attention",
     "from attention in three passes to FlashAttention: what each rung moves and loses",
     AttentionLab, true, true},
    {"positions", "why attention needs positions; from fractions to the hands of a model's clock",
     PositionsLab},
    {"moe", "router, dispatch, balance and cost of a Mixture of Experts", MoeLab},
}};

constexpr std::size_t kColumns = 96;
constexpr std::int64_t kMostDim = std::int64_t{1} << 20;

struct Args {
  std::string name;
  LabArgs lab;
  bool list = false;
  bool json = false;
};

std::string Names() {
  std::string names;
  for (const Lab& lab : kLabs) names += (names.empty() ? "" : ", ") + std::string(lab.name);
  return names;
}

Status List(bool json) {
  OutputJson document = {{"labs", OutputJson::array()}};
  std::string text;
  for (const Lab& lab : kLabs) {
    document["labs"].push_back({{"name", lab.name}, {"about", lab.about}});
    text += std::string(lab.name) + std::string(14 - lab.name.size(), ' ') +
            std::string(lab.about) + "\n";
  }
  return json ? WriteJson(document) : WriteOutput(text);
}

Status WriteSteps(std::string_view name, const LabSteps& steps) {
  OutputJson document = {{"lab", name}, {"steps", OutputJson::array()}};
  for (const LabStep& step : steps) {
    OutputJson json = {{"id", step.id}, {"title", step.title}};
    json.update(step.facts);
    json["text"] = step.lines;
    document["steps"].push_back(std::move(json));
  }
  return WriteJson(document);
}

std::string AsText(const LabSteps& steps) {
  std::string text;
  for (const LabStep& step : steps) {
    text += (text.empty() ? "" : "\n") + step.id + "  " + step.title + "\n";
    for (const std::string& line : step.lines) {
      for (const std::string& part : Wrapped(line, kColumns)) {
        text += part.empty() ? "\n" : "    " + part + "\n";
      }
    }
  }
  return text;
}

bool HasTileOption(const LabArgs& args) {
  return args.head_dim > 0 || args.tile > 0 || args.fast_memory > 0 || args.seed.has_value();
}

bool HasExpertOption(const LabArgs& args) {
  return args.hidden > 0 || args.expert_ffn > 0 || !args.expert_type.empty() || args.measure ||
         !args.svg.empty();
}

// Whether the lab has the options that were given, and what no option's own range says.
Status CheckOptions(const Lab& lab, const LabArgs& args) {
  if (args.tokens > 0 && !lab.takes_tokens) {
    return UsageError("lab", "--tokens",
                      "is for kv-size, kv-cache and attention, not for " + std::string(lab.name));
  }
  if (HasTileOption(args) && !lab.takes_tiles) {
    return UsageError("lab", "--head-dim, --tile, --fast-memory and --seed",
                      "are for attention, not for " + std::string(lab.name));
  }
  if (HasExpertOption(args) && lab.run != MoeLab) {
    return UsageError("lab", "--measure, --svg, --hidden, --expert-ffn and --type",
                      "are for moe, not for " + std::string(lab.name));
  }
  if (args.dim > 0 && lab.run != PositionsLab) {
    return UsageError("lab", "--dim", "is for positions, not for " + std::string(lab.name));
  }
  if (args.dim % 2 != 0) {
    return UsageError("lab", "--dim", std::to_string(args.dim) + " is odd, and not of pairs");
  }
  if (!KvTypeFromName(args.kv_type)) {
    return UsageError("--kv-type", "", "'" + args.kv_type + "' is none of bf16, f16, f32, q8_0");
  }
  return {};
}

Status RunLab(const Args& args) {
  if (args.list) return List(args.json);
  if (args.name.empty()) return UsageError("lab", "NAME", "is missing; there are " + Names());
  const auto lab = std::ranges::find(kLabs, args.name, &Lab::name);
  if (lab == kLabs.end()) {
    return UsageError("lab", "NAME", "'" + args.name + "' is none of " + Names());
  }
  if (const Status checked = CheckOptions(*lab, args.lab); !checked) return checked;
  const Result<LabSteps> steps = lab->run(args.lab);
  if (!steps) return std::unexpected(steps.error());
  if (args.json) return WriteSteps(lab->name, *steps);
  const std::string text = AsText(*steps);
  return WriteOutput(OutputIsTerminal() ? ForTerminal(text) : text);
}

void AddAttentionOptions(const Command& command, LabArgs& args) {
  command.AddWhole("--head-dim", args.head_dim, 32, 256,
                   "dimensions of a head, a multiple of 32 (default: 64)");
  command.AddWhole("--tile", args.tile, 1, 4096,
                   "rows of queries and of keys in fast memory (default: what fits)");
  command.AddByteSize("--fast-memory", args.fast_memory,
                      "bytes of the fast tier (default: 192KiB)");
  command.AddSeed("--seed", args.seed, "of its inputs (default: 0)");
}

void AddExpertOptions(const Command& command, LabArgs& args) {
  command.AddFlag("--measure", args.measure,
                  "time a token against the number of experts (a few seconds)");
  command.AddText("--svg", args.svg, "a file for what was measured, as a chart").Takes("FILE");
  command.AddWhole("--hidden", args.hidden, 32, 16384,
                   "of its layer, a multiple of 32 (default: 256)");
  command.AddWhole("--expert-ffn", args.expert_ffn, 32, 65536,
                   "of each expert, a multiple of 32 (default: 768)");
  command.AddText("--type", args.expert_type,
                  "of its weights: Q4_0 (default), Q8_0, MXFP4, BF16 or F32");
}

}  // namespace

void AddLab(const Command& folio) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  auto args = std::make_shared<Args>();
  const Command command = folio.AddCommand("lab", "worked examples on the engine's own classes");
  command.AddText("NAME", args->name, "one of " + Names());
  command.AddFlag("--list", args->list, "say what each one shows");
  command.AddText(
      "--model", args->lab.model,
      "a GGUF file, a Hugging Face folder or a name in the store (default: as for run; paged and "
      "kv-size "
      "need none and then take the shape of Qwen3-8B; attention and moe take none; two steps "
      "of positions need one)");
  command.AddWhole("--tokens", args->lab.tokens, 1, kMost,
                   "how long: of kv-size (default: 100000), of kv-cache at most (default: 1024), "
                   "and of attention (default: 512)");
  command.AddWhole("--threads", args->lab.threads, 1, 1024,
                   "compute threads (default: one a core)");
  command.AddText("--kv-type", args->lab.kv_type, "bf16 (default), f16, f32 or q8_0");
  AddAttentionOptions(command.Group("Options of attention"), args->lab);
  command.Group("Options of positions")
      .AddWhole("--dim", args->lab.dim, 2, kMostDim,
                "dimensions of sines and cosines whose longest wavelength is added, even");
  AddExpertOptions(command.Group("Options of moe"), args->lab);
  command.AddFlag("--json", args->json, "print one JSON document with the same steps");
  command.SetAction([args] { return RunLab(*args); });
}

}  // namespace folio
