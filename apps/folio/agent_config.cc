#include "folio/agent_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include "folio/config_merge.h"

namespace folio {
namespace {

// Where no key is asked for, some clients still want one to send.
constexpr const char* kNoKey = "none";

// What a reply may have of a context, for clients that ask for a limit.
constexpr std::int64_t kMostReplyTokens = 8192;

std::int64_t ReplyTokens(const AgentTarget& target) {
  return std::min(kMostReplyTokens, target.context / 4);
}

std::string OpenAiUrl(const AgentTarget& target) { return target.url + "/v1"; }

// A string of TOML, and of YAML's double-quoted kind: JSON's escapes are theirs too.
std::string Quoted(const std::string& text) { return DumpJson(Json(text)); }

// The folder that a variable names, or one in the home folder.
std::string Folder(const AgentHomes& homes, const char* variable, const std::string& in_home) {
  const std::string named = homes.variable(variable);
  return named.empty() ? homes.home + "/" + in_home : named;
}

AgentFile JsonFile(std::string path, Json settings) {
  return {.path = std::move(path), .merge = [settings = std::move(settings)](std::string_view old) {
            return MergeJsonConfig(old, settings);
          }};
}

std::string ExportNote(const AgentTarget& target) {
  return "set " + target.key_variable + " to the API key where it runs";
}

void AddKeyNote(const AgentTarget& target, AgentConfig& config) {
  if (!target.key_variable.empty()) config.notes.push_back(ExportNote(target));
}

AgentConfig Codex(const AgentTarget& target, const AgentHomes& homes) {
  TomlSettings settings;
  settings.root = {{"model", Quoted(target.model)},
                   {"model_provider", "\"folio\""},
                   {"model_context_window", std::to_string(target.context)}};
  settings.table = "model_providers.folio";
  settings.table_pairs = {{"name", "\"Folio\""},
                          {"base_url", Quoted(OpenAiUrl(target))},
                          {"wire_api", "\"responses\""}};
  if (!target.key_variable.empty()) {
    settings.table_pairs.emplace_back("env_key", Quoted(target.key_variable));
  }
  AgentConfig config;
  config.files.push_back({.path = Folder(homes, "CODEX_HOME", ".codex") + "/config.toml",
                          .merge = [settings = std::move(settings)](std::string_view old) {
                            return MergeTomlConfig(old, settings);
                          }});
  AddKeyNote(target, config);
  return config;
}

// Claude Code takes the server's root; a small model's name for side requests would otherwise be
// one of Anthropic's.
AgentConfig Claude(const AgentTarget& target, const AgentHomes& homes) {
  Json settings = {{"env",
                    {{"ANTHROPIC_BASE_URL", target.url},
                     {"ANTHROPIC_MODEL", target.model},
                     {"ANTHROPIC_DEFAULT_HAIKU_MODEL", target.model},
                     {"CLAUDE_CODE_MAX_OUTPUT_TOKENS", std::to_string(ReplyTokens(target))},
                     {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"}}}};
  if (target.key_variable.empty()) {
    settings["env"]["ANTHROPIC_AUTH_TOKEN"] = kNoKey;
  } else {
    settings["apiKeyHelper"] = "printenv " + target.key_variable;
  }
  AgentConfig config;
  config.files.push_back(JsonFile(Folder(homes, "CLAUDE_CONFIG_DIR", ".claude") + "/settings.json",
                                  std::move(settings)));
  AddKeyNote(target, config);
  return config;
}

AgentConfig OpenCode(const AgentTarget& target, const AgentHomes& homes) {
  const std::string key =
      target.key_variable.empty() ? kNoKey : "{env:" + target.key_variable + "}";
  const Json model = {{"name", target.model},
                      {"limit", {{"context", target.context}, {"output", ReplyTokens(target)}}}};
  const Json provider = {{"npm", "@ai-sdk/openai-compatible"},
                         {"name", "Folio"},
                         {"options", {{"baseURL", OpenAiUrl(target)}, {"apiKey", key}}},
                         {"models", {{target.model, model}}}};
  AgentConfig config;
  config.files.push_back(
      JsonFile(Folder(homes, "XDG_CONFIG_HOME", ".config") + "/opencode/opencode.json",
               {{"$schema", "https://opencode.ai/config.json"},
                {"model", "folio/" + target.model},
                {"provider", {{"folio", provider}}}}));
  AddKeyNote(target, config);
  return config;
}

AgentConfig Qwen(const AgentTarget& target, const AgentHomes& homes) {
  const std::string variable = target.key_variable.empty() ? "FOLIO_API_KEY" : target.key_variable;
  const Json model = {{"id", target.model},
                      {"name", "Folio"},
                      {"envKey", variable},
                      {"baseUrl", OpenAiUrl(target)},
                      {"generationConfig", {{"contextWindowSize", target.context}}}};
  Json settings = {{"modelProviders", {{"openai", Json::array({model})}}},
                   {"security", {{"auth", {{"selectedType", "openai"}}}}},
                   {"model", {{"name", target.model}}}};
  if (target.key_variable.empty()) settings["env"] = {{variable, kNoKey}};
  AgentConfig config;
  config.files.push_back(
      JsonFile(Folder(homes, "QWEN_HOME", ".qwen") + "/settings.json", std::move(settings)));
  AddKeyNote(target, config);
  config.notes.emplace_back(
      "after each answer qwen-code asks a second question of its own, of 9,000 tokens; "
      "\"memory\": {\"enableManagedAutoMemory\": false} in its settings spares that");
  return config;
}

AgentConfig Continue(const AgentTarget& target, const AgentHomes& homes) {
  const std::string key =
      target.key_variable.empty() ? kNoKey : "${{ secrets." + target.key_variable + " }}";
  const std::vector<std::string> item = {
      "name: Folio",
      "provider: openai",
      "model: " + Quoted(target.model),
      "apiBase: " + Quoted(OpenAiUrl(target)),
      "apiKey: " + Quoted(key),
      "roles: [chat, edit, apply]",
      "capabilities: [tool_use]",
      "defaultCompletionOptions:",
      "  contextLength: " + std::to_string(target.context),
  };
  AgentConfig config;
  config.files.push_back(
      {.path = Folder(homes, "CONTINUE_GLOBAL_DIR", ".continue") + "/config.yaml",
       .merge = [item](std::string_view old) {
         const bool is_new = old.find_first_not_of(" \t\r\n") == std::string_view::npos;
         constexpr std::string_view kHead = "name: Main\nversion: 1.0.0\nschema: v1\n";
         return MergeYamlItem(is_new ? kHead : old, "models", item);
       }});
  AddKeyNote(target, config);
  return config;
}

// aider's settings know no context; litellm's list of models does.
AgentConfig Aider(const AgentTarget& target, const AgentHomes& homes) {
  const std::string model = "openai/" + target.model;
  std::vector<ConfigPair> pairs = {{"model", Quoted(model)},
                                   {"openai-api-base", Quoted(OpenAiUrl(target))}};
  if (target.key_variable.empty()) pairs.emplace_back("openai-api-key", Quoted(kNoKey));
  AgentConfig config;
  config.files.push_back({.path = homes.home + "/.aider.conf.yml",
                          .merge = [pairs = std::move(pairs)](std::string_view old) {
                            return MergeYamlPairs(old, pairs);
                          }});
  config.files.push_back(JsonFile(homes.home + "/.aider.model.metadata.json",
                                  {{model,
                                    {{"litellm_provider", "openai"},
                                     {"mode", "chat"},
                                     {"max_input_tokens", target.context},
                                     {"max_output_tokens", ReplyTokens(target)},
                                     {"input_cost_per_token", 0},
                                     {"output_cost_per_token", 0}}}}));
  if (!target.key_variable.empty()) {
    config.notes.push_back("set OPENAI_API_KEY to the API key where it runs");
  }
  return config;
}

using Maker = AgentConfig (*)(const AgentTarget& target, const AgentHomes& homes);
constexpr std::array<std::pair<std::string_view, Maker>, 6> kAgents = {{
    {"codex", Codex},
    {"claude", Claude},
    {"opencode", OpenCode},
    {"qwen", Qwen},
    {"continue", Continue},
    {"aider", Aider},
}};

}  // namespace

const std::vector<std::string>& AgentNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& agent : kAgents) names.emplace_back(agent.first);
    return names;
  }();
  return kNames;
}

AgentConfig ConfigOfAgent(std::string_view name, const AgentTarget& target,
                          const AgentHomes& homes) {
  const auto* const agent =
      std::ranges::find(kAgents, name, &std::pair<std::string_view, Maker>::first);
  return agent == kAgents.end() ? AgentConfig{} : agent->second(target, homes);
}

}  // namespace folio
