//! A story from the lines of a trace.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use sommelier_metrics::{ClosedSpan, names};

use crate::draft::{Draft, json};
use crate::story::{Finding, Hop, Outcome, Passage, Question, Source, Spent, Story, What};

const APPROVAL: &str = "approval";

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
    /// Its lines are the records of a journal, as `sommelier export` prints them.
    #[error("these are records of a journal, {conversation:?} among them, and no spans")]
    Records {
        /// The conversation of the first.
        conversation: String,
    },
    /// It tells of other conversations.
    #[error("it does not tell of {wanted:?}, but of {}", known.join(", "))]
    OtherConversation {
        /// The one that was asked for.
        wanted: String,
        /// Those that it tells of.
        known: Vec<String>,
    },
}

impl Story {
    /// The story that the lines of a [`LinesLayer`](sommelier_metrics::LinesLayer) tell, of one conversation or of all that
    /// are in them. Lines may be of several processes, and of releases that wrote less into them. Lines that are none are
    /// counted, and a remark tells of them.
    ///
    /// # Errors
    /// [`NoStory`] where nothing can be told.
    pub fn of_spans(lines: &[u8], conversation: Option<&str>) -> Result<Self, NoStory> {
        let file = File::read(lines)?;
        let mut teller = Teller {
            tree: &file.tree,
            draft: Draft::default(),
            words: BTreeMap::new(),
            before: BTreeMap::new(),
            depth: 0,
            deep: Vec::new(),
        };
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
        teller.draft.user();
        for root in &told {
            teller.root(*root);
            while let Some((place, run)) = teller.deep.pop() {
                teller.walk(place, &run);
            }
        }
        let mut story = teller.finish();
        story.title = match conversation {
            Some(conversation) => conversation.to_owned(),
            None => known.iter().copied().collect::<Vec<_>>().join(", "),
        };
        story.remarks = file.remarks(&story, known.len(), conversation.is_some());
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
        let mut tree = Tree::default();
        let (mut count, mut bad, mut timeless) = (0, None::<(usize, String)>, 0);
        for (number, line) in lines.split(|byte| *byte == b'\n').enumerate() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            count += 1;
            let why = match serde_json::from_slice::<ClosedSpan>(line) {
                Ok(span) => {
                    timeless += usize::from(span.at_us == 0);
                    if tree.add(span) {
                        continue;
                    }
                    "it tells of a span once more".to_owned()
                }
                Err(why) => {
                    if let Ok(Exported { conversation, .. }) = serde_json::from_slice(line) {
                        return Err(NoStory::Records { conversation });
                    }
                    why.to_string()
                }
            };
            bad.get_or_insert_with(|| (0, format!("line {}: {why}", number + 1))).0 += 1;
        }
        if tree.nodes.is_empty() {
            let first = bad.map_or_else(|| "it is empty".to_owned(), |(_, first)| first);
            return Err(NoStory::NoSpan { lines: count, first });
        }
        tree.link();
        Ok(Self { tree, bad, timeless })
    }

    /// What the file does not tell, or could not be read in it.
    fn remarks(&self, story: &Story, conversations: usize, is_one: bool) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some((count, first)) = &self.bad {
            remarks.push(match count {
                1 => format!("1 line is no span and was left out, {first}."),
                _ => format!("{count} lines are no spans and were left out, the first of them {first}."),
            });
        }
        if is_one && conversations > 1 {
            remarks.push(format!("The file tells of {} more conversations.", conversations - 1));
        }
        let lost =
            self.tree.nodes.iter().filter(|node| node.parent.is_none() && !node.span.is_root()).count();
        if lost > 0 {
            remarks.push(format!(
                "The spans around {lost} others are not in the file, so these stand by themselves."
            ));
        }
        if self.timeless > 0 {
            remarks.push(format!(
                "{} lines are of a release that wrote no time of day; their times count from when their process began.",
                self.timeless
            ));
        }
        let is_said = |what: &What| match what {
            What::Said { text, .. } | What::Replied { text, .. } => text.is_some(),
            What::Ran { input, output, .. } => input.is_some() || output.is_some(),
            _ => false,
        };
        let has_packages = story.hops.iter().any(|hop| hop.package.is_some());
        if !has_packages && !story.events.iter().any(|event| is_said(&event.what)) {
            remarks.push("No words, arguments or packages are in the trace: they are there only where they were asked for.".to_owned());
        }
        remarks.push("A trace tells which ways were gone, and not which there are; what was used, and not how much there was.".to_owned());
        if self.tree.nodes.iter().any(|node| node.is_of_people()) {
            remarks.push(
                "A trace tells that a person was waited for, and not what was asked and answered.".to_owned(),
            );
        }
        remarks
    }
}

