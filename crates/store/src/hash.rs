//! SHA-256 over fields that each have their length before them.

use sha2::{Digest as _, Sha256};
use sommelier_runner::journal::Hash;

/// Fields on their way into a hash. Each goes in behind its length as eight bytes, so no two lists of fields
/// are the same bytes: what ends one field cannot begin the next.
#[derive(Clone)]
pub(crate) struct Fields(Sha256);

impl Fields {
    /// `what` keeps the hashes of one kind of thing apart from those of another.
    pub(crate) fn of(what: &str) -> Self {
        let mut fields = Self(Sha256::new());
        fields.text(what);
        fields
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn number(&mut self, number: u64) {
        self.bytes(&number.to_be_bytes());
    }

    pub(crate) fn hash(&mut self, hash: &Hash) {
        self.bytes(hash.as_bytes());
    }

    pub(crate) fn finish(self) -> Hash {
        Hash::from_bytes(self.0.finalize().into())
    }

    fn bytes(&mut self, bytes: &[u8]) {
        // No machine has a length that 64 bits do not hold.
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }
}
