// C2 to C4, and the misses explained: requests on the engine's own loop.
#include <algorithm>
#include <utility>

#include "folio/cache_report.h"
#include "folio/lab.h"
#include "folio/lab_loop.h"
#include "folio/text_table.h"

namespace folio {
namespace {

constexpr std::string_view kSystem =
    "You are the assistant of a small library. Answer in one or two sentences and name the shelf "
    "where the book stands. Fiction stands on the first floor by author, science on the second by "
    "subject, and maps lie in the drawers behind the stairs. Children may borrow five books for "
    "three weeks, everyone else ten for four. If you do not know a book, say so and offer to ask "
    "the librarian, who comes at nine and leaves at five. Never invent a title, an author or a "
    "shelf. ";
constexpr std::string_view kQuestions[] = {
    "Where do I find a book about the tides and the moon, please?",
    "My daughter wants to read about whales. Which shelf should we try?",
    "And how long may we keep it?"};
constexpr std::string_view kOther =
    "Fog lay over the harbour that morning, and nobody in the town had slept. Four boats were "
    "still "
    "out, and the bell of the lighthouse had not rung since midnight. ";
constexpr std::size_t kSystemTokens = 200;
// Two such prompts need the whole pool, and one fits beside the marked blocks.
constexpr std::size_t kOtherTokens = 272;
constexpr std::size_t kLargeTokens = 496;
constexpr std::int64_t kContext = 512;
constexpr std::int64_t kReply = 8;

class Lab {
 public:
  explicit Lab(LabLoop& loop) : loop_(loop) {}

  Result<LabSteps> Run() {
    for (const auto step : {&Lab::TwoRequests, &Lab::Marks, &Lab::WholeBlocks, &Lab::Misses}) {
      loop_.loop().ResetCache();
      Result<LabStep> done = (this->*step)();
      if (!done) return std::unexpected(done.error());
      steps_.push_back(*std::move(done));
    }
    return std::move(steps_);
  }

 private:
  // Token by token what the example needs; the parts say what they belong to.
  struct Piece {
    std::string label;
    std::vector<TokenId> tokens;
  };

  Result<Piece> PieceOf(std::string label, std::string_view text, std::size_t tokens = 0) const {
    if (tokens == 0) {
      auto whole = loop_.model().tokenizer().Encode(text, SpecialTokens::kAsText);
      if (!whole) return std::unexpected(whole.error());
      return Piece{.label = std::move(label), .tokens = *std::move(whole)};
    }
    auto cut = loop_.Words(text, tokens);
    if (!cut) return std::unexpected(cut.error());
    return Piece{.label = std::move(label), .tokens = *std::move(cut)};
  }

  static Request RequestOf(const std::vector<Piece>& pieces) {
    Request request{.max_tokens = kReply};
    for (const Piece& piece : pieces) {
      request.parts.push_back(
          {.label = piece.label, .first_token = static_cast<std::int64_t>(request.prompt.size())});
      request.prompt.insert(request.prompt.end(), piece.tokens.begin(), piece.tokens.end());
    }
    return request;
  }

  // The system text and one of the questions.
  Result<Request> Ask(std::size_t question) const {
    const auto system = PieceOf("system", kSystem, kSystemTokens);
    if (!system) return std::unexpected(system.error());
    const auto user = PieceOf("user", kQuestions[question]);
    if (!user) return std::unexpected(user.error());
    return RequestOf({*system, *user});
  }

  Result<LabReply> AskAndRun(std::size_t question) {
    Result<Request> request = Ask(question);
    if (!request) return std::unexpected(request.error());
    return loop_.Run(*std::move(request));
  }

  // Prompts of other texts that need the whole pool.
  Status FillWithOthers() {
    const std::int64_t blocks = loop_.model().cache().pool().num_blocks();
    const std::int64_t groups = loop_.model().cache().num_groups();
    const std::int64_t tokens = blocks / groups * loop_.model().options().block_size;
    for (std::int64_t filled = 0; filled < tokens; filled += kOtherTokens) {
      if (Status done = RunOther(kOtherTokens); !done) return done;
    }
    return {};
  }

