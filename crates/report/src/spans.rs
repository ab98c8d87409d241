//! A story from the lines of a trace.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use sommelier_metrics::{ClosedSpan, names};

use crate::conversations::UNNAMED;
use crate::shown::{counted, short};
use crate::story::{Story, What};
use crate::telling::{GOES_ON, Teller, WAITS};
use crate::tree::{Node, Tree};

/// The most bytes of a file that a story is made of: 256 MiB. What is read of it takes a few times as much memory.
pub const MOST_BYTES: usize = 256 << 20;

/// The most bytes of one line: 32 MiB, twice as long as a journal's longest record, since a span that shows contents has in it
/// what a model was asked and what it said.
pub const LONGEST_LINE: usize = 32 << 20;

/// So many conversations are named where another was asked for.
const MOST_NAMED: usize = 20;

/// Why a file tells no story.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoStory {
    /// No line of it is a span.
    #[error("no line of {lines} is a span of a trace; {first}")]
    NoSpan {
        /// How many lines it has.
        lines: usize,
        /// What is wrong with the first of them.
        first: String,
    },
    /// There is no line in it.
    #[error("it is empty: no span came")]
    Empty,
    /// Its lines are the records of a journal, as `sommelier export` prints them.
    #[error("these are records of a journal, {conversation:?} among them, and no spans")]
    Records {
        /// The conversation of the first.
        conversation: String,
    },
    /// It is longer than [`MOST_BYTES`].
    #[error(
        "there are more than {MOST_BYTES} bytes, the most that a report is made of; give the lines of fewer conversations"
    )]
    TooLong,
    /// It tells of other conversations.
    #[error("it does not tell of {wanted:?}, but of {}", if known.is_empty() { "none by its name".to_owned() } else { listed(known) })]
    OtherConversation {
        /// The one that was asked for.
        wanted: String,
        /// Those that it tells of.
        known: Vec<String>,
    },
}

impl Story {
    /// The story that the lines of a [`LinesLayer`](sommelier_metrics::LinesLayer) tell, of one conversation or of all that
    /// are in them: then each has its own [outcome](crate::Run::outcome), and [`Story::conversations`] tells them apart. Lines may be of several processes, and of releases that wrote less into them. Lines that are none, or longer
    /// than [`LONGEST_LINE`], are counted, and a remark tells of them.
    ///
    /// # Errors
    /// [`NoStory`] where nothing can be told, or there are more than [`MOST_BYTES`].
    pub fn of_spans(lines: &[u8], conversation: Option<&str>) -> Result<Self, NoStory> {
        let file = File::read(lines)?;
        let mut teller = Teller::new(&file.tree);
        let roots: Vec<usize> = file.tree.roots();
        let known: BTreeSet<&str> = roots.iter().filter_map(|root| file.tree.conversation(*root)).collect();
        if let Some(wanted) = conversation
            && !known.contains(wanted)
        {
            let known = known.into_iter().map(str::to_owned).collect();
            return Err(NoStory::OtherConversation { wanted: wanted.to_owned(), known });
        }
        let is_wanted =
            |root: &usize| conversation.is_none_or(|it| file.tree.conversation(*root) == Some(it));
        let told: Vec<usize> = roots.iter().copied().filter(is_wanted).collect();
        told.iter().for_each(|root| teller.root(*root));
        let mut story = teller.finish();
        let count = story.conversation_count();
        story.title = match (conversation, known.first()) {
            (Some(conversation), _) => conversation.to_owned(),
            (None, _) if count > 1 => counted(count as u64, "conversation", "conversations"),
            (None, known) => known.copied().unwrap_or(UNNAMED).to_owned(),
        };
        let mut remarks = file.remarks(&story, &told);
        if conversation.is_some() {
            remarks.splice(0..0, file.left_out(&roots, known.len()));
        }
        remarks.splice(0..0, story.remarks);
        story.remarks = remarks;
        Ok(story)
    }
}

/// What was read of a file.
struct File {
    tree: Tree,
    /// How many lines are no spans, and what is wrong with the first of them.
    bad: Option<(usize, String)>,
    /// How many lines have no time of day.
    timeless: usize,
}

/// A record, as `sommelier export` prints it.
#[derive(Deserialize)]
struct Exported {
    conversation: String,
    #[serde(rename = "prev_hash")]
    _prev_hash: String,
}

