//! Grammars that a reply must keep to: llguidance behind a C ABI. They come from callers, so their
//! size is bounded before they are compiled, and compiling runs on a big stack. Masks don't go down
//! the grammar by recursion: the caller's stack will do.

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use llguidance::api::{GrammarInit, ParserLimits, TopLevelGrammar};
use llguidance::earley::SlicedBiasComputer;
use llguidance::{Logger, Matcher, ParserFactory};
use serde_json::{json, Value as Json};
use toktrie::{
    ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie, INVALID_TOKEN,
};

use crate::ffi::{fill, guarded, slice, FolioBuffer, FolioBytes};
use crate::grammar_limits::{check_lark, check_size, SchemaLimits};
use crate::held_text::{HeldGrammar, HeldTexts, TextTokens};
use crate::stack::on_stack;

/// A chain of 4,500 rules in 64 KiB overflows 8 MiB.
const STACK_BYTES: usize = 256 << 20;
/// The trie holds no longer tokens.
const MOST_TOKEN_BYTES: usize = 1000;
const MOST_ERROR_CHARS: usize = 300;
/// Between two tokens of JSON. Without a bound a small model may fill its whole reply with it.
const WHITESPACE: &str = r"[\x20\x0A\x0D\x09]{1,40}";

const NO_REPLY: &str = "allows no reply, or none of tokens that the model has";

const KIND_JSON_SCHEMA: i32 = 1;
pub const KIND_LARK: i32 = 2;
pub const KIND_REGEX: i32 = 3;

const MATCHER_FAILED: i32 = -1;
const MATCHER_GOES_ON: i32 = 0;
const MATCHER_COMPLETE: i32 = 1;

pub struct FolioGrammarFactory {
    parsers: ParserFactory,
    text_tokens: OnceLock<Arc<TextTokens>>,
}

pub struct FolioMatcher {
    reply: Matcher,
    texts: HeldTexts,
}

pub struct FolioHeldGrammar(Arc<HeldGrammar>);

#[repr(C)]
pub struct FolioGrammarVocabulary {
    tokens: *const FolioBytes,
    control: *const u8,
    token_count: usize,
    end_tokens: *const u32,
    end_token_count: usize,
}

/// llguidance's own numbers, lowered where a hostile grammar was seen to take a mask past 100 ms
/// or a reply past some tens of megabytes, and schemas of 64 KiB were not.
fn limits() -> ParserLimits {
    ParserLimits {
        step_lexer_fuel: 100_000,
        step_max_items: 5_000,
        max_lexer_states: 20_000,
        max_grammar_size: 200_000,
        verbose_errors: false,
        ..ParserLimits::default()
    }
}

impl FolioGrammarVocabulary {
    /// Control tokens are marked, so that no text stands for them. Other tokens that begin with the
    /// mark, a byte that is in no text, can't be chosen.
    unsafe fn words(&self) -> Vec<Vec<u8>> {
        let control = slice(self.control, self.token_count);
        let tokens = slice(self.tokens, self.token_count);
        let mark = TokTrie::SPECIAL_TOKEN_MARKER;
        tokens
            .iter()
            .zip(control)
            .map(|(token, control)| match (*control != 0, token.bytes()) {
                (_, bytes) if bytes.is_empty() || bytes.len() > MOST_TOKEN_BYTES => vec![],
                (true, bytes) => [&[mark], bytes].concat(),
                (false, bytes) if bytes[0] == mark => vec![],
                (false, bytes) => bytes.to_vec(),
            })
            .collect()
    }
}

impl FolioGrammarFactory {
    fn new(words: &[Vec<u8>], end_tokens: &[u32]) -> Result<Self, String> {
        let info = TokRxInfo::new(words.len() as u32, INVALID_TOKEN);
        let mut trie = TokTrie::from(&info, words);
        if !end_tokens.is_empty() {
            trie = trie.with_eos_tokens(end_tokens);
        }
        let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        let mut factory = ParserFactory::new(
            &env,
            InferenceCapabilities::default(),
            &SlicedBiasComputer::general_slices(),
        )
        .map_err(reason)?;
        *factory.quiet().limits_mut() = limits();
        Ok(Self {
            parsers: factory,
            text_tokens: OnceLock::new(),
        })
    }

