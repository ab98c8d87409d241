//! What a relay meets: its settings, what its models write, what its users say, which tools go off and on.

use sommelier_protocol::{ContentBlock, ModelResponse, RawJson, StopReason, ToolUse};
use sommelier_runtime::{Limits, ModelError, script};

use super::person::{Gate, Inquiry, Saying};
use super::team::{AGENTS, Ask, BOOKING, DESK, GATED, POLICY, PRICING, Voice, Way, mates, receivers};
use crate::{ASK_HUMAN, EntryPolicy, Guard, Guards, HANDOFF_TO_SPECIALIST, HandoffPackage, RunEnd};

/// All that a relay meets.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) guards: Guards,
    pub(super) entry_policy: EntryPolicy,
    pub(super) limits: Limits,
    pub(super) max_model_calls: u32,
    /// What each route is like beside its policy, in the order of the routes.
    pub(super) ways: Vec<Way>,
    /// Whether an agent may ask a person, in the order of the agents.
    pub(super) may_ask: Vec<bool>,
    /// Whether the house has a constraint of its own.
    pub(super) binds: bool,
    /// What the models of the run that hears the user write, call after call, whoever is asked; then plain answers.
    pub(super) replies: Vec<Reply>,
    /// What the models of branches write. Each branch begins at a place of its own and goes round.
    pub(super) branch_replies: Vec<Reply>,
    /// Which of the open steps of the tree goes on, step after step and round again; the first when it is empty.
    pub(super) order: Vec<usize>,
    /// When the tree is called off, if it is.
    pub(super) call_off: Option<CallOff>,
    pub(super) opening: Speech,
    /// What follows each end of the run.
    pub(super) moves: Vec<Move>,
    /// What the user says while the step of this number of the run that hears the user is out.
    pub(super) remarks: Vec<Option<Speech>>,
    /// What a person answers: which of them depends on the question alone.
    pub(super) sayings: Vec<Saying>,
    /// What becomes of calls that need approval: which of them depends on the reply alone.
    pub(super) gates: Vec<Gate>,
    /// Whether a person is wrong first, or answers twice: which of them depends on the question alone.
    pub(super) slips: Vec<bool>,
    /// Tools that go off or on before the step of this number of the run that hears the user.
    pub(super) switches: Vec<Option<Switch>>,
    /// Whether the required tool goes off while the handoff of this number in that run waits to be approved or taken.
    pub(super) losses: Vec<bool>,
}

/// The moment when a tree, or one branch of it, is called off: its run has gone so many steps or more, and since the
/// last of them its branches so many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CallOff {
    pub(super) root: usize,
    pub(super) branches: usize,
    pub(super) whole: bool,
    pub(super) moment: Moment,
}

/// When it is due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Moment {
    AfterSteps,
    /// As soon as the step that is open first waits for a person.
    Waiting,
    /// As soon as tools are out of a reply of which a person has rejected a call.
    Rejected,
}

/// What follows an end of the run.
#[derive(Clone, Copy, Debug)]
pub(super) enum Move {
    Hear(Speech),
    Retry,
}

/// What the user says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Speech {
    #[default]
    Plain,
    /// More than a package may hold.
    Long,
    LikeMessage,
    /// With a character that no package may hold.
    Forbidden,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Switch {
    pub(super) agent: &'static str,
    pub(super) tool: &'static str,
    pub(super) is_on: bool,
}

/// What comes back from a model.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Fails(ModelError),
    Says { blocks: Vec<Block>, stop: Option<StopReason> },
}

