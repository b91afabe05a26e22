// Runs the text room for the tests in tests/e2e: one process for many requests.
//
//   text_driver tokenizer MODEL.gguf | TOKENIZER.json      then a JSON request a line on stdin:
//     {"text": "..." | "hex": "...", "special": bool}       -> {"ids": [...]}
//     {"ids": [...]}                                        -> {"text": "...", "streamed": [...]}
//     {"describe": true}                                    -> BOS, EOS, ends and load time
//   text_driver template MODEL.gguf                         template sources come in the requests:
//     {"template": "...", "messages": [...], "extra": {...}, "generate": bool, "tokens": bool,
//      "parts": bool}
//          -> {"text": "..."} or {"ids": [...]} or {"parts": [["label", "its text"], ...],
//             "same": whether the tokens are those without parts, "seconds": ..., "seconds
//             without": ...}
// An error is {"error": "..."} on the same line, with the exit status of a command as "kind".
#include <chrono>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "formats/open_model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace {

using json = nlohmann::ordered_json;  // templates print members in their order

json ToJson(const folio::Error& error) {
  return {{"error", error.Message()}, {"kind", static_cast<int>(error.kind)}};
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

json Encode(const folio::Tokenizer& tokenizer, const json& request) {
  const std::string text = request.contains("hex") ? FromHex(request["hex"].get<std::string>())
                                                   : request["text"].get<std::string>();
  const bool parse = request.value("special", false);
  const auto ids =
      tokenizer.Encode(text, parse ? folio::SpecialTokens::kParse : folio::SpecialTokens::kAsText);
  if (!ids) return ToJson(ids.error());
  return {{"ids", *ids}};
}

json Decode(const folio::Tokenizer& tokenizer, const json& request) {
  const auto ids = request["ids"].get<std::vector<folio::TokenId>>();
  folio::IncrementalDecoder decoder(tokenizer);
  json streamed = json::array();
  for (const folio::TokenId id : ids) streamed.push_back(decoder.Push(id));
  streamed.push_back(decoder.Finish());
  std::string hex;
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : tokenizer.Decode(ids)) {
    hex += kHex[static_cast<unsigned char>(c) >> 4];
    hex += kHex[static_cast<unsigned char>(c) & 15];
  }
  return {{"hex", hex}, {"streamed", streamed}};
}

folio::Result<folio::Tokenizer> Load(const std::string& path) {
  if (path.ends_with(".json")) {
    std::ifstream in(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    return folio::Tokenizer::FromJson(text, path);
  }
  const auto file = folio::OpenModelFile(path);
  if (!file) return std::unexpected(file.error());
  return folio::Tokenizer::FromModel(*file);
}

class Templates {
 public:
  explicit Templates(const folio::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  json Render(const json& request) {
    const std::string source = request["template"];
    auto found = cache_.find(source);
    if (found == cache_.end()) {
      auto made = folio::ChatTemplate::FromSource(source, "template", tokenizer_);
      if (!made) return ToJson(made.error());
      found = cache_.emplace(source, *std::move(made)).first;
    }
    const std::string messages = request["messages"].dump();
    const std::string extra = request.value("extra", json::object()).dump();
    const bool generate = request.value("generate", true);
    if (request.value("parts", false)) return Parts(found->second, messages, extra, generate);
    if (request.value("tokens", false)) {
      const auto ids = found->second.Render(tokenizer_, messages, extra, generate);
      if (!ids) return ToJson(ids.error());
      return {{"ids", *ids}};
    }
    const auto text = found->second.RenderText(messages, extra, generate);
    if (!text) return ToJson(text.error());
    return {{"text", *text}};
  }

 private:
  json Parts(const folio::ChatTemplate& compiled, const std::string& messages,
             const std::string& extra, bool generate) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    const auto ids = compiled.Render(tokenizer_, messages, extra, generate);
    const std::chrono::duration<double> without = Clock::now() - start;
    const auto prompt = compiled.RenderWithParts(tokenizer_, messages, extra, generate);
    const std::chrono::duration<double> with = Clock::now() - start - without;
    if (!prompt) return ToJson(prompt.error());
    json parts = json::array();
    for (std::size_t i = 0; i < prompt->parts.size(); ++i) {
      const std::int64_t begin = prompt->parts[i].first_token;
      const std::int64_t end = i + 1 < prompt->parts.size()
                                   ? prompt->parts[i + 1].first_token
                                   : static_cast<std::int64_t>(prompt->tokens.size());
      std::string text;
      for (auto at = begin; at < end; ++at) {
        const folio::TokenId id = prompt->tokens[static_cast<std::size_t>(at)];
        text += tokenizer_.IsControl(id) ? tokenizer_.TokenPiece(id) : tokenizer_.TokenBytes(id);
      }
      parts.push_back({prompt->parts[i].label, text});
    }
    return {{"parts", parts},
            {"same", ids.has_value() && *ids == prompt->tokens},
            {"seconds", with.count()},
            {"seconds without", without.count()}};
  }

  const folio::Tokenizer& tokenizer_;
  std::map<std::string, folio::ChatTemplate> cache_;
};

// Answers each line of standard input, a JSON request, with a line.
int Run(const char* model) {
  const auto start = std::chrono::steady_clock::now();
  const auto tokenizer = Load(model);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (!tokenizer) {
    std::cout << ToJson(tokenizer.error()).dump() << "\n";
    return static_cast<int>(tokenizer.error().kind);
  }
  Templates templates(*tokenizer);
  for (std::string line; std::getline(std::cin, line);) {
    const json request = json::parse(line);
    json reply;
    if (request.contains("describe")) {
      reply = {{"seconds", seconds.count()},
               {"bos", tokenizer->bos()},
               {"eos", tokenizer->eos()},
               {"add_bos", tokenizer->add_bos()},
               {"add_eos", tokenizer->add_eos()},
               {"ends", tokenizer->end_tokens()},
               {"vocabulary", tokenizer->vocab_size()}};
    } else if (request.contains("template")) {
      reply = templates.Render(request);
    } else if (request.contains("ids")) {
      reply = Decode(*tokenizer, request);
    } else {
      reply = Encode(*tokenizer, request);
    }
    // A token may end inside a character.
    std::cout << reply.dump(-1, ' ', false, json::error_handler_t::replace) << "\n" << std::flush;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: text_driver tokenizer|template MODEL\n";
    return 2;
  }
  try {
    return Run(argv[2]);
  } catch (const std::exception& error) {
    std::cerr << "text_driver: " << error.what() << "\n";
    return 1;
  }
}
