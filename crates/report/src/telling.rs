//! What spans say, span by span.

use std::collections::BTreeMap;

use serde_json::Value;
use sommelier_metrics::names;

use crate::conversations::SEVERAL;
use crate::draft::{Draft, json};
use crate::shown::counted;
use crate::story::{Finding, Hop, Outcome, Passage, Question, Run, Source, Spent, Story, What, is_denied};
use crate::tree::{Node, Tree};

/// The tag before a package that one agent has handed to another.
const PACKAGE: &str = "<handoff_package>";

/// What is noted of a run that waits, and of one that does no longer.
pub(crate) const WAITS: &str = "waits for a person";
pub(crate) const GOES_ON: &str = "goes on";

/// Tells what spans say.
pub(crate) struct Teller<'t> {
    tree: &'t Tree,
    draft: Draft,
    /// The newest words of each run.
    words: BTreeMap<usize, String>,
    /// The runs of the traces that name no conversation, or more than one: what is of different traces is no one conversation.
    nameless: BTreeMap<(&'t str, u64), usize>,
    /// How each conversation ended last.
    before: BTreeMap<usize, String>,
    /// The runs of the roots that lack spans of their beginning, once for each of these.
    beheaded: Vec<usize>,
}

/// What is still to be told, of spans that may stand within each other as deep as the file is long.
enum Next<'t> {
    /// A span and what stands within it, in a run.
    Span(usize, usize),
    /// The end of a branch, after what stands within its span.
    Return { node: &'t Node, question: usize, branch: usize },
}

impl<'t> Teller<'t> {
    pub(crate) fn new(tree: &'t Tree) -> Self {
        let mut draft = Draft::default();
        draft.user();
        let (words, nameless, before) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { tree, draft, words, nameless, before, beheaded: Vec::new() }
    }

    /// Tells of a span that nothing stands around.
    pub(crate) fn root(&mut self, place: usize) {
        let Some(node) = self.tree.nodes.get(place) else { return };
        let run = match self.tree.conversation(place) {
            Some(name) => self.draft.run(name),
            None => *self.nameless.entry(node.trace()).or_insert_with(|| self.draft.nameless_run()),
        };
        if !node.is(names::INVOKE_WORKFLOW) {
            return self.tell(vec![Next::Span(place, run)]);
        }
        let entry = node.text(names::AGENT_NAME).unwrap_or_default();
        let agent = self.draft.agent(run, entry);
        let is_spoken = node.span.fields.is_set(names::WORDS_WAIT);
        let is_continued = node.text(names::RESUMED_TRACE).is_some()
            || self.before.get(&run).is_some_and(|end| end == "waiting");
        let goes_on = is_continued && !is_spoken;
        if goes_on {
            self.draft.note(node.begin(), run, Some(agent), GOES_ON, answered(node));
        } else {
            let (from, text) = (self.draft.user(), self.heard(place));
            self.draft.event(node.begin(), run, What::Said { from, to: agent, text });
        }
        if !goes_on && !is_spoken && self.lacks_its_beginning(node, entry) {
            self.beheaded.push(run);
        }
        self.tell(within(node, run).collect());
        let end = node.text(names::END).or_else(|| node.text(names::ERROR_TYPE)).unwrap_or("open").to_owned();
        let agent = self.last_agent(node, run);
        // What was said before is no answer to what is said next.
        let newest = self.words.remove(&run).filter(|_| end == "answered");
        let answer = node.text(names::OUTPUT_MESSAGES).and_then(last_text).or(newest);
        match &*end {
            "waiting" => self.draft.note(node.end(), run, agent, WAITS, waits_for(node)),
            _ => {
                let text = answer.clone();
                self.draft.event(node.end(), run, What::Ended { agent, end: end.clone(), text });
            }
        }
        let outcome = Outcome { answer, why: used_up(node), status: end.clone() };
        if let Some(run) = self.draft.story.runs.get_mut(run) {
            run.outcome = Some(outcome);
        }
        self.before.insert(run, end);
    }

    /// Whether spans of the beginning are missing below a root: the first who acts is not the one that the user spoke to, or
    /// acts before a model was asked.
    fn lacks_its_beginning(&self, root: &Node, entry: &str) -> bool {
        let child = |node: &Node, is_it: fn(&Node) -> bool| {
            let mut children = node.children.iter().filter_map(|child| self.tree.nodes.get(*child));
            children.find(|child| is_it(child))
        };
        let is_ended_well = matches!(root.text(names::END), Some("answered" | "waiting"));
        let Some(agent) = child(root, |child| child.is(names::INVOKE_AGENT)) else { return is_ended_well };
        let begins_late = child(agent, |_| true).map_or(is_ended_well, |first| !first.is(names::CHAT));
        agent.text(names::AGENT_NAME) != Some(entry) || begins_late
    }

    /// The agent whose activation began last.
    fn last_agent(&self, root: &Node, run: usize) -> Option<usize> {
        let children = root.children.iter().rev().filter_map(|child| self.tree.nodes.get(*child));
        let name =
            children.into_iter().find(|child| child.is(names::INVOKE_AGENT))?.text(names::AGENT_NAME)?;
        self.draft.known(run, name)
    }