impl File {
    fn read(lines: &[u8]) -> Result<Self, NoStory> {
        // Some editors write a mark before the first line.
        let lines = lines.strip_prefix(b"\xef\xbb\xbf").unwrap_or(lines);
        if lines.len() > MOST_BYTES {
            return Err(NoStory::TooLong);
        }
        let mut tree = Tree::default();
        let (mut count, mut bad, mut timeless) = (0, None::<(usize, String)>, 0);
        for (number, line) in lines.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            count += 1;
            let why = match read(line) {
                Ok(span) => {
                    timeless += usize::from(span.at_us == 0);
                    if tree.add(span) {
                        continue;
                    }
                    Bad::Known
                }
                Err(why) => why,
            };
            // The first of them speaks for all, of which there may be as many as the file has bytes.
            match &mut bad {
                Some((count, _)) => *count += 1,
                None => {
                    must_be_no_record(line)?;
                    bad = Some((1, format!("line {}: {why}", number + 1)));
                }
            }
        }
        if tree.nodes.is_empty() {
            let Some((_, first)) = bad else { return Err(NoStory::Empty) };
            return Err(NoStory::NoSpan { lines: count, first });
        }
        tree.link();
        Ok(Self { tree, bad, timeless })
    }

    /// What else is in the file, where one conversation of it is told.
    fn left_out(&self, roots: &[usize], conversations: usize) -> Vec<String> {
        let mut remarks = Vec::new();
        let others = conversations.saturating_sub(1) as u64;
        if others > 0 {
            let others = counted(others, "more conversation", "more conversations");
            remarks.push(format!("The file tells of {others}."));
        }
        let nameless = roots.iter().filter(|root| self.tree.conversation(**root).is_none());
        let lines = nameless.map(|root| self.tree.count(*root)).sum::<usize>() as u64;
        if lines > 0 {
            let belong = counted(lines, "line of the file belongs", "lines of the file belong");
            remarks.push(format!(
                "{belong} to no conversation that it names: what a tool of this one has done may be among that."
            ));
        }
        remarks
    }

    /// Of what is told, what has lost the spans around it: a whole turn where its root is missing, which is written last, and else
    /// single spans.
    fn lost(&self, told: &[usize]) -> Vec<String> {
        let nodes = self.tree.nodes.iter();
        let whole: BTreeSet<_> =
            nodes.filter(|node| node.is(names::INVOKE_WORKFLOW)).map(Node::trace).collect();
        let (mut turns, mut turns_of, mut spans_of) = (BTreeSet::new(), Vec::new(), Vec::new());
        for place in told {
            let Some(node) = self.tree.nodes.get(*place).filter(|node| !node.span.is_root()) else {
                continue;
            };
            let name = self.tree.conversation(*place).unwrap_or(UNNAMED).to_owned();
            if whole.contains(&node.trace()) {
                spans_of.push(name);
            } else if turns.insert(node.trace()) {
                turns_of.push(name);
            }
        }
        let (turns, spans) = (turns_of.len() as u64, spans_of.len() as u64);
        let died = if turns == 1 { "its process" } else { "their processes" };
        let ended = (turns > 0).then(|| {
            format!(
                "Of {} of {} the file has neither the beginning, with what the user said, nor the end: {died} died, or the file was cut.",
                counted(turns, "turn", "turns"),
                listed(&distinct(turns_of)),
            )
        });
        let lost = (spans > 0).then(|| {
            let names = listed(&distinct(spans_of));
            match spans {
                1 => format!("1 span of {names} stands by itself: the line of the one around it is missing."),
                _ => format!("{spans} spans of {names} stand by themselves: the lines of those around them are missing."),
            }
        });
        ended.into_iter().chain(lost).collect()
    }

    /// What the file does not tell, or could not be read in it.
    fn remarks(&self, story: &Story, told: &[usize]) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some((count, first)) = &self.bad {
            remarks.push(match count {
                1 => format!("1 line is no span and was left out, {first}."),
                _ => format!("{count} lines are no spans and were left out, the first of them {first}."),
            });
        }
        remarks.extend(self.lost(told));
        match self.timeless {
            0 => {}
            1 => remarks.push("1 line is of a release that wrote no time of day; its times count from when its process began.".to_owned()),
            count => remarks.push(format!(
                "{count} lines are of a release that wrote no time of day; their times count from when their process began."
            )),
        }
        remarks.extend(wordless(story));
        remarks.push("A trace tells which ways were gone, and not which there are; what was used, and not how much there was.".to_owned());
        let is_of_people = |what: &What| match what {
            What::Noted { note, .. } => note == WAITS,
            What::Ran { approval: Some(approval), .. } => approval.ends_with("_by_person"),
            _ => false,
        };
        let is_named = |what: &What| matches!(what, What::Noted { note, detail: Some(_), .. } if note == WAITS || note == GOES_ON);
        if story.events.iter().any(|event| is_named(&event.what)) {
            remarks.push(
                "A trace tells what kind of thing a person was asked and answered, and not the words."
                    .to_owned(),
            );
        } else if story.events.iter().any(|event| is_of_people(&event.what)) {
            remarks.push(
                "A trace tells that a person was waited for, and not what was asked and answered.".to_owned(),
            );
        }
        remarks
    }
}

