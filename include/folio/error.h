// Errors as values. Nothing below apps/ prints, aborts or lets an exception cross its API: a
// function that can fail returns Result<T>, and the command turns an Error into one line on stderr
// and an exit code.
#ifndef FOLIO_ERROR_H_
#define FOLIO_ERROR_H_

#include <expected>
#include <string>
#include <utility>

namespace folio {

// The values are the process exit codes of cli.md.
enum class ErrorKind {
  kRuntime = 1,  // failed at run time: I/O, memory, a server that went away
  kUsage = 2,    // wrong usage of a command or of an API
  kInput = 3,    // unusable input: a model file, a config, a schema
};

// One failure, in the three parts that every message of Folio has. `what` is the thing (a file, a
// command), `where` the field in it, `why` names the value found and, where there is one, the mend.
// Any part may be empty.
struct Error {
  ErrorKind kind = ErrorKind::kRuntime;
  std::string what;
  std::string where;
  std::string why;

  // "WHAT: WHERE: WHY" on one line: empty parts left out, control characters of untrusted text
  // escaped.
  std::string Message() const;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

inline std::unexpected<Error> RuntimeError(std::string what, std::string where, std::string why) {
  return std::unexpected(
      Error{ErrorKind::kRuntime, std::move(what), std::move(where), std::move(why)});
}
inline std::unexpected<Error> UsageError(std::string what, std::string where, std::string why) {
  return std::unexpected(
      Error{ErrorKind::kUsage, std::move(what), std::move(where), std::move(why)});
}
inline std::unexpected<Error> InputError(std::string what, std::string where, std::string why) {
  return std::unexpected(
      Error{ErrorKind::kInput, std::move(what), std::move(where), std::move(why)});
}

}  // namespace folio

#endif  // FOLIO_ERROR_H_
