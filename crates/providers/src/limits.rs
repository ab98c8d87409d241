//! How much of a reply is read.

/// The most that a reply may be. A service that sends more is cut off: a stream without an end must not become a
/// process without memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    /// Bytes of one event of a stream.
    pub event_bytes: usize,
    /// Bytes of a whole reply, streamed or not.
    pub total_bytes: usize,
    /// Blocks, or calls, in one reply.
    pub blocks: usize,
}

impl Default for ReplyLimits {
    /// 4 MiB an event, 8 MiB a reply, 1024 blocks. A journal takes 16 MiB in one record, and a reply may be written there with
    /// more escapes than it came with: at half of that, what was paid for can be written down.
    fn default() -> Self {
        Self { event_bytes: 4 << 20, total_bytes: 8 << 20, blocks: 1024 }
    }
}
