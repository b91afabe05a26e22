/* The C ABI of the Rust bridge: Hugging Face's `tokenizers`, `minijinja` and `llguidance`.
 *
 * Ownership: a FolioBytes is borrowed for the call; the bridge copies what it keeps. A FolioBuffer
 * or FolioIds that a call filled belongs to the caller, who frees it with the matching function; a
 * buffer must be zeroed before its first use, and a call that fails fills `error` only. Handles are
 * freed with their own function and may be used from several threads at once, but for a
 * FolioMatcher, which one thread at a time uses.
 *
 * No call unwinds into C: a panic inside becomes an error whose text starts with "panic: ". Text is
 * UTF-8 both ways; other bytes are an error. */
#ifndef FOLIO_BRIDGE_H_
#define FOLIO_BRIDGE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct FolioBytes {
  const uint8_t* data;
  size_t size;
} FolioBytes;

typedef struct FolioBuffer {
  uint8_t* data;
  size_t size;
  size_t capacity;
} FolioBuffer;
void folio_buffer_free(FolioBuffer* buffer);

typedef struct FolioIds {
  uint32_t* data;
  size_t size;
  size_t capacity;
} FolioIds;
void folio_ids_free(FolioIds* ids);

/* ---- tokenizers ---- */

typedef struct FolioTokenizer FolioTokenizer;

/* A byte-pair encoder made from a model file's tables. It knows no added tokens: callers cut the
 * text at special tokens themselves and give it the stretches between. */
typedef struct FolioBpeSpec {
  const FolioBytes* tokens; /* id = index; of equal spellings the lowest id encodes; one whose data
                             * is null is never formed from text */
  size_t token_count;
  const FolioBytes* merges; /* "left right", cut at the first space that isn't the first character;
                             * rank = index */
  size_t merge_count;
  const FolioBytes* splits; /* regular expressions; each cuts every piece into matches and gaps */
  size_t split_count;
  int32_t byte_level;    /* map bytes to GPT-2's printable characters after splitting */
  int32_t ignore_merges; /* a whole piece that is a token wins before any merge */
  int32_t byte_fallback; /* unknown characters become <0xXX> tokens */
  int32_t compose;       /* compose characters (NFC) first */
  int64_t unknown_id;    /* for what nothing covers; runs are fused; -1: dropped */
} FolioBpeSpec;

FolioTokenizer* folio_tokenizer_from_bpe(const FolioBpeSpec* spec, FolioBuffer* error);

/* A Hugging Face tokenizer.json. */
FolioTokenizer* folio_tokenizer_from_json(FolioBytes json, FolioBuffer* error);

void folio_tokenizer_free(FolioTokenizer* tokenizer);

/* Ids of `text`. `parse_special` concerns tokenizer.json only: whether spellings of special tokens
 * become those tokens; `add_special` adds what its post-processor adds (BOS, EOS). 0 on success. */
int32_t folio_tokenizer_encode(const FolioTokenizer* tokenizer, FolioBytes text,
                               int32_t parse_special, int32_t add_special, FolioIds* ids,
                               FolioBuffer* error);

/* One past the highest id. */
size_t folio_tokenizer_size(const FolioTokenizer* tokenizer);

/* How a token of tokenizer.json is spelled and what kind it is. */
enum {
  FOLIO_TOKEN_ABSENT = 0,
  FOLIO_TOKEN_NORMAL = 1,
  FOLIO_TOKEN_ADDED = 2,
  FOLIO_TOKEN_SPECIAL = 3
};
int32_t folio_tokenizer_token(const FolioTokenizer* tokenizer, uint32_t id, FolioBuffer* spelling);

/* Whether tokenizer.json's decoder maps GPT-2's printable characters back to bytes; whether it
 * drops a leading space of the text. */
int32_t folio_tokenizer_byte_level(const FolioTokenizer* tokenizer);
int32_t folio_tokenizer_strips_leading_space(const FolioTokenizer* tokenizer);

/* ---- chat templates ---- */

typedef struct FolioTemplate FolioTemplate;

/* Compiles a template as Hugging Face's Jinja settings read it. `markers` are the spellings that
 * only the template itself may produce: see folio_template_render. */
FolioTemplate* folio_template_new(FolioBytes source, const FolioBytes* markers, size_t marker_count,
                                  FolioBuffer* error);
void folio_template_free(FolioTemplate* compiled);

typedef struct FolioRenderInput {
  FolioBytes messages; /* a JSON array */
  FolioBytes extra;    /* a JSON object of further variables, or empty */
  FolioBytes bos_token;
  FolioBytes eos_token;
  int32_t add_generation_prompt;
  int32_t protect;         /* see folio_template_render */
  int32_t join_text_parts; /* a content that is a list of text parts becomes their text */
  int32_t parse_arguments; /* tool calls' arguments given as JSON text become objects */
} FolioRenderInput;

typedef struct FolioRenderLimits {
  uint64_t fuel;       /* minijinja's measure of work, about 64 bytes of data each; the size of the
                        * input is added */
  size_t output_bytes; /* a longer rendering is an error */
  size_t input_bytes;  /* longer messages and variables are refused before they are parsed */
} FolioRenderLimits;