/// Spans by who stands around whom.
#[derive(Default)]
struct Tree {
    nodes: Vec<Node>,
    /// Where each span is, by its layer and its number.
    places: BTreeMap<(String, u64), usize>,
    /// How many processes have written lines without the name of a layer.
    unnamed: u64,
}

struct Node {
    span: ClosedSpan,
    layer: String,
    parent: Option<usize>,
    children: Vec<usize>,
}

impl Node {
    fn is(&self, name: &str) -> bool {
        self.span.name == name
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.span.fields.text(name)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.span.fields.number(name)
    }

    fn begin(&self) -> u64 {
        if self.span.at_us == 0 { self.span.start_us } else { self.span.at_us }
    }

    fn end(&self) -> u64 {
        self.begin().saturating_add(self.span.duration_us)
    }

    fn is_of_people(&self) -> bool {
        self.text(names::END) == Some("waiting") || self.text(APPROVAL) == Some("approved_by_person")
    }
}

impl Tree {
    /// Whether the span is a new one.
    fn add(&mut self, span: ClosedSpan) -> bool {
        let mut layer = span.layer.to_string();
        if layer.is_empty() {
            // Who begins to count anew is another process.
            let has = |unnamed: u64| self.places.contains_key(&(format!("#{unnamed}"), span.span));
            if has(self.unnamed) {
                self.unnamed += 1;
            }
            layer = format!("#{}", self.unnamed);
        }
        let place = self.nodes.len();
        let known = self.places.entry((layer.clone(), span.span)).or_insert(place);
        if *known != place {
            return false;
        }
        self.nodes.push(Node { span, layer, parent: None, children: Vec::new() });
        true
    }

    /// Finds who stands around whom. Of spans that say that they stand around each other, the first stands alone.
    fn link(&mut self) {
        let parent = |node: &Node| self.places.get(&(node.layer.clone(), node.span.parent?)).copied();
        let parents: Vec<Option<usize>> = self.nodes.iter().map(parent).collect();
        for (place, parent) in parents.into_iter().enumerate() {
            let Some(parent) = parent else { continue };
            if let Some(node) = self.nodes.get_mut(place) {
                node.parent = Some(parent);
            }
            if let Some(parent) = self.nodes.get_mut(parent) {
                parent.children.push(place);
            }
        }
        self.part();
        let begins: Vec<(u64, u64)> = self.nodes.iter().map(|node| (node.begin(), node.span.span)).collect();
        for node in &mut self.nodes {
            node.children.sort_by_key(|child| begins.get(*child).copied());
        }
    }

