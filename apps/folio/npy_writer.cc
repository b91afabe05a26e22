#include "folio/npy_writer.h"

#include <cerrno>
#include <cstring>

namespace folio {

Result<NpyWriter> NpyWriter::Create(const std::string& path, std::int64_t rows,
                                    std::int64_t columns) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return RuntimeError(path, "open", std::strerror(errno));
  NpyWriter writer(path, file);
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  // Magic, version and length take 10 bytes; the data starts at a multiple of 64.
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const auto length = static_cast<unsigned>(header.size());
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(length & 0xff);
  start += static_cast<char>(length >> 8);
  start += header;
  if (std::fwrite(start.data(), 1, start.size(), file) != start.size()) {
    return RuntimeError(path, "write", std::strerror(errno));
  }
  return writer;
}

Status NpyWriter::Write(std::span<const float> values) {
  if (std::fwrite(values.data(), sizeof(float), values.size(), file_.get()) != values.size()) {
    return RuntimeError(path_, "write", std::strerror(errno));
  }
  return {};
}

Status NpyWriter::Close() {
  if (std::fclose(file_.release()) != 0) return RuntimeError(path_, "write", std::strerror(errno));
  return {};
}

}  // namespace folio
