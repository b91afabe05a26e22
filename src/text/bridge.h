// Owners of what the Rust bridge hands out (bridge/include/folio_bridge.h).
#ifndef FOLIO_TEXT_BRIDGE_H_
#define FOLIO_TEXT_BRIDGE_H_

#include <folio_bridge.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace folio {

inline FolioBytes ToBridge(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

class BridgeBuffer {
 public:
  BridgeBuffer() = default;
  ~BridgeBuffer() { folio_buffer_free(&buffer_); }
  BridgeBuffer(const BridgeBuffer&) = delete;
  BridgeBuffer& operator=(const BridgeBuffer&) = delete;
  FolioBuffer* get() { return &buffer_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(buffer_.data), buffer_.size};
  }
  std::string str() const { return std::string(text()); }

 private:
  FolioBuffer buffer_{nullptr, 0, 0};
};

class BridgeIds {
 public:
  BridgeIds() = default;
  ~BridgeIds() { folio_ids_free(&ids_); }
  BridgeIds(const BridgeIds&) = delete;
  BridgeIds& operator=(const BridgeIds&) = delete;
  FolioIds* get() { return &ids_; }
  std::span<const std::uint32_t> ids() const { return {ids_.data, ids_.size}; }

 private:
  FolioIds ids_{nullptr, 0, 0};
};

class BridgeParts {
 public:
  BridgeParts() = default;
  ~BridgeParts() {
    folio_buffer_free(&parts_.labels);
    folio_ids_free(&parts_.messages);
    folio_ids_free(&parts_.stretches);
  }
  BridgeParts(const BridgeParts&) = delete;
  BridgeParts& operator=(const BridgeParts&) = delete;
  FolioParts* get() { return &parts_; }
  std::string_view labels() const {
    return {reinterpret_cast<const char*>(parts_.labels.data), parts_.labels.size};
  }
  std::span<const std::uint32_t> messages() const {
    return {parts_.messages.data, parts_.messages.size};
  }
  std::span<const std::uint32_t> stretches() const {
    return {parts_.stretches.data, parts_.stretches.size};
  }

 private:
  FolioParts parts_{};
};

struct BridgeTokenizerDeleter {
  void operator()(FolioTokenizer* tokenizer) const { folio_tokenizer_free(tokenizer); }
};
using BridgeTokenizer = std::unique_ptr<FolioTokenizer, BridgeTokenizerDeleter>;

struct BridgeTemplateDeleter {
  void operator()(FolioTemplate* compiled) const { folio_template_free(compiled); }
};
using BridgeTemplate = std::unique_ptr<FolioTemplate, BridgeTemplateDeleter>;

struct BridgeGrammarFactoryDeleter {
  void operator()(FolioGrammarFactory* factory) const { folio_grammar_factory_free(factory); }
};
using BridgeGrammarFactory = std::unique_ptr<FolioGrammarFactory, BridgeGrammarFactoryDeleter>;

struct BridgeHeldGrammarDeleter {
  void operator()(FolioHeldGrammar* held) const { folio_held_grammar_free(held); }
};
using BridgeHeldGrammar = std::unique_ptr<FolioHeldGrammar, BridgeHeldGrammarDeleter>;

struct BridgeMatcherDeleter {
  void operator()(FolioMatcher* matcher) const { folio_matcher_free(matcher); }
};
using BridgeMatcher = std::unique_ptr<FolioMatcher, BridgeMatcherDeleter>;

}  // namespace folio

#endif  // FOLIO_TEXT_BRIDGE_H_
