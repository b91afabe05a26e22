#include "model/weights.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "base/checked.h"
#include "quant/dequantize.h"

namespace folio {
namespace {

constexpr std::int64_t kChunkBytes =
    192 << 10;  // of the file, read and packed by one thread while it is in its cache

// Divisors of frequencies: those of known models are from 1 to 64, and angles stay numbers.
constexpr float kSmallestRopeFactor = 1e-6F;
constexpr float kLargestRopeFactor = 1e9F;

// Which tensor becomes which matrix or vector; built before a byte is reserved, so that a bad file
// costs nothing.
class WeightPlan {
 public:
  struct Matrix {
    const GgufTensor* tensor;
    PackedMatrix* target;
    std::size_t offset;  // in the storage
  };

  WeightPlan(const Gguf& file, const ModelConfig& config, ModelWeights& weights) : file_(file) {
    weights.layers.resize(config.layers.size());
    AddMatrix("token_embd.weight", config.vocab, config.hidden, weights.token_embedding);
    if (file.FindTensor("output.weight") != nullptr) {
      AddMatrix("output.weight", config.vocab, config.hidden, weights.output);
    }
    AddVector("output_norm.weight", config.hidden, weights.output_norm);
    if (config.ropes[0].frequency_factors) {
      AddVector("rope_freqs.weight", config.ropes[0].rotary_dim / 2, weights.rope_factors);
      CheckRopeFactors(weights.rope_factors);
    }
    for (std::size_t i = 0; i < config.layers.size() && status_; ++i) {
      AddLayer("blk." + std::to_string(i) + ".", config, weights.layers[i]);
    }
  }

  const Status& status() const { return status_; }
  std::size_t bytes() const { return bytes_; }
  const std::vector<Matrix>& matrices() const { return matrices_; }

 private:
  void AddLayer(const std::string& prefix, const ModelConfig& config, LayerWeights& layer) {
    const std::int64_t q_dim = std::int64_t{config.query_heads} * config.head_dim;
    const std::int64_t kv_dim = std::int64_t{config.kv_heads} * config.head_dim;
    AddVector(prefix + "attn_norm.weight", config.hidden, layer.attn_norm);
    AddMatrix(prefix + "attn_q.weight", q_dim, config.hidden, layer.q);
    AddMatrix(prefix + "attn_k.weight", kv_dim, config.hidden, layer.k);
    AddMatrix(prefix + "attn_v.weight", kv_dim, config.hidden, layer.v);
    AddMatrix(prefix + "attn_output.weight", config.hidden, q_dim, layer.attn_out);
    if (config.qkv_bias) {
      AddVector(prefix + "attn_q.bias", q_dim, layer.q_bias);
      AddVector(prefix + "attn_k.bias", kv_dim, layer.k_bias);
      AddVector(prefix + "attn_v.bias", kv_dim, layer.v_bias);
    }
    if (config.qk_norm) {
      AddVector(prefix + "attn_q_norm.weight", config.head_dim, layer.q_norm);
      AddVector(prefix + "attn_k_norm.weight", config.head_dim, layer.k_norm);
    }
    AddVector(prefix + "ffn_norm.weight", config.hidden, layer.ffn_norm);
    AddMatrix(prefix + "ffn_gate.weight", config.ffn, config.hidden, layer.gate);
    AddMatrix(prefix + "ffn_up.weight", config.ffn, config.hidden, layer.up);
    AddMatrix(prefix + "ffn_down.weight", config.hidden, config.ffn, layer.down);
    if (config.post_norms) {
      AddVector(prefix + "post_attention_norm.weight", config.hidden, layer.attn_post_norm);
      AddVector(prefix + "post_ffw_norm.weight", config.hidden, layer.ffn_post_norm);
    }
  }

  // The tensor if it has exactly `dims` (GGUF's order), else null and an error.
  const GgufTensor* Expect(const std::string& name, const std::vector<std::int64_t>& dims) {
    if (!status_) return nullptr;
    const GgufTensor* tensor = file_.FindTensor(name);
    if (tensor == nullptr) {
      status_ = InputError(file_.path(), name, "tensor is missing");
    } else if (tensor->dims != dims) {
      status_ = InputError(file_.path(), name,
                           "has shape " + Shape(tensor->dims) + ", must have " + Shape(dims));
      tensor = nullptr;
    }
    return tensor;
  }