    /// Parts what stands around each other: no root leads there.
    fn part(&mut self) {
        let mut is_led_to = vec![false; self.nodes.len()];
        let roots = (0..self.nodes.len()).filter(|place| self.parent(*place).is_none());
        let mut next: Vec<usize> = roots.collect();
        for first in 0..=self.nodes.len() {
            while let Some(place) = next.pop() {
                if let Some(is_led_to) = is_led_to.get_mut(place) {
                    *is_led_to = true;
                }
                next.extend(self.nodes.get(place).map(|node| &node.children).into_iter().flatten());
            }
            if is_led_to.get(first).is_some_and(|is_led_to| !is_led_to) {
                let parent = self.nodes.get_mut(first).and_then(|node| node.parent.take());
                if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(parent)) {
                    parent.children.retain(|child| *child != first);
                }
                next.push(first);
            }
        }
    }

    fn parent(&self, place: usize) -> Option<usize> {
        self.nodes.get(place)?.parent
    }

    /// The spans that nothing stands around, in the order in which they began.
    fn roots(&self) -> Vec<usize> {
        let mut roots: Vec<usize> = (0..self.nodes.len())
            .filter(|place| self.nodes.get(*place).is_some_and(|it| it.parent.is_none()))
            .collect();
        roots.sort_by_key(|root| {
            self.nodes.get(*root).map(|node| (node.begin(), node.layer.clone(), node.span.span))
        });
        roots
    }

    fn conversation(&self, place: usize) -> Option<&str> {
        self.nodes.get(place)?.text(names::CONVERSATION_ID)
    }
}

/// Tells what spans say, span by span.
struct Teller<'t> {
    tree: &'t Tree,
    draft: Draft,
    /// The newest words of each run.
    words: BTreeMap<String, String>,
    /// How each conversation ended last.
    before: BTreeMap<String, String>,
    /// How deep in the tree it is.
    depth: usize,
    /// What stands deeper than it goes, each with its run: told when it has come back.
    deep: Vec<(usize, String)>,
}

/// No run nests so deep; a file may.
const DEEPEST: usize = 200;

impl<'t> Teller<'t> {
    fn root(&mut self, place: usize) {
        let Some(node) = self.tree.nodes.get(place) else { return };
        let run = node.text(names::CONVERSATION_ID).unwrap_or_default().to_owned();
        if !node.is(names::INVOKE_WORKFLOW) {
            return self.walk(place, &run);
        }
        let entry = node.text(names::AGENT_NAME).unwrap_or_default();
        let agent = self.draft.agent(&run, entry);
        let goes_on = node.text(names::RESUMED_TRACE).is_some()
            || self.before.get(&run).is_some_and(|end| end == "waiting");
        if goes_on {
            self.draft.note(node.begin(), &run, Some(agent), "goes on", None);
        } else {
            let (from, text) = (self.draft.user(), self.heard(place));
            self.draft.event(node.begin(), &run, What::Said { from, to: agent, text });
        }
        self.children(node, &run);
        let end = node.text(names::END).or_else(|| node.text(names::ERROR_TYPE)).unwrap_or("open").to_owned();
        let agent = self.last_agent(node, &run);
        match &*end {
            "waiting" => self.draft.note(node.end(), &run, agent, "waits for a person", None),
            _ => {
                let text = self.words.get(&run).filter(|_| end == "answered").cloned();
                self.draft.event(node.end(), &run, What::Ended { agent, end: end.clone(), text });
            }
        }
        self.draft.story.outcome = Outcome {
            answer: self.words.get(&run).filter(|_| end == "answered").cloned(),
            why: node.text(names::MEASURE).map(|measure| format!("{measure} used up")),
            status: end.clone(),
        };
        self.before.insert(run, end);
    }

    /// The agent whose activation began last.
    fn last_agent(&self, root: &Node, run: &str) -> Option<usize> {
        let children = root.children.iter().rev().filter_map(|child| self.tree.nodes.get(*child));
        let name =
            children.into_iter().find(|child| child.is(names::INVOKE_AGENT))?.text(names::AGENT_NAME)?;
        self.draft.known(run, name)
    }

    fn children(&mut self, node: &'t Node, run: &str) {
        if self.depth == DEEPEST {
            self.deep.extend(node.children.iter().rev().map(|child| (*child, run.to_owned())));
            return;
        }
        self.depth += 1;
        for child in &node.children {
            self.walk(*child, run);
        }
        self.depth -= 1;
    }