    fn hold(
        &self,
        grammar: (i32, &str),
        opening: &[u8],
        closing: &[u8],
    ) -> Result<FolioHeldGrammar, String> {
        let trie = self.parsers.tok_env().tok_trie();
        let tokens = self
            .text_tokens
            .get_or_init(|| Arc::new(TextTokens::new(trie)));
        let held = HeldGrammar::new(&self.parsers, tokens.clone(), grammar, opening, closing)?;
        Ok(FolioHeldGrammar(Arc::new(held)))
    }

    fn compile(&self, kind: i32, text: &str, texts: HeldTexts) -> Result<FolioMatcher, String> {
        check_size(text)?;
        let grammar = match kind {
            KIND_JSON_SCHEMA => TopLevelGrammar::from_json_schema(read_schema(text)?),
            KIND_LARK => {
                check_lark(text)?;
                TopLevelGrammar::from_lark(text.to_owned())
            }
            KIND_REGEX => TopLevelGrammar::from_regex(text),
            _ => return Err(format!("is of kind {kind}, which is none")),
        };
        let parser = self.parsers.create_parser_from_init_ext(
            GrammarInit::Serialized(grammar),
            Logger::new(0, 0),
            InferenceCapabilities::default(),
            self.parsers.limits().clone(),
        );
        let mut reply = Matcher::new(Ok(parser.map_err(reason)?));
        // Tells now what no reply could keep to; the mask is kept for the first token.
        reply.compute_mask_or_eos().map_err(reason)?;
        Ok(FolioMatcher { reply, texts })
    }
}

fn read_schema(text: &str) -> Result<Json, String> {
    let mut schema: Json = serde_json::from_str(text).map_err(|e| format!("is no JSON: {e}"))?;
    SchemaLimits::default().check(&schema)?;
    if let Json::Object(members) = &mut schema {
        let options = json!({"whitespace_pattern": WHITESPACE});
        members.entry("x-guidance").or_insert(options);
    }
    Ok(schema)
}

/// An error of llguidance as one line: without the lines that show where in the text, and of regular
/// expressions, which it quotes in full, only what is wrong.
pub fn reason(error: impl Display) -> String {
    let text = error.to_string();
    if text.starts_with("NoExtensionBias") {
        return NO_REPLY.into();
    }
    let regex_error = text.find("regex parse error").and_then(|at| {
        let line = text[at..].lines().find_map(|l| l.strip_prefix("error: "))?;
        Some(format!("has a bad regular expression: {line}"))
    });
    let first_lines = || {
        let shows_text = |line: &&str| line.starts_with("<non-verbose/>") || is_excerpt(line);
        text.lines()
            .enumerate()
            .take_while(|(i, line)| *i == 0 || !shows_text(line))
            .map(|(_, line)| line.trim())
            .collect::<Vec<_>>()
            .join(" ")
    };
    regex_error
        .unwrap_or_else(first_lines)
        .chars()
        .take(MOST_ERROR_CHARS)
        .collect()
}

/// "   12 | a: b"
fn is_excerpt(line: &str) -> bool {
    let number = line.trim_start().split(" | ").next().unwrap_or_default();
    line.contains(" | ") && number.bytes().all(|b| b.is_ascii_digit())
}

impl FolioMatcher {
    fn fill_mask(&mut self, words: &mut [u32]) -> Result<(), String> {
        let mut mask = self.reply.compute_mask_or_eos().map_err(reason)?;
        self.texts.narrow(&mut mask)?;
        if mask.is_zero() {
            return Err(NO_REPLY.into());
        }
        let bits = mask.as_slice();
        let count = bits.len().min(words.len());
        words.fill(0);
        words[..count].copy_from_slice(&bits[..count]);
        Ok(())
    }

