// The engine: many requests on one model, one cache, one memory budget. Submit from any thread; one
// loop inside computes all running requests together.
//
//   auto engine = folio::Engine::Open({.model = "model.gguf"});
//   auto prompt = (*engine)->Tokenize("The capital of France is");
//   auto stream = (*engine)->Submit({.prompt = *prompt, .max_tokens = 8});
//   while (auto delta = stream->Next()) std::cout << delta->text;
//
// Nothing here throws, prints or aborts: what can fail returns Result.
#ifndef FOLIO_ENGINE_H_
#define FOLIO_ENGINE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "folio/error.h"
#include "folio/miss_report.h"
#include "folio/prompt_part.h"
#include "folio/reply_grammar.h"
#include "folio/sampling_params.h"

namespace folio {

class LoadedModel;

struct EngineOptions {
  std::string model;         // path of a GGUF file
  int threads = 0;           // 0 = one a core of this machine
  std::int64_t context = 0;  // most tokens of one request; 0 = the model's, if memory allows
  std::uint64_t memory = 0;  // bytes of everything together; 0 = what the machine (its cgroup) has
  int block_size = 16;       // tokens of a KV block, a multiple of 16
  std::string kv_type = "bf16";         // bf16, f16, f32, q8_0
  std::string numerics = "auto";        // auto, int8, int16
  std::string chat_template;            // path of a Jinja file; empty: the model's own template
  std::int64_t max_batch_tokens = 512;  // rows of one step: longer prompts are computed in chunks
  std::int64_t max_requests = 64;       // choices that run together; others wait
  // KV blocks: 0 = all that the budget leaves; else those of so many requests of the whole context,
  // as far as the budget goes.
  std::int64_t contexts = 0;
  std::int64_t max_queue = 1024;  // requests that wait; more are refused
  // Of the prompts of all requests that wait or run, beyond `memory`; more are refused, but one
  // alone never. 0 = no bound.
  std::uint64_t max_prompts_bytes = 0;
  // Tokens that a step proposes at most, over all requests, from what their prompts and replies say
  // already, and verifies beside the next ones: the same replies, sooner where text repeats. 0 =
  // none.
  std::int64_t max_draft_tokens = 15;
  bool prefix_cache = true;
  std::size_t trace_events = 0;               // latest events kept
  std::uint64_t prompt_log_bytes = 16 << 20;  // of recent prompts, kept to explain misses
  std::uint64_t first_request = 1;            // the ids of requests begin here; they have 54 bits
};

enum class FinishReason : std::uint8_t {
  kStop,       // an end token or a stop string
  kLength,     // max_tokens or the context's end
  kCancelled,  // by the caller
  kError,      // see Reply::error
};

std::string_view FinishReasonName(FinishReason reason);  // "stop", "length", "cancelled", "error"

// How long this request's prefix is kept before others, from its last use: a hint within the
// budget.
enum class CacheRetention : std::uint8_t { kNone, k5Minutes, k1Hour, k24Hours };

struct Request {
  std::vector<std::int32_t> prompt;
  SamplingParams sampling;
  std::int64_t max_tokens = -1;    // of each choice; -1 = until the context is full
  std::vector<std::string> stop;   // a reply ends before the first of these
  bool ignore_end_tokens = false;  // for benchmarks; excludes a grammar
  // What every choice must keep to; a reply ends where nothing more may follow. Its memory is
  // beyond the memory plan: some megabytes a choice, and from the first grammar on about 450 bytes
  // a token of the vocabulary.
  ReplyGrammar grammar;
  int choices = 1;         // replies to the one prompt, drawn independently
  int priority = 0;        // higher runs sooner; waiting makes up for it in time
  std::string owner;       // whose it is: those who wait run in turn by owner
  std::string cache_salt;  // requests with different salts share nothing
  CacheRetention retention = CacheRetention::kNone;
  std::int64_t retained_tokens = 0;  // of the prompt, kept so; 0 = none
  std::vector<PromptPart> parts;
  // Keep which experts each token went to (Reply::experts): two bytes for each token, layer and
  // choice of expert, beyond the memory plan.
  bool record_experts = false;
  // Tell where the control tokens of a reply stand (Delta::controls), which a parser of tool calls
  // needs; text and stop strings then don't reach across one.
  bool tell_controls = false;
  bool tell_arrival = false;  // what the cache has of the prompt when it arrives: Stream::Arrival
};

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;    // of the prompt, that another request had computed
  std::int64_t computed_tokens = 0;  // rows computed, generated ones and those after a preemption
                                     // included
  std::int64_t generated_tokens = 0;
  std::int64_t drafted_tokens = 0;   // proposed and verified,
  std::int64_t accepted_tokens = 0;  // and found right: generated without a step of their own
};

