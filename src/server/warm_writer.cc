#include "server/warm_writer.h"

namespace folio {

std::string WarmWriter::Begin(const ReplyStart& start) {
  start_ = start;
  return {};
}

std::string WarmWriter::Finish(const ReplyTotals& totals) {
  totals_ = totals;
  return {};
}

Json WarmWriter::Document() const {
  return {{"id", "warm_" + start_.id},
          {"object", "cache.warm"},
          {"created", start_.created},
          {"model", start_.model},
          {"prompt_tokens", totals_.prompt_tokens},
          {"cached_tokens", totals_.cached_tokens},
          {"computed_tokens", totals_.prompt_tokens - totals_.cached_tokens}};
}

}  // namespace folio
