//! The bridge from Folio's C++ to the Rust crates it builds on; include/folio_bridge.h is its
//! contract.
#![allow(clippy::missing_safety_doc)]

mod environment;
mod ffi;
mod grammar;
mod grammar_limits;
mod held_text;
mod markers;
mod names;
mod parts;
mod python;
mod spelling;
mod stack;
mod template;
mod tokenizer;