struct Timings {
  double queued_seconds = 0;   // until the request first ran
  double prefill_seconds = 0;  // from there to the first token
  double decode_seconds = 0;   // from there to the end
};

// A control token in a reply's text, which has no text of its own; end tokens are not told.
struct ControlMark {
  std::size_t offset = 0;  // in the delta's text: bytes
  std::int32_t token = 0;
  bool operator==(const ControlMark&) const = default;
};

// One choice's next piece. Text is whole characters and never part of a stop string.
struct Delta {
  int choice = 0;
  std::string text;
  std::vector<Sample> samples;  // tokens since the last delta of this choice; log-probabilities if
                                // asked for
  std::vector<ControlMark> controls;  // in order, if asked for
  std::optional<FinishReason> finished;
  std::string stop_string;  // the one that ended the reply, with kStop; empty: an end token did
};

// Where a model's routers sent the tokens of a prompt and its reply.
struct RoutedExperts {
  int layers = 0;  // those with experts, in order
  int top_k = 0;
  // [tokens, layers, top_k], the best first; -1 where the token was found in the cache. The last
  // token drawn went through no layer.
  std::vector<std::int16_t> experts;
};

struct Reply {
  std::string text;  // without the stop string
  std::vector<Sample> samples;
  FinishReason finish_reason = FinishReason::kStop;
  std::string stop_string;  // see Delta
  Error error;              // of kError
  RoutedExperts experts;    // if asked for, and the model has any
};

// What came of a request: complete once its stream ended.
struct Outcome {
  std::uint64_t id = 0;
  Usage usage;
  MissReport cache;
  Timings timings;
  std::vector<Reply> choices;
};

// How far a prompt is that waits or is computed.
struct Progress {
  std::int64_t prompt_tokens = 0;
  std::int64_t computed_tokens = 0;  // of it, those found in the cache included
  std::int64_t tokens_before = 0;    // of others' prompts, which are computed first
  // Until the reply's first token, from what prompts and replies took lately; below 0: not known.
  double seconds_left = -1;
};

// The reading end of one request. Destroying it cancels what still runs. One thread reads it;
// Cancel may come from any.
class Stream {
 public:
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  std::uint64_t id() const;
  // Waits for the next piece; nothing once every choice has finished.
  std::optional<Delta> Next();
  // True once Next would answer at once; false if that took longer than `timeout`.
  bool Wait(std::chrono::milliseconds timeout);
  // As Next, but what isn't there yet is not waited for: nothing, and `ended` says whether more may
  // come.
  std::optional<Delta> TryNext(bool& ended);
  // `ready` is called whenever TryNext has become able to tell more, or the arrival is known; now
  // if that is so already. From the engine's thread: it must return at once, and may be called once
  // more than there is anything.
  void OnReady(std::function<void()> ready);
  // What the cache had of the prompt when the engine took the request, if asked for. Waits for that
  // at most `timeout`: it is between two steps of what runs already.
  std::optional<MissReport> Arrival(std::chrono::milliseconds timeout);
  // As it was at most half a second ago, or nothing: not told yet, or the reply has begun.
  std::optional<Progress> progress() const;
  // Ends the request soon; full blocks stay in the cache.
  void Cancel();
  // Reads to the end. A choice that failed makes it an error; the others' text is then lost: read
  // with Next to keep it.
  Result<Outcome> Finish();
  // After Next returned nothing.
  const Outcome& outcome() const;

 private:
  friend class Engine;
  struct Shared;
  explicit Stream(std::shared_ptr<Shared> shared);
  std::shared_ptr<Shared> shared_;
};

struct MemoryReport {
  std::uint64_t budget_bytes = 0;
  std::uint64_t weights_bytes = 0;    // without the experts, where these are cached
  std::uint64_t experts_bytes = 0;    // of those in memory, where not all are
  std::uint64_t kv_bytes = 0;         // blocks
  std::uint64_t kv_index_bytes = 0;   // who holds which, recent prompts
  std::uint64_t workspace_bytes = 0;  // activations of a step, logits
  std::uint64_t program_bytes = 0;    // code, tokenizer
  std::uint64_t total_bytes = 0;      // planned: never exceeded
};

struct RequestSnapshot {
  std::uint64_t id = 0;
  int choice = 0;
  std::string state;  // "waiting", "running", "waiting for a block in flight"
  std::int64_t tokens = 0;
  std::int64_t computed = 0;
  std::vector<std::vector<std::int32_t>> block_tables;  // one a KV group; -1 = let go
};

