//! What came back against what was sent.

use serde_json::Value;

use crate::Failed;
use crate::houses::WORDS;
use crate::phoenix::Span;
use crate::scenes::{Played, Trace};
use crate::tree::drawn;

/// Where words are kept: our attributes, and those that Phoenix makes of them.
const CONTENTS: [&str; 9] = [
    "gen_ai.system_instructions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "input.value",
    "output.value",
    "llm.input_messages",
    "llm.output_messages",
];

impl Played {
    /// The traces as they came back, a span a line, and whether they are as they were sent.
    pub(crate) fn compare(&self, spans: &[Span]) -> (String, Result<(), Failed>) {
        let mut text = format!("{}\n", self.title);
        for (place, trace) in self.traces.iter().enumerate() {
            if place > 0 {
                text.push('\n');
            }
            let of_trace: Vec<&Span> = spans.iter().filter(|span| span.trace == trace.id).collect();
            let tree = drawn(&of_trace);
            text.extend(tree.lines().map(|line| format!("  {line}\n")));
            let holds = same(trace.tree, &tree).and_then(|()| {
                of_trace.iter().try_for_each(|span| {
                    self.holds(trace, span).map_err(|why| format!("{}: {why}", span.name).into())
                })
            });
            if let Err(why) = holds.and_then(|()| self.words_are(&of_trace)) {
                return (text, Err(format!("{}: {why}", self.title).into()));
            }
        }
        (text, Ok(()))
    }

    /// What is true of each span.
    fn holds(&self, trace: &Trace, span: &Span) -> Result<(), Failed> {
        let told = |name: &str| span.told(name).unwrap_or_default();
        if told("session.id") != self.conversation {
            return Err(format!("it is of session {}, not {}", told("session.id"), self.conversation).into());
        }
        // A branch has its asker's conversation with numbers behind it.
        let conversation = told("gen_ai.conversation.id");
        let of_run = told("gen_ai.operation.name") != "execute_tool";
        if of_run && !conversation.starts_with(&self.conversation) {
            return Err(format!("it is of conversation {conversation}").into());
        }
        if span.kind == "AGENT"
            && [told("agent.name"), told("graph.node.id")] != [0; 2].map(|_| told("gen_ai.agent.name"))
        {
            return Err("the agent's node has another name".into());
        }
        let is_root = span.parent.is_none();
        if span.told("resumed_trace") != trace.resumed.clone().filter(|_| is_root) {
            return Err(format!("it goes on with {}", told("resumed_trace")).into());
        }
        if span.start > span.end {
            return Err(format!("it ended at {} and began at {}", span.end, span.start).into());
        }
        Ok(())
    }

    /// Words are there where they are asked for, and nowhere else.
    fn words_are(&self, spans: &[&Span]) -> Result<(), Failed> {
        for name in CONTENTS {
            let mut told = spans.iter().flat_map(|span| &span.attributes);
            let there = told.find(|(known, value)| known.starts_with(name) && !is_model(value));
            match (there, self.shows_contents) {
                (Some(_), true) | (None, false) => {}
                (Some((_, value)), false) => return Err(format!("{name} has been sent: {value}").into()),
                (None, true) => return Err(format!("{name} is missing").into()),
            }
        }
        let all: Vec<&Value> = spans.iter().flat_map(|span| span.attributes.values()).collect();
        let said = WORDS.into_iter().find(|words| all.iter().any(|value| value.to_string().contains(words)));
        match said {
            Some(words) if !self.shows_contents => {
                Err(format!("somebody's words have been sent: {words}").into())
            }
            None if self.shows_contents => Err("nobody's words have been sent".into()),
            _ => Ok(()),
        }
    }
}

/// Whether it is what Phoenix shows as the output of a call of whose words it was sent none: the model's name, and the reply's.
fn is_model(value: &Value) -> bool {
    let told = value.as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let names = told.as_ref().and_then(Value::as_object);
    names.is_some_and(|names| names.keys().all(|name| name == "model" || name == "id"))
}

/// Whether the trees are the same; if not, the first line that differs.
fn same(sent: &str, came: &str) -> Result<(), Failed> {
    let (mut sent, mut came) = (sent.lines(), came.lines());
    loop {
        match (sent.next(), came.next()) {
            (None, None) => return Ok(()),
            (sent, came) if sent == came => {}
            (sent, came) => {
                let [sent, came] = [sent, came].map(|line| line.unwrap_or("(nothing)").trim());
                return Err(format!("where this was sent:\n  {sent}\nthis came back:\n  {came}").into());
            }
        }
    }
}