enum {
  FOLIO_RENDER_OK = 0,
  FOLIO_RENDER_BAD_CONTEXT = 1, /* the messages or variables can't be used */
  FOLIO_RENDER_RAISED = 2,      /* the template called raise_exception */
  FOLIO_RENDER_FAILED = 3,      /* any other error of the template */
  FOLIO_RENDER_LIMIT = 4,       /* out of fuel, or too much output */
};

/* Renders a conversation. With `protect`, markers spelled inside strings of the messages and the
 * variables are broken with a private-use character that occurs nowhere in them, so that the
 * rendered text holds a marker only where the template wrote it; `pieces` then gets the end offset
 * of each piece of `text`, alternately plain text (perhaps empty) and a marker, and the breaking
 * character is gone from `text`. Without `protect` `pieces` is left empty and may be null. */
int32_t folio_template_render(const FolioTemplate* compiled, const FolioRenderInput* input,
                              const FolioRenderLimits* limits, FolioBuffer* text, FolioIds* pieces,
                              FolioBuffer* error);

/* What the callers' values are, part by part, and where they are in a rendering. The members are
 * freed one by one. */
typedef struct FolioParts {
  FolioBuffer labels; /* a line for each part: "messages[3] user", "tools[2] get_weather" */
  FolioIds messages;  /* for each part 1 + the index of its message, 0 for what is none */
  FolioIds stretches; /* begin and end in `text` and the index of the part, three numbers for each
                       * stretch, in order and apart; none where the template lets them not be
                       * found */
} FolioParts;

/* The same rendering as with `protect`, which must be set, and where its text comes from; renders
 * up to three times. */
int32_t folio_template_render_parts(const FolioTemplate* compiled, const FolioRenderInput* input,
                                    const FolioRenderLimits* limits, FolioBuffer* text,
                                    FolioIds* pieces, FolioParts* parts, FolioBuffer* error);

/* ---- grammars ---- */

typedef struct FolioGrammarFactory FolioGrammarFactory;

typedef struct FolioGrammarVocabulary {
  const FolioBytes* tokens; /* id = index: the bytes that each stands for in text, and of control
                             * tokens the spelling */
  const uint8_t* control;   /* [token_count] nonzero for a control token: a grammar gets one by its
                             * name or id alone, never as text */
  size_t token_count;
  const uint32_t* end_tokens; /* allowed where a reply may end; below token_count */
  size_t end_token_count;
} FolioGrammarVocabulary;

/* What compiling needs of a vocabulary; takes up to a second for large ones. */
FolioGrammarFactory* folio_grammar_factory_new(const FolioGrammarVocabulary* vocabulary,
                                               FolioBuffer* error);
void folio_grammar_factory_free(FolioGrammarFactory* factory);

enum { FOLIO_GRAMMAR_JSON_SCHEMA = 1, FOLIO_GRAMMAR_LARK = 2, FOLIO_GRAMMAR_REGEX = 3 };

/* Where a reply stands in its grammar. */
typedef struct FolioMatcher FolioMatcher;

/* A grammar of texts that stand inside a reply, be they a JSON string's. */
typedef struct FolioHeldGrammar FolioHeldGrammar;

/* Lark or a regular expression, without control tokens. `opening`: behind it a text begins,
 * wherever it stands in a reply outside another text. `closing`: empty for a text in a JSON string,
 * up to the quote that ends it, with one spelling for each text: escaped is only what has to be, by
 * its short form or by \u00 and two small digits. Else the text stands as it is, up to a line break
 * and `closing`, which begins with < and has no other. The error is a phrase as below. */
FolioHeldGrammar* folio_held_grammar_new(const FolioGrammarFactory* factory, int32_t kind,
                                         FolioBytes text, FolioBytes opening, FolioBytes closing,
                                         FolioBuffer* error);
void folio_held_grammar_free(FolioHeldGrammar* held);

/* A matcher at the grammar's beginning, which holds texts inside the reply too; it doesn't need
 * `held` afterwards. The error is a phrase about the grammar: "has 70000 bytes, more than 65536".
 * Bounded by limits on the text, in time and memory; runs on a stack of its own. */
FolioMatcher* folio_grammar_compile(const FolioGrammarFactory* factory, int32_t kind,
                                    FolioBytes text, const FolioHeldGrammar* const* held,
                                    size_t held_count, FolioBuffer* error);
/* One that stands at the same place and shares nothing. */
FolioMatcher* folio_matcher_copy(const FolioMatcher* matcher, FolioBuffer* error);
void folio_matcher_free(FolioMatcher* matcher);

/* Fills `words` with the tokens that may come next: token t is bit t % 32 of word t / 32. 0 on
 * success, -1 on an error, after which the matcher only gives errors. */
int32_t folio_matcher_mask(FolioMatcher* matcher, uint32_t* words, size_t word_count,
                           FolioBuffer* error);
/* Takes the token that came: 0, or 1 if the grammar is complete and nothing may follow, or -1 on an
 * error as above. */
int32_t folio_matcher_take(FolioMatcher* matcher, uint32_t token, FolioBuffer* error);

#ifdef __cplusplus
}
#endif

#endif /* FOLIO_BRIDGE_H_ */
