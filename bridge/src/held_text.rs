//! Texts inside a reply that keep to grammars of their own: what a custom tool is called with. They
//! run beside the reply's grammar, which sees a string there, and not inside it: a lexer that takes
//! the longest match can't tell whether a backslash goes on with its lexeme or begins the next.

use std::sync::{Arc, Mutex};

use llguidance::api::{GrammarInit, GrammarWithLexer, TopLevelGrammar};
use llguidance::earley::{BiasComputer, Parser, ParserRecognizer};
use llguidance::{Logger, ParserFactory, TokenParser};
use toktrie::{
    InferenceCapabilities, Recognizer, SimpleVob, TokRxInfo, TokTrie, TokenId, INVALID_TOKEN,
};

use crate::grammar::{reason, KIND_LARK, KIND_REGEX};
use crate::grammar_limits::{check_lark, check_size, refuse_tokens};
use crate::spelling::{is_odd, Place, Spelling, Text};

/// Behind the text in its grammar, to ask whether it may end; as bytes, as a trie has it.
const END: &str = "<[1]>";
const END_BYTES: &[u8] = b"\xff[1]";
/// Bytes are told to a parser as if they came from this token, which is another.
const SOME_TOKEN: TokenId = 0;

/// A grammar and what opens its texts in a reply. Replies share it: each text is a copy's.
pub struct HeldGrammar {
    opening: Vec<u8>,
    spelling: Spelling,
    start: Parser,
    /// Whose masks are right for tokens that are nothing but text.
    general: Arc<dyn BiasComputer>,
    tokens: Arc<TextTokens>,
}

/// The tokens of a vocabulary, by what they may mean in a text.
pub struct TextTokens {
    plain: SimpleVob,
    odd: TokTrie,
}

impl TextTokens {
    pub fn new(trie: &TokTrie) -> Self {
        let mut plain = trie.alloc_token_set();
        let size = trie.vocab_size() as TokenId;
        let words: Vec<Vec<u8>> = (0..size)
            .map(|token| {
                let bytes = trie.token(token);
                if bytes.first() == Some(&TokTrie::SPECIAL_TOKEN_MARKER) {
                    return vec![];
                }
                if bytes.iter().any(|b| is_odd(*b)) {
                    return bytes.to_vec();
                }
                plain.allow_token(token);
                vec![]
            })
            .collect();
        let odd = TokTrie::from(&TokRxInfo::new(size, INVALID_TOKEN), &words);
        Self { plain, odd }
    }
}

impl HeldGrammar {
    pub fn new(
        factory: &ParserFactory,
        tokens: Arc<TextTokens>,
        (kind, text): (i32, &str),
        opening: &[u8],
        closing: &[u8],
    ) -> Result<Self, String> {
        check_size(text)?;
        if opening.is_empty() {
            return Err("has no opening".into());
        }
        let spelling = Spelling::of(closing)?;
        let parser = create_parser(factory, grammar_of(kind, text)?)?;
        let held = Self {
            opening: opening.to_vec(),
            spelling,
            general: parser.bias_computer.clone(),
            start: parser.parser,
            tokens,
        };
        held.check_start()?;
        Ok(held)
    }

    /// Tells now what no text could keep to.
    fn check_start(&self) -> Result<(), String> {
        let mut text = self.enter();
        let may_be_empty = text.parser.with_recognizer(|recognizer| {
            recognizer.trie_started("end");
            let may_end = Inner::new(recognizer).may_end();
            recognizer.trie_finished();
            may_end
        });
        if !may_be_empty && text.allowed(self)?.is_zero() {
            return Err("allows no text, or none of tokens that the model has".into());
        }
        Ok(())
    }

    fn enter(&self) -> OpenText {
        OpenText {
            parser: self.start.deep_clone(),
            place: self.spelling.start(),
        }
    }

    /// Takes from `mask` the tokens that end in a text which they open and which doesn't fit.
    /// `matched`: bytes of the opening that came last.
    fn forbid_bad_openings(&self, matched: usize, mask: &mut SimpleVob) -> Result<(), String> {
        let trie = self.general.trie();
        let mut begun = Some(matched);
        while let Some(matched) = begun {
            begun = (matched > 0).then(|| border(&self.opening, matched));
            let rest = &self.opening[matched..];
            let Some(node) = trie.child_at_bytes(trie.root(), rest) else {
                continue;
            };
            if node.subtree_size() == 1 {
                continue;
            }
            let mut all = trie.alloc_token_set();
            trie.add_bias(&mut Anything, &mut all, rest);
            let fitting = self.enter().allowed_behind(self, rest)?;
            all.sub(&fitting);
            mask.sub(&all);
        }
        Ok(())
    }
}

/// The next longest beginning of `opening` that is the end of its first `matched` bytes.
fn border(opening: &[u8], matched: usize) -> usize {
    let came = &opening[..matched];
    (0..matched)
        .rev()
        .find(|n| came.ends_with(&opening[..*n]))
        .unwrap_or(0)
}

