// A model that a server may load: what it is called, what it needs, and how it is opened.
#ifndef FOLIO_SERVER_HOSTED_MODEL_H_
#define FOLIO_SERVER_HOSTED_MODEL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "folio/engine.h"

namespace folio {

struct HostedModel {
  std::string id;                    // in the API
  std::vector<std::string> aliases;  // other names that mean it
  std::uint64_t least_bytes = 0;     // with one context: less is not worth loading it
  std::int64_t context = 0;          // with what it is granted at first
  std::int64_t known_since = 0;      // seconds since 1970
  // With so much memory; the ids of its requests begin at `first_request`, so that no two loads
  // share one.
  std::function<Result<std::unique_ptr<Engine>>(std::uint64_t memory, std::uint64_t first_request)>
      open;
};

// What is told of a model whether it is loaded or not.
struct ModelListing {
  std::string id;
  std::int64_t context = 0;
  std::int64_t trained_context = 0;  // the model's own, once it was loaded; 0: not known
  std::int64_t known_since = 0;
  bool loaded = false;
  std::uint64_t loads = 0;  // how often it was
};

// What a model is granted of `memory` that so many models share, of which one needs `least` and all
// together `all_least`: what it needs and, where all fit, its part of the rest; else at least an
// equal share.
std::uint64_t GrantOfMemory(std::uint64_t memory, std::uint64_t least, std::uint64_t all_least,
                            std::size_t models);

}  // namespace folio

#endif  // FOLIO_SERVER_HOSTED_MODEL_H_