struct BlockSnapshot {
  std::int32_t id = 0;
  std::int32_t ref_count = 0;
  bool hashed = false;
  std::string hash;  // hexadecimal, empty if none
  int group = 0;
};

// How a layer's router has spread its tokens since the start. No token is ever dropped.
struct ExpertLoadSnapshot {
  int layer = 0;
  std::int64_t tokens = 0;
  std::vector<std::int64_t> chosen;  // times that each expert was
  std::vector<double> mean_scores;   // P_i
  double balance_loss = 0;           // E * sum of f_i P_i: 1 where all are chosen alike
  double entropy = 0;                // of the f_i, as a share of log E
};

// Where a model's experts don't all fit into memory: how often those that were needed did. `hits`
// and `misses` count experts of a layer in a step, however many rows they had.
struct ExpertCacheSnapshot {
  std::int64_t experts = 0;   // of all layers; 0: all of them are in memory, or there are none
  std::int64_t slots = 0;     // so many fit
  std::int64_t resident = 0;  // and so many are there now
  std::uint64_t hits = 0, misses = 0;
  std::uint64_t bytes_read = 0;  // of the file
  double wait_seconds = 0;       // in which all waited for an expert
};

// The engine's own state at one moment between two steps.
struct Snapshot {
  MemoryReport memory;
  int block_size = 0;
  int num_groups = 0;
  std::uint64_t block_bytes = 0;
  std::int64_t context = 0;  // most tokens of one request
  std::int64_t blocks_total = 0, blocks_used = 0, blocks_cached = 0, blocks_free = 0;
  std::uint64_t steps = 0;
  std::uint64_t prompt_tokens = 0, cached_tokens = 0;  // of prompts that are computed
  std::uint64_t computed_tokens = 0;                   // rows
  std::uint64_t generated_tokens = 0;                  // of choices that ended
  std::uint64_t drafted_tokens = 0, accepted_tokens = 0;
  std::uint64_t preemptions = 0, evictions = 0;
  // Over all steps: the forward pass, what decides on blocks and rows around it, and the drawing of
  // tokens with the texts that come of them.
  double forward_seconds = 0, schedule_seconds = 0, draw_seconds = 0;
  std::vector<ExpertLoadSnapshot> expert_loads;  // of layers with experts
  ExpertCacheSnapshot expert_cache;
  std::vector<RequestSnapshot> requests;
  std::vector<BlockSnapshot> blocks;  // those used or cached, if asked for
  std::string integrity;              // if asked for: what is wrong with the pool, or empty
};

// What an engine would have.
struct EnginePlan {
  MemoryReport memory;
  std::int64_t context = 0;  // most tokens of one request
};

class Engine {
 public:
  // Reads no weights and reserves nothing: what Open would plan, or refuse for want of memory.
  static Result<EnginePlan> Plan(const EngineOptions& options);
  static Result<std::unique_ptr<Engine>> Open(const EngineOptions& options);
  // Cancels what runs and waits for the loop.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Refused: an empty prompt, ids outside the vocabulary, sampling out of range, a prompt that
  // could never fit (with the numbers), a grammar that can't be used, a full queue, an engine that
  // drains. A grammar is compiled here, on the caller's thread.
  Result<Stream> Submit(Request request);

  // Tokens of the longest prompt that can be taken: it leaves room for one token of a reply.
  std::int64_t LongestPrompt() const;

  // About how long until the next request that waits begins to run: after a full queue, when to try
  // again. 0: not known.
  double SecondsUntilRoom() const;

  // Takes no more requests and waits until those submitted have finished.
  void Drain();
  // Between two steps. `blocks`: also each block that is used or cached, and whether all is whole,
  // which takes time that grows with the pool.
  Snapshot TakeSnapshot(bool blocks = false);
  // Forgets every cached block that no request uses; how many.
  std::int64_t ResetCache();

  // Ids of `text`, with BOS where the model wants it; spellings of control tokens stay text.
  Result<std::vector<std::int32_t>> Tokenize(std::string_view text) const;
  // What Submit would refuse of a grammar.
  Status CheckGrammar(const ReplyGrammar& grammar) const;
  // The conversation as the model's chat template writes it, ready for the reply. `messages_json`:
  // a JSON array of {role, content}; `extra_json`: an object of template variables (tools) or
  // empty.
  struct Prompt {
    std::vector<std::int32_t> tokens;
    std::vector<PromptPart> parts;
  };
  Result<Prompt> RenderChat(std::string_view messages_json, std::string_view extra_json = {}) const;

  // For the house's own commands: file, config, tokenizer, template.
  const LoadedModel& model() const;

 private:
  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace folio

#endif  // FOLIO_ENGINE_H_