    fn walk(&mut self, place: usize, run: &str) {
        let Some(node) = self.tree.nodes.get(place) else { return };
        match &*node.span.name {
            names::INVOKE_AGENT => {
                let run = node.text(names::CONVERSATION_ID).unwrap_or(run).to_owned();
                self.draft.agent(&run, node.text(names::AGENT_NAME).unwrap_or_default());
                self.children(node, &run);
            }
            names::DELEGATE => self.delegate(node, run),
            // A later release may have spans of other names, and more within those that are known.
            name => {
                match name {
                    names::CHAT => self.chat(node, run),
                    names::EXECUTE_TOOL => self.tool(node, run),
                    names::HANDOFF => self.handoff(node, run),
                    _ => {}
                }
                self.children(node, run);
            }
        }
    }

    fn agent(&mut self, node: &Node, run: &str) -> usize {
        self.draft.agent(run, node.text(names::AGENT_NAME).unwrap_or_default())
    }

    fn chat(&mut self, node: &Node, run: &str) {
        let said = node.text(names::OUTPUT_MESSAGES).map(messages).unwrap_or_default();
        let text = said.iter().rev().find_map(Message::text);
        if let Some(text) = &text {
            self.words.insert(run.to_owned(), text.clone());
        }
        let error = node.text(names::ERROR_TYPE).map(str::to_owned);
        let model = node.text(names::DECISION).or_else(|| node.text(names::RESPONSE_MODEL));
        let what = What::Replied {
            agent: self.agent(node, run),
            model: model.or_else(|| node.text(names::REQUEST_MODEL)).map(str::to_owned),
            text,
            calls: said.iter().flat_map(Message::calls).collect(),
            input_tokens: node.number(names::INPUT_TOKENS),
            output_tokens: node.number(names::OUTPUT_TOKENS),
            error,
        };
        self.draft.timed(node.end(), Some(node.span.duration_us), run, what);
    }

    fn tool(&mut self, node: &Node, run: &str) {
        let text = |name: &str| node.text(name).map(str::to_owned);
        let what = What::Ran {
            agent: self.agent(node, run),
            tool: node.text(names::TOOL_NAME).unwrap_or_default().to_owned(),
            input: text(names::TOOL_ARGUMENTS),
            output: text(names::TOOL_RESULT),
            error: text(names::ERROR_TYPE),
            approval: text(APPROVAL),
        };
        self.draft.timed(node.end(), Some(node.span.duration_us), run, what);
    }

    fn handoff(&mut self, node: &Node, run: &str) {
        let number = |name: &str| node.number(name).unwrap_or_default();
        let error = node.text(names::ERROR_TYPE).map(str::to_owned);
        let to_name = node.text(names::TRANSFER_TARGET).unwrap_or_default();
        let outcome = match node.text(names::OUTCOME) {
            Some(names::TAKEN) => Passage::Taken,
            Some(names::TAKEN_OUT) => Passage::TakenOut,
            Some(names::REFUSED) => Passage::Refused {
                guard: node.text(names::REFUSAL).unwrap_or_default().to_owned(),
                code: error,
                detail: None,
            },
            _ => Passage::NotTaken { why: error.unwrap_or_default() },
        };
        let to = match outcome {
            Passage::Taken => Some(self.draft.agent(run, to_name)),
            _ => self.draft.known(run, to_name),
        };
        let hop = Hop {
            id: None,
            run: run.to_owned(),
            number: node.number(names::HOP),
            from: self.agent(node, run),
            to,
            to_name: to_name.to_owned(),
            at_us: node.end(),
            package: node.text(names::TOOL_ARGUMENTS).map(json),
            package_bytes: number(names::PACKAGE_BYTES),
            history_bytes: number(names::HISTORY_BYTES),
            reference_bytes: number(names::REFERENCE_BYTES),
            left_behind: Vec::new(),
            outcome,
            end: None,
            open_items: Vec::new(),
        };
        self.draft.hop(hop);
    }