    fn take(&mut self, token: u32) -> Result<i32, String> {
        self.reply.consume_token(token).map_err(reason)?;
        let env = self.reply.tok_env().map_err(reason)?;
        self.texts.take(env.tok_trie().token(token))?;
        Ok(if self.reply.is_stopped() {
            MATCHER_COMPLETE
        } else {
            MATCHER_GOES_ON
        })
    }
}

unsafe fn boxed<T>(made: Result<T, String>, error: *mut FolioBuffer) -> *mut T {
    match made {
        Ok(value) => Box::into_raw(Box::new(value)),
        Err(text) => {
            fill(error, text.into_bytes());
            std::ptr::null_mut()
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_grammar_factory_new(
    vocabulary: &FolioGrammarVocabulary,
    error: *mut FolioBuffer,
) -> *mut FolioGrammarFactory {
    let made = guarded(|| {
        let words = vocabulary.words();
        let ends = slice(vocabulary.end_tokens, vocabulary.end_token_count);
        on_stack(STACK_BYTES, || FolioGrammarFactory::new(&words, ends))?
    });
    boxed(made, error)
}

#[no_mangle]
pub unsafe extern "C" fn folio_grammar_factory_free(factory: *mut FolioGrammarFactory) {
    if !factory.is_null() {
        drop(Box::from_raw(factory));
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_grammar_compile(
    factory: &FolioGrammarFactory,
    kind: i32,
    text: FolioBytes,
    held: *const *const FolioHeldGrammar,
    held_count: usize,
    error: *mut FolioBuffer,
) -> *mut FolioMatcher {
    let made = guarded(|| {
        let text = text.text().map_err(|e| format!("is {e}"))?;
        let held = slice(held, held_count).iter();
        let texts = HeldTexts::new(held.map(|held| (**held).0.clone()).collect());
        on_stack(STACK_BYTES, || factory.compile(kind, text, texts))?
    });
    boxed(made, error)
}

#[no_mangle]
pub unsafe extern "C" fn folio_held_grammar_new(
    factory: &FolioGrammarFactory,
    kind: i32,
    text: FolioBytes,
    opening: FolioBytes,
    closing: FolioBytes,
    error: *mut FolioBuffer,
) -> *mut FolioHeldGrammar {
    let made = guarded(|| {
        let text = text.text().map_err(|e| format!("is {e}"))?;
        let (opening, closing) = (opening.bytes(), closing.bytes());
        on_stack(STACK_BYTES, || factory.hold((kind, text), opening, closing))?
    });
    boxed(made, error)
}

#[no_mangle]
pub unsafe extern "C" fn folio_held_grammar_free(held: *mut FolioHeldGrammar) {
    if !held.is_null() {
        drop(Box::from_raw(held));
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_matcher_copy(
    matcher: &FolioMatcher,
    error: *mut FolioBuffer,
) -> *mut FolioMatcher {
    let copied = guarded(|| {
        Ok(FolioMatcher {
            reply: matcher.reply.deep_clone(),
            texts: matcher.texts.deep_clone(),
        })
    });
    boxed(copied, error)
}

#[no_mangle]
pub unsafe extern "C" fn folio_matcher_free(matcher: *mut FolioMatcher) {
    if !matcher.is_null() {
        drop(Box::from_raw(matcher));
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_matcher_mask(
    matcher: &mut FolioMatcher,
    words: *mut u32,
    word_count: usize,
    error: *mut FolioBuffer,
) -> i32 {
    let words = std::slice::from_raw_parts_mut(words, word_count);
    match guarded(|| matcher.fill_mask(words)) {
        Ok(()) => MATCHER_GOES_ON,
        Err(text) => {
            fill(error, text.into_bytes());
            MATCHER_FAILED
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_matcher_take(
    matcher: &mut FolioMatcher,
    token: u32,
    error: *mut FolioBuffer,
) -> i32 {
    guarded(|| matcher.take(token)).unwrap_or_else(|text| {
        fill(error, text.into_bytes());
        MATCHER_FAILED
    })
}
