#include "formats/huggingface/tensor_rules.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "quant/dequantize.h"

namespace folio {
namespace {

constexpr std::string_view kLayerPrefix = "model.layers.";
constexpr std::string_view kLargestNumber = "65535";

// What stands before the first of `text` that is no digit; nothing if it is no plain number.
std::optional<std::string_view> TakeNumber(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view number = text.substr(0, digits);
  if (number.empty() || number.size() > kLargestNumber.size()) return std::nullopt;
  if (number.size() > 1 && number[0] == '0') return std::nullopt;
  return number;
}

// The number that stands where `pattern` has "{}" ("" without one), if the rest is equal.
std::optional<std::string_view> Match(std::string_view pattern, std::string_view name) {
  const std::size_t hole = pattern.find("{}");
  if (hole == pattern.npos) {
    return pattern == name ? std::optional<std::string_view>("") : std::nullopt;
  }
  if (!name.starts_with(pattern.substr(0, hole))) return std::nullopt;
  const auto number = TakeNumber(name.substr(hole));
  if (!number || name.substr(hole + number->size()) != pattern.substr(hole + 2))
    return std::nullopt;
  return number;
}

std::string Fill(std::string_view pattern, std::string_view number) {
  std::string text(pattern);
  if (const std::size_t hole = text.find("{}"); hole != text.npos) text.replace(hole, 2, number);
  return text;
}

class TensorMapper {
 public:
  TensorMapper(const Checkpoint& checkpoint, const TensorMapping& mapping, ModelBuilder& model)
      : checkpoint_(checkpoint), mapping_(mapping), model_(model) {}

  Status Map(const CheckpointTensor& entry) {
    entry_ = &entry;
    const std::string_view name = entry.tensor.name;
    if (name.ends_with("rotary_emb.inv_freq"))
      return {};  // older writers; it follows from the base
    if (name == "model.embed_tokens.weight") return Add({name, "token_embd.weight"}, "", "");
    if (name == "lm_head.weight") {
      return mapping_.tied ? Status() : Add({name, "output.weight"}, "", "");
    }
    if (name == "model.norm.weight") {
      return Add({name, "output_norm.weight",
                  mapping_.one_more ? TensorForm::kOneMore : TensorForm::kSame},
                 "", "");
    }
    return MapOfLayer(name);
  }

 private:
  std::unexpected<Error> Fail(std::string why) const {
    return InputError(checkpoint_.files[static_cast<std::size_t>(entry_->file)],
                      "tensor " + entry_->tensor.name, std::move(why));
  }

  Status MapOfLayer(std::string_view name) {
    if (!name.starts_with(kLayerPrefix)) return Fail("is not known in this family of models");
    const auto layer = TakeNumber(name.substr(kLayerPrefix.size()));
    if (!layer) return Fail("is not known in this family of models");
    std::uint64_t index = 0;
    std::from_chars(layer->data(), layer->data() + layer->size(), index);
    if (index >= mapping_.layers) {
      return Fail("is of a layer that config.json does not count (num_hidden_layers " +
                  std::to_string(mapping_.layers) + ")");
    }
    const std::string_view inner = name.substr(kLayerPrefix.size() + layer->size());
    for (const std::span<const TensorRule> group : mapping_.layer) {
      for (const TensorRule& rule : group) {
        if (!inner.starts_with('.')) continue;
        if (const auto expert = Match(rule.theirs, inner.substr(1)))
          return Add(rule, "blk." + std::string(*layer) + ".", *expert);
      }
    }
    return Fail("is not known in this family of models");
  }

  Status Add(const TensorRule& rule, const std::string& prefix, std::string_view expert) {
    const SafetensorsTensor& tensor = entry_->tensor;
    if (!tensor.type)
      return Fail("dtype " + std::string(tensor.dtype) + " is not one of F32, F16, BF16");
    if (tensor.shape.empty() || tensor.shape.size() > kMostDims)
      return Fail("has " + std::to_string(tensor.shape.size()) + " dimensions");
    if (tensor.elements == 0) return Fail("is empty");
    const std::string ours = prefix + Fill(rule.ours, expert);
    switch (rule.form) {
      case TensorForm::kSame:
        return AddPart(ours, tensor.shape, 0);
      case TensorForm::kOneMore:
        return AddOneMore(ours);
      case TensorForm::kTwo:
        return AddTwo(ours, prefix + Fill(rule.second, expert), tensor.shape, 0);
      case TensorForm::kTwoOfEachExpert:
        return AddTwoOfEach(rule, prefix);
    }
    return {};
  }

