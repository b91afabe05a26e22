// Turns extend exactly: the tokens that a model generated are kept, and when a client sends that
// reply back, written anew or trimmed but the same in value, they take the place of what the
// template made of it. So the next turn's prompt goes on where the last one's computing ended,
// and its reply is found in the cache. What one owner's replies were doesn't exist for another.
#ifndef FOLIO_SERVER_REPLY_SPLICER_H_
#define FOLIO_SERVER_REPLY_SPLICER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "folio/engine.h"
#include "formats/json.h"

namespace folio {

// A reply in value and in tokens.
struct GeneratedReply {
  std::string text;
  std::string reasoning;
  std::vector<std::pair<std::string, std::string>> calls;  // name, arguments as JSON text
  std::vector<std::int32_t> tokens;                        // the end token may be the last
};

// Of one request, after which the reply stands.
struct ReplyPlace {
  std::string owner;
  std::string model;
  std::size_t messages = 0;  // of the conversation before it
  // The prompt: most of its tokens as a digest, and its last ones. A rendering that goes on may
  // have joined the very last with what follows ("\n" and "\n" to "\n\n").
  std::size_t digested = 0;
  Sha256Digest digest{};
  std::vector<std::int32_t> tail;
};
ReplyPlace PlaceAfter(std::string owner, std::string model, std::size_t messages,
                      std::span<const std::int32_t> prompt);

// What Splice needs of a vocabulary.
struct SpliceVocabulary {
  std::span<const std::int32_t> end_tokens;
  std::function<std::string_view(std::int32_t token)> bytes;
};

// Thread safe. Holds at most so many bytes; the oldest replies go first.
class ReplySplicer {
 public:
  explicit ReplySplicer(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  void Keep(const ReplyPlace& place, GeneratedReply reply);
  // Puts the tokens of replies that are kept into a rendered conversation, with its parts moved.
  // How many replies changed. A reply is left as rendered where the prompt in front of it is not
  // the one that it was generated after, or where the template leaves its reasoning out.
  std::size_t Splice(std::string_view owner, std::string_view model, const Json& messages,
                     const SpliceVocabulary& vocabulary, Engine::Prompt& prompt);

 private:
  struct Entry {
    std::string key;
    ReplyPlace place;
    GeneratedReply reply;
    std::size_t bytes = 0;
  };
  using Entries = std::list<Entry>;
  bool SpliceOne(const Entry& entry, const SpliceVocabulary& vocabulary,
                 Engine::Prompt& prompt) const;

  std::size_t most_bytes_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  Entries entries_;  // oldest first
  std::unordered_multimap<std::string, Entries::iterator> by_key_;
};

}  // namespace folio

#endif  // FOLIO_SERVER_REPLY_SPLICER_H_
