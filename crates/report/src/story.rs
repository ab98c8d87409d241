//! What happened in a run, as a value that no source and no form of output is seen in.

use serde::{Deserialize, Serialize};
use sommelier_protocol::RawJson;

/// What happened, in order, and who took part.
///
/// Times are microseconds since 1970. What a source does not know is `None` or an empty list, and
/// [`remarks`](Self::remarks) says so in words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Story {
    /// The conversation's name; of several, how many they are: their names are those of the [runs](Self::runs).
    pub title: String,
    /// Where it was read.
    pub source: Source,
    /// What the source does not tell, and what in it could not be read, each in a sentence.
    pub remarks: Vec<String>,
    /// When it began.
    pub began_us: u64,
    /// When the last of it happened.
    pub ended_us: u64,
    /// What it came to; of several conversations [each](Run::outcome) came to something of its own.
    pub outcome: Outcome,
    /// Who took part, in the order in which they first did. Events name them by their place here.
    pub parts: Vec<Part>,
    /// The runs of the tree: conversations and the branches that work for them, each behind the one that asked it.
    pub runs: Vec<Run>,
    /// What happened, in order.
    pub events: Vec<Event>,
    /// The handoffs that were asked for, taken or not.
    pub hops: Vec<Hop>,
    /// The questions to delegates.
    pub questions: Vec<Question>,
    /// What people were asked.
    pub asks: Vec<Ask>,
    /// What tools have done, or may have done, in order; empty where the source does not say. What only reads does nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<Done>,
    /// What was used of what there is, over the whole tree. What each branch used is told of its [run](Self::runs).
    pub budget: Vec<Spent>,
    /// Who may hand over to whom, and who did: one for each relay that took part.
    pub relays: Vec<Matrix>,
}

/// Where a story was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Source {
    /// The records of a journal.
    Journal {
        /// How many there are.
        records: usize,
        /// How many of them the story tells of: fewer where they do not follow from each other to the end.
        told: usize,
    },
    /// The lines of a trace.
    #[default]
    Trace,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The end in a word, such as `answered`; `waiting` for a person, `opened` before anybody spoke, `open` where it goes on, and
    /// `several` of several conversations.
    pub status: String,
    /// The answer.
    pub answer: Option<String>,
    /// Why it ended otherwise.
    pub why: Option<String>,
}

/// Somebody who took part, and what it cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Who it is.
    pub kind: Kind,
    /// The name.
    pub name: String,
    /// Replies of its model.
    pub model_calls: u64,
    /// Runs of its tools.
    pub tool_calls: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
}

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Whoever asks.
    User,
    /// An agent that had the turn.
    Agent,
    /// An agent that worked in a branch.
    Delegate,
    /// A person who was asked.
    Person,
}

/// A run of the tree: a conversation, or a branch that works for one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The conversation's name, or the path of the branch.
    pub path: String,
    /// Of a branch the run that asked: one that stands before it. `None` for a conversation.
    pub within: Option<usize>,
    /// What a branch has used of what it was given, its own branches included; empty where the source does not say.
    pub budget: Vec<Spent>,
    /// What a conversation came to, where the story is of several; of a single one [`Story::outcome`] says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// When; of what took time, when it ended.
    pub at_us: u64,
    /// How long it took, where that is known.
    pub took_us: Option<u64>,
    /// In which of the [runs](Story::runs).
    pub run: usize,
    /// What.
    pub what: What,
}

