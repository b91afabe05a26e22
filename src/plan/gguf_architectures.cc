#include "plan/gguf_architectures.h"

#include <array>

namespace folio {
namespace {

constexpr std::array kArchitectures = {
    GgufArchitecture{"bailingmoe"},
    GgufArchitecture{"bloom"},
    GgufArchitecture{"cohere2", 4},
    GgufArchitecture{"command-r"},
    GgufArchitecture{"deepseek"},
    GgufArchitecture{"deepseek2"},
    GgufArchitecture{"dots1"},
    GgufArchitecture{"ernie4_5"},
    GgufArchitecture{"ernie4_5-moe"},
    GgufArchitecture{"exaone"},
    GgufArchitecture{.name = "exaone4", .window_pattern = 4, .window_optional = true},
    GgufArchitecture{"falcon"},
    GgufArchitecture{.name = "falcon-h1", .parallel_state = true},
    GgufArchitecture{"gemma"},
    GgufArchitecture{"gemma2", 2},
    GgufArchitecture{"gemma3", 6},
    GgufArchitecture{"gemma3n", 5},
    GgufArchitecture{"glm4"},
    GgufArchitecture{"glm4moe"},
    GgufArchitecture{"gpt-oss", 2},
    GgufArchitecture{"gpt2"},
    GgufArchitecture{"gptneox"},
    GgufArchitecture{"granite"},
    GgufArchitecture{"granitehybrid"},
    GgufArchitecture{"granitemoe"},
    GgufArchitecture{"hunyuan-dense"},
    GgufArchitecture{"hunyuan-moe"},
    GgufArchitecture{"internlm2"},
    GgufArchitecture{.name = "jamba", .grouped_state = false},
    GgufArchitecture{"lfm2"},
    GgufArchitecture{"lfm2moe"},
    GgufArchitecture{"llama"},
    GgufArchitecture{.name = "llama4",
                     .window_pattern = 4,
                     .chunk = "attention.chunk_size",
                     .fixed_window = 8192},
    GgufArchitecture{"minicpm"},
    GgufArchitecture{"minicpm3"},
    GgufArchitecture{"minimax-m2"},
    GgufArchitecture{"nemotron_h"},
    GgufArchitecture{"olmo"},
    GgufArchitecture{"olmo2"},
    GgufArchitecture{"olmoe"},
    GgufArchitecture{"orion"},
    GgufArchitecture{"phi2"},
    GgufArchitecture{"phi3"},
    GgufArchitecture{"phimoe"},
    GgufArchitecture{"qwen2"},
    GgufArchitecture{"qwen2moe"},
    GgufArchitecture{"qwen3"},
    GgufArchitecture{.name = "qwen35", .full_interval = 4},
    GgufArchitecture{.name = "qwen35moe", .full_interval = 4},
    GgufArchitecture{"qwen3moe"},
    GgufArchitecture{.name = "qwen3next", .full_interval = 4},
    GgufArchitecture{"seed_oss"},
    GgufArchitecture{"smollm3"},
    GgufArchitecture{"stablelm"},
    GgufArchitecture{"starcoder"},
    GgufArchitecture{"starcoder2"},
};

}  // namespace

std::span<const GgufArchitecture> GgufArchitectures() { return kArchitectures; }

}  // namespace folio
