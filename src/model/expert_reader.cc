#include "model/expert_reader.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

namespace folio {
namespace {

// Of the file, read at a time: enough that the system call costs nothing, little enough that it is
// packed from the core's cache.
constexpr std::size_t kPieceBytes = std::size_t{512} << 10;

std::size_t FileStripBytes(const PackedMatrix& matrix) {
  return static_cast<std::size_t>(FileRowBytes(matrix.type, matrix.k) * kStripRows);
}

}  // namespace

std::size_t ExpertReader::BufferBytes(std::span<const MatrixToPack> matrices) {
  std::size_t bytes = kPieceBytes;
  for (const MatrixToPack& matrix : matrices)
    bytes = std::max(bytes, FileStripBytes(*matrix.target));
  return bytes;
}

Result<std::unique_ptr<ExpertReader>> ExpertReader::Create(const ModelFile& file, int threads,
                                                           std::size_t buffer_bytes) {
  Result<AlignedBuffer> buffers = AlignedBuffer::Create(
      static_cast<std::size_t>(threads) * buffer_bytes, "buffers for reading experts");
  if (!buffers) return std::unexpected(buffers.error());
  std::unique_ptr<ExpertReader> reader(new ExpertReader(file, buffer_bytes, *std::move(buffers)));
  if (Status started = reader->StartThreads(threads); !started)
    return std::unexpected(started.error());
  return reader;
}

ExpertReader::ExpertReader(const ModelFile& file, std::size_t buffer_bytes, AlignedBuffer buffers)
    : file_(&file), buffer_bytes_(buffer_bytes), buffers_(std::move(buffers)) {}

Status ExpertReader::StartThreads(int threads) {
  try {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back(
          [this, buffer = buffers_.bytes().subspan(static_cast<std::size_t>(i) * buffer_bytes_,
                                                   buffer_bytes_)] { ReadLoop(buffer); });
    }
  } catch (const std::system_error& error) {
    return RuntimeError("threads", "to read experts", error.what());
  }
  return {};
}

ExpertReader::~ExpertReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ExpertReader::Start(const ExpertRead& read) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(read);
  }
  has_work_.notify_one();
}

void ExpertReader::Collect(std::vector<ExpertRead>& done) {
  std::unique_lock lock(mutex_);
  has_done_.wait(lock, [this] { return !done_.empty(); });
  done.clear();
  std::swap(done, done_);
}

void ExpertReader::ReadLoop(std::span<std::byte> buffer) {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) return;
    ExpertRead read = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    read.status = ReadExpert(read, buffer);
    lock.lock();
    done_.push_back(std::move(read));
    has_done_.notify_one();
  }
}

// All of the expert is asked for before the first piece is waited for, so that a disk has more than
// one thing to do.
Status ExpertReader::ReadExpert(const ExpertRead& read, std::span<std::byte> buffer) const {
  for (const MatrixToPack& matrix : read.matrices) {
    const std::span<const std::byte> data = FileData(matrix);
    file_->WillRead(*matrix.tensor, FirstByte(matrix), data.size());
  }
  for (const MatrixToPack& matrix : read.matrices) {
    if (Status done = ReadMatrix(matrix, read.slot + matrix.offset, buffer); !done) return done;
  }
  return {};
}

Status ExpertReader::ReadMatrix(const MatrixToPack& matrix, std::byte* packed,
                                std::span<std::byte> buffer) const {
  const PackedMatrix& shape = *matrix.target;
  const std::size_t bytes = FileData(matrix).size();
  const std::size_t strip_bytes = FileStripBytes(shape);
  const std::size_t packed_strip_bytes = PackedStripBytes(shape.type, shape.k);
  const std::size_t piece = buffer.size() / strip_bytes * strip_bytes;
  std::int64_t rows_left = shape.n;
  for (std::size_t at = 0; at < bytes; at += piece) {
    const std::span<std::byte> into = buffer.first(std::min(piece, bytes - at));
    if (Status read = file_->Read(*matrix.tensor, FirstByte(matrix) + at, into); !read) return read;
    for (std::size_t strip = 0; strip < into.size(); strip += strip_bytes) {
      PackStrip(shape.type, into.data() + strip, std::min(kStripRows, rows_left), shape.k, packed);
      packed += packed_strip_bytes;
      rows_left -= kStripRows;
    }
  }
  return {};
}

}  // namespace folio
