//! Hugging Face tokenizers: a byte-pair encoder from a model file's tables, or a tokenizer.json.

use std::sync::OnceLock;

use ahash::AHashMap;
use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::tokenizer::{
    Model, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer, SplitDelimiterBehavior,
};
use tokenizers::{AddedToken, DecoderWrapper, ModelWrapper, Tokenizer};
use unicode_normalization_alignments::UnicodeNormalization;

use crate::ffi::{fill, guarded, slice, FolioBuffer, FolioBytes, FolioIds};

#[repr(C)]
pub struct FolioBpeSpec {
    tokens: *const FolioBytes,
    token_count: usize,
    merges: *const FolioBytes,
    merge_count: usize,
    splits: *const FolioBytes,
    split_count: usize,
    byte_level: i32,
    ignore_merges: i32,
    byte_fallback: i32,
    compose: i32,
    unknown_id: i64,
}

pub enum FolioTokenizer {
    Tables(BpeEncoder),
    Json(JsonTokenizer),
}

pub struct BpeEncoder {
    model: BPE,
    splits: Vec<Split>,
    byte_level: Option<ByteLevel>,
    compose: bool,
    size: usize,
}

impl BpeEncoder {
    unsafe fn new(spec: &FolioBpeSpec) -> Result<Self, String> {
        let tokens = slice(spec.tokens, spec.token_count);
        let mut vocab: AHashMap<String, u32> = AHashMap::with_capacity(tokens.len());
        let mut longest = 0;
        for (id, token) in tokens.iter().enumerate().filter(|(_, t)| !t.is_absent()) {
            let token = token.text().map_err(|e| format!("token {id}: {e}"))?;
            longest = longest.max(token.len());
            vocab.entry(token.to_owned()).or_insert(id as u32);
        }
        let mut merges = Vec::with_capacity(spec.merge_count);
        for (rank, merge) in slice(spec.merges, spec.merge_count).iter().enumerate() {
            let merge = merge.text().map_err(|e| format!("merge {rank}: {e}"))?;
            let (left, right) = cut_merge(merge)
                .ok_or_else(|| format!("merge {rank}: `{merge}` is not two parts"))?;
            if left.len() + right.len() > longest {
                return Err(format!("merge {rank}: `{left}{right}` is not a token"));
            }
            merges.push((left.to_owned(), right.to_owned()));
        }
        let mut builder = BPE::builder()
            .byte_fallback(spec.byte_fallback != 0)
            .fuse_unk(true)
            .ignore_merges(spec.ignore_merges != 0);
        if let Some(unknown) = usize::try_from(spec.unknown_id)
            .ok()
            .and_then(|id| tokens.get(id))
        {
            builder = builder.unk_token(unknown.text()?.to_owned());
        }
        let model = builder
            .vocab_and_merges(vocab, merges)
            .build()
            .map_err(|e| explain_merge_error(spec, &e.to_string()))?;
        let splits = slice(spec.splits, spec.split_count)
            .iter()
            .map(|regex| make_split(regex.text()?))
            .collect::<Result<_, String>>()?;
        let byte_level = (spec.byte_level != 0).then(|| ByteLevel::new(false, false, false));
        Ok(Self {
            model,
            splits,
            byte_level,
            compose: spec.compose != 0,
            size: tokens.len(),
        })
    }

    fn encode(&self, text: &str) -> tokenizers::Result<Vec<u32>> {
        let composed;
        let text = if self.compose && !text.is_ascii() {
            composed = text.nfc().map(|(c, _)| c).collect::<String>();
            &composed
        } else {
            text
        };
        if self.splits.is_empty() && self.byte_level.is_none() {
            return Ok(ids_of(self.model.tokenize(text)?));
        }
        let mut pieces = PreTokenizedString::from(text);
        for split in &self.splits {
            split.pre_tokenize(&mut pieces)?;
        }
        if let Some(byte_level) = &self.byte_level {
            byte_level.pre_tokenize(&mut pieces)?;
        }
        let mut ids = Vec::with_capacity(text.len() / 3);
        for (piece, _, _) in pieces.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            ids.extend(self.model.tokenize(piece)?.into_iter().map(|t| t.id));
        }
        Ok(ids)
    }
}

fn ids_of(tokens: Vec<tokenizers::Token>) -> Vec<u32> {
    tokens.into_iter().map(|t| t.id).collect()
}

/// A merge's parts; the left one may itself begin with a space.
fn cut_merge(merge: &str) -> Option<(&str, &str)> {
    let first = merge.chars().next()?.len_utf8();
    let cut = first + merge[first..].find(' ')?;
    let right = &merge[cut + 1..];
    (!right.is_empty()).then_some((&merge[..cut], right))
}

