#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "folio/commands.h"
#include "folio/engine_args.h"
#include "folio/model_facts.h"
#include "folio/options.h"
#include "folio/output.h"
#include "formats/open_model.h"
#include "kvcache/kv_sizing.h"
#include "model/positions/rope_scaling.h"
#include "store/model_store.h"
#include "text/tokenizer.h"

namespace folio {
namespace {

struct ShowArgs {
  std::string model;
  bool tensors = false;
  bool json = false;
};

std::string StringOf(const ModelFile& file, std::string_view key) {
  return std::string(file.GetStringOr(key, "").value_or(std::string_view()));
}

OutputJson UintOrNull(const ModelFile& file, std::string_view key) {
  const auto value = file.GetUint(key);
  return value ? OutputJson(*value) : OutputJson();
}

OutputJson BoolOrNull(const ModelFile& file, std::string_view key) {
  const auto value = file.GetBool(key);
  return value ? OutputJson(*value) : OutputJson();
}

// Of a folder, which keeps it in a file of its own.
OutputJson TokenizerOfFolder(const ModelFile& file) {
  const Result<Tokenizer> tokenizer = Tokenizer::FromModel(file);
  if (!tokenizer) return {{"model", "tokenizer.json"}, {"error", tokenizer.error().Message()}};
  const auto id = [](TokenId token) { return token < 0 ? OutputJson() : OutputJson(token); };
  return {{"model", "tokenizer.json"},
          {"tokens", tokenizer->vocab_size()},
          {"bos", id(tokenizer->bos())},
          {"eos", id(tokenizer->eos())},
          {"add_bos", tokenizer->add_bos()}};
}

OutputJson TokenizerJson(const ModelFile& file) {
  if (file.gguf_version() == 0) return TokenizerOfFolder(file);
  const auto tokens = file.GetStrings("tokenizer.ggml.tokens");
  return {{"model", StringOf(file, "tokenizer.ggml.model")},
          {"pre", StringOf(file, "tokenizer.ggml.pre")},
          {"tokens", tokens ? OutputJson(tokens->size()) : OutputJson()},
          {"bos", UintOrNull(file, "tokenizer.ggml.bos_token_id")},
          {"eos", UintOrNull(file, "tokenizer.ggml.eos_token_id")},
          {"add_bos", BoolOrNull(file, "tokenizer.ggml.add_bos_token")}};
}

std::string PositionsName(const ModelConfig& config) {
  if (config.learned_positions) return "learned";
  return config.ropes[0].rotary_dim > 0 ? "rope" : "none";
}

OutputJson ConfigJson(const ModelConfig& config) {
  std::int64_t windowed = 0;
  std::int64_t window = 0;
  for (const LayerConfig& layer : config.layers) {
    windowed += layer.window > 0 ? 1 : 0;
    window = std::max(window, layer.window);
  }
  return {{"layers", config.num_layers()},
          {"hidden", config.hidden},
          {"ffn", config.ffn},
          {"experts", config.router.experts},
          {"experts_per_token", config.router.top_k},
          {"expert_ffn", config.expert_ffn},
          {"shared_expert_ffn", config.shared_ffn},
          {"vocab", config.vocab},
          {"context_length", config.context_length},
          {"query_heads", config.query_heads},
          {"kv_heads", config.kv_heads},
          {"head_dim", config.head_dim},
          {"latent_rank", config.latent.rank},
          {"positions", PositionsName(config)},
          {"rope_base", config.ropes[0].base},
          {"rope_dims", config.ropes[0].rotary_dim},
          {"rope_scaling", std::string(RopeScalingName(config.ropes[0].scaling))},
          {"window", window},
          {"window_layers", windowed}};
}

OutputJson TensorsJson(const ModelFile& file) {
  OutputJson tensors = OutputJson::array();
  for (const ModelTensor& tensor : file.tensors()) {
    tensors.push_back({{"name", std::string(tensor.name)},
                       {"type", std::string(TypeInfo(tensor.type).name)},
                       {"shape", tensor.dims},
                       {"bytes", tensor.bytes}});
  }
  return tensors;
}

OutputJson KvBytesJson(const ModelConfig& config) {
  OutputJson bytes;
  for (const KvType type : {KvType::kBf16, KvType::kF16, KvType::kF32, KvType::kQ8_0}) {
    bytes[std::string(KvTypeName(type))] = KvBytesPerToken(KvSpecOf(config), type);
  }
  return bytes;
}

OutputJson FileJson(const ModelFile& file, const ModelFacts& facts, bool tensors) {
  OutputJson json;
  json["path"] = file.path();
  json["files"] = file.files();
  json["bytes"] = file.file_bytes();
  const bool gguf = file.gguf_version() != 0;
  json["format"] = gguf ? "gguf" : "folder";
  json["gguf_version"] = gguf ? OutputJson(file.gguf_version()) : OutputJson();
  json["architecture"] = facts.architecture;
  json["name"] = facts.name;
  json["parameters"] = facts.parameters;
  json["tensors"] = file.tensors().size();
  json["types"] = OutputJson::object();
  for (const auto& [name, totals] : facts.types) {
    json["types"][name] = {{"tensors", totals.tensors}, {"bytes", totals.bytes}};
  }
  json["tokenizer"] = TokenizerJson(file);
  const std::string chat_template = StringOf(file, "tokenizer.chat_template");
  json["chat_template_bytes"] =
      chat_template.empty() ? OutputJson() : OutputJson(chat_template.size());
  json["config"] = facts.config ? ConfigJson(*facts.config) : OutputJson();
  json["kv_bytes_per_token"] =
      facts.kv_bytes_per_token ? OutputJson(*facts.kv_bytes_per_token) : OutputJson();
  json["kv_bytes_per_token_by_type"] = facts.config ? KvBytesJson(*facts.config) : OutputJson();
  if (!facts.config) json["error"] = facts.config.error().Message();
  if (tensors) json["tensor_list"] = TensorsJson(file);
  return json;
}

// A JSON value for people: strings without quotes, nulls as "none".
std::string Plain(const OutputJson& value) {
  if (value.is_null()) return "none";
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, OutputJson::error_handler_t::replace);
}

void AppendObject(const std::string& title, const OutputJson& object, std::string& text) {
  text += title;
  if (!object.is_object()) {
    text += "  none\n";
    return;
  }
  const char* separator = "  ";
  for (const auto& [key, value] : object.items()) {
    text += separator + key + " " + Plain(value);
    separator = ", ";
  }
  text += "\n";
}

std::string AsText(const OutputJson& json, bool tensors) {
  std::string text;
  const auto line = [&text](const char* title, const std::string& value) {
    text += std::string(title) + "  " + value + "\n";
  };
  line("file        ", Plain(json["path"]));
  const OutputJson& version = json["gguf_version"];
  line("size        ",
       HumanBytes(json["bytes"].get<std::uint64_t>()) + ", " +
           (version.is_null() ? "Hugging Face folder" : "GGUF version " + Plain(version)) +
           ", files " + std::to_string(json["files"].size()));
  line("model       ", Plain(json["name"]) + ", architecture " + Plain(json["architecture"]));
  line("parameters  ", Plain(json["parameters"]) + " in " + Plain(json["tensors"]) + " tensors");
  const OutputJson& types = json["types"];
  for (const auto& [name, totals] : types.items()) {
    line("type        ", name + ": " + Plain(totals["tensors"]) + " tensors, " +
                             HumanBytes(totals["bytes"].get<std::uint64_t>()));
  }
  AppendObject("config      ", json["config"], text);
  AppendObject("tokenizer   ", json["tokenizer"], text);
  const OutputJson& chat = json["chat_template_bytes"];
  line("template    ", chat.is_null() ? "none" : Plain(chat) + " bytes");
  AppendObject("KV per token", json["kv_bytes_per_token_by_type"], text);
  if (tensors) {
    for (const OutputJson& tensor : json["tensor_list"]) {
      line("tensor      ",
           Plain(tensor["name"]) + "  " + Plain(tensor["type"]) + "  " + Plain(tensor["shape"]));
    }
  }
  return text;
}

// A file that Folio can read but not run is shown, and is an error all the same.
Status RunShow(const ShowArgs& args) {
  const Result<ModelStore> store = ModelStore::FromEnvironment();
  if (!store) return std::unexpected(store.error());
  const Result<std::string> path = store->Resolve(args.model);
  if (!path) return std::unexpected(path.error());
  const Result<ModelFile> file = OpenModelFile(*path);
  if (!file) return std::unexpected(file.error());
  const ModelFacts facts = FactsOf(*file);
  const OutputJson json = FileJson(*file, facts, args.tensors);
  const std::string text = args.json ? std::string() : AsText(json, args.tensors);
  const Status written =
      args.json ? WriteJson(json) : WriteOutput(OutputIsTerminal() ? ForTerminal(text) : text);
  if (!written) return written;
  if (!facts.config) return std::unexpected(facts.config.error());
  return {};
}

}  // namespace

void AddShow(const Command& folio) {
  auto args = std::make_shared<ShowArgs>();
  const Command command = folio.AddCommand("show", "what a model is");
  AddModelArg(command, args->model);
  command.AddFlag("--tensors", args->tensors, "list every tensor too");
  command.AddFlag("--json", args->json, "print one JSON document");
  command.SetAction([args] { return RunShow(*args); });
}

}  // namespace folio
