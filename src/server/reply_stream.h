// One API request on an engine, as what the HTTP server sends: the model's tokens become pieces,
// and a dialect's writer makes events of them, or one document.
#ifndef FOLIO_SERVER_REPLY_STREAM_H_
#define FOLIO_SERVER_REPLY_STREAM_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/api_request.h"
#include "api/reply_parser/reply_parser.h"
#include "api/reply_writer.h"
#include "http/http_message.h"
#include "server/reply_splicer.h"
#include "server/served_model.h"

namespace folio {

// How a dialect tells an error before anything of a reply was sent.
using ErrorResponse = std::function<HttpResponse(const ApiError& error)>;

// A reply that is sent whole has its head kept back as long as this, so that a failure can still
// have a status of its own; then the head goes and white space keeps the connection alive.
inline constexpr std::chrono::seconds kWholeHeadDelay(30);
HttpHead HeadOfReply(bool stream, HttpFields fields);

// What became of a request, for the log and the metrics.
struct ReplyRecord {
  std::uint64_t engine_id = 0;
  std::string id;  // of the reply
  std::string endpoint;
  std::string model;
  std::string key;  // whose, by name
  bool stream = false;
  bool failed = false;
  bool cancelled = false;
  std::string error;
  ReplyTotals totals;  // of one that was cancelled: those that were known
  double seconds = 0;  // from its start to its end
  MissReport cache;
  Timings timings;
  std::vector<FinishReason> finish_reasons;
  std::vector<std::string> notes;  // ApiRequest::notes
};
using ReplyObserver = std::function<void(const ReplyRecord& record)>;

class ReplyStream final : public HttpStream {
 public:
  struct Parts {
    std::shared_ptr<ServedModel> model;
    ApiRequest request;
    std::vector<Stream> streams;  // one a prompt
    std::unique_ptr<ReplyWriter> writer;
    ReplyStart start;
    HttpFields fields;  // of the reply's head
    // Called with what the cache had when the request arrived, if the engine told it in time: may
    // complete the head and the start.
    std::function<void(const MissReport& arrival, ReplyStart& start, HttpFields& fields)> arrived;
    std::vector<std::int64_t> mark_tokens;  // where each of the request's marks stands
    ReplySyntax syntax;
    ReplyParserOptions parsing;
    ErrorResponse error_response;
    ReplyObserver observer;
    ReplyRecord record;
    std::shared_ptr<void> place;  // held while the request runs
    // Called with the document once it is whole, streamed or not.
    std::function<void(const Json& document)> keep;
    // Called with each choice of a conversation that ended by itself or by its length.
    std::function<void(GeneratedReply reply)> keep_reply;
  };
  explicit ReplyStream(Parts parts);
  ~ReplyStream() override;

  void OnReady(std::function<void()> ready) override;
  HttpPart Next() override;
  HttpPart KeepAlive() override;

 private:
  struct Choice;
  // Makes the first events, once what they tell of the cache is known or `now_or_never`.
  bool Open(bool now_or_never);
  void Begin(HttpPart& part);
  // Takes what the prompt's stream has. True once it has ended.
  bool TakeDeltas(std::size_t prompt, std::string& events);
  void Tell(std::size_t prompt, Delta& delta, std::string& events);
  void NoteGenerated(Choice& choice, const Delta& delta, const ReplyAddition& addition);
  ReplyAddition AdditionOf(Choice& choice, const Delta& delta);
  void End(HttpPart& part);
  void Fail(const ApiError& error, HttpPart& part);
  void Conclude(HttpPart& part);
  ReplyTotals Totals() const;
  ReplyTotals TotalsSoFar() const;
  std::int64_t ReasoningTokens() const;
  void Observe();

  Parts parts_;
  std::vector<Choice> choices_;
  std::vector<bool> ended_;  // streams
  std::string opening_;      // the first events
  std::int64_t generated_tokens_ = 0;
  bool open_ = false;   // the first events were made
  bool begun_ = false;  // the head was given
  bool over_ = false;
  bool observed_ = false;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace folio

#endif  // FOLIO_SERVER_REPLY_STREAM_H_