fn make_split(regex: &str) -> Result<Split, String> {
    Split::new(
        SplitPattern::Regex(regex.to_owned()),
        SplitDelimiterBehavior::Isolated,
        false,
    )
    .map_err(|e| format!("pre-tokenizer: {e}"))
}

/// The crate names the token that a merge lacks; say which merge it was.
unsafe fn explain_merge_error(spec: &FolioBpeSpec, error: &str) -> String {
    let known: std::collections::HashSet<&[u8]> = slice(spec.tokens, spec.token_count)
        .iter()
        .map(|t| t.bytes())
        .collect();
    for (rank, merge) in slice(spec.merges, spec.merge_count).iter().enumerate() {
        if let Some((left, right)) = merge.text().ok().and_then(cut_merge) {
            let joined = format!("{left}{right}");
            for part in [left, right, &joined] {
                if !known.contains(part.as_bytes()) {
                    return format!("merge {rank}: `{part}` is not a token");
                }
            }
        }
    }
    error.to_owned()
}

/// Writers mark many control tokens as ordinary added ones. Special, they are left alone in texts
/// that must not form any.
fn mark_control_tokens(tokenizer: &mut Tokenizer) -> tokenizers::Result<()> {
    const BRACKETS: [&str; 4] = ["<|", "|>", "<\u{FF5C}", "\u{FF5C}>"];
    let unmarked: Vec<_> = tokenizer
        .get_added_vocabulary()
        .get_added_tokens_decoder()
        .values()
        .filter(|t| !t.special && BRACKETS.iter().any(|b| t.content.contains(b)))
        .map(|t| AddedToken {
            special: true,
            ..t.clone()
        })
        .collect();
    tokenizer.add_special_tokens(unmarked)?;
    Ok(())
}

pub struct JsonTokenizer {
    parsing: Tokenizer,
    plain: OnceLock<Tokenizer>,
    size: usize,
}

/// A space becomes three bytes in real tokenizers.
const MOST_GROWTH: f64 = 64.0;

/// How many times as long the replacements of a normalizer can make a text, one after the other.
fn normalizer_growth(tokenizer: &Tokenizer) -> Result<f64, String> {
    let Some(normalizer) = tokenizer.get_normalizer() else {
        return Ok(1.0);
    };
    let json = serde_json::to_value(normalizer).map_err(|e| e.to_string())?;
    Ok(growth_of(&json))
}

fn growth_of(normalizer: &serde_json::Value) -> f64 {
    if let Some(all) = normalizer["normalizers"].as_array() {
        return all.iter().map(growth_of).product();
    }
    let Some(content) = normalizer["content"].as_str() else {
        return 1.0;
    };
    // What a regular expression matches may be one byte, or none between each two.
    let replaced = normalizer["pattern"]["String"].as_str();
    let (from, between) = replaced.map_or((1, 1), |text| (text.len().max(1), 0));
    ((content.len() + between) as f64 / from as f64).max(1.0)
}

impl JsonTokenizer {
    fn new(json: &[u8]) -> Result<Self, String> {
        let mut parsing = Tokenizer::from_bytes(json).map_err(|e| e.to_string())?;
        parsing.with_padding(None);
        parsing.with_truncation(None).map_err(|e| e.to_string())?;
        if !matches!(parsing.get_model(), ModelWrapper::BPE(_)) {
            return Err("model: its type is not BPE, the only one supported".to_owned());
        }
        let growth = normalizer_growth(&parsing)?;
        if growth > MOST_GROWTH {
            return Err(format!(
                "normalizer: makes a text {growth} times as long; at most {MOST_GROWTH} times is taken"
            ));
        }
        mark_control_tokens(&mut parsing).map_err(|e| e.to_string())?;
        let highest = parsing.get_vocab(true).into_values().max();
        Ok(Self {
            parsing,
            plain: OnceLock::new(),
            size: highest.map_or(0, |id| id as usize + 1),
        })
    }

    /// The flag sits on the crate's tokenizer, so texts with and without parsing of special tokens
    /// need one each; the second is made when first asked for.
    fn encoder(&self, parse_special: bool) -> &Tokenizer {
        if parse_special {
            return &self.parsing;
        }
        self.plain.get_or_init(|| {
            let mut plain = self.parsing.clone();
            plain.set_encode_special_tokens(true);
            plain
        })
    }