fn grammar_of(kind: i32, text: &str) -> Result<TopLevelGrammar, String> {
    let mut inner = match kind {
        KIND_LARK => {
            check_lark(text)?;
            refuse_tokens(text)?;
            GrammarWithLexer::from_lark(text.to_owned())
        }
        KIND_REGEX => GrammarWithLexer::from_regex(text),
        _ => return Err(format!("is of kind {kind}, which no text has")),
    };
    inner.name = Some("text".into());
    let outer = GrammarWithLexer::from_lark(format!("start: @text {END}"));
    Ok(TopLevelGrammar {
        grammars: vec![outer, inner],
        max_tokens: None,
    })
}

fn create_parser(factory: &ParserFactory, grammar: TopLevelGrammar) -> Result<TokenParser, String> {
    factory
        .create_parser_from_init_ext(
            GrammarInit::Serialized(grammar),
            Logger::new(0, 0),
            InferenceCapabilities::default(),
            factory.limits().clone(),
        )
        .map_err(reason)
}

/// A text that a reply is in the middle of.
struct OpenText {
    parser: Parser,
    place: Place,
}

impl OpenText {
    fn deep_clone(&self) -> Self {
        Self {
            parser: self.parser.deep_clone(),
            place: self.place,
        }
    }

    /// The tokens that fit, of the whole vocabulary.
    fn allowed(&mut self, held: &HeldGrammar) -> Result<SimpleVob, String> {
        self.allowed_behind(held, &[])
    }

    /// Those among the tokens that begin with `front`, whose text begins behind that.
    fn allowed_behind(&mut self, held: &HeldGrammar, front: &[u8]) -> Result<SimpleVob, String> {
        let question = Question {
            held,
            place: self.place,
            front,
            answer: Mutex::new(None),
        };
        // The cache doesn't know of places.
        self.parser.invalidate_bias_cache();
        self.parser.compute_bias(&question, &[]);
        self.check()?;
        let answer = question.answer.into_inner().unwrap_or_default();
        answer.ok_or_else(|| "can't be gone on with".into())
    }

    /// Takes bytes of a reply up to the text's end: how many.
    fn take(&mut self, held: &HeldGrammar, bytes: &[u8]) -> Result<usize, String> {
        let (taken, place, inner) = self.parser.with_recognizer(|recognizer| {
            recognizer.trie_started("take");
            let mut walk = Walk::new(held, self.place, recognizer);
            let goes_on = |byte: &&u8| walk.place() != Place::After && walk.try_push_byte(**byte);
            let taken = bytes.iter().take_while(goes_on).count();
            let (place, inner) = (walk.place(), std::mem::take(&mut walk.inner.bytes));
            walk.trie_finished();
            (taken, place, inner)
        });
        self.place = place;
        if place == Place::After {
            return Ok(taken);
        }
        if taken < bytes.len() {
            return Err("doesn't take what came".into());
        }
        if !inner.is_empty()
            && self
                .parser
                .apply_token(&inner, SOME_TOKEN)
                .map_err(reason)?
                > 0
        {
            return Err("has a rule with stop=, which no text can be held to".into());
        }
        self.check()?;
        Ok(taken)
    }

    fn check(&self) -> Result<(), String> {
        match self.parser.get_error() {
            Some(error) => Err(reason(error.message())),
            None => Ok(()),
        }
    }
}

/// llguidance's way to ask a parser, within its limits.
struct Question<'a> {
    held: &'a HeldGrammar,
    place: Place,
    front: &'a [u8],
    answer: Mutex<Option<SimpleVob>>,
}

impl BiasComputer for Question<'_> {
    fn compute_bias(&self, recognizer: &mut ParserRecognizer<'_>, _: &[u8]) -> SimpleVob {
        let HeldGrammar {
            general, tokens, ..
        } = self.held;
        let mut set = self.trie().alloc_token_set();
        if self.front.is_empty() && self.place.is_plain() {
            set.or(&general.compute_bias(recognizer, &[]));
            set.and(&tokens.plain);
            let mut walk = Walk::new(self.held, self.place, recognizer);
            tokens.odd.add_bias(&mut walk, &mut set, &[]);
        } else {
            let mut walk = Walk::new(self.held, self.place, recognizer);
            self.trie().add_bias(&mut walk, &mut set, self.front);
        }
        if let Ok(mut answer) = self.answer.lock() {
            *answer = Some(set.clone());
        }
        set
    }

    fn trie(&self) -> &TokTrie {
        self.held.general.trie()
    }
}

/// Goes through bytes of a reply.
struct Walk<'a, 'b> {
    held: &'a HeldGrammar,
    inner: Inner<'a, 'b>,
    start: Place,
    /// Behind each byte, and whether it pushed one into the text.
    places: Vec<(Place, bool)>,
}

