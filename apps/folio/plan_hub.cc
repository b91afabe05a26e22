#include "folio/plan_hub.h"

#include <utility>

#include "folio/hub_environment.h"
#include "formats/byte_source.h"
#include "formats/gguf_header.h"
#include "plan/config_shape.h"
#include "plan/gguf_shape.h"
#include "store/http_client.h"
#include "store/hub_listing.h"
#include "store/model_source.h"
#include "store/remote_file.h"

namespace folio {
namespace {

constexpr std::size_t kLongestListing = std::size_t{8} << 20;

Result<ModelShape> ReadHubGguf(const std::string& file, const OpenBytes& open) {
  const Result<ModelFile> header = OpenGgufHeader(file, open);
  if (!header) return std::unexpected(header.error());
  return ReadGgufShape(*header);
}

Result<ModelShape> ReadHubConfig(const HttpClient& client, const std::string& shown,
                                 const std::string& base) {
  const auto text = client.GetText(base + "config.json", kMostConfigBytes);
  if (!text) return std::unexpected(text.error().error);
  Result<ModelShape> shape = ReadConfigShape(shown + "/config.json", *text);
  if (shape) shape->name = shown.substr(shown.find('/') + 1);
  return shape;
}

}  // namespace

Result<ModelShape> ReadHubShape(const std::string& source) {
  const Result<ModelSource> parsed = ParseModelSource(source);
  if (!parsed) return std::unexpected(parsed.error());
  const auto* hub = std::get_if<HubSource>(&*parsed);
  if (hub == nullptr)
    return UsageError("plan", source, "is no hf:ORG/REPO; of other servers fetch the file first");
  Result<HubEnvironment> environment = ReadHubEnvironment();
  if (!environment) return std::unexpected(environment.error());
  const HttpClient client(
      {.token = environment->token, .token_origin = UrlOrigin(environment->hub)});
  const std::string shown = "hf:" + hub->repo;
  const auto json = client.GetText(environment->hub + "/api/models/" + hub->repo + "?blobs=true",
                                   kLongestListing);
  if (!json) return std::unexpected(json.error().error);
  const Result<HubListing> listing = ParseHubListing(shown, *json);
  if (!listing) return std::unexpected(listing.error());
  const std::string base =
      environment->hub + "/" + hub->repo + "/resolve/" + listing->revision + "/";
  if (listing->gguf_files.empty() && hub->quant.empty()) return ReadHubConfig(client, shown, base);
  const auto files = ChooseHubFiles(shown, *listing, hub->quant);
  if (!files) return std::unexpected(files.error());
  return ReadHubGguf(files->front().name, [&](const std::string& name) {
    return RemoteFile::Open(client, base + EncodePath(name));
  });
}

}  // namespace folio