    fn decoder_has(&self, wanted: impl Fn(&DecoderWrapper) -> bool) -> bool {
        match self.parsing.get_decoder() {
            Some(DecoderWrapper::Sequence(all)) => all.get_decoders().iter().any(wanted),
            Some(one) => wanted(one),
            None => false,
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_tokenizer_from_bpe(
    spec: *const FolioBpeSpec,
    error: *mut FolioBuffer,
) -> *mut FolioTokenizer {
    hand_over(
        guarded(|| Ok(FolioTokenizer::Tables(BpeEncoder::new(&*spec)?))),
        error,
    )
}

#[no_mangle]
pub unsafe extern "C" fn folio_tokenizer_from_json(
    json: FolioBytes,
    error: *mut FolioBuffer,
) -> *mut FolioTokenizer {
    hand_over(
        guarded(|| Ok(FolioTokenizer::Json(JsonTokenizer::new(json.bytes())?))),
        error,
    )
}

unsafe fn hand_over<T>(made: Result<T, String>, error: *mut FolioBuffer) -> *mut T {
    match made {
        Ok(value) => Box::into_raw(Box::new(value)),
        Err(text) => {
            fill(error, text.into_bytes());
            std::ptr::null_mut()
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_tokenizer_free(tokenizer: *mut FolioTokenizer) {
    if !tokenizer.is_null() {
        drop(Box::from_raw(tokenizer));
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_tokenizer_encode(
    tokenizer: *const FolioTokenizer,
    text: FolioBytes,
    parse_special: i32,
    add_special: i32,
    ids: *mut FolioIds,
    error: *mut FolioBuffer,
) -> i32 {
    let encoded = guarded(|| {
        let text = text.text()?;
        match &*tokenizer {
            FolioTokenizer::Tables(encoder) => encoder.encode(text),
            FolioTokenizer::Json(json) => json
                .encoder(parse_special != 0)
                .encode_fast(text, add_special != 0)
                .map(|encoding| encoding.get_ids().to_vec()),
        }
        .map_err(|e| e.to_string())
    });
    match encoded {
        Ok(found) => {
            fill(ids, found);
            0
        }
        Err(text) => {
            fill(error, text.into_bytes());
            1
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_tokenizer_size(tokenizer: *const FolioTokenizer) -> usize {
    match &*tokenizer {
        FolioTokenizer::Tables(encoder) => encoder.size,
        FolioTokenizer::Json(json) => json.size,
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_tokenizer_token(
    tokenizer: *const FolioTokenizer,
    id: u32,
    spelling: *mut FolioBuffer,
) -> i32 {
    let found = guarded(|| {
        Ok(match &*tokenizer {
            FolioTokenizer::Tables(encoder) => encoder.model.id_to_token(id).map(|t| (1, t)),
            FolioTokenizer::Json(json) => {
                let kind = match json
                    .parsing
                    .get_added_vocabulary()
                    .get_added_tokens_decoder()
                    .get(&id)
                {
                    Some(added) if added.special => 3,
                    Some(_) => 2,
                    None => 1,
                };
                json.parsing.id_to_token(id).map(|t| (kind, t))
            }
        })
    });
    match found {
        Ok(Some((kind, text))) => {
            fill(spelling, text.into_bytes());
            kind
        }
        _ => 0,
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_tokenizer_byte_level(tokenizer: *const FolioTokenizer) -> i32 {
    match &*tokenizer {
        FolioTokenizer::Tables(encoder) => encoder.byte_level.is_some() as i32,
        FolioTokenizer::Json(json) => {
            json.decoder_has(|d| matches!(d, DecoderWrapper::ByteLevel(_))) as i32
        }
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_tokenizer_strips_leading_space(
    tokenizer: *const FolioTokenizer,
) -> i32 {
    match &*tokenizer {
        FolioTokenizer::Tables(_) => 0,
        FolioTokenizer::Json(json) => json
            .decoder_has(|d| matches!(d, DecoderWrapper::Metaspace(_) | DecoderWrapper::Strip(_)))
            as i32,
    }
}

#[cfg(test)]
mod tests {
    use super::cut_merge;

    #[test]
    fn merges_are_cut_at_the_first_space_after_the_first_character() {
        assert_eq!(cut_merge("a b"), Some(("a", "b")));
        assert_eq!(cut_merge("  b"), Some((" ", "b")));
        assert_eq!(cut_merge("é è"), Some(("é", "è")));
        assert_eq!(cut_merge("ab"), None);
        assert_eq!(cut_merge("a "), None);
        assert_eq!(cut_merge(""), None);
    }
}
