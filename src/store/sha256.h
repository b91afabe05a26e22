// SHA-256 of a stream, by OpenSSL.
#ifndef FOLIO_STORE_SHA256_H_
#define FOLIO_STORE_SHA256_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace folio {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Reset();
  void Update(std::span<const char> bytes);
  // 64 lower-case hex digits of what came since the last Reset; resets. Empty if OpenSSL failed.
  std::string Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// True for 64 hex digits of either case.
bool IsSha256Hex(std::string_view text);

}  // namespace folio

#endif  // FOLIO_STORE_SHA256_H_