    /// Tells what is still to be told, the last of it first.
    fn tell(&mut self, mut next: Vec<Next<'t>>) {
        while let Some(told) = next.pop() {
            match told {
                Next::Span(place, run) => self.span(place, run, &mut next),
                Next::Return { node, question, branch } => self.returned(node, question, branch),
            }
        }
    }

    fn span(&mut self, place: usize, run: usize, next: &mut Vec<Next<'t>>) {
        let Some(node) = self.tree.nodes.get(place) else { return };
        match &*node.span.name {
            names::INVOKE_AGENT => {
                let run =
                    node.text(names::CONVERSATION_ID).map_or(run, |path| self.draft.run_within(path, run));
                self.draft.agent(run, node.text(names::AGENT_NAME).unwrap_or_default());
                next.extend(within(node, run));
            }
            names::DELEGATE => self.delegate(node, run, next),
            // A later release may have spans of other names, and more within those that are known.
            name => {
                match name {
                    names::CHAT => self.chat(node, run),
                    names::EXECUTE_TOOL => self.tool(node, run),
                    names::HANDOFF => self.handoff(node, run),
                    _ => {}
                }
                next.extend(within(node, run));
            }
        }
    }

    fn agent(&mut self, node: &Node, run: usize) -> usize {
        self.draft.agent(run, node.text(names::AGENT_NAME).unwrap_or_default())
    }

    fn chat(&mut self, node: &Node, run: usize) {
        let said = node.text(names::OUTPUT_MESSAGES).map(messages).unwrap_or_default();
        let text = said.iter().rev().find_map(Message::text);
        if let Some(text) = &text {
            self.words.insert(run, text.clone());
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

    fn tool(&mut self, node: &Node, run: usize) {
        let text = |name: &str| node.text(name).map(str::to_owned);
        let what = What::Ran {
            agent: self.agent(node, run),
            tool: node.text(names::TOOL_NAME).unwrap_or_default().to_owned(),
            input: text(names::TOOL_ARGUMENTS),
            output: text(names::TOOL_RESULT),
            error: text(names::ERROR_TYPE),
            approval: text(names::APPROVAL),
        };
        self.draft.timed(node.end(), Some(node.span.duration_us), run, what);
    }

    fn handoff(&mut self, node: &Node, run: usize) {
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
            run,
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

    fn delegate(&mut self, node: &'t Node, run: usize, next: &mut Vec<Next<'t>>) {
        let tool = node.text(names::TOOL_NAME).unwrap_or_default().to_owned();
        let path = node.text(names::CHILD_RUN).unwrap_or_default().to_owned();
        let text = |name: &str| node.text(name).map(str::to_owned);
        let from = self.agent(node, run);
        let refusal = text(names::REFUSAL);
        let branch = match (&refusal, node.text(names::TRANSFER_TARGET)) {
            (None, Some(target)) => {
                let branch = self.draft.branch(&path, run, &tool);
                Some((branch, self.draft.agent(branch, target)))
            }
            _ => None,
        };
        let to = branch.map(|(_, to)| to);
        let question = Question {
            id: path,
            run,
            branch: branch.map(|(branch, _)| branch),
            from,
            to,
            tool,
            at_us: node.begin(),
            until_us: to.map(|_| node.end()),
            package: node.text(names::TOOL_ARGUMENTS).map(json),
            package_bytes: node.number(names::PACKAGE_BYTES).unwrap_or_default(),
            outcome: match refusal {
                Some(code) => Finding::Refused { code, detail: used_up(node) },
                None => Finding::Open,
            },
        };
        let question = self.draft.question(question);
        next.extend(branch.map(|(branch, _)| Next::Return { node, question, branch }));
        next.extend(within(node, branch.map_or(run, |(branch, _)| branch)));
    }

    fn returned(&mut self, node: &Node, place: usize, branch: usize) {
        let text = |name: &str| node.text(name).map(str::to_owned);
        let returned = Finding::Returned {
            status: text(names::STATUS).unwrap_or_default(),
            end: text(names::END),
            finding: self.words.remove(&branch),
            reason: used_up(node),
            steps: node.number(names::STEPS_USED).unwrap_or_default(),
        };
        let last = self.last_agent(node, branch);
        let Some(question) = self.draft.story.questions.get_mut(place) else { return };
        question.outcome = returned;
        let (run, by) = (question.run, last.or(question.to).unwrap_or(question.from));
        self.draft.event(node.end(), run, What::Returned { question: place, by });
    }

    /// What the user said: a root tells it where contents were asked for, and in lines of an older release the first request
    /// below it does. What one agent hands to another is not the user's.
    fn heard(&self, place: usize) -> Option<String> {
        let mut next = vec![place];
        while let Some(node) = self.tree.nodes.get(next.pop()?) {
            if let Some(heard) = node.text(names::INPUT_MESSAGES) {
                return last_text(heard).filter(|text| !text.contains(PACKAGE));
            }
            if node.is(names::CHAT) {
                return None;
            }
            next.extend(node.children.iter().rev());
        }
        None
    }

    pub(crate) fn finish(mut self) -> Story {
        // Branches went on side by side, and were told one after the other.
        self.draft.story.events.sort_by_key(|event| event.at_us);
        self.draft.story.source = Source::Trace;
        let used = Used::of_runs(&self.draft.story);
        let story = &mut self.draft.story;
        story.outcome = outcome(&mut story.runs);
        story.budget = Used::of_conversations(&used, story);
        for (run, used) in story.runs.iter_mut().zip(used).filter(|(run, _)| run.within.is_some()) {
            run.budget = used.spent();
        }
        if !self.beheaded.is_empty() {
            let of = counted(self.beheaded.len() as u64, "message", "messages");
            let names = story.named(self.beheaded);
            story.remarks.push(format!(
                "What first followed from {of} of {names} is not in the file: the lines of the beginning are missing."
            ));
        }
        self.draft.finish(Vec::new())
    }
}

/// What a story came to, by what its conversations did. Where there is but one, it is the story's alone.
fn outcome(runs: &mut [Run]) -> Outcome {
    let named = |status: &str| Outcome { status: status.to_owned(), ..Outcome::default() };
    let mut conversations: Vec<&mut Run> = runs.iter_mut().filter(|run| run.within.is_none()).collect();
    match conversations.as_mut_slice() {
        // Of what has no root in the file nobody knows that it has ended.
        [] => named("open"),
        [run] => run.outcome.take().unwrap_or_else(|| named("open")),
        several => {
            several.iter_mut().for_each(|run| _ = run.outcome.get_or_insert_with(|| named("open")));
            named(SEVERAL)
        }
    }
}

/// What was used up, where that has ended or refused something.
fn used_up(node: &Node) -> Option<String> {
    node.text(names::MEASURE).map(|measure| format!("{measure} used up"))
}

/// What a person is asked, in a word or two, where the root of a run that waits says it.
fn waits_for(root: &Node) -> Option<String> {
    root.text(names::WAITS_FOR).filter(|asked| !asked.is_empty()).map(|asked| asked.replace('_', " "))
}

/// What a person has answered, in a word, where the root of what follows says it.
fn answered(root: &Node) -> Option<String> {
    let (answer, question) = (root.text(names::ANSWERED)?, root.text(names::QUESTION)?);
    Some(format!("a person has answered {answer} ({question})").replace('_', " "))
}

/// What stands within a span, the last first.
fn within<'t>(node: &'t Node, run: usize) -> impl Iterator<Item = Next<'t>> {
    node.children.iter().rev().map(move |child| Next::Span(*child, run))
}

/// What a run has used, its branches included.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    model_calls: u64,
    tool_calls: u64,
    tokens: u64,
    hops: u64,
}