/// What happened. Numbers are places in the lists of the [`Story`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// The user spoke.
    Said {
        /// Who: a [part](Story::parts).
        from: usize,
        /// To whom.
        to: usize,
        /// The words.
        text: Option<String>,
    },
    /// A model was asked, and replied or did not.
    Replied {
        /// Whose model.
        agent: usize,
        /// Its name.
        model: Option<String>,
        /// The words.
        text: Option<String>,
        /// The tools that it called, by name.
        calls: Vec<String>,
        /// Tokens read.
        input_tokens: Option<u64>,
        /// Tokens written.
        output_tokens: Option<u64>,
        /// Why it did not reply.
        error: Option<String>,
    },
    /// A tool ran, or was not let.
    Ran {
        /// Whose.
        agent: usize,
        /// The tool.
        tool: String,
        /// Its arguments.
        input: Option<String>,
        /// What it said.
        output: Option<String>,
        /// The code of what went wrong.
        error: Option<String>,
        /// Who had to allow it, and what was said: `approved`, `approved_by_person`, `denied`,
        /// `denied_by_person`.
        approval: Option<String>,
    },
    /// A handoff was asked for.
    HandedOver {
        /// Which of the [hops](Story::hops).
        hop: usize,
    },
    /// The turn came back on a route that returns.
    CameBack {
        /// From whom.
        from: usize,
        /// To whom.
        to: usize,
    },
    /// A delegate was asked.
    Asked {
        /// Which of the [questions](Story::questions).
        question: usize,
    },
    /// A branch came to its end.
    Returned {
        /// Which of the [questions](Story::questions).
        question: usize,
        /// Who had the turn in it then.
        by: usize,
    },
    /// A person was asked.
    Waited {
        /// Which of the [asks](Story::asks).
        ask: usize,
    },
    /// A person answered.
    Decided {
        /// Which of the [asks](Story::asks).
        ask: usize,
    },
    /// Something else that is worth knowing.
    Noted {
        /// Whom it befell.
        agent: Option<usize>,
        /// What, in a few words.
        note: String,
        /// More of it.
        detail: Option<String>,
    },
    /// The run came to an end.
    Ended {
        /// Who had the turn.
        agent: Option<usize>,
        /// How, in a word.
        end: String,
        /// The answer.
        text: Option<String>,
    },
}

/// A handoff that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hop {
    /// Its id, where the source has one.
    pub id: Option<String>,
    /// In which of the [runs](Story::runs).
    pub run: usize,
    /// Which of its conversation's handoffs it is, from 1; `None` for one that was not taken.
    pub number: Option<u64>,
    /// The sender.
    pub from: usize,
    /// The receiver; `None` where it is no agent that takes part.
    pub to: Option<usize>,
    /// The receiver's name, or what the model wrote in its place.
    pub to_name: String,
    /// When.
    pub at_us: u64,
    /// What crosses, as JSON; a string that holds the beginning of it where the source has cut it.
    pub package: Option<RawJson>,
    /// Bytes that cross.
    pub package_bytes: u64,
    /// Bytes of the sender's conversation, which stay behind.
    pub history_bytes: u64,
    /// Bytes that the receiver may read by reference.
    pub reference_bytes: u64,
    /// The pieces of what stays behind.
    pub left_behind: Vec<Piece>,
    /// What became of it.
    pub outcome: Passage,
    /// How the work ended that was handed over.
    pub end: Option<String>,
    /// Open items that nobody has said to be done.
    pub open_items: Vec<String>,
}

/// A piece of the sender's conversation, which does not cross.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// What it is, in words.
    pub what: String,
    /// Its bytes as compact JSON.
    pub bytes: u64,
}

/// What became of a handoff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Passage {
    /// The receiver has the turn.
    Taken,
    /// The sender keeps it.
    Refused {
        /// The guard that refused.
        guard: String,
        /// Why, in a word.
        code: Option<String>,
        /// Why, in a sentence.
        detail: Option<String>,
    },
    /// It was given to whoever drives the sender alone.
    TakenOut,
    /// It was allowed and not taken.
    NotTaken {
        /// Why, in a word.
        why: String,
    },
}

/// A question to a delegate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The path of its branch.
    pub id: String,
    /// In which of the [runs](Story::runs) it was asked.
    pub run: usize,
    /// Which of them answers it; `None` where no branch was opened.
    pub branch: Option<usize>,
    /// Who asked.
    pub from: usize,
    /// Who was asked; `None` where no branch was opened.
    pub to: Option<usize>,
    /// The tool by which it was asked.
    pub tool: String,
    /// When.
    pub at_us: u64,
    /// When the branch ended.
    pub until_us: Option<u64>,
    /// The question and its context, as JSON; see [`Hop::package`].
    pub package: Option<RawJson>,
    /// Bytes that cross.
    pub package_bytes: u64,
    /// What came of it.
    pub outcome: Finding,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Finding {
    /// The branch goes on.
    Open,
    /// The branch has ended.
    Returned {
        /// How far it came: `done`, `partial` or `failed`.
        status: String,
        /// How it ended.
        end: Option<String>,
        /// What it found.
        finding: Option<String>,
        /// Why it is not done.
        reason: Option<String>,
        /// Model calls of the branch, those of its own branches included.
        steps: u64,
    },
    /// No branch was opened.
    Refused {
        /// Why, in a word.
        code: String,
        /// Why, in a sentence.
        detail: Option<String>,
    },
}