impl<'a, 'b> Walk<'a, 'b> {
    fn new(held: &'a HeldGrammar, start: Place, recognizer: &'a mut ParserRecognizer<'b>) -> Self {
        Self {
            held,
            inner: Inner::new(recognizer),
            start,
            places: Vec::new(),
        }
    }

    fn place(&self) -> Place {
        self.places.last().map_or(self.start, |(place, _)| *place)
    }
}

impl Recognizer for Walk<'_, '_> {
    fn try_push_byte(&mut self, byte: u8) -> bool {
        let step = self.held.spelling.step(self.place(), byte, &mut self.inner);
        self.places.extend(step);
        step.is_some()
    }

    fn pop_bytes(&mut self, num: usize) {
        let left = self.places.len() - num;
        let pushed = self.places.drain(left..).filter(|(_, pushed)| *pushed);
        self.inner.pop(pushed.count());
    }

    fn collapse(&mut self) {}

    fn trie_started(&mut self, label: &str) {
        self.inner.recognizer.trie_started(label);
    }

    fn trie_finished(&mut self) {
        self.inner.recognizer.trie_finished();
    }
}

/// The text's parser.
struct Inner<'a, 'b> {
    recognizer: &'a mut ParserRecognizer<'b>,
    bytes: Vec<u8>,
}

impl<'a, 'b> Inner<'a, 'b> {
    fn new(recognizer: &'a mut ParserRecognizer<'b>) -> Self {
        Self {
            recognizer,
            bytes: Vec::new(),
        }
    }
}

impl Text for Inner<'_, '_> {
    fn push(&mut self, byte: u8) -> bool {
        let pushed = byte != TokTrie::SPECIAL_TOKEN_MARKER && self.recognizer.try_push_byte(byte);
        self.bytes.extend(pushed.then_some(byte));
        pushed
    }

    fn pop(&mut self, bytes: usize) {
        self.bytes.truncate(self.bytes.len() - bytes);
        self.recognizer.pop_bytes(bytes);
    }

    fn may_end(&mut self) -> bool {
        let fits = |byte: &&u8| self.recognizer.try_push_byte(**byte);
        let fitting = END_BYTES.iter().take_while(fits).count();
        self.recognizer.pop_bytes(fitting);
        fitting == END_BYTES.len()
    }
}

struct Anything;

impl Recognizer for Anything {
    fn try_push_byte(&mut self, _: u8) -> bool {
        true
    }
    fn pop_bytes(&mut self, _: usize) {}
    fn collapse(&mut self) {}
    fn trie_finished(&mut self) {}
}

/// The texts of one reply: where in which it stands.
pub struct HeldTexts {
    grammars: Arc<[Arc<HeldGrammar>]>,
    /// Of each opening, how much came last.
    matched: Vec<usize>,
    open: Option<(usize, OpenText)>,
}

impl HeldTexts {
    pub fn new(grammars: Vec<Arc<HeldGrammar>>) -> Self {
        Self {
            matched: vec![0; grammars.len()],
            grammars: grammars.into(),
            open: None,
        }
    }

    pub fn deep_clone(&self) -> Self {
        let open = self.open.as_ref();
        Self {
            grammars: self.grammars.clone(),
            matched: self.matched.clone(),
            open: open.map(|(index, text)| (*index, text.deep_clone())),
        }
    }

    /// Takes from `mask` the tokens that a text forbids.
    pub fn narrow(&mut self, mask: &mut SimpleVob) -> Result<(), String> {
        if let Some((index, text)) = &mut self.open {
            let allowed = text.allowed(&self.grammars[*index])?;
            mask.and(&allowed);
            return Ok(());
        }
        for (held, matched) in self.grammars.iter().zip(&self.matched) {
            held.forbid_bad_openings(*matched, mask)?;
        }
        Ok(())
    }

    /// Takes a token's bytes as they are in a trie.
    pub fn take(&mut self, token: &[u8]) -> Result<(), String> {
        let marker = [TokTrie::SPECIAL_TOKEN_MARKER];
        let mut bytes = token.strip_prefix(&marker).unwrap_or(token);
        while !bytes.is_empty() {
            let Some((index, text)) = &mut self.open else {
                self.look_for_opening(bytes[0]);
                bytes = &bytes[1..];
                continue;
            };
            let taken = text.take(&self.grammars[*index], bytes)?;
            bytes = &bytes[taken..];
            if text.place == Place::After {
                self.open = None;
            }
        }
        Ok(())
    }

    fn look_for_opening(&mut self, byte: u8) {
        for (index, held) in self.grammars.iter().enumerate() {
            let mut matched = self.matched[index];
            while held.opening[matched] != byte && matched > 0 {
                matched = border(&held.opening, matched);
            }
            matched += usize::from(held.opening[matched] == byte);
            self.matched[index] = matched;
            if matched == held.opening.len() {
                self.open = Some((index, held.enter()));
            }
        }
        if self.open.is_some() {
            self.matched.fill(0);
        }
    }
}
