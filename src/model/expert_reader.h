// Brings experts from the model file into memory on threads of its own: reads a piece at a time
// into a small buffer and packs it from there into the expert's slot. Through the mapping instead,
// page faults would stop the compute threads, and the file's pages would count as this process's
// memory.
#ifndef FOLIO_MODEL_EXPERT_READER_H_
#define FOLIO_MODEL_EXPERT_READER_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/error.h"
#include "cpu/aligned_buffer.h"
#include "formats/model_file.h"
#include "model/weight_packing.h"

namespace folio {

// One expert to be read, and how that went.
struct ExpertRead {
  std::int32_t expert = -1;
  std::span<const MatrixToPack> matrices;  // `offset` counts from the slot's start
  std::byte* slot = nullptr;
  Status status;
};

class ExpertReader {
 public:
  // Bytes of the buffer of one thread that reads any of these matrices.
  static std::size_t BufferBytes(std::span<const MatrixToPack> matrices);

  // `file` must outlive the object, what reads point to must outlive the reads.
  static Result<std::unique_ptr<ExpertReader>> Create(const ModelFile& file, int threads,
                                                      std::size_t buffer_bytes);
  ~ExpertReader();
  ExpertReader(const ExpertReader&) = delete;
  ExpertReader& operator=(const ExpertReader&) = delete;

  void Start(const ExpertRead& read);
  // Takes what has ended since the last call into `done`, and waits for one if none has. Something
  // must have been started that was not yet taken.
  void Collect(std::vector<ExpertRead>& done);

 private:
  ExpertReader(const ModelFile& file, std::size_t buffer_bytes, AlignedBuffer buffers);
  Status StartThreads(int threads);
  void ReadLoop(std::span<std::byte> buffer);
  Status ReadExpert(const ExpertRead& read, std::span<std::byte> buffer) const;
  Status ReadMatrix(const MatrixToPack& matrix, std::byte* packed,
                    std::span<std::byte> buffer) const;

  const ModelFile* file_;
  std::size_t buffer_bytes_;
  AlignedBuffer buffers_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_done_;
  std::deque<ExpertRead> queue_;
  std::vector<ExpertRead> done_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace folio

#endif  // FOLIO_MODEL_EXPERT_READER_H_
