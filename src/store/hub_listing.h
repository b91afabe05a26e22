// The files of a repository on the Hugging Face hub, and the choice among its quantisations.
#ifndef FOLIO_STORE_HUB_LISTING_H_
#define FOLIO_STORE_HUB_LISTING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace folio {

struct HubFile {
  std::string name;  // relative to the repository, checked by CheckRelativeName
  std::optional<std::uint64_t> bytes;
  std::string sha256;  // empty if the listing has none
};

struct HubListing {
  std::string revision;  // the commit that the names belong to; "main" if not given
  std::vector<HubFile> gguf_files;
};

// From the JSON that GET /api/models/ORG/REPO?blobs=true gives. `repo` names it in errors.
Result<HubListing> ParseHubListing(const std::string& repo, std::string_view json);

// The files of the model that `quant` names (all parts of a split one, in order): a whole file name
// or a quantisation as it stands in file names, in any case ("q4_k_m"). Empty: the only model there
// is, else the first of Q4_K_M, Q4_0, Q4_1, Q8_0 that is there. Anything else is an error that
// lists what there is.
Result<std::vector<HubFile>> ChooseHubFiles(const std::string& repo, const HubListing& listing,
                                            std::string_view quant);

}  // namespace folio

#endif  // FOLIO_STORE_HUB_LISTING_H_
