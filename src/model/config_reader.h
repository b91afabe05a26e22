// Reads numbers of a model's metadata and checks that they are within bounds.
#ifndef FOLIO_MODEL_CONFIG_READER_H_
#define FOLIO_MODEL_CONFIG_READER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "formats/model_file.h"

namespace folio {

// Far above any model, far below what could overflow a product of three of them.
constexpr std::uint64_t kLargestDim = std::uint64_t{1} << 20;
constexpr std::uint64_t kLargestLayers = 1024;
constexpr std::uint64_t kLargestContext = std::uint64_t{1} << 30;
constexpr std::uint64_t kLargestHeadDim = 1024;

// Reads "<architecture>.<suffix>" and keeps the first error, so that reads stay one line each. What
// can't be read comes as the least value that is allowed.
class ConfigReader {
 public:
  ConfigReader(const ModelFile& file, std::string_view architecture)
      : file_(&file), prefix_(std::string(architecture) + ".") {}

  std::int64_t Int(const char* suffix, std::uint64_t least, std::uint64_t most);
  std::int64_t IntOr(const char* suffix, std::int64_t fallback, std::uint64_t least,
                     std::uint64_t most);
  double Float(const char* suffix, double least, double most);
  double FloatOr(const char* suffix, double fallback, double least, double most);
  bool BoolOr(const char* suffix, bool fallback);
  std::string_view StringOr(const char* suffix, std::string_view fallback);

  // Whether the file has it, of whatever type.
  bool Has(const char* suffix) const;
  void Refuse(const char* suffix, std::string why);
  const Status& status() const { return status_; }

 private:
  void Fail(Error error);
  std::int64_t Checked(const char* suffix, const Result<std::uint64_t>& value, std::uint64_t least,
                       std::uint64_t most);
  double Checked(const char* suffix, const Result<double>& value, double least, double most);

  const ModelFile* file_;
  std::string prefix_;
  Status status_;
};

}  // namespace folio

#endif  // FOLIO_MODEL_CONFIG_READER_H_
