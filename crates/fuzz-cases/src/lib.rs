//! What must hold for any bytes that a decoder is given.
//!
//! **What this crate knows:** for each decoder of this project a [`Case`]: a function that takes any bytes and fails where
//! something does not hold that must. More is held than that nothing panics: what is read and written again is the
//! same, a stream in any pieces is the same, a reply sent in pieces is the one sent whole, caps hold, and no error
//! shows a key.
//!
//! **What it does not know:** where the bytes come from. The programs under `fuzz/` give it those of a fuzzer, for as long
//! as one likes; the test `tests/corpus.rs` gives it those that the fuzzer has kept, on any toolchain and in every build.
//!
//! ```
//! use sommelier_fuzz_cases::Case;
//!
//! let sse = Case::named("sse").unwrap();
//! sse.run(b"event: a\ndata: 1\n\n");
//! ```
//!
//! It is for tests: a case fails by a panic, since that is what a fuzzer sees.

#![expect(clippy::panic, reason = "it is how a case fails")]

mod cases;
mod double;
mod pieces;
mod told;
mod written;

/// What must hold for any bytes that one decoder is given, or several that read the same.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    name: &'static str,
    run: fn(&[u8]),
}

impl Case {
    /// Every case.
    pub const ALL: [Self; 12] = [
        Self { name: "anthropic_reply", run: cases::anthropic_reply::run },
        Self { name: "anthropic_stream", run: cases::anthropic_stream::run },
        Self { name: "openai_reply", run: cases::openai_reply::run },
        Self { name: "openai_stream", run: cases::openai_stream::run },
        Self { name: "error", run: cases::error::run },
        Self { name: "sse", run: cases::sse::run },
        Self { name: "address", run: cases::address::run },
        Self { name: "call", run: cases::call::run },
        Self { name: "conversation", run: cases::conversation::run },
        Self { name: "server_http", run: cases::server_http::run },
        Self { name: "server_rules", run: cases::server_rules::run },
        Self { name: "server_files", run: cases::server_files::run },
    ];

    /// The case of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|case| case.name == name)
    }

    /// Its name, which is that of its program under `fuzz/fuzz_targets` and of its folder under `fuzz/corpus`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// Tries it on `bytes`.
    ///
    /// # Panics
    /// Where something does not hold that must.
    pub fn run(self, bytes: &[u8]) {
        (self.run)(bytes);
    }
}