/// Which conversations have no contents in the file.
fn wordless(story: &Story) -> Option<String> {
    let is_said = |what: &What| match what {
        What::Said { text, .. } | What::Replied { text, .. } => text.is_some(),
        What::Ran { input, output, .. } => input.is_some() || output.is_some(),
        What::HandedOver { hop } => story.hops.get(*hop).is_some_and(|hop| hop.package.is_some()),
        _ => false,
    };
    let of = story.conversation_of_runs();
    let mut has_words: BTreeMap<usize, bool> = BTreeMap::new();
    for event in &story.events {
        let conversation = of.get(event.run).copied().unwrap_or(event.run);
        *has_words.entry(conversation).or_default() |= is_said(&event.what);
    }
    let all = has_words.len();
    let silent: Vec<usize> = has_words.into_iter().filter(|(_, has)| !has).map(|(place, _)| place).collect();
    let whose = match silent.len() {
        0 if all > 0 => return None,
        count if count == all => String::new(),
        _ => format!(" of {}", story.named(silent)),
    };
    Some(format!(
        "No words, arguments or packages{whose} are in the trace: they are there only where they were asked for."
    ))
}

/// Why a line is left out.
#[derive(Debug, thiserror::Error)]
enum Bad {
    #[error("it begins no JSON object")]
    NoObject,
    #[error("it has {0} bytes, and {LONGEST_LINE} are the most")]
    TooLong(usize),
    #[error("it tells of a span once more")]
    Known,
    /// What it says may hold a word of the line's own.
    #[error("{}", short(&.0.to_string(), 200))]
    NoSpan(serde_json::Error),
}

/// The span that a line is.
fn read(line: &[u8]) -> Result<ClosedSpan, Bad> {
    match line.len() {
        _ if !line.starts_with(b"{") => Err(Bad::NoObject),
        bytes if bytes > LONGEST_LINE => Err(Bad::TooLong(bytes)),
        _ => serde_json::from_slice(line).map_err(Bad::NoSpan),
    }
}

/// Refuses a line that is a record of a journal, for whose run there is a better report.
fn must_be_no_record(line: &[u8]) -> Result<(), NoStory> {
    match serde_json::from_slice(line) {
        Ok(Exported { conversation, .. }) => Err(NoStory::Records { conversation }),
        Err(_) => Ok(()),
    }
}

impl Story {
    /// The names of these runs, for a message.
    pub(crate) fn named(&self, runs: Vec<usize>) -> String {
        let path = |run: usize| self.runs.get(run).map(|run| run.path.clone()).unwrap_or_default();
        let name = |path: String| if path.is_empty() { UNNAMED.to_owned() } else { path };
        listed(&distinct(runs.into_iter().map(path).map(name).collect()))
    }
}

/// Each name once, where it comes first.
fn distinct(mut names: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(name.clone()));
    names
}

/// The first names of many, for a message.
pub fn listed(known: &[String]) -> String {
    let named: Vec<String> = known.iter().take(MOST_NAMED).map(|name| short(name, 80)).collect();
    match known.len().saturating_sub(MOST_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {}", named.join(", "), counted(more as u64, "more", "more")),
    }
}
