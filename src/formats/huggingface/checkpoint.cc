#include "formats/huggingface/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "formats/byte_cursor.h"
#include "formats/metadata_value.h"

namespace folio {
namespace {

using WeightMap = std::map<std::string, std::string, std::less<>>;

constexpr std::size_t kMostIndexBytes = std::size_t{128} << 20;
constexpr std::size_t kMostFiles = 4096;

// Takes the parser's events: the strings of the object "weight_map", and nothing else.
class IndexWalk {
 public:
  WeightMap& map() { return map_; }
  const std::string& why() const { return why_; }

  bool start_object(std::size_t) {
    if (in_map_) return Fail("the file of " + QuotedExcerpt(key_) + " is no string");
    in_map_ = depth_ == 1 && key_ == "weight_map";
    seen_map_ |= in_map_;
    return Nest();
  }
  bool end_object() { return Unnest(); }
  bool start_array(std::size_t) { return Other() && Nest(); }
  bool end_array() { return Unnest(); }
  bool key(std::string& name) {
    key_ = std::move(name);
    return true;
  }
  bool string(std::string& text) {
    if (!in_map_) return true;
    if (map_.size() == kMaxSafetensorsTensors) return Fail("has too many tensors");
    if (text.empty() || text.contains('/') || text.contains('\0') || text.starts_with('.'))
      return Fail("the file name " + QuotedExcerpt(text) + " is refused as unsafe");
    if (!map_.emplace(key_, std::move(text)).second)
      return Fail(QuotedExcerpt(key_) + " appears twice");
    return true;
  }
  bool null() { return Other(); }
  bool boolean(bool) { return Other(); }
  bool number_unsigned(std::uint64_t) { return Other(); }
  bool number_integer(std::int64_t) { return Other(); }
  bool number_float(double, const std::string&) { return Other(); }
  bool binary(nlohmann::json::binary_t&) { return Other(); }
  template <typename Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception&) {
    return Fail("byte " + std::to_string(position) + " of the file is no JSON");
  }

  bool IsWhole() { return seen_map_ || Fail("is missing"); }

 private:
  static constexpr int kDeepest = 8;

  bool Fail(std::string why) {
    why_ = std::move(why);
    return false;
  }
  bool Other() { return !in_map_ || Fail("the file of " + QuotedExcerpt(key_) + " is no string"); }
  bool Nest() { return ++depth_ <= kDeepest || Fail("nests too deeply"); }
  bool Unnest() {
    in_map_ = false;
    --depth_;
    return true;
  }

  WeightMap map_;
  std::string key_;
  int depth_ = 0;
  bool in_map_ = false;
  bool seen_map_ = false;
  std::string why_;
};

std::string PathIn(const std::string& folder, std::string_view name) {
  return std::string(folder).append("/").append(name);
}

// Opens one file and takes its tensors. `known` has the file of each tensor taken.
Status AddFile(const std::string& path, std::map<std::string, int, std::less<>>& known,
               Checkpoint& checkpoint) {
  Result<std::shared_ptr<MappedFile>> mapping = MappedFile::Open(path);
  if (!mapping) return std::unexpected(mapping.error());
  Result<std::vector<SafetensorsTensor>> tensors = ReadSafetensors(path, (*mapping)->bytes());
  if (!tensors) return std::unexpected(tensors.error());
  const auto file = static_cast<int>(checkpoint.files.size());
  for (SafetensorsTensor& tensor : *tensors) {
    const auto [first, is_new] = known.emplace(tensor.name, file);
    if (!is_new) {
      return InputError(path, "tensor " + tensor.name,
                        "is also in " + checkpoint.files[static_cast<std::size_t>(first->second)]);
    }
    checkpoint.tensors.push_back({std::move(tensor), file});
  }
  checkpoint.files.push_back(path);
  checkpoint.bytes += (*mapping)->bytes().size();
  checkpoint.mappings.push_back(*std::move(mapping));
  return {};
}

Status AddIndexedFiles(const std::string& folder, const std::string& index, const WeightMap& map,
                       Checkpoint& checkpoint) {
  std::set<std::string> names;
  for (const auto& [tensor, file] : map) names.insert(file);
  if (names.size() > kMostFiles)
    return InputError(index, "weight_map", "lists " + std::to_string(names.size()) + " files");
  std::map<std::string, int, std::less<>> known;
  for (const std::string& name : names) {
    if (Status added = AddFile(PathIn(folder, name), known, checkpoint); !added) return added;
  }
  for (const auto& [tensor, file] : map) {
    const auto found = known.find(tensor);
    if (found == known.end() ||
        checkpoint.files[static_cast<std::size_t>(found->second)] != PathIn(folder, file)) {
      return InputError(
          index, "weight_map",
          "says that " + QuotedExcerpt(tensor) + " is in " + file + ", which has no such tensor");
    }
  }
  return {};
}

}  // namespace

Result<WeightMap> ReadCheckpointIndex(const std::string& path, std::string_view text) {
  if (text.size() > kMostIndexBytes)
    return InputError(path, "size", std::to_string(text.size()) + " bytes are too many");
  IndexWalk walk;
  if (!nlohmann::json::sax_parse(text, &walk) || !walk.IsWhole())
    return InputError(path, "weight_map", walk.why());
  return std::move(walk.map());
}

Result<Checkpoint> OpenCheckpoint(const std::string& folder) {
  Checkpoint checkpoint;
  const std::string single = folder + "/model.safetensors";
  const std::string index = single + ".index.json";
  std::error_code error;
  if (std::filesystem::exists(index, error)) {
    Result<std::shared_ptr<MappedFile>> mapping = MappedFile::Open(index);
    if (!mapping) return std::unexpected(mapping.error());
    const Result<WeightMap> map = ReadCheckpointIndex(index, AsText((*mapping)->bytes()));
    if (!map) return std::unexpected(map.error());
    if (Status added = AddIndexedFiles(folder, index, *map, checkpoint); !added)
      return std::unexpected(added.error());
    return checkpoint;
  }
  if (!std::filesystem::exists(single, error)) {
    return InputError(folder, "model.safetensors",
                      "is not there, and neither is model.safetensors.index.json (PyTorch's .bin "
                      "files are not read)");
  }
  std::map<std::string, int, std::less<>> known;
  if (Status added = AddFile(single, known, checkpoint); !added)
    return std::unexpected(added.error());
  return checkpoint;
}

}  // namespace folio
