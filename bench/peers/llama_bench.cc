// Measures llama.cpp's prefill and decode of one model file, as `folio bench` measures Folio's, and
// can write its logits for chosen tokens. Uses llama.cpp's public C API only.
//
//   llama_bench MODEL [--prompt N] [--generate N] [--depth N] [--sequences N] [--threads N]
//   [--repeat N] [--flash 0|1]
//       decodes that many sequences together; prints {"prefill": [tokens/s, ...], "decode":
//       [tokens/s, ...]}
//   llama_bench MODEL --logits OUT.f32 --tokens 1,2,3 [--threads N] [--flash 0|1]
//       writes float32 [tokens, vocabulary], native byte order, no header
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Options {
  std::string model;
  std::map<std::string, std::string> values;

  int Int(const std::string& name, int fallback) const {
    const auto it = values.find(name);
    return it == values.end() ? fallback : std::atoi(it->second.c_str());
  }
};

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--", 2) == 0 && i + 1 < argc) {
      options.values[argv[i] + 2] = argv[i + 1];
      ++i;
    } else {
      options.model = argv[i];
    }
  }
  return options;
}

[[noreturn]] void Fail(const std::string& why) {
  std::cerr << "llama_bench: " << why << "\n";
  std::exit(1);
}

void OnlyErrors(ggml_log_level level, const char* text, void*) {
  if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
}

llama_context* NewContext(llama_model* model, const Options& options, int tokens) {
  llama_context_params params = llama_context_default_params();
  const int sequences = options.Int("sequences", 1);
  params.n_ctx = static_cast<uint32_t>(tokens * sequences);
  params.n_seq_max = static_cast<uint32_t>(sequences);
  params.n_batch = static_cast<uint32_t>(options.Int("batch", 2048));
  params.n_ubatch = static_cast<uint32_t>(options.Int("ubatch", 512));
  params.n_threads = params.n_threads_batch = options.Int("threads", 2);
  params.flash_attn_type =
      options.Int("flash", 1) != 0 ? LLAMA_FLASH_ATTN_TYPE_ENABLED : LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) Fail("no context");
  return context;
}

// Token ids that differ from call to call; their values do not change the speed.
std::vector<llama_token> SomeTokens(int count, int vocabulary) {
  std::vector<llama_token> tokens;
  uint32_t state = 1;
  for (int i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    tokens.push_back(static_cast<llama_token>((state >> 8) % static_cast<uint32_t>(vocabulary)));
  }
  return tokens;
}

void Decode(llama_context* context, llama_token* tokens, int count) {
  if (count > 0 && llama_decode(context, llama_batch_get_one(tokens, count)) != 0) Fail("decode");
  llama_synchronize(context);
}

// One token of each of `sequences` sequences, with logits for all.
void DecodeTogether(llama_context* context, llama_batch& batch, const llama_token* tokens,
                    int sequences, int position) {
  batch.n_tokens = sequences;
  for (int i = 0; i < sequences; ++i) {
    batch.token[i] = tokens[position * sequences + i];
    batch.pos[i] = position;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = i;
    batch.logits[i] = 1;
  }
  if (llama_decode(context, batch) != 0) Fail("decode");
  llama_synchronize(context);
}

double Seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

std::string Json(const std::vector<double>& values) {
  std::ostringstream out;
  out << "[";
  for (size_t i = 0; i < values.size(); ++i) out << (i ? ", " : "") << values[i];
  out << "]";
  return out.str();
}

void Measure(llama_model* model, const Options& options) {
  const int prompt = options.Int("prompt", 512);
  const int generate = options.Int("generate", 64);
  const int depth = options.Int("depth", 0);
  const int repeat = options.Int("repeat", 3);
  const int sequences = options.Int("sequences", 1);
  if (sequences > 1 && depth > 0) Fail("--depth is for one sequence");
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  llama_context* context = NewContext(model, options, std::max(prompt, depth + generate) + 64);
  std::vector<llama_token> tokens =
      SomeTokens(std::max({prompt, depth + generate, sequences * generate}), vocabulary);
  llama_batch batch = llama_batch_init(sequences, 0, 1);
  llama_memory_t memory = llama_get_memory(context);
  std::vector<double> prefill;
  std::vector<double> decode;
  Decode(context, tokens.data(), std::min<int>(16, static_cast<int>(tokens.size())));  // warm-up
  for (int round = 0; round < repeat; ++round) {
    if (prompt > 0) {
      llama_memory_clear(memory, true);
      const auto start = std::chrono::steady_clock::now();
      Decode(context, tokens.data(), prompt);
      prefill.push_back(prompt / Seconds(start));
    }
    if (generate > 0) {
      llama_memory_clear(memory, true);
      Decode(context, tokens.data(), depth);
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < generate; ++i) {
        if (sequences == 1) {
          Decode(context, tokens.data() + depth + i, 1);
        } else {
          DecodeTogether(context, batch, tokens.data(), sequences, i);
        }
      }
      decode.push_back(sequences * generate / Seconds(start));
    }
  }
  llama_batch_free(batch);
  std::cout << "{\"prefill\": " << Json(prefill) << ", \"decode\": " << Json(decode) << "}\n";
  llama_free(context);
}

void WriteLogits(llama_model* model, const Options& options) {
  std::vector<llama_token> tokens;
  std::istringstream list(options.values.at("tokens"));
  for (std::string item; std::getline(list, item, ',');) tokens.push_back(std::atoi(item.c_str()));
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  const int count = static_cast<int>(tokens.size());
  llama_context* context = NewContext(model, options, count + 64);
  llama_batch batch = llama_batch_init(count, 0, 1);
  batch.n_tokens = count;
  for (int i = 0; i < count; ++i) {
    batch.token[i] = tokens[static_cast<size_t>(i)];
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = 1;
  }
  if (llama_decode(context, batch) != 0) Fail("decode");
  std::ofstream out(options.values.at("logits"), std::ios::binary);
  for (int i = 0; i < count; ++i) {
    out.write(reinterpret_cast<const char*>(llama_get_logits_ith(context, i)),
              static_cast<std::streamsize>(sizeof(float)) * vocabulary);
  }
  if (!out.flush()) Fail("cannot write " + options.values.at("logits"));
  llama_batch_free(batch);
  llama_free(context);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = ParseOptions(argc, argv);
  if (options.model.empty()) Fail("usage: llama_bench MODEL [--prompt N] [--generate N] ...");
  llama_log_set(OnlyErrors, nullptr);
  llama_backend_init();
  llama_model* model =
      llama_model_load_from_file(options.model.c_str(), llama_model_default_params());
  if (model == nullptr) Fail("cannot load " + options.model);
  if (options.values.count("logits") != 0) {
    WriteLogits(model, options);
  } else {
    Measure(model, options);
  }
  llama_model_free(model);
  llama_backend_free();
  return 0;
}
