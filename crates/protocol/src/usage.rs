//! What a model call used.

use crate::wire::{always_there, wire_object};

wire_object! {
    /// Tokens that one model call used. Members that are not named here are kept and written again.
    pub struct Usage {
        /// Tokens read that no cache served.
        pub input_tokens: u64 = "input_tokens",
        /// Tokens written into the prompt cache.
        pub cache_creation_input_tokens: Option<u64> = "cache_creation_input_tokens",
        /// Tokens read from the prompt cache.
        pub cache_read_input_tokens: Option<u64> = "cache_read_input_tokens",
        /// Tokens that the model wrote, thinking included.
        pub output_tokens: u64 = "output_tokens",
    }
}

impl Usage {
    /// A count without caches.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            cache_creation_input_tokens: None,
            cache_read_input_tokens: None,
            output_tokens,
            layout: Default::default(),
        }
    }

    /// Adds what another call used. Members that are not named here stay those of this one.
    ///
    /// ```
    /// use sommelier_protocol::Usage;
    ///
    /// let mut usage = Usage::new(10, 7);
    /// let mut other = Usage::new(10, 1);
    /// other.cache_read_input_tokens = Some(5);
    /// usage.add(&other);
    /// assert_eq!((usage.total_input_tokens(), usage.output_tokens), (25, 8));
    /// ```
    pub fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        let caches = [
            (&mut self.cache_creation_input_tokens, other.cache_creation_input_tokens),
            (&mut self.cache_read_input_tokens, other.cache_read_input_tokens),
        ];
        for (sum, more) in caches {
            if let Some(more) = more {
                *sum = Some(sum.unwrap_or(0).saturating_add(more));
            }
        }
    }

    /// All tokens read: fresh, written to the cache and read from it.
    pub fn total_input_tokens(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_creation_input_tokens.unwrap_or(0))
            .saturating_add(self.cache_read_input_tokens.unwrap_or(0))
    }
}

impl Default for Usage {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

always_there!(Usage);
