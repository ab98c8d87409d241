//! What was read and is not used yet.

/// Bytes in their order. What is used of them is only passed over, since a body may come in many small pieces and the rest would
/// be moved with each of them.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    bytes: Vec<u8>,
    used: usize,
}

impl Ahead {
    /// What is here.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(self.used..).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }

    /// So many bytes are used.
    pub(crate) fn skip(&mut self, len: usize) {
        self.used += len;
    }

    pub(crate) fn add(&mut self, part: &[u8]) {
        self.bytes.drain(..self.used.min(self.bytes.len()));
        self.used = 0;
        self.bytes.extend(part);
    }
}