/// One block as a model means it; what it writes depends on who it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Block {
    Text(Text),
    Call(Id, Own),
    HandOff(Id, HandOff),
    Ask(Id, Ask),
    Person(Id, Inquiry),
    Other(Other),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Text {
    Plain,
    Blank,
    /// Says that a legal receiver takes over.
    Announces,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Id {
    Fresh,
    Taken,
    Illegal,
    Empty,
}

/// A call of a tool, the agent's own or none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Own {
    Fine,
    /// Needs approval.
    Gated,
    Fails,
    LongResult,
    Unknown,
    IllegalName,
    BrokenJson,
    WrongType,
    Huge,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Other {
    Thinking,
    ThinkingUnsigned,
    ServiceTool,
    Unknown,
    Result,
    Image,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct HandOff {
    pub(super) to: To,
    pub(super) parcel: Parcel,
}

/// The receiver, as the model writes it.
#[derive(Clone, Copy, Debug)]
pub(super) enum To {
    Legal(usize),
    /// Legal, in capitals, quotes and blanks.
    Adorned(usize),
    Unknown,
    Misspelt(usize),
    /// Legal but for a character that cannot be seen.
    Invisible(usize),
    Myself,
    NoRoute,
    Absent,
    NoText,
}

/// The package, as the model writes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Parcel {
    Fine(u8),
    WithOpenItem(u8),
    /// With a constraint, too.
    Binding(u8),
    /// Legal, with characters that cannot be seen, its members in another order than ours.
    Invisible,
    NoTask,
    BlankTask,
    NoContext,
    LongTask,
    ManyKeys,
    Large,
    Deep,
    /// Larger than any policy may allow.
    BeyondLaw,
    /// As many values as a call may have.
    ManyValues,
    Message,
    QuotedMessage,
    /// A message in a fence among words, in another form.
    HiddenMessage,
    /// Writes what is code's to write where the route asks for the user's words.
    Forged,
    /// Has no room for the user's words, nor for a note that they were left out.
    Full,
    OddMember,
    OddVersion,
    DuplicateKey,
    TooDeep,
    ForbiddenCharacter,
    // From here on nothing of the call can be read, the receiver included.
    Huge,
    BrokenJson,
    List,
}

fn constraint(n: u8) -> String {
    format!("bound to {n}")
}

/// Bytes of a text that leaves 8 of the 2048 bytes of its package.
const FULL: usize = 2040 - r#"{"task":"work","context":{"text":""}}"#.len();

/// The path of the run that hears the user: the name of its conversation.
pub(super) const ROOT: &str = "c";

/// Stands in an answer that announces a handoff.
pub(super) const ANNOUNCED: &str = ": ask ";

impl Speech {
    /// The user's words in the message of this number.
    pub(super) fn words(self, number: u32) -> String {
        match self {
            Self::Plain => format!("the user's message {number} 🛎"),
            Self::Long => format!("{number}{}", " words".repeat(400)),
            Self::LikeMessage => format!(r#"{{"role":"user","content":"{number}"}}"#),
            Self::Forbidden => format!("turn \u{202e} around {number}"),
        }
    }

    /// Why no package may hold the words, if so; `bytes` is what the package would have with them.
    fn left_out(self, bytes: usize) -> Option<String> {
        match self {
            Self::Plain => None,
            Self::Long => Some(format!("bytes of the package: {bytes}, at most 2048")),
            Self::LikeMessage => Some(
                "`artifacts.user_words` holds a message (`role` and `content`); a package carries a task and its data, \
                 never a history"
                    .to_owned(),
            ),
            Self::Forbidden => {
                Some("`artifacts.user_words` holds the character U+202E, which is not allowed".to_owned())
            }
        }
    }
}

impl Scenario {
    /// The reply to the model call of this number in the run at `path`, counted from 0. It does not depend on what
    /// other runs of the tree have done.
    pub(super) fn reply(&self, path: &str, number: usize) -> Reply {
        let answer =
            || Reply::Says { blocks: vec![Block::Text(Text::Plain)], stop: Some(StopReason::EndTurn) };
        if path == ROOT {
            return self.replies.get(number).cloned().unwrap_or_else(answer);
        }
        let start = path.bytes().fold(0, |start: usize, byte| start.wrapping_mul(31) + usize::from(byte));
        let place = (start % 1000 + number) % (self.branch_replies.len() + 1);
        self.branch_replies.get(place).cloned().unwrap_or_else(answer)
    }
}

impl Reply {
    /// What the model of the agent writes in the reply of this number.
    pub(super) fn written(&self, voice: Voice<'_>, number: usize) -> Result<ModelResponse, ModelError> {
        match self {
            Self::Fails(error) => Err(error.clone()),
            Self::Says { blocks, stop } => {
                let blocks = blocks.iter().enumerate();
                let content =
                    blocks.map(|(place, block)| block.written(voice, &format!("tu_{number}_{place}")));
                let mut reply = script::reply(content.collect(), StopReason::EndTurn);
                reply.stop_reason.clone_from(stop);
                Ok(reply)
            }
        }
    }

    /// The end of a run whose model stopped in mid-reply: whatever the reply holds, no call of it is run.
    pub(super) fn cut_short(&self) -> Option<RunEnd> {
        use StopReason::{
            ContextWindowExceeded, EndTurn, MaxTokens, Other, PauseTurn, Refusal, StopSequence, ToolUse,
        };
        let Self::Says { stop, .. } = self else { return None };
        let stop = stop.clone().unwrap_or_else(|| Other("".into()));
        match stop {
            EndTurn | ToolUse | StopSequence | PauseTurn => None,
            MaxTokens | ContextWindowExceeded => Some(RunEnd::Truncated { stop }),
            Refusal => Some(RunEnd::ModelRefused),
            Other(_) => Some(RunEnd::UnknownStop { stop }),
        }
    }

    /// The calls of any kind, in order.
    pub(super) fn calls(&self) -> Vec<Block> {
        let blocks = match self {
            Self::Fails(_) => &[][..],
            Self::Says { blocks, .. } => blocks,
        };
        blocks.iter().copied().filter(Block::is_call).collect()
    }

    /// Whether nothing of the reply is kept but thoughts.
    pub(super) fn is_empty(&self) -> bool {
        let Self::Says { blocks, .. } = self else { return true };
        blocks.iter().all(|block| match block {
            Block::Text(text) => matches!(text, Text::Blank),
            Block::Other(other) => !matches!(other, Other::ServiceTool | Other::Unknown),
            _ => false,
        })
    }

    /// Whether the reply ends with a tool that the service runs.
    pub(super) fn ends_paused(&self) -> bool {
        let Self::Says { blocks, .. } = self else { return false };
        let is_kept = |block: &&Block| {
            !matches!(
                block,
                Block::Text(Text::Blank)
                    | Block::Other(Other::ThinkingUnsigned | Other::Result | Other::Image)
            )
        };
        matches!(blocks.iter().rfind(is_kept), Some(Block::Other(Other::ServiceTool)))
    }

    /// The reason why the model stopped.
    pub(super) fn stop(&self) -> Option<&StopReason> {
        match self {
            Self::Fails(_) => None,
            Self::Says { stop, .. } => stop.as_ref(),
        }
    }
}

impl Block {
    fn is_call(&self) -> bool {
        matches!(self, Self::Call(..) | Self::HandOff(..) | Self::Ask(..) | Self::Person(..))
    }

    fn written(self, voice: Voice<'_>, fresh: &str) -> ContentBlock {
        let Voice { agent, .. } = voice;
        let secret = voice.secret();
        let read = |json: String| serde_json::from_str(&json).unwrap();
        match self {
            Self::Text(Text::Plain) => ContentBlock::text(voice.saying()),
            Self::Text(Text::Blank) => ContentBlock::text(" \n"),
            Self::Text(Text::Announces) => match receivers(agent).first() {
                Some(to) => ContentBlock::text(format!("{}{ANNOUNCED}{to}.", voice.saying())),
                None => ContentBlock::text(voice.saying()),
            },
            Self::Call(id, own) => {
                let (name, input) = own.written(&secret);
                ToolUse::scripted(id.written(fresh), name, &input).into()
            }
            Self::HandOff(id, handoff) => {
                let input = handoff.parcel.written(handoff.to.written(agent), &secret);
                ToolUse::scripted(id.written(fresh), HANDOFF_TO_SPECIALIST, &input).into()
            }
            Self::Ask(id, ask) => {
                let input = ask.question.written(&secret, HUGE);
                ToolUse::scripted(id.written(fresh), ask.tool(agent), &input).into()
            }
            Self::Person(id, inquiry) => {
                ToolUse::scripted(id.written(fresh), ASK_HUMAN, &inquiry.written(&secret)).into()
            }
            Self::Other(Other::Thinking) => {
                read(format!(r#"{{"type":"thinking","thinking":"{secret}","signature":"s"}}"#))
            }
            Self::Other(Other::ThinkingUnsigned) => {
                read(format!(r#"{{"type":"thinking","thinking":"{secret}"}}"#))
            }
            Self::Other(Other::ServiceTool) => read(format!(
                r#"{{"type":"server_tool_use","id":"s_1","name":"web_search","input":{{"q":"{secret}"}}}}"#
            )),
            Self::Other(Other::Unknown) => read(format!(r#"{{"type":"from_the_future", "is":"{secret}"}}"#)),
            Self::Other(Other::Result) => {
                read(format!(r#"{{"type":"tool_result","tool_use_id":"tu_1","content":"{secret}"}}"#))
            }
            Self::Other(Other::Image) => read(format!(r#"{{"type":"image","source":"{secret}"}}"#)),
        }
    }
}

impl Id {
    fn written(self, fresh: &str) -> &str {
        match self {
            Self::Fresh => fresh,
            Self::Taken => "tu_taken",
            Self::Illegal => "no id!",
            Self::Empty => "",
        }
    }
}

/// More bytes than a call may bring.
pub(super) const HUGE: usize = 70_001;

impl Own {
    fn written(self, secret: &str) -> (&'static str, String) {
        let text = |text: &str| format!(r#"{{"text":{}}}"#, RawJson::string(text));
        match self {
            Self::Fine => ("echo", text(secret)),
            Self::Gated => (GATED, text(secret)),
            Self::Fails => ("fail", text(secret)),
            Self::LongResult => ("echo", text(&secret.repeat(50))),
            Self::Unknown => ("search_the_web", text(secret)),
            Self::IllegalName => ("echo!", text(secret)),
            Self::BrokenJson => ("echo", format!(r#"{{"text":"{secret}"#)),
            Self::WrongType => ("echo", r#"{"text":[7]}"#.to_owned()),
            Self::Huge => ("echo", text(&"x".repeat(HUGE))),
        }
    }

    /// The tool of the agent that gets the call, fit or not; none when it never gets there.
    pub(super) fn tool(self) -> Option<&'static str> {
        match self {
            Self::Unknown | Self::IllegalName | Self::Huge => None,
            own => Some(own.written("").0),
        }
    }
}

impl To {
    /// The receiver as JSON.
    fn written(self, from: &str) -> Option<String> {
        let legal = |n| legal(from, n).unwrap_or(DESK);
        let name = match self {
            Self::Legal(n) => legal(n).to_owned(),
            Self::Adorned(n) => format!("\"{}\"\n", legal(n).to_uppercase()),
            Self::Unknown => "sommelier".to_owned(),
            Self::Misspelt(n) => legal(n).replace("_", ""),
            Self::Invisible(n) => format!("{}\u{200b}", legal(n)),
            Self::Myself => from.to_owned(),
            Self::NoRoute => stranger(from).to_owned(),
            Self::Absent => return None,
            Self::NoText => return Some("7".to_owned()),
        };
        Some(RawJson::string(&name).to_string())
    }

    /// The receiver, or the guard that refuses it.
    fn receiver(self, from: &str) -> Result<&'static str, Guard> {
        match self {
            Self::Legal(n) | Self::Adorned(n) => legal(from, n).ok_or(Guard::Known),
            Self::NoRoute if !mates(from).contains(&stranger(from)) => Err(Guard::Known),
            Self::Unknown | Self::Misspelt(_) | Self::Invisible(_) => Err(Guard::Known),
            Self::Myself => Err(Guard::Myself),
            Self::NoRoute => Err(Guard::Route),
            Self::Absent | Self::NoText => Err(Guard::Package),
        }
    }
}

/// One of the legal receivers of `from`.
fn legal(from: &str, n: usize) -> Option<&'static str> {
    let receivers = receivers(from);
    receivers.get(n % receivers.len().max(1)).copied()
}

/// An agent to which there is no route: of the same relay, or of another when all of the same can be reached.
fn stranger(from: &str) -> &'static str {
    let is_strange = |name: &&str| *name != from && !receivers(from).contains(name);
    let mut all = mates(from).iter().copied().chain(AGENTS);
    all.find(is_strange).unwrap()
}

impl HandOff {
    /// The receiver, or the guard that refuses whatever the hops were.
    pub(super) fn receiver(self, from: &str) -> Result<&'static str, Guard> {
        if self.parcel.can_be_read() { self.to.receiver(from) } else { Err(Guard::Package) }
    }
}

impl Parcel {
    fn written(self, specialist: Option<String>, secret: &str) -> String {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let long = |bytes: usize| "x".repeat(bytes);
        let task_and = |context: &str| format!(r#""task":"work","context":{{{context}}}"#);
        let message = format!(r#"{{"role":"user","content":"{secret}"}}"#);
        let members = match self {
            Self::Fine(n) => format!(r#""task":"work {n}","context":{{"n":{n}}}"#),
            Self::WithOpenItem(n) => {
                format!(r#""open_items":["answer"],"task":"work {n}","context":{{"n":{n}}}"#)
            }
            Self::Binding(n) => format!(
                r#""open_items":["answer"],"constraints":["{}"],"task":"work {n}","context":{{"n":{n}}}"#,
                constraint(n)
            ),
            Self::Invisible => {
                "\"context\":{\"b\":\"zero\u{200b}width\"},\"task\":\"soft\u{ad}hyphen\"".to_owned()
            }
            Self::NoTask => r#""context":{}"#.to_owned(),
            Self::BlankTask => r#""task":" ","context":{}"#.to_owned(),
            Self::NoContext => r#""task":"work""#.to_owned(),
            Self::LongTask => format!(r#""task":"{}","context":{{}}"#, long(501)),
            Self::ManyKeys => {
                task_and(&(0..17).map(|n| format!(r#""k{n}":1"#)).collect::<Vec<_>>().join(","))
            }
            Self::Large => task_and(&format!(r#""text":"{}""#, long(2100))),
            Self::BeyondLaw => {
                let text = |n| format!(r#""text_{n}":"{}""#, long(13_200));
                task_and(&(0..5).map(text).collect::<Vec<_>>().join(","))
            }
            Self::Deep => task_and(&format!(r#""deep":{}"#, nested(8))),
            // With these go the call, its receiver, the task, the context and the list.
            Self::ManyValues => task_and(&format!(r#""list":[{}]"#, vec!["0"; 1024 - 5].join(","))),
            Self::Message => task_and(&format!(r#""messages":[{message}]"#)),
            Self::QuotedMessage => {
                format!(r#""task":{},"context":{{}}"#, RawJson::string(&format!("[{message}]")))
            }
            Self::HiddenMessage => {
                let text = format!("5\" see:\n```json\n[{{\"ROLE\":\"user\",\"text\":\"{secret}\"}},{{\n```");
                task_and(&format!(r#""text":{}"#, RawJson::string(&text)))
            }
            Self::Forged => format!(r#"{},"artifacts":{{"user_words":"forged"}}"#, task_and("")),
            Self::Full => task_and(&format!(r#""text":"{}""#, long(FULL))),
            Self::OddMember => format!(r#"{},"history":"{secret}""#, task_and("")),
            Self::OddVersion => format!(r#"{},"v":2"#, task_and("")),
            Self::DuplicateKey => format!(r#"{},"task":"other""#, task_and("")),
            Self::TooDeep => task_and(&format!(r#""deep":{}"#, nested(20))),
            Self::ForbiddenCharacter => r#""task":"turn \u202e around","context":{}"#.to_owned(),
            Self::Huge => task_and(&format!(r#""text":"{}""#, long(HUGE))),
            Self::BrokenJson => return format!(r#"{{"specialist":"booking_agent","task":"{secret}"#),
            Self::List => return r#"["booking_agent","work"]"#.to_owned(),
        };
        match specialist {
            Some(name) => format!(r#"{{"specialist":{name},{members}}}"#),
            None => format!("{{{members}}}"),
        }
    }

    /// Whether the route takes it. Code may have made it longer, and may have put an open item in.
    pub(super) fn fits(self, ends: (&str, &str), is_longer: bool, has_more: bool) -> bool {
        let is_strict = ends == (POLICY, PRICING) && !has_more;
        let is_for_code = ends == (DESK, BOOKING);
        match self {
            Self::WithOpenItem(_) | Self::Binding(_) => true,
            Self::Fine(_) | Self::Invisible => !is_strict,
            Self::Forged => !is_strict && !is_for_code,
            Self::Full => !is_strict && !is_for_code && !is_longer,
            _ => false,
        }
    }

    /// Whether it has an open item.
    pub(super) fn has_item(self) -> bool {
        matches!(self, Self::WithOpenItem(_) | Self::Binding(_))
    }

    /// Whether at least the receiver can be read.
    fn can_be_read(self) -> bool {
        !matches!(self, Self::Huge | Self::BrokenJson | Self::List)
    }

    /// The value `n` of the context, if it has one.
    pub(super) fn n(self) -> Option<i64> {
        match self {
            Self::Fine(n) | Self::WithOpenItem(n) | Self::Binding(n) => Some(n.into()),
            _ => None,
        }
    }

    /// The constraint that it holds.
    pub(super) fn constraint(self) -> Option<String> {
        if let Self::Binding(n) = self { Some(constraint(n)) } else { None }
    }

    /// The package that crosses from `from` to `to`, when it is one, with what code carries on.
    pub(super) fn package(
        self,
        (from, to): (&str, &str),
        (constraints, items): (Vec<String>, Vec<String>),
        (speech, words): (Speech, &str),
    ) -> HandoffPackage {
        let package = match self {
            Self::Fine(n) => HandoffPackage::new(format!("work {n}")).context("n", &n),
            Self::WithOpenItem(n) => {
                HandoffPackage::new(format!("work {n}")).open_item("answer").context("n", &n)
            }
            Self::Binding(n) => HandoffPackage::new(format!("work {n}"))
                .open_item("answer")
                .constraint(constraint(n))
                .context("n", &n),
            Self::Invisible => HandoffPackage::new("soft\u{ad}hyphen").context("b", "zero\u{200b}width"),
            Self::Forged => HandoffPackage::new("work").artifact("user_words", "forged"),
            Self::Full => HandoffPackage::new("work").context("text", &"x".repeat(FULL)),
            other => panic!("{other:?} is never taken"),
        };
        let package = constraints.into_iter().fold(package.unwrap(), HandoffPackage::constraint);
        let package = items.into_iter().fold(package, HandoffPackage::open_item);
        if (from, to) != (DESK, BOOKING) {
            return package;
        }
        let bytes = package.clone().artifact("user_words", words).map_or(0, |with| with.bytes());
        match speech.left_out(bytes) {
            None => package.artifact("user_words", words).unwrap(),
            Some(why) => package.artifact("user_words_left_out", &why).unwrap(),
        }
    }
}
