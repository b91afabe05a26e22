#include "store/pull.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "store/download.h"
#include "store/file_name.h"
#include "store/http_client.h"
#include "store/hub_listing.h"

namespace folio {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestListing = std::size_t{8} << 20;

// A file in place is whole: it got there by a rename after its checks. One of another size than
// the listing's is a newer version, and is fetched.
std::optional<PulledFile> InPlace(const DownloadJob& job) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(job.path, error);
  if (error || (job.bytes && *job.bytes != bytes)) return std::nullopt;
  return PulledFile{.path = job.path, .bytes = bytes, .sha256 = {}, .was_there = true};
}

Result<std::vector<PulledFile>> FetchAll(const HttpClient& client,
                                         const std::vector<DownloadJob>& jobs,
                                         const PullOptions& options,
                                         const ProgressHandler& progress) {
  std::vector<PulledFile> files;
  for (const DownloadJob& job : jobs) {
    if (auto there = InPlace(job)) {
      files.push_back(std::move(*there));
      continue;
    }
    Result<PulledFile> file = Download(client, job, options, progress);
    if (!file) return std::unexpected(file.error());
    files.push_back(std::move(*file));
  }
  return files;
}

Result<std::vector<DownloadJob>> HubJobs(const HttpClient& client, const HubSource& source,
                                         const ModelStore& store, const PullOptions& options) {
  const std::string shown = "hf:" + source.repo;
  const auto json =
      client.GetText(options.hub + "/api/models/" + source.repo + "?blobs=true", kLongestListing);
  if (!json) return std::unexpected(json.error().error);
  const Result<HubListing> listing = ParseHubListing(shown, *json);
  if (!listing) return std::unexpected(listing.error());
  const auto chosen = ChooseHubFiles(shown, *listing, source.quant);
  if (!chosen) return std::unexpected(chosen.error());
  if (!options.sha256.empty() && chosen->size() > 1) {
    return UsageError("--sha256", "", "is for one file; this model has several");
  }
  std::vector<DownloadJob> jobs;
  for (const HubFile& file : *chosen) {
    jobs.push_back({.url = options.hub + "/" + source.repo + "/resolve/" + listing->revision + "/" +
                           EncodePath(file.name),
                    .path = store.ModelsDir() + "/" + source.repo + "/" + file.name,
                    .bytes = file.bytes,
                    .sha256 = options.sha256.empty() ? file.sha256 : options.sha256});
  }
  return jobs;
}

}  // namespace

Result<std::vector<PulledFile>> Pull(const ModelSource& source, const ModelStore& store,
                                     const PullOptions& options, const ProgressHandler& progress) {
  const HttpClient client(
      {.token = options.token, .token_origin = UrlOrigin(options.hub), .stall = options.stall});
  if (const auto* url = std::get_if<UrlSource>(&source)) {
    const DownloadJob job{.url = url->url,
                          .path = store.ModelsDir() + "/" + url->file_name,
                          .bytes = {},
                          .sha256 = options.sha256};
    return FetchAll(client, {job}, options, progress);
  }
  const auto jobs = HubJobs(client, std::get<HubSource>(source), store, options);
  if (!jobs) return std::unexpected(jobs.error());
  return FetchAll(client, *jobs, options, progress);
}

}  // namespace folio
