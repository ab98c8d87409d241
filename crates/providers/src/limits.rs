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
    /// 4 MiB an event, 32 MiB a reply, 1024 blocks.
    fn default() -> Self {
        Self { event_bytes: 4 << 20, total_bytes: 32 << 20, blocks: 1024 }
    }
}
