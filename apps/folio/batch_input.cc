#include "folio/batch_input.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace folio {
namespace {

constexpr std::size_t kLongestLine = JsonLimits().bytes;

void Refuse(BatchItem& item, std::string code, std::string message) {
  item.line.body = {};
  item.line.refusal = BatchRefusal{
      std::move(code), "line " + std::to_string(item.number) + ": " + std::move(message)};
}

BatchItem ItemOf(const JsonlReader::Line& line) {
  BatchItem item;
  item.number = line.number;
  if (line.whole()) {
    item.line = ReadBatchLine(line.text);
    if (item.line.refusal) Refuse(item, item.line.refusal->code, item.line.refusal->message);
  } else {
    Refuse(item, "line_too_long",
           "has " + std::to_string(line.bytes) + " bytes; at most " + std::to_string(kLongestLine) +
               " are taken");
  }
  const BatchDigest digest = item.line.refusal
                                 ? DigestOf({line.text, std::to_string(line.number)})
                                 : DigestOf({*item.line.custom_id, BatchUrl(item.line.endpoint),
                                             DumpJson(item.line.body)});
  item.id = digest.Hex();
  item.seed = digest.low;
  return item;
}

}  // namespace

Result<BatchInput> BatchInput::Open(const std::string& path, const BatchOutput& output) {
  std::error_code error;
  if (std::filesystem::equivalent(path, output.path(), error)) {
    return UsageError("batch", "--out", "'" + output.path() + "' is the input itself");
  }
  Result<JsonlReader> reader = JsonlReader::Open(path, kLongestLine);
  if (!reader) return std::unexpected(reader.error());
  BatchInput input(path, std::move(*reader), output);
  if (const Status scanned = input.Scan(); !scanned) return std::unexpected(scanned.error());
  Result<JsonlReader> again = JsonlReader::Open(path, kLongestLine);
  if (!again) return std::unexpected(again.error());
  input.reader_ = std::move(*again);
  return input;
}

Result<std::optional<BatchItem>> BatchInput::NextItem() {
  while (true) {
    const auto line = reader_.Next();
    if (!line) return std::unexpected(line.error());
    if (!*line) return std::nullopt;
    if (!(*line)->blank()) return ItemOf(**line);
  }
}

const BatchOutput::Answered* BatchInput::AnswerTo(const BatchDigest& custom_id) const {
  const auto& all = output_->answered();
  const auto found =
      std::ranges::lower_bound(all, custom_id, {}, &BatchOutput::Answered::custom_id);
  return found != all.end() && found->custom_id == custom_id ? &*found : nullptr;
}

void BatchInput::FindRepeated(std::vector<BatchDigest> custom_ids) {
  std::ranges::sort(custom_ids);
  for (std::size_t i = 1; i < custom_ids.size(); ++i) {
    if (custom_ids[i] != custom_ids[i - 1]) continue;
    if (!repeated_.empty() && repeated_.back().custom_id == custom_ids[i]) continue;
    repeated_.push_back({custom_ids[i]});
  }
}

bool BatchInput::IsRepeated(const BatchDigest& custom_id) {
  const auto found = std::ranges::lower_bound(repeated_, custom_id, {}, &Repeated::custom_id);
  if (found == repeated_.end() || found->custom_id != custom_id) return false;
  return std::exchange(found->seen, true);
}

Status BatchInput::Scan() {
  std::vector<BatchDigest> custom_ids;
  std::vector<bool> claimed(output_->answered().size());
  while (true) {
    const auto item = NextItem();
    if (!item) return std::unexpected(item.error());
    if (!*item) break;
    ++lines_;
    if ((*item)->line.refusal) continue;
    const BatchDigest custom_id = DigestOf({*(*item)->line.custom_id});
    custom_ids.push_back(custom_id);
    const BatchOutput::Answered* answer = AnswerTo(custom_id);
    if (answer == nullptr || answer->id != (*item)->id) continue;
    claimed[static_cast<std::size_t>(answer - output_->answered().data())] = true;
  }
  FindRepeated(std::move(custom_ids));
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    if (claimed[i]) continue;
    return InputError(
        output_->path(), "line " + std::to_string(output_->answered()[i].line),
        "answers no request of '" + path_ + "' as it is now; give another file to --out");
  }
  answered_ = static_cast<std::int64_t>(claimed.size());
  return {};
}

Result<std::optional<BatchItem>> BatchInput::Next() {
  while (true) {
    auto item = NextItem();
    if (!item || !*item) return item;
    BatchLine& line = (*item)->line;
    if (line.refusal) return item;
    const BatchDigest custom_id = DigestOf({*line.custom_id});
    if (IsRepeated(custom_id)) {
      Refuse(**item, "duplicate_custom_id", "an earlier line has the same custom_id");
      (*item)->id = DigestOf({*line.custom_id, std::to_string((*item)->number)}).Hex();
      return item;
    }
    if (AnswerTo(custom_id) == nullptr) return item;
  }
}

}  // namespace folio
