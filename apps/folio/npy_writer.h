// Writes a float32 matrix as a NumPy .npy file (format 1.0), row by row.
#ifndef FOLIO_APPS_FOLIO_NPY_WRITER_H_
#define FOLIO_APPS_FOLIO_NPY_WRITER_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

namespace folio {

class NpyWriter {
 public:
  static Result<NpyWriter> Create(const std::string& path, std::int64_t rows, std::int64_t columns);
  // Values in row-major order, any number at a time.
  Status Write(std::span<const float> values);
  Status Close();

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  NpyWriter(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_NPY_WRITER_H_