impl Used {
    pub(crate) fn of_runs(story: &Story) -> Vec<Self> {
        let mut all = vec![Self::default(); story.runs.len()];
        for event in &story.events {
            let Some(used) = all.get_mut(event.run) else { continue };
            match &event.what {
                What::Replied { input_tokens, output_tokens, error: None, .. } => {
                    used.model_calls += 1;
                    let tokens =
                        input_tokens.unwrap_or_default().saturating_add(output_tokens.unwrap_or_default());
                    used.tokens = used.tokens.saturating_add(tokens);
                }
                What::Ran { approval, .. } => {
                    used.tool_calls += u64::from(!approval.as_deref().is_some_and(is_denied));
                }
                What::HandedOver { hop } => {
                    let is_taken = |hop: &Hop| matches!(hop.outcome, Passage::Taken | Passage::TakenOut);
                    used.hops += u64::from(story.hops.get(*hop).is_some_and(is_taken));
                }
                _ => {}
            }
        }
        // A branch stands behind the run that asked it.
        for (place, run) in story.runs.iter().enumerate().rev() {
            let used = all.get(place).copied().unwrap_or_default();
            if let Some(asker) = run.within.and_then(|asker| all.get_mut(asker)) {
                asker.add(used);
            }
        }
        all
    }

    /// What all conversations have used, with their branches.
    pub(crate) fn of_conversations(used: &[Self], story: &Story) -> Vec<Spent> {
        let of_one = used.iter().zip(&story.runs).filter(|(_, run)| run.within.is_none());
        let mut sum = Self::default();
        of_one.for_each(|(used, _)| sum.add(*used));
        sum.spent()
    }

    fn add(&mut self, other: Self) {
        self.model_calls += other.model_calls;
        self.tool_calls += other.tool_calls;
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.hops += other.hops;
    }

    fn spent(self) -> Vec<Spent> {
        let spent = |measure: &str, used| Spent { measure: measure.to_owned(), used, allowed: None };
        vec![
            spent("model calls", self.model_calls),
            spent("tool calls", self.tool_calls),
            spent("tokens", self.tokens),
            spent("handoffs", self.hops),
        ]
    }
}

/// A message, as spans have it where contents were asked for.
struct Message {
    role: String,
    parts: Vec<Value>,
}

/// The last that somebody said who is no tool: the user in a request, the model in a reply.
fn last_text(text: &str) -> Option<String> {
    messages(text).iter().rev().filter(|message| message.role != "tool").find_map(Message::text)
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
