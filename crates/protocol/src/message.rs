//! Messages.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::{always_there, json_string_len, wire_object, written_len};
use crate::{ContentBlock, ToolResult, ToolUse};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The client: a person's words, and the results of tools.
    User,
    /// The model.
    Assistant,
    /// Instructions in mid-conversation; only newer models take them.
    System,
}

always_there!(Role, Content);

wire_object! {
    /// One message of a conversation.
    ///
    /// ```
    /// use sommelier_protocol::Message;
    ///
    /// let wire = r#"{"content":[{"type":"text","text":"hi","new":1.50}],"role":"user"}"#;
    /// let message: Message = serde_json::from_str(wire)?;
    /// assert_eq!(serde_json::to_string(&message)?, wire);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub struct Message {
        /// Who speaks.
        pub role: Role = "role",
        /// What is said.
        pub content: Content = "content",
    }
}

impl Message {
    /// A user's words.
    pub fn user(text: impl Into<Box<str>>) -> Self {
        Self { role: Role::User, content: Content::Text(text.into()), layout: Default::default() }
    }

    /// A user message of blocks.
    pub fn user_blocks(blocks: Vec<ContentBlock>) -> Self {
        Self { role: Role::User, content: Content::Blocks(blocks), layout: Default::default() }
    }

    /// A model's message.
    pub fn assistant(blocks: Vec<ContentBlock>) -> Self {
        Self { role: Role::Assistant, content: Content::Blocks(blocks), layout: Default::default() }
    }

    /// The words, block after block.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let alone = match &self.content {
            Content::Text(text) => Some(&**text),
            Content::Blocks(_) => None,
        };
        alone.into_iter().chain(self.content.blocks().iter().filter_map(ContentBlock::as_text))
    }

    /// The calls, in order.
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.content.blocks().iter().filter_map(ContentBlock::as_tool_use)
    }

    /// The results, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.content.blocks().iter().filter_map(ContentBlock::as_tool_result)
    }

    /// Whether this is a message of the model that the service paused: it ends with a tool that the service
    /// runs itself.
    pub(crate) fn ends_paused(&self) -> bool {
        let last = self.content.blocks().last();
        self.role == Role::Assistant
            && matches!(last, Some(ContentBlock::Other(block)) if block.is_server_tool())
    }

    /// Bytes of the message as compact JSON. It is counted, not written, where the message is in our own
    /// form.
    ///
    /// ```
    /// use sommelier_protocol::Message;
    ///
    /// let message = Message::user("say \"hi\"");
    /// assert_eq!(message.wire_len(), serde_json::to_string(&message)?.len());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn wire_len(&self) -> usize {
        if !self.layout.is_ours() {
            return written_len(self);
        }
        let role = match self.role {
            Role::User => "user".len(),
            Role::Assistant => "assistant".len(),
            Role::System => "system".len(),
        };
        let content = match &self.content {
            Content::Text(text) => json_string_len(text),
            Content::Blocks(blocks) => {
                2 + blocks.len().saturating_sub(1) + blocks.iter().map(ContentBlock::wire_len).sum::<usize>()
            }
        };
        r#"{"role":"","content":}"#.len() + role + content
    }
}

/// What a message holds: plain text, or blocks.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Plain text, short for one text block.
    Text(Box<str>),
    /// Blocks in order.
    Blocks(Vec<ContentBlock>),
}

impl Content {
    /// The blocks; none for plain text.
    pub fn blocks(&self) -> &[ContentBlock] {
        match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        }
    }

    /// Puts one more text block at the end. Gives the bytes by which the content has grown as compact JSON; what
    /// was there is not counted again.
    pub(crate) fn push_text(&mut self, text: Box<str>) -> usize {
        let block = ContentBlock::text(text);
        let longer = block.wire_len();
        match self {
            Self::Text(first) => {
                let first = std::mem::take(first);
                *self = Self::Blocks(vec![ContentBlock::text(first), block]);
                // The first text has become a block in a list.
                longer + r#"[{"type":"text","text":},]"#.len()
            }
            Self::Blocks(blocks) => {
                blocks.push(block);
                longer + usize::from(blocks.len() > 1)
            }
        }
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Blocks(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> serde::de::Visitor<'de> for Reader {
            type Value = Content;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string or a list of content blocks")
            }

            fn visit_str<E>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.into()))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Content, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = seq.next_element()? {
                    blocks.push(block);
                }
                Ok(Content::Blocks(blocks))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}
