// One line on stderr for each request that ran, without a word of its text.
#ifndef FOLIO_SERVER_REQUEST_LOG_H_
#define FOLIO_SERVER_REQUEST_LOG_H_

#include <memory>
#include <string>

#include "server/reply_stream.h"

namespace folio {

// Thread safe.
class RequestLog {
 public:
  explicit RequestLog(bool quiet);
  ~RequestLog();
  RequestLog(const RequestLog&) = delete;
  RequestLog& operator=(const RequestLog&) = delete;

  void Write(const ReplyRecord& record);
  void Say(const std::string& line);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "/v1/messages 5m2k.. ok: prompt 8123 (8080 cached: differs at messages[3] user), 52 generated,
// first after 0.21 s, 1.9 s".
std::string LogLine(const ReplyRecord& record);

}  // namespace folio

#endif  // FOLIO_SERVER_REQUEST_LOG_H_
