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

#[cfg(test)]
mod tests {
    use super::*;

    /// A body in chunks of a byte each is used in a million steps: each costs what its bytes cost, and not what the rest does.
    #[test]
    fn what_is_used_is_passed_over_and_the_rest_is_not_moved() {
        let mut ahead = Ahead::default();
        ahead.add(b"teapot");
        let begin = ahead.bytes().as_ptr();
        ahead.skip(3);
        assert_eq!((ahead.bytes(), ahead.bytes().as_ptr()), (&b"pot"[..], begin.wrapping_add(3)));
        ahead.add(b"s");
        assert_eq!((ahead.bytes(), ahead.used), (&b"pots"[..], 0));
    }
}
