//! The limits of one agent's turn.

/// How far one agent may go. Each limit is a number of the definition, not of the state: a turn that
/// reached one can go on under a higher one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Model calls in one activation; the next one is not made, and everything so far is kept.
    pub max_steps: u32,
    /// Replies in a row with nothing in them before the turn ends as without progress.
    pub empty_replies: u32,
    /// Times in a row that the service may pause one reply.
    pub pauses: u32,
    /// Times in a row that the same calls may bring the same results before the turn ends as without
    /// progress.
    pub repeats: u32,
    /// Calls in one reply that are looked at; each further one gets an error result.
    pub calls_per_reply: usize,
    /// Bytes of one call's arguments; a larger input is not kept, and the call gets an error result.
    pub input_bytes: usize,
    /// Bytes of one tool's result; in the place of a larger one both sizes are told, and how it
    /// [begins](crate::ToolOutput::at_most).
    pub result_bytes: usize,
}

impl Default for Limits {
    /// 8 model calls, 3 empty replies, 3 pauses, 5 repeats, 32 calls a reply, 256 KiB of arguments and
    /// 256 KiB of result.
    fn default() -> Self {
        Self {
            max_steps: 8,
            empty_replies: 3,
            pauses: 3,
            repeats: 5,
            calls_per_reply: 32,
            input_bytes: 256 * 1024,
            result_bytes: 256 * 1024,
        }
    }
}
