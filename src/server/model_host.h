// The models of a server, by name, within one budget of memory: each is loaded when a request asks
// for it, and the one that was not used for longest makes room. A model that is used is never
// unloaded: who asks for another waits.
#ifndef FOLIO_SERVER_MODEL_HOST_H_
#define FOLIO_SERVER_MODEL_HOST_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/api_error.h"
#include "base/error.h"
#include "server/hosted_model.h"
#include "server/served_model.h"

namespace folio {

struct ModelHostOptions {
  // A name that is none of the models' is an error; else it means the first model, since clients
  // ask for names of their own.
  bool strict = false;
  std::uint64_t memory = 0;        // bytes of all models together
  std::size_t max_waiting = 1024;  // requests that wait for a model to be loaded; more are refused
  std::function<void(const std::string& line)> log;
};

// Thread safe. Must outlive every ModelUse.
class ModelHost {
 public:
  // At least one model, whose names are all different.
  ModelHost(ModelHostOptions options, std::vector<HostedModel> models);
  ~ModelHost() { Stop(); }
  ModelHost(const ModelHost&) = delete;
  ModelHost& operator=(const ModelHost&) = delete;

  // While it is held, the model stays loaded.
  using ModelUse = std::shared_ptr<ServedModel>;

  // Loads the first model, by which a server is ready.
  Result<ModelUse> LoadFirst();
  // Loads no more, and tells those who wait that the server is ending.
  void Stop();
  bool ready() const;
  std::size_t size() const { return entries_.size(); }

  // The model of that name; kUnavailable while it is not loaded, which it will be from then on.
  std::expected<ModelUse, ApiError> Find(std::string_view name);
  // Whether Find would say so of a server that is ready, so that its caller may want to wait.
  bool MustWait(std::string_view name) const;
  // Calls `loaded` once the model is there or can't be, from another thread unless that is so now;
  // never if `wanted` has expired by then.
  using Loaded = std::function<void(std::expected<ModelUse, ApiError> model)>;
  void WhenLoaded(std::string_view name, std::weak_ptr<void> wanted, Loaded loaded);

  std::vector<ModelUse> AllLoaded();
  std::vector<ModelListing> List() const;

 private:
  struct Waiter {
    std::weak_ptr<void> wanted;
    Loaded loaded;
  };
  struct Entry {
    HostedModel hosted;
    std::unique_ptr<ServedModel> model;
    std::int64_t uses = 0;
    std::uint64_t last_used = 0;  // by the host's count of uses
    std::uint64_t bytes = 0;      // of the budget, while loaded
    std::uint64_t loads = 0;
    Status loaded;         // what came of the last one
    bool leaving = false;  // is to make room once nobody uses it
    bool wanted = false;   // stands in the line
    bool asked = false;    // by one who doesn't wait, but will come again
    std::deque<Waiter> waiters;
  };
  using Lock = std::unique_lock<std::mutex>;

  Entry* Choose(std::string_view name) const;
  ModelUse Use(Entry& entry);
  void Release(Entry& entry);
  void Want(Entry& entry);
  void Run();
  void Serve(Entry& entry, Lock& lock);
  bool IsAbandoned(Entry& entry);
  Status MakeRoom(Entry& entry, Lock& lock);
  Status Load(Entry& entry, Lock& lock);
  void Unload(Entry& entry, const Entry& instead, Lock& lock);
  std::uint64_t FreeBytes() const;
  std::uint64_t GrantOf(const Entry& entry) const;
  void Say(const std::string& line) const;

  ModelHostOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::deque<Entry*> line_;  // models to be loaded, the first is being seen to
  std::size_t waiting_ = 0;
  std::uint64_t uses_ = 0;
  std::uint64_t loads_ = 0;
  bool ready_ = false;
  bool ending_ = false;
  std::thread loader_;
};

}  // namespace folio

#endif  // FOLIO_SERVER_MODEL_HOST_H_
