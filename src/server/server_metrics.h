// Metrics for Prometheus, under vLLM's names where the meaning is the same and under folio_ where
// it isn't. Counters of tokens and blocks are the engine's own, read when asked for.
#ifndef FOLIO_SERVER_SERVER_METRICS_H_
#define FOLIO_SERVER_SERVER_METRICS_H_

#include <memory>
#include <string>

#include "http/http_server.h"
#include "server/model_host.h"
#include "server/reply_stream.h"

namespace folio {

// Thread safe.
class ServerMetrics {
 public:
  ServerMetrics();
  ~ServerMetrics();
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;

  void Observe(const ReplyRecord& record);
  // A request that was answered with an error of this status before it ran.
  void NoteRefusal(int status);
  // In Prometheus' text format, version 0.0.4.
  std::string Expose(ModelHost& models, const HttpServerCounts& http) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace folio

#endif  // FOLIO_SERVER_SERVER_METRICS_H_