  // A prompt that shares nothing with any other.
  Status RunOther(std::size_t tokens) {
    auto words = loop_.Words(kOther, tokens);
    if (!words) return std::unexpected(words.error());
    Request request{.prompt = *std::move(words), .max_tokens = 1};
    request.cache_salt = "other " + std::to_string(++others_);
    const auto done = loop_.Run(std::move(request));
    return done ? Status() : std::unexpected(done.error());
  }

  Result<LabStep> TwoRequests();
  Result<LabStep> Marks();
  Result<LabStep> WholeBlocks();
  Result<LabStep> Misses();
  Result<LabReply> AskMarked(bool marked, std::int64_t& marked_blocks);

  LabLoop& loop_;
  LabSteps steps_;
  int others_ = 0;
};

OutputJson ReplyJson(const LabReply& reply) {
  OutputJson json = UsageJson(reply.usage());
  json["prefill_s"] = reply.outcome.timings.prefill_seconds;
  json["tokens"] = reply.tokens();
  return json;
}

OutputJson DifferenceJson(const LogitsDifference& difference) {
  return {{"compared", difference.compared}, {"different", difference.different}};
}

Result<LabStep> Lab::TwoRequests() {
  const auto first = AskAndRun(0);
  if (!first) return std::unexpected(first.error());
  const auto second = AskAndRun(1);
  if (!second) return std::unexpected(second.error());
  loop_.loop().ResetCache();
  const auto cold = AskAndRun(1);
  if (!cold) return std::unexpected(cold.error());
  const LogitsDifference same = CompareLogits(*second, *cold);
  const LogitsDifference control = CompareLogits(*first, *second);
  LabStep step{.id = "C2", .title = "a second request with the same prefix"};
  TextTable table("lrrrrr");
  table.Add({"request", "prompt", "cached", "computed", "generated", "prefill ms"});
  const auto add = [&](const char* name, const LabReply& reply) {
    const Usage& usage = reply.usage();
    table.Add({name, std::to_string(usage.prompt_tokens), std::to_string(usage.cached_tokens),
               std::to_string(usage.computed_tokens), std::to_string(usage.generated_tokens),
               Decimal(1e3 * reply.outcome.timings.prefill_seconds, 1)});
  };
  add("system text, question 1", *first);
  add("system text, question 2", *second);
  add("question 2, cache emptied before", *cold);
  step.lines = table.Lines();
  step.lines.push_back(
      "The second request's prefill skips the " + std::to_string(second->usage().cached_tokens) +
      " cached tokens. Its reply is generated all the same, token by token: nothing of a reply is "
      "stored.");
  step.lines.push_back("Hit against miss, the logits of its " +
                       std::to_string(second->usage().generated_tokens) + " tokens: of " +
                       Grouped(std::uint64_t{same.compared}) + " numbers " +
                       Grouped(std::uint64_t{same.different}) +
                       " differ in any bit (question 1 against question 2: " +
                       Grouped(std::uint64_t{control.different}) + ").");
  step.facts = {{"model", loop_.model().file().path()},
                {"block_size", loop_.model().options().block_size},
                {"shared_tokens", kSystemTokens},
                {"first", ReplyJson(*first)},
                {"second", ReplyJson(*second)},
                {"second_without_cache", ReplyJson(*cold)},
                {"hit_against_miss", DifferenceJson(same)},
                {"first_against_second", DifferenceJson(control)}};
  return step;
}

// Asks the first question, lets others fill the pool, and asks the second.
Result<LabReply> Lab::AskMarked(bool marked, std::int64_t& marked_blocks) {
  loop_.loop().ResetCache();
  Result<Request> request = Ask(0);
  if (!request) return std::unexpected(request.error());
  if (marked) {
    request->retention = CacheRetention::k5Minutes;
    request->retained_tokens = kSystemTokens;
  }
  const auto first = loop_.Run(*std::move(request));
  if (!first) return std::unexpected(first.error());
  const BlockPool& pool = loop_.model().cache().pool();
  for (BlockId id = 0; id < pool.num_blocks(); ++id) {
    marked_blocks += pool.block(id).retention == folio::Retention::k5Minutes ? 1 : 0;
  }
  if (const Status filled = FillWithOthers(); !filled) return std::unexpected(filled.error());
  return AskAndRun(1);
}

Result<LabStep> Lab::Marks() {
  std::int64_t none = 0;
  const auto unmarked = AskMarked(false, none);
  if (!unmarked) return std::unexpected(unmarked.error());
  std::int64_t blocks = 0;
  const auto marked = AskMarked(true, blocks);
  if (!marked) return std::unexpected(marked.error());
  if (const Status large = RunOther(kLargeTokens); !large) return std::unexpected(large.error());
  const auto after_large = AskAndRun(1);
  if (!after_large) return std::unexpected(after_large.error());
  LabStep step{.id = "C3", .title = "cache_control marks where the prefix worth keeping ends"};
  step.lines = {
      "A mark at token " + std::to_string(kSystemTokens) +
          " of question 1's prompt, for 5 minutes: " + std::to_string(blocks) +
          " blocks that lie wholly before it carry it.",
      "Then other prompts need the whole pool of " +
          std::to_string(loop_.model().cache().pool().num_blocks()) +
          " blocks. Unmarked blocks are handed out first.",
      "question 2 without the mark: " + ExplainCache(unmarked->outcome.cache, "request"),
      "question 2 with the mark:    " + ExplainCache(marked->outcome.cache, "request"),
      "A mark only orders eviction. A prompt of " + std::to_string(kLargeTokens) +
          " tokens, for which unmarked blocks are too few, is served all the same, and then",
      "question 2: " + ExplainCache(after_large->outcome.cache, "request")};
  step.facts = {{"marked_tokens", kSystemTokens},
                {"marked_blocks", blocks},
                {"groups", loop_.model().cache().num_groups()},
                {"blocks_marked_without", none},
                {"without_mark", CacheJson(unmarked->outcome.cache, "request")},
                {"with_mark", CacheJson(marked->outcome.cache, "request")},
                {"after_large_prompt", CacheJson(after_large->outcome.cache, "request")}};
  return step;
}

Result<LabStep> Lab::WholeBlocks() {
  constexpr std::size_t kLength = 80;
  const auto stem = loop_.Words(kSystem, kLength);
  if (!stem) return std::unexpected(stem.error());
  const auto tail = loop_.Words(kOther, kLength);
  if (!tail) return std::unexpected(tail.error());
  const auto run = [&](std::vector<TokenId> prompt) {
    return loop_.Run({.prompt = std::move(prompt), .max_tokens = 1});
  };
  if (const auto first = run(*stem); !first) return std::unexpected(first.error());
  const auto whole = run(*stem);  // before others need its last block
  if (!whole) return std::unexpected(whole.error());
  LabStep step{.id = "C4", .title = "cached tokens go up in whole blocks"};
  step.facts["block_size"] = loop_.model().options().block_size;
  step.facts["rows"] = OutputJson::array();
  TextTable table("rrr");
  table.Add({"tokens shared", "prompt", "cached"});
  const auto add = [&](std::size_t shared, const LabReply& reply) {
    const Usage& usage = reply.usage();
    table.Add({std::to_string(shared), std::to_string(usage.prompt_tokens),
               std::to_string(usage.cached_tokens)});
    step.facts["rows"].push_back({{"shared_tokens", shared},
                                  {"prompt_tokens", usage.prompt_tokens},
                                  {"cached_tokens", usage.cached_tokens}});
  };
  for (const std::size_t shared : {15U, 16U, 17U, 31U, 32U, 47U, 48U, 63U, 64U}) {
    std::vector<TokenId> prompt(stem->begin(), stem->begin() + static_cast<std::ptrdiff_t>(shared));
    // The first token behind the shared ones must not be the stem's.
    for (const TokenId token : *tail) {
      if (prompt.size() == kLength) break;
      if (prompt.size() > shared || token != (*stem)[shared]) prompt.push_back(token);
    }
    const auto reply = run(std::move(prompt));
    if (!reply) return std::unexpected(reply.error());
    add(shared, *reply);
  }
  add(kLength, *whole);
  step.lines = table.Lines();
  step.lines.push_back(
      "Only full blocks have a hash, so " + std::to_string(loop_.model().options().block_size) +
      " tokens at a time can be found. The same prompt again has all but its last "
      "token cached: that one is computed, because its logits give the first token "
      "of the reply.");
  return step;
}

Result<LabStep> Lab::Misses() {
  LabStep step{.id = "why", .title = "what makes a request miss, and what the engine says of it"};
  step.facts["cases"] = OutputJson::array();
  const auto system = PieceOf("system", kSystem, kSystemTokens);
  const auto monday = PieceOf("date", "It is Monday. ");
  const auto tuesday = PieceOf("date", "It is Tuesday. ");
  std::vector<Piece> users;
  for (const std::string_view question : kQuestions) {
    auto user = PieceOf("user", question);
    if (!user) return std::unexpected(user.error());
    users.push_back(*std::move(user));
  }
  if (!system || !monday || !tuesday) return std::unexpected(system.error());
  const auto number_of = [](const LabReply& reply) { return std::to_string(reply.outcome.id); };
  const auto add = [&](const std::string& what, Request request,
                       const char* salt = "why") -> Result<LabReply> {
    request.cache_salt = salt;
    auto reply = loop_.Run(std::move(request));
    if (!reply) return reply;
    const MissReport& report = reply->outcome.cache;
    step.lines.push_back("request " + number_of(*reply) + ", " + what + ":");
    step.lines.push_back("    " + ExplainCache(report, "request"));
    OutputJson json = {{"request", reply->outcome.id}, {"what", what}};
    json.update(CacheJson(report, "request"));
    step.facts["cases"].push_back(std::move(json));
    return reply;
  };
  const auto first = add("a system text and a question", RequestOf({*system, users[0]}));
  if (!first) return std::unexpected(first.error());
  std::vector<TokenId> said = first->tokens();
  const std::vector<Piece> next_turn = {
      *system, users[0], {.label = "reply", .tokens = said}, users[2]};
  const std::pair<const char*, Request> requests[] = {
      {"the same again", RequestOf({*system, users[0]})},
      {"another question", RequestOf({*system, users[1]})},
      {"the next turn: question, reply, question", RequestOf(next_turn)},
      {"a date in front of everything", RequestOf({*monday, *system, users[0]})},
      {"the next day", RequestOf({*tuesday, *system, users[0]})}};
  for (const auto& [what, request] : requests) {
    if (const auto done = add(what, request); !done) return std::unexpected(done.error());
  }
  if (const Status filled = FillWithOthers(); !filled) return std::unexpected(filled.error());
  if (const auto done =
          add("the first one, after others needed the pool", RequestOf({*system, users[0]}));
      !done) {
    return std::unexpected(done.error());
  }
  if (const auto done = add("the same for someone with another cache salt",
                            RequestOf({*system, users[0]}), "someone else");
      !done) {
    return std::unexpected(done.error());
  }
  return step;
}

}  // namespace

Result<LabSteps> PromptCacheLab(const LabArgs& args) {
  auto loop = LabLoop::Create(args, kContext, /*prefix_cache=*/true);
  if (!loop) return std::unexpected(loop.error());
  return Lab(**loop).Run();
}

}  // namespace folio