/// What a person was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The question's id.
    pub id: String,
    /// The agent from which it comes.
    pub from: usize,
    /// Who answers: a part.
    pub person: usize,
    /// What is asked, in a word: `tool`, `handoff`, `words`, `escalation`, `in_doubt`, `repeat`.
    pub asks: String,
    /// What it is about: a tool, a receiver, a guard; the question.
    pub about: String,
    /// All of it: the arguments, the package, why it was refused.
    pub detail: Option<String>,
    /// Since when.
    pub at_us: u64,
    /// The answer; `None` while it is open.
    pub answer: Option<Decision>,
}

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The answer in a word, such as `approve`.
    pub word: String,
    /// The words that belong to it.
    pub text: Option<String>,
    /// Who.
    pub by: Option<String>,
    /// When.
    pub at_us: u64,
}

/// Something that a tool has done, or may have done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The tool.
    pub tool: String,
    /// What the tool gave; `None` where nobody knows whether it was done.
    pub result: Option<RawJson>,
    /// What it gave in the words of whoever knows the tool, such as `RSV-0006, 8000 cents`: no source says it, so whoever has a story
    /// made may put it here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// Whether something later has undone it.
    pub undone: bool,
}

/// What was used of something that may be limited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// What, in words for people: `model calls`.
    pub measure: String,
    /// How much.
    pub used: u64,
    /// How much there is; `None` where there is no limit, or the source does not say.
    pub allowed: Option<u64>,
}

/// Who may hand over to whom in a relay, and who did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    /// The tools by which the relay is asked, from the outside in; empty for the one that the user speaks to.
    pub place: String,
    /// Its agents.
    pub agents: Vec<String>,
    /// Whether all ways are told that there are, and not just those that were tried.
    pub is_whole: bool,
    /// The ways, in the order in which they were described.
    pub ways: Vec<Way>,
}

/// A way from an agent to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// From whom.
    pub from: String,
    /// To whom; of a question, the tool that asks.
    pub to: String,
    /// Whether the turn is handed over, or only a question.
    pub passes: Passes,
    /// Whether there is such a route; `None` where the source does not say.
    pub is_route: Option<bool>,
    /// What is special about it.
    pub notes: Vec<String>,
    /// How often it was taken.
    pub taken: u64,
    /// How often it was refused.
    pub refused: u64,
}

/// What goes over a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passes {
    /// The turn.
    Turn,
    /// A question.
    Question,
}

/// What was refused, by whatever refused it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused<'s> {
    /// When.
    pub at_us: u64,
    /// What was refused: `handoff`, `question` or `tool`.
    pub what: &'static str,
    /// Who wanted it.
    pub from: &'s str,
    /// To whom, or which tool.
    pub to: &'s str,
    /// The guard, or what stands in its place.
    pub guard: &'s str,
    /// Why, in a word.
    pub code: &'s str,
    /// What was said.
    pub detail: &'s str,
}

/// Whether a tool was kept from running, by the word that says who had to allow it.
pub(crate) fn is_denied(approval: &str) -> bool {
    matches!(approval, "denied" | "denied_by_person")
}

impl Part {
    /// Somebody who has cost nothing yet.
    pub(crate) fn new(kind: Kind, name: &str) -> Self {
        Self { kind, name: name.to_owned(), model_calls: 0, tool_calls: 0, input_tokens: 0, output_tokens: 0 }
    }

    /// Counts nothing any more.
    pub(crate) fn forget(&mut self) {
        *self = Self::new(self.kind, &self.name);
    }
}

impl Done {
    /// What became of it, in a word or two.
    pub(crate) fn stands(&self) -> &'static str {
        match self {
            Self { result: None, .. } => "in doubt",
            Self { undone: true, .. } => "done, and undone since",
            _ => "done",
        }
    }

    /// What the tool gave, in a few words where somebody has put it so.
    pub(crate) fn gave(&self) -> &str {
        let result =
            self.result.as_ref().map_or("may have been done, and nobody knows", |result| result.get());
        self.told.as_deref().unwrap_or(result)
    }
}