  static std::string Shape(const std::vector<std::int64_t>& dims) {
    std::string text = "[";
    for (const std::int64_t dim : dims) text += (text.size() > 1 ? ", " : "") + std::to_string(dim);
    return text + "]";
  }

  void AddMatrix(const std::string& name, std::int64_t n, std::int64_t k, PackedMatrix& target) {
    const GgufTensor* tensor = Expect(name, {k, n});
    if (tensor == nullptr) return;
    target = {.type = tensor->type, .n = n, .k = k, .data = nullptr};
    matrices_.push_back({tensor, &target, bytes_});
    const auto bytes = CheckedAdd(bytes_, PackedBytes(tensor->type, n, k));
    if (!bytes) {
      status_ = InputError(file_.path(), name, "weights are larger than any memory");
      return;
    }
    bytes_ = *bytes;
  }

  void AddVector(const std::string& name, std::int64_t n, std::vector<float>& target) {
    const GgufTensor* tensor = Expect(name, {n});
    if (tensor == nullptr) return;
    target.resize(static_cast<std::size_t>(n));
    Dequantize(tensor->type, tensor->data.data(), n, target.data());
  }

  void CheckRopeFactors(const std::vector<float>& factors) {
    for (const float factor : factors) {
      if (status_ && !(factor >= kSmallestRopeFactor && factor <= kLargestRopeFactor)) {
        status_ = InputError(file_.path(), "rope_freqs.weight",
                             "has a factor of " + std::to_string(factor));
      }
    }
  }

