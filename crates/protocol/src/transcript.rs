//! A conversation, built so that it cannot break the rules of the sequence.
//!
//! A conversation is in one of three states, and each step moves it to the next by value:
//!
//! ```text
//!            Asking ──────── replied ───────┬──▶ Owing    the reply holds calls: each wants one result
//!   the model is to speak                   ├──▶ Resting  the model has spoken
//!     ▲      ▲                              └──▶ Asking   the reply held nothing: it is not kept
//!     │      └── answer ── Owing
//!     └───────── say ───── Resting
//! ```
//!
//! What a model writes is made legal on the way in: blank text blocks, thinking blocks without their
//! signature, and blocks that an assistant may not send are left out, ids that are illegal or taken are
//! replaced, and so are illegal tool names (see [`Called::misnamed`]). What goes on after a pause of the
//! service is added to the paused message. Results lose blank text blocks, and an error without words gets
//! some. So every request made from an [`Asking`] passes
//! [`sequence::check`], and nothing needs to check it again.
//!
//! Each state saves itself as its list of messages; loading checks the list once.

use serde::{Deserialize, Serialize, Serializer};

use crate::sequence::{self, Rule, Violation};
use crate::{Content, ContentBlock, Message, Role, ToolName, ToolResult, ToolUse, ToolUseId};

/// Words that are not only white space, as a message must have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words(Box<str>);

/// A text of nothing but white space, where words were needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text is blank; a message needs words")]
pub struct BlankText;

impl Words {
    /// Keeps `text` as it is.
    ///
    /// # Errors
    /// [`BlankText`] when there is nothing but white space in it.
    pub fn new(text: impl Into<Box<str>>) -> Result<Self, BlankText> {
        let text = text.into();
        if text.trim().is_empty() { Err(BlankText) } else { Ok(Self(text)) }
    }