impl Event {
    /// When it began.
    pub(crate) fn began_us(&self) -> u64 {
        self.at_us.saturating_sub(self.took_us.unwrap_or_default())
    }
}

impl Story {
    /// Something happened. What it cost its agent is counted.
    pub(crate) fn happened(&mut self, event: Event) {
        match &event.what {
            What::Replied { agent, input_tokens, output_tokens, error: None, .. } => {
                if let Some(part) = self.parts.get_mut(*agent) {
                    part.model_calls += 1;
                    part.input_tokens = part.input_tokens.saturating_add(input_tokens.unwrap_or_default());
                    part.output_tokens = part.output_tokens.saturating_add(output_tokens.unwrap_or_default());
                }
            }
            What::Ran { agent, approval, .. } if !approval.as_deref().is_some_and(is_denied) => {
                if let Some(part) = self.parts.get_mut(*agent) {
                    part.tool_calls += 1;
                }
            }
            _ => {}
        }
        self.events.push(event);
    }

    /// Says when it began and ended, as its events do.
    pub(crate) fn date(&mut self) {
        self.began_us = self.events.iter().map(Event::began_us).min().unwrap_or_default();
        self.ended_us = self.events.iter().map(|event| event.at_us).max().unwrap_or_default();
    }

    /// The part at a place; one that is not there has no name.
    pub fn part(&self, place: usize) -> &str {
        self.parts.get(place).map_or("", |part| &part.name)
    }

    /// How long it took from the first to the last.
    pub fn took_us(&self) -> u64 {
        self.ended_us.saturating_sub(self.began_us)
    }

    /// The handoffs that were taken.
    pub fn taken(&self) -> impl Iterator<Item = &Hop> {
        self.hops.iter().filter(|hop| matches!(hop.outcome, Passage::Taken | Passage::TakenOut))
    }

    /// Bytes that crossed, and those that stayed behind, over all handoffs that were taken.
    pub fn bytes(&self) -> (u64, u64) {
        let sum = |bytes: fn(&Hop) -> u64| self.taken().map(bytes).fold(0, u64::saturating_add);
        (sum(|hop| hop.package_bytes), sum(|hop| hop.history_bytes))
    }

    /// What was refused, in the order in which it was.
    pub fn refusals(&self) -> Vec<Refused<'_>> {
        self.events.iter().filter_map(|event| self.refused(event)).collect()
    }

    fn refused<'s>(&'s self, event: &'s Event) -> Option<Refused<'s>> {
        let word = |text: &'s Option<String>| text.as_deref().unwrap_or_default();
        match &event.what {
            What::HandedOver { hop } => {
                let hop = self.hops.get(*hop)?;
                let Passage::Refused { guard, code, detail } = &hop.outcome else { return None };
                let (from, to) = (self.part(hop.from), &*hop.to_name);
                let (code, detail) = (word(code), word(detail));
                Some(Refused { at_us: event.at_us, what: "handoff", from, to, guard, code, detail })
            }
            What::Asked { question } => {
                let question = self.questions.get(*question)?;
                let Finding::Refused { code, detail } = &question.outcome else { return None };
                let (from, to, detail) = (self.part(question.from), &*question.tool, word(detail));
                Some(Refused { at_us: event.at_us, what: "question", from, to, guard: "", code, detail })
            }
            What::Ran { agent, tool, approval: Some(approval), error, output, .. } if is_denied(approval) => {
                let guard = if approval == "denied" { "gate" } else { "approval" };
                let (from, code, detail) = (self.part(*agent), word(error), word(output));
                Some(Refused { at_us: event.at_us, what: "tool", from, to: tool, guard, code, detail })
            }
            What::Decided { ask } => {
                let ask = self.asks.get(*ask).filter(|ask| matches!(&*ask.asks, "tool" | "repeat"))?;
                let answer = ask.answer.as_ref().filter(|answer| answer.word == "reject")?;
                let (from, detail) = (self.part(ask.from), word(&answer.text));
                let at_us = event.at_us;
                Some(Refused {
                    at_us,
                    what: "tool",
                    from,
                    to: &ask.about,
                    guard: "approval",
                    code: "rejected",
                    detail,
                })
            }
            _ => None,
        }
    }
}