  const Gguf& file_;
  Status status_;
  std::size_t bytes_ = 0;
  std::vector<Matrix> matrices_;
};

// A file opened for positional reads.
class ReadFile {
 public:
  explicit ReadFile(const std::string& path)
      : path_(path), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ReadFile() {
    if (fd_ >= 0) close(fd_);
  }
  ReadFile(ReadFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;
  ReadFile& operator=(ReadFile&&) = delete;

  bool ok() const { return fd_ >= 0; }

  Status ReadAt(std::uint64_t offset, std::size_t bytes, std::byte* out) const {
    while (bytes > 0) {
      const ssize_t got = pread(fd_, out, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        return RuntimeError(
            path_, "offset " + std::to_string(offset),
            got == 0 ? "the file became shorter while it was read" : std::strerror(errno));
      }
      out += got;
      offset += static_cast<std::uint64_t>(got);
      bytes -= static_cast<std::size_t>(got);
    }
    return {};
  }

 private:
  std::string path_;
  int fd_;
};

// Some strips of one matrix: what one thread reads and packs at a time.
struct Chunk {
  const WeightPlan::Matrix* matrix;
  std::int64_t first_strip;
  std::int64_t strips;
};

std::int64_t FileRowBytes(const GgufTensor& tensor) {
  const GgmlTypeInfo& info = TypeInfo(tensor.type);
  return tensor.dims[0] / info.block_elements * info.block_bytes;
}

std::vector<Chunk> CutIntoChunks(const WeightPlan& plan) {
  std::vector<Chunk> chunks;
  for (const WeightPlan::Matrix& matrix : plan.matrices()) {
    const std::int64_t strips = (matrix.target->n + kStripRows - 1) / kStripRows;
    const std::int64_t step =
        std::max<std::int64_t>(1, kChunkBytes / (FileRowBytes(*matrix.tensor) * kStripRows));
    for (std::int64_t strip = 0; strip < strips; strip += step) {
      chunks.push_back({&matrix, strip, std::min(step, strips - strip)});
    }
  }
  // In file order, so that a cold file is read from front to back.
  std::sort(chunks.begin(), chunks.end(), [](const Chunk& a, const Chunk& b) {
    const auto key = [](const Chunk& c) {
      return std::pair(std::pair(c.matrix->tensor->file, c.matrix->tensor->offset), c.first_strip);
    };
    return key(a) < key(b);
  });
  return chunks;
}

std::size_t FileBytes(const Chunk& chunk) {
  return static_cast<std::size_t>(chunk.strips * kStripRows * FileRowBytes(*chunk.matrix->tensor));
}

// `scratch` has room for the chunk's FileBytes.
Status LoadChunk(const Chunk& chunk, const std::vector<ReadFile>& files, std::byte* scratch,
                 std::byte* storage) {
  const GgufTensor& tensor = *chunk.matrix->tensor;
  const PackedMatrix& matrix = *chunk.matrix->target;
  const std::int64_t row_bytes = FileRowBytes(tensor);
  const std::int64_t first_row = chunk.first_strip * kStripRows;
  const std::int64_t rows = std::min(chunk.strips * kStripRows, matrix.n - first_row);
  Status read = files[static_cast<std::size_t>(tensor.file)].ReadAt(
      tensor.offset + static_cast<std::uint64_t>(first_row * row_bytes),
      static_cast<std::size_t>(rows * row_bytes), scratch);
  if (!read) return read;
  const std::size_t strip_bytes = PackedStripBytes(matrix.type, matrix.k);
  std::byte* out =
      storage + chunk.matrix->offset + static_cast<std::size_t>(chunk.first_strip) * strip_bytes;
  for (std::int64_t row = 0; row < rows; row += kStripRows) {
    PackStrip(matrix.type, scratch + row * row_bytes, std::min(kStripRows, rows - row), matrix.k,
              out);
    out += strip_bytes;
  }
  return {};
}

Result<std::vector<ReadFile>> OpenFiles(const Gguf& file) {
  std::vector<ReadFile> files;
  for (const std::string& path : file.files()) {
    files.emplace_back(path);
    if (!files.back().ok()) return RuntimeError(path, "", std::strerror(errno));
  }
  return files;
}

Status LoadMatrices(const Gguf& file, const WeightPlan& plan, std::byte* storage, ThreadPool& pool,
                    const std::function<void(double)>& progress) {
  const Result<std::vector<ReadFile>> files = OpenFiles(file);
  if (!files) return std::unexpected(files.error());
  const std::vector<Chunk> chunks = CutIntoChunks(plan);
  std::size_t most = 0;
  for (const Chunk& chunk : chunks) most = std::max(most, FileBytes(chunk));
  // Here and not in the loop, where nothing may throw; untouched pages cost nothing.
  std::vector<std::unique_ptr<std::byte[]>> scratch;
  for (int thread = 0; thread < pool.size(); ++thread)
    scratch.push_back(std::make_unique_for_overwrite<std::byte[]>(most));
  std::atomic<std::int64_t> done{0};
  std::mutex mutex;
  Status status;
  pool.ParallelFor(static_cast<std::int64_t>(chunks.size()), [&](std::int64_t task, int thread) {
    const Status loaded = LoadChunk(chunks[static_cast<std::size_t>(task)], *files,
                                    scratch[static_cast<std::size_t>(thread)].get(), storage);
    if (!loaded) {
      const std::lock_guard lock(mutex);
      if (status) status = loaded;
    }
    const std::int64_t finished = done.fetch_add(1, std::memory_order_relaxed) + 1;
    if (progress) progress(static_cast<double>(finished) / static_cast<double>(chunks.size()));
  });
  return status;
}

}  // namespace

Result<std::uint64_t> WeightsBytes(const Gguf& file, const ModelConfig& config) {
  ModelWeights weights;
  const WeightPlan plan(file, config, weights);
  if (!plan.status()) return std::unexpected(plan.status().error());
  return plan.bytes();
}

Result<std::unique_ptr<ModelWeights>> LoadWeights(const Gguf& file, const ModelConfig& config,
                                                  ThreadPool& pool,
                                                  const std::function<void(double)>& progress) {
  auto weights = std::make_unique<ModelWeights>();
  const WeightPlan plan(file, config, *weights);
  if (!plan.status()) return std::unexpected(plan.status().error());
  Result<AlignedBuffer> storage = AlignedBuffer::Create(plan.bytes(), "weights");
  if (!storage) return std::unexpected(storage.error());
  weights->storage = *std::move(storage);
  for (const WeightPlan::Matrix& matrix : plan.matrices()) {
    matrix.target->data = weights->storage.data() + matrix.offset;
  }
  const Status loaded = LoadMatrices(file, plan, weights->storage.data(), pool, progress);
  if (!loaded) return std::unexpected(loaded.error());
  if (weights->output.data == nullptr) weights->output = weights->token_embedding;
  return weights;
}

}  // namespace folio
