// A reply to be made: the request as it was read, and what goes with it from the call to the
// stream.
#ifndef FOLIO_SERVER_REPLY_JOB_H_
#define FOLIO_SERVER_REPLY_JOB_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/api_request.h"
#include "api/reply_writer.h"
#include "http/http_message.h"
#include "server/prompt_archive.h"
#include "server/reply_splicer.h"
#include "server/reply_stream.h"
#include "server/served_model.h"
#include "server/session_table.h"
#include "server/session_tools.h"

namespace folio {

// What is remembered of conversations, within bounds.
struct ConversationMemory {
  // `bytes`: of prompts, replies and tools together.
  explicit ConversationMemory(std::size_t bytes)
      : archive(bytes / 8 * 5), splicer(bytes / 4), tools(bytes / 8) {}

  SessionTable sessions;
  PromptArchive archive;
  ReplySplicer splicer;
  SessionTools tools;
  bool splices = true;
};

// Asks why the cache missed, against an earlier reply.
struct DiagnosticsQuestion {
  enum class Form : std::uint8_t { kAnthropic, kOpenAi };
  Form form = Form::kAnthropic;
  std::string earlier_id;
};

struct ReplyJob {
  std::shared_ptr<ServedModel> model;
  ApiRequest request;
  std::unique_ptr<ReplyWriter> writer;
  std::string id;        // of the reply
  std::string endpoint;  // for the log
  std::string key;       // whose request, by name
  std::string salt;      // of the cache
  HttpFields fields;     // of the reply's head
  ErrorResponse error_response;
  ReplyObserver observer;
  std::function<void(const Json& document)> keep;
  std::shared_ptr<void> place;
  std::optional<DiagnosticsQuestion> question;
};

}  // namespace folio

#endif  // FOLIO_SERVER_REPLY_JOB_H_
