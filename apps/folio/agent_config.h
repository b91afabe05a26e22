// How a coding agent is told of a server: the files that it reads, and what has to stand in them.
#ifndef FOLIO_APPS_FOLIO_AGENT_CONFIG_H_
#define FOLIO_APPS_FOLIO_AGENT_CONFIG_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace folio {

// What the agent is to use.
struct AgentTarget {
  std::string url;           // of the server, without a slash at its end
  std::string model;         // as /v1/models names it
  std::int64_t context = 0;  // tokens
  std::string key_variable;  // the environment variable with the API key; empty: it needs none
};

// Where agents keep their settings, of the environment.
struct AgentHomes {
  std::string home;
  std::function<std::string(const char* name)> variable;  // empty where it isn't set
};

// One file of an agent.
struct AgentFile {
  std::string path;
  // The file's text with the server's settings in it, all others as they were. An error says what
  // in `old` can't be changed safely.
  std::function<Result<std::string>(std::string_view old)> merge;
};

struct AgentConfig {
  std::vector<AgentFile> files;
  std::vector<std::string> notes;  // what else the user has to do or to know, a line each
};

// codex, claude, opencode, qwen, continue, aider.
const std::vector<std::string>& AgentNames();
// `name` is one of them.
AgentConfig ConfigOfAgent(std::string_view name, const AgentTarget& target,
                          const AgentHomes& homes);

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_AGENT_CONFIG_H_
