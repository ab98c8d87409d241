//! Replies that this server has sent.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use sommelier_protocol::ContentBlock;

/// How many replies are remembered.
const MOST: usize = 10_000;

/// The replies with calls, by the ids of these: a client has to send back what the model thought before it called.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    replies: BTreeMap<String, Arc<[ContentBlock]>>,
    order: VecDeque<String>,
}

impl Memory {
    pub(crate) fn keep(&mut self, content: Vec<ContentBlock>) {
        let ids: Vec<String> =
            content.iter().filter_map(ContentBlock::as_tool_use).map(|call| call.id().to_owned()).collect();
        let content: Arc<[ContentBlock]> = content.into();
        for id in ids {
            self.order.push_back(id.clone());
            self.replies.insert(id, content.clone());
        }
        while self.order.len() > MOST {
            if let Some(oldest) = self.order.pop_front() {
                self.replies.remove(&oldest);
            }
        }
    }

    pub(crate) fn reply_of(&self, call: &str) -> Option<&[ContentBlock]> {
        self.replies.get(call).map(|content| &**content)
    }
}