    fn delegate(&mut self, node: &'t Node, run: &str) {
        let tool = node.text(names::TOOL_NAME).unwrap_or_default().to_owned();
        let path = node.text(names::CHILD_RUN).unwrap_or_default().to_owned();
        let text = |name: &str| node.text(name).map(str::to_owned);
        let from = self.agent(node, run);
        let refusal = text(names::REFUSAL);
        let to = match (&refusal, node.text(names::TRANSFER_TARGET)) {
            (None, Some(target)) => {
                self.draft.branch(&path, run, &tool);
                Some(self.draft.agent(&path, target))
            }
            _ => None,
        };
        let question = Question {
            id: path.clone(),
            from,
            to,
            tool,
            at_us: node.begin(),
            until_us: to.map(|_| node.end()),
            package: node.text(names::TOOL_ARGUMENTS).map(json),
            package_bytes: node.number(names::PACKAGE_BYTES).unwrap_or_default(),
            outcome: match refusal {
                Some(code) => Finding::Refused { code, detail: text(names::MEASURE) },
                None => Finding::Open,
            },
        };
        self.draft.question(run, question);
        let place = self.draft.story.questions.len() - 1;
        self.children(node, &path);
        if to.is_none() {
            return;
        }
        let returned = Finding::Returned {
            status: text(names::STATUS).unwrap_or_default(),
            end: text(names::END),
            finding: self.words.get(&path).cloned(),
            reason: text(names::MEASURE).map(|measure| format!("{measure} used up")),
            steps: node.number(names::STEPS_USED).unwrap_or_default(),
        };
        if let Some(question) = self.draft.story.questions.get_mut(place) {
            question.outcome = returned;
        }
        let by = self.last_agent(node, &path).or(to).unwrap_or(from);
        self.draft.event(node.end(), run, What::Returned { question: place, by });
    }

    /// What the user said, where the first request under a span has it.
    fn heard(&self, place: usize) -> Option<String> {
        let mut next = vec![place];
        while let Some(node) = self.tree.nodes.get(next.pop()?) {
            if node.is(names::CHAT) {
                let heard = messages(node.text(names::INPUT_MESSAGES)?);
                return heard.iter().rev().filter(|message| message.role == "user").find_map(Message::text);
            }
            next.extend(node.children.iter().rev());
        }
        None
    }

    fn finish(mut self) -> Story {
        // Branches went on side by side, and were told one after the other.
        self.draft.story.events.sort_by_key(|event| event.at_us);
        self.draft.story.source = Source::Trace;
        self.draft.story.budget = used(&self.draft.story);
        self.draft.finish(Vec::new())
    }
}

fn used(story: &Story) -> Vec<Spent> {
    let sum = |of: fn(&crate::story::Part) -> u64| story.parts.iter().map(of).fold(0, u64::saturating_add);
    let spent = |measure: &str, used| Spent { measure: measure.to_owned(), used, allowed: None };
    let taken = story.taken().count() as u64;
    let tokens = sum(|part| part.input_tokens).saturating_add(sum(|part| part.output_tokens));
    vec![
        spent("model calls", sum(|part| part.model_calls)),
        spent("tool calls", sum(|part| part.tool_calls)),
        spent("tokens", tokens),
        spent("handoffs", taken),
    ]
}

/// A message, as spans have it where contents were asked for.
struct Message {
    role: String,
    parts: Vec<Value>,
}

fn messages(text: &str) -> Vec<Message> {
    let read: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    let text =
        |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let message = |value: &Value| Message {
        role: text(value, "role"),
        parts: value.get("parts").and_then(Value::as_array).cloned().unwrap_or_default(),
    };
    read.iter().map(message).collect()
}

impl Message {
    fn of_kind<'m>(&'m self, kind: &'m str, member: &'m str) -> impl Iterator<Item = String> + 'm {
        let is_it = move |part: &&Value| part.get("type").and_then(Value::as_str) == Some(kind);
        self.parts.iter().filter(is_it).filter_map(move |part| Some(part.get(member)?.as_str()?.to_owned()))
    }

    fn text(&self) -> Option<String> {
        let text = self.of_kind("text", "content").collect::<Vec<_>>().join("\n");
        (!text.is_empty()).then_some(text)
    }

    fn calls(&self) -> Vec<String> {
        self.of_kind("tool_call", "name").collect()
    }
}