    /// Keeps `text`, or a dash when it is blank: for texts that a program writes.
    pub fn or_dash(text: impl Into<Box<str>>) -> Self {
        Self::new(text).unwrap_or_else(|BlankText| Self("-".into()))
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The messages so far, their size, and the ids that are taken.
#[derive(Clone, Debug, Default)]
struct Log {
    messages: Vec<Message>,
    /// Bytes of all messages as compact JSON, without the list's brackets and commas.
    bytes: usize,
    /// Fingerprints of the ids of all calls. Two ids with one fingerprint cost the later one its name.
    ids: Ids,
    /// Every number from the count of ids up to this one is taken as `call_<number>`: where the search for a
    /// free one goes on.
    next_id: usize,
}

/// A set of few numbers, as a sorted list: a run that waits holds little more than the numbers.
#[derive(Clone, Debug, Default)]
struct Ids(Vec<u64>);

impl Ids {
    /// Adds a number; whether it is new.
    fn insert(&mut self, id: u64) -> bool {
        match self.0.binary_search(&id) {
            Ok(_) => false,
            Err(place) => {
                self.0.insert(place, id);
                true
            }
        }
    }
}

impl Log {
    fn push(&mut self, message: Message) {
        self.bytes += message.wire_len();
        self.messages.push(message);
    }

    /// Adds words of the user: to the last message when that is the user's, else as a new one. A closing
    /// system message, which a saved conversation may have, stays last.
    fn say(&mut self, words: Words) {
        let system = self.messages.pop_if(|last| last.role == Role::System);
        match self.messages.last_mut() {
            Some(last) if last.role == Role::User => {
                self.bytes += last.content.push_text(words.0);
            }
            _ => self.push(Message::user(words.0)),
        }
        self.messages.extend(system);
    }

    /// Adds the results of the last calls.
    fn answer(&mut self, mut results: Vec<ToolResult>) {
        results.iter_mut().for_each(ToolResult::settle);
        self.push(Message::user_blocks(results.into_iter().map(ContentBlock::from).collect()));
    }

    /// Adds a reply: to the paused one that it goes on from, if there is one, since two messages of one
    /// speaker never stand side by side.
    fn speak(&mut self, mut content: Vec<ContentBlock>) {
        match self.messages.last_mut() {
            Some(Message { role: Role::Assistant, content: Content::Blocks(paused), .. }) => {
                self.bytes += content.iter().map(|block| 1 + block.wire_len()).sum::<usize>();
                paused.append(&mut content);
            }
            _ => self.push(Message::assistant(content)),
        }
    }

    fn size(&self) -> usize {
        2 + self.bytes + self.messages.len().saturating_sub(1)
    }

    /// Gives the call a legal id that no earlier call has.
    fn settle_id(&mut self, call: &mut ToolUse) {
        if ToolUseId::is_legal(call.id()) && self.ids.insert(fingerprint(call.id())) {
            return;
        }
        // A model may have taken any number of these names itself. What the last search went past is taken for
        // good, so no number is tried twice; and where it begins is the same for a loaded conversation.
        let mut number = self.next_id.max(self.ids.0.len());
        let mut id = format!("call_{number}");
        while !self.ids.insert(fingerprint(&id)) {
            number += 1;
            id = format!("call_{number}");
        }
        self.next_id = number + 1;
        call.set_id(id.into());
    }

    fn last_calls(&self) -> impl Iterator<Item = &ToolUse> {
        self.messages.last().into_iter().flat_map(Message::tool_uses)
    }

    fn shrink(&mut self) {
        self.messages.shrink_to_fit();
        self.ids.0.shrink_to_fit();
    }

    /// Reads a saved list: `ending` completes it to a request, which must break no rule.
    fn load(
        mut messages: Vec<Message>,
        ending: impl FnOnce(&[Message]) -> Result<Option<Message>, Violation>,
    ) -> Result<Self, NotAConversation> {
        let saved = messages.len();
        let (ending, misfit) = match ending(&messages) {
            Ok(ending) => (ending, None),
            Err(misfit) => (None, Some(misfit)),
        };
        messages.extend(ending);
        let mut violations = sequence::check_messages(&messages);
        violations.extend(misfit);
        if !violations.is_empty() {
            return Err(NotAConversation { violations });
        }
        messages.truncate(saved);
        let mut log = Self::default();
        for message in messages {
            log.ids.0.extend(message.tool_uses().map(|call| fingerprint(call.id())));
            log.push(message);
        }
        log.ids.0.sort_unstable();
        log.ids.0.dedup();
        Ok(log)
    }
}

/// A number that tells texts apart, equal on every machine and in every run (FNV-1a). Who wants to can make two texts
/// of one number: it is no proof that a text is unchanged.
///
/// ```
/// use sommelier_protocol::transcript::fingerprint;
///
/// assert_eq!(fingerprint("a"), fingerprint("a"));
/// assert_ne!(fingerprint("a"), fingerprint("b"));
/// ```
pub fn fingerprint(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A saved list of messages that is no conversation in the state it was saved as.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the saved messages break {} rule(s) of the sequence, first {}", violations.len(), first(violations))]
pub struct NotAConversation {
    /// Each rule broken, with its place.
    pub violations: Vec<Violation>,
}

fn first(violations: &[Violation]) -> String {
    violations.first().map(Violation::to_string).unwrap_or_default()
}

macro_rules! state {
    ($(#[$meta:meta])* $name:ident, $ending:expr) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(try_from = "Vec<Message>")]
        pub struct $name(Log);

        impl $name {
            /// The messages so far.
            pub fn messages(&self) -> &[Message] {
                &self.0.messages
            }

            /// Bytes of the messages as one compact JSON list: a running sum, not a serialisation.
            pub fn bytes(&self) -> usize {
                self.0.size()
            }

            /// Gives back memory held for messages to come.
            pub fn shrink(&mut self) {
                self.0.shrink();
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.messages() == other.messages()
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                self.messages().serialize(serializer)
            }
        }

        impl TryFrom<Vec<Message>> for $name {
            type Error = NotAConversation;

            fn try_from(messages: Vec<Message>) -> Result<Self, NotAConversation> {
                Log::load(messages, $ending).map(Self)
            }
        }
    };
}

fn as_it_is(_: &[Message]) -> Result<Option<Message>, Violation> {
    Ok(None)
}

fn answered(messages: &[Message]) -> Result<Option<Message>, Violation> {
    let last = messages.last().into_iter().flat_map(Message::tool_uses);
    let results: Vec<ContentBlock> = last.map(|call| ToolResult::text(call.id(), "ok").into()).collect();
    if results.is_empty() {
        return Err(Violation {
            rule: Rule::ResultsNameCalls,
            path: format!("messages.{}", messages.len()),
            detail: "results are owed, but the last message holds no call".to_owned(),
        });
    }
    Ok(Some(Message::user_blocks(results)))
}

fn gone_on(messages: &[Message]) -> Result<Option<Message>, Violation> {
    Ok((!messages.is_empty()).then(|| Message::user("go on")))
}

state!(
    /// A conversation in which the model is to speak next.
    Asking,
    as_it_is
);
state!(
    /// A conversation whose last reply holds calls that want their results.
    ///
    /// The model cannot be asked before it has them; this does not compile:
    ///
    /// ```compile_fail,E0599
    /// # use sommelier_protocol::{Asking, Reply, ToolUse};
    /// # let asking = Asking::open("Quote Focus")?;
    /// let Reply::Called(called) = asking.replied(vec![ToolUse::scripted("tu_1", "get_quote", "{}").into()])
    /// else { panic!("there is a call") };
    /// called.owing.replied(vec![]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Answered, it can:
    ///
    /// ```
    /// # use sommelier_protocol::{Asking, Reply, ToolResult, ToolUse};
    /// # let asking = Asking::open("Quote Focus")?;
    /// let Reply::Called(called) = asking.replied(vec![ToolUse::scripted("tu_1", "get_quote", "{}").into()])
    /// else { panic!("there is a call") };
    /// called.owing.answer(vec![ToolResult::text("tu_1", "6000")])?.replied(vec![]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Owing,
    answered
);
state!(
    /// A conversation in which the model has spoken and calls for nothing.
    Resting,
    gone_on
);

/// What a reply made of the conversation.
#[derive(Debug)]
pub enum Reply {
    /// The reply holds calls.
    Called(Called),
    /// The reply holds words and no call.
    Said(Resting),
    /// The reply held nothing that can be kept; the conversation is what it was.
    Empty(Asking),
}

/// A reply with calls, and those of them whose name was no tool name.
#[derive(Debug)]
pub struct Called {
    /// The conversation, which owes each call a result.
    pub owing: Owing,
    /// The place among the calls, and the name that the model wrote, of each call whose name no tool can
    /// have. In the conversation it stands as [`UNREADABLE_NAME`], since the service would refuse it.
    pub misnamed: Vec<(usize, Box<str>)>,
}

/// The name under which a call is kept whose own name no tool can have.
pub const UNREADABLE_NAME: &str = "unreadable_tool_name";

/// The calls of one reply that are kept. No model makes so many; a hostile one makes no more work than these.
pub const MOST_CALLS: usize = 1024;

impl Asking {
    /// Opens a conversation with the user's words.
    ///
    /// # Errors
    /// [`BlankText`] when there are none.
    pub fn open(text: impl Into<Box<str>>) -> Result<Self, BlankText> {
        Words::new(text).map(Self::opened)
    }

    /// Opens a conversation with words.
    pub fn opened(words: Words) -> Self {
        let mut log = Log::default();
        log.say(words);
        Self(log)
    }

    /// Adds words of the user before the model speaks: after open results, in the same message.
    pub fn say(mut self, words: Words) -> Self {
        self.0.say(words);
        self
    }

    /// Ends with words in the model's name that stood elsewhere in its reply, as in an argument of a call.
    pub fn concluded(mut self, words: Words) -> Resting {
        self.0.speak(vec![ContentBlock::text(words.0)]);
        Resting(self.0)
    }

    /// Takes the model's reply.
    pub fn replied(mut self, content: Vec<ContentBlock>) -> Reply {
        let mut content = content;
        let mut room = MOST_CALLS;
        content.retain(|block| {
            let is_call = matches!(block, ContentBlock::ToolUse(_));
            let fits = !is_call || room > 0;
            room -= usize::from(is_call && fits);
            fits && may_be_sent_back(block)
        });
        content.shrink_to_fit();
        if content.iter().all(|block| matches!(block, ContentBlock::Other(block) if block.is_thinking())) {
            return Reply::Empty(self);
        }
        let mut misnamed = Vec::new();
        let mut calls = 0;
        for block in &mut content {
            if let ContentBlock::ToolUse(call) = block {
                self.0.settle_id(call);
                if !ToolName::is_legal(call.name()) {
                    misnamed.push((calls, call.replace_name(UNREADABLE_NAME)));
                }
                calls += 1;
            }
        }
        self.0.speak(content);
        if calls == 0 {
            Reply::Said(Resting(self.0))
        } else {
            Reply::Called(Called { owing: Owing(self.0), misnamed })
        }
    }
}

/// Whether a block of a reply may stand in a later request.
fn may_be_sent_back(block: &ContentBlock) -> bool {
    match block {
        ContentBlock::Text(text) => !text.as_str().trim().is_empty(),
        ContentBlock::ToolUse(_) => true,
        ContentBlock::ToolResult(_) => false,
        ContentBlock::Other(block) => {
            !matches!(block.kind(), "document" | "image" | "search_result")
                && block.thinking_fault().is_none()
        }
    }
}

impl Owing {
    /// The calls that want a result, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolUse> {
        self.0.last_calls()
    }

    /// Answers every call, in call order.
    ///
    /// # Errors
    /// [`Misanswered`], which hands the conversation back, when the results are not one for each call in
    /// the order of the calls.
    pub fn answer(mut self, results: Vec<ToolResult>) -> Result<Asking, Misanswered> {
        let fits = results.iter().map(ToolResult::tool_use_id).eq(self.calls().map(ToolUse::id));
        if !fits {
            let found = results.iter().map(|result| result.tool_use_id().to_owned()).collect();
            return Err(Misanswered { owing: Box::new(self), found });
        }
        self.0.answer(results);
        Ok(Asking(self.0))
    }

    /// Answers every call with what `answer` gives for it. It cannot fail, since there is one for each.
    pub fn answer_each(mut self, mut answer: impl FnMut(&ToolUse) -> ToolResult) -> Asking {
        let results = self.calls().map(|call| {
            let mut result = answer(call);
            result.set_id(call.id());
            result
        });
        let results = results.collect();
        self.0.answer(results);
        Asking(self.0)
    }
}

/// Results that do not fit the open calls: the driver's fault.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the results answer {found:?}, the open calls are {:?}", owing.calls().map(ToolUse::id).collect::<Vec<_>>())]
pub struct Misanswered {
    /// The conversation as it was.
    pub owing: Box<Owing>,
    /// The ids that the results name.
    pub found: Vec<String>,
}

impl Resting {
    /// Goes on with words of the user.
    pub fn say(mut self, words: Words) -> Asking {
        self.0.say(words);
        Asking(self.0)
    }

    /// The model's last words, text blocks joined by line ends.
    pub fn last_words(&self) -> String {
        let texts: Vec<&str> = self.0.messages.last().into_iter().flat_map(Message::texts).collect();
        texts.join("\n")
    }

    /// Lets the model go on where the service paused it, by sending its reply back.
    ///
    /// # Errors
    /// The conversation is handed back when the reply does not end with a tool that the service runs: then
    /// there is nothing to go on with, and it would be a prefilled answer, which current models refuse.
    pub fn go_on(self) -> Result<Asking, Self> {
        if self.0.messages.last().is_some_and(Message::ends_paused) { Ok(Asking(self.0)) } else { Err(self) }
    }
}

impl Content {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Blocks(blocks) => blocks.is_empty(),
        }
    }
}