  // Elements from `first` on, as a tensor of this shape.
  Status AddPart(const std::string& ours, const std::vector<std::int64_t>& shape,
                 std::int64_t first) {
    if (model_.HasTensor(ours)) return Fail("is " + ours + ", which another tensor is too");
    const SafetensorsTensor& tensor = entry_->tensor;
    const GgmlTypeInfo& info = TypeInfo(*tensor.type);
    std::int64_t elements = 1;  // of a part of a tensor whose own product was checked
    for (const std::int64_t size : shape) elements *= size;
    const auto begin = static_cast<std::size_t>(first * info.block_bytes);
    const auto bytes = static_cast<std::size_t>(elements * info.block_bytes);
    model_.AddTensor(ours,
                     {.name = {},
                      .type = *tensor.type,
                      .dims = {shape.rbegin(), shape.rend()},
                      .elements = elements,
                      .bytes = bytes,
                      .file = entry_->file,
                      .offset = tensor.offset + begin,
                      .data = tensor.data.subspan(begin, bytes)},
                     tensor.name);
    return {};
  }

  Status AddOneMore(const std::string& ours) {
    if (model_.HasTensor(ours)) return Fail("is " + ours + ", which another tensor is too");
    const SafetensorsTensor& tensor = entry_->tensor;
    if (tensor.shape.size() != 1 || tensor.elements > kLongestVector)
      return Fail("is no vector of at most " + std::to_string(kLongestVector) + " elements");
    std::vector<float> values(static_cast<std::size_t>(tensor.elements));
    Dequantize(*tensor.type, tensor.data.data(), tensor.elements, values.data());
    for (float& value : values) value += 1.0F;
    model_.AddVector(ours, std::move(values), tensor.name);
    return {};
  }

  // The two halves of a matrix [n, k] that begins at element `first`.
  Status AddTwo(const std::string& ours, const std::string& second, std::vector<std::int64_t> shape,
                std::int64_t first) {
    if (shape.size() != 2 || shape[0] % 2 != 0)
      return Fail("is not two matrices, one on the other");
    shape[0] /= 2;
    if (Status added = AddPart(ours, shape, first); !added) return added;
    return AddPart(second, shape, first + shape[0] * shape[1]);
  }

  Status AddTwoOfEach(const TensorRule& rule, const std::string& prefix) {
    const std::vector<std::int64_t>& shape = entry_->tensor.shape;
    if (shape.size() != 3 || static_cast<std::uint64_t>(shape[0]) != mapping_.experts)
      return Fail("is not one matrix for each of the " + std::to_string(mapping_.experts) +
                  " experts");
    for (std::int64_t expert = 0; expert < shape[0]; ++expert) {
      const std::string number = std::to_string(expert);
      if (Status added =
              AddTwo(prefix + Fill(rule.ours, number), prefix + Fill(rule.second, number),
                     {shape[1], shape[2]}, expert * shape[1] * shape[2]);
          !added) {
        return added;
      }
    }
    return {};
  }

  static constexpr std::size_t kMostDims = 4;
  static constexpr std::int64_t kLongestVector = std::int64_t{1} << 20;

  const Checkpoint& checkpoint_;
  const TensorMapping& mapping_;
  ModelBuilder& model_;
  const CheckpointTensor* entry_ = nullptr;
};

}  // namespace

Status MapTensors(const Checkpoint& checkpoint, const TensorMapping& mapping, ModelBuilder& model) {
  TensorMapper mapper(checkpoint, mapping, model);
  for (const CheckpointTensor& entry : checkpoint.tensors) {
    if (Status mapped = mapper.Map(entry); !mapped) return mapped;
  }
  return {};
}

}  // namespace folio
