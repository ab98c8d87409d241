//! The layer that draws one tree for each root span.
//!
//! A line written as a span closes would stand before its parent's; so the spans of one root are kept until the
//! root closes, and its whole tree is written with one call of `write`. Children stand in the order in which
//! they opened, behind the time each of them took:
//!
//! ```text
//!   12.4 ms  invoke_workflow · conversation c-17 · answered
//!    8.2 ms  ├─ agent booking_agent
//!    1.2 ms  │  ├─ chat scripted · concept (claude-sonnet-5) · 812 tokens in, 40 out · tool_use
//!     85 µs  │  ├─ tool get_quote
//!     31 µs  │  └─ handoff 1 · booking_agent → policy_agent 105 B (left behind 433 B)
//!    3.1 ms  └─ agent policy_agent
//!    1.1 ms     └─ chat scripted · 300 tokens in, 40 out · end_turn
//! ```
//!
//! A question to a delegate has its branch under it. Branches that ran at the same time stand one after the other, each
//! whole:
//!
//! ```text
//!    6.0 ms  └─ agent supervisor
//!    1.3 ms     ├─ chat scripted · 90 tokens in, 60 out · tool_use
//!    2.9 ms     ├─ delegate ask_billing done · supervisor ⇄ billing 60 B · 2 steps
//!    2.8 ms     │  └─ agent billing
//!    1.2 ms     │     ├─ chat scripted · 40 tokens in, 20 out · tool_use
//!     70 µs     │     ├─ tool find_invoice
//!    1.2 ms     │     └─ chat scripted · 70 tokens in, 20 out · end_turn
//!    1.4 ms     ├─ delegate ask_shipping done · supervisor ⇄ shipping 49 B · 1 step
//!    1.3 ms     │  └─ agent shipping
//!    1.2 ms     │     └─ chat scripted · 40 tokens in, 20 out · end_turn
//!    1.1 ms     └─ chat scripted · 160 tokens in, 40 out · end_turn
//! ```
//!
//! Times are those of [`duration`], as in a report. Values are cut at 120 characters, levels past the 64th are indented no further, and
//! characters that steer a terminal are escaped. A writer that fails loses trees and never disturbs the run. A root that never closes is
//! never drawn.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tracing::{Subscriber, span};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use crate::fields::Fields;
use crate::names;
use crate::slots::LayerId;
use crate::text::{duration, lock, micros, shown, steps};

/// How many spans of one root are kept and drawn; a last line counts the others.
pub const MAX_DRAWN_SPANS: usize = 10_000;

/// Draws the trees which the [module](self) describes.
///
/// ```
/// use sommelier_metrics::TreeLayer;
/// use tracing::info_span;
/// use tracing_subscriber::prelude::*;
///
/// let subscriber = tracing_subscriber::registry().with(TreeLayer::new(std::io::stderr()).with_ansi(true));
/// tracing::subscriber::with_default(subscriber, || {
///     let _workflow = info_span!(target: "sommelier", "invoke_workflow", end = "answered").entered();
///     info_span!(target: "sommelier", "invoke_agent", gen_ai.agent.name = "policy_agent");
/// });
/// ```
pub struct TreeLayer<W> {
    id: LayerId,
    ansi: bool,
    times: bool,
    out: Mutex<W>,
}

impl<W: Write + Send + 'static> TreeLayer<W> {
    /// A layer that writes to `out`, without colour. `out` is flushed after each tree.
    ///
    /// ```
    /// # use sommelier_metrics::TreeLayer;
    /// let layer = TreeLayer::new(std::io::stderr());
    /// # drop(layer);
    /// ```
    #[must_use]
    pub fn new(out: W) -> Self {
        Self { id: LayerId::next(), ansi: false, times: true, out: Mutex::new(out) }
    }

    /// Whether to colour with ANSI escapes; off at first.
    ///
    /// ```
    /// # use sommelier_metrics::TreeLayer;
    /// use std::io::IsTerminal;
    ///
    /// let layer = TreeLayer::new(std::io::stderr()).with_ansi(std::io::stderr().is_terminal());
    /// # drop(layer);
    /// ```
    #[must_use]
    pub const fn with_ansi(mut self, ansi: bool) -> Self {
        self.ansi = ansi;
        self
    }

    /// Whether to lead each line with the time its span took; on at first. Without it the same run draws the
    /// same tree.
    ///
    /// ```
    /// # use sommelier_metrics::TreeLayer;
    /// let layer = TreeLayer::new(std::io::stderr()).with_times(false);
    /// # drop(layer);
    /// ```
    #[must_use]
    pub const fn with_times(mut self, times: bool) -> Self {
        self.times = times;
        self
    }
}

impl<W> fmt::Debug for TreeLayer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, ansi, times, .. } = self;
        f.debug_struct("TreeLayer")
            .field("id", id)
            .field("ansi", ansi)
            .field("times", times)
            .finish_non_exhaustive()
    }
}

impl<S, W> Layer<S> for TreeLayer<W>
where
    S: Subscriber + for<'lookup> LookupSpan<'lookup>,
    W: Write + Send + 'static,
{
    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        if attributes.metadata().target() != names::TARGET {
            return;
        }
        let Some(span) = context.span(id) else { return };
        let above = self.id.ancestor(&span, |open: &mut Open| Some((Arc::clone(&open.tree), open.node)));
        let (tree, parent) = match above {
            Some((tree, parent)) => (tree, parent),
            None => (Arc::default(), None),
        };
        let node = Node {
            name: attributes.metadata().name(),
            parent,
            opened: Instant::now(),
            duration_us: 0,
            fields: Fields::created(attributes),
        };
        let node = lock(&tree).grow(node);
        self.id.put(&mut span.extensions_mut(), Open { tree, node });
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id).filter(|span| span.metadata().target() == names::TARGET) else {
            return;
        };
        let later = Fields::recorded(values);
        if let Some(Open { tree, node: Some(node) }) = self.id.get::<Open>(&span.extensions())
            && let Some(node) = lock(tree).nodes.get_mut(*node)
        {
            node.fields.merge(later);
        }
    }

    fn on_close(&self, id: span::Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(Open { tree, node: Some(at) }) = self.id.take::<Open>(&mut span.extensions_mut()) else {
            return;
        };
        let mut tree = lock(&tree);
        if let Some(node) = tree.nodes.get_mut(at) {
            node.duration_us = micros(node.opened.elapsed());
        }
        if at == ROOT {
            let drawing = tree.draw(&Pen { ansi: self.ansi, times: self.times.then(|| tree.widest()) });
            let mut out = lock(&self.out);
            // Nobody is there to tell: a run does not depend on who watches it.
            let _ = out.write_all(drawing.as_bytes());
            let _ = out.flush();
        }
    }
}

/// What one open span holds in its extensions.
struct Open {
    tree: Arc<Mutex<Tree>>,
    /// The place in `Tree::nodes`; none when the tree was full.
    node: Option<usize>,
}

/// How many levels are indented; deeper ones stand below each other, lest a deep tree fill memory with blanks.
const MAX_INDENT: usize = 64;

/// The least width of the column of times.
const TIMES: usize = 9;

const ROOT: usize = 0;

#[derive(Default)]
struct Tree {
    /// In the order of opening; the root is first.
    nodes: Vec<Node>,
    left_out: u64,
}

struct Node {
    name: &'static str,
    parent: Option<usize>,
    opened: Instant,
    duration_us: u64,
    fields: Fields,
}

impl Tree {
    fn grow(&mut self, node: Node) -> Option<usize> {
        let orphan = node.parent.is_none() && !self.nodes.is_empty();
        if self.nodes.len() == MAX_DRAWN_SPANS || orphan {
            self.left_out += 1;
            return None;
        }
        self.nodes.push(node);
        Some(self.nodes.len() - 1)
    }

    /// How wide the column of times is, so that what stands behind it begins at one place.
    fn widest(&self) -> usize {
        let wide = |node: &Node| duration(node.duration_us).chars().count();
        self.nodes.iter().map(wide).fold(TIMES, usize::max)
    }

    fn draw(&self, pen: &Pen) -> String {
        let mut children: Vec<Vec<usize>> = self.nodes.iter().map(|_| Vec::new()).collect();
        for (at, node) in self.nodes.iter().enumerate() {
            if let Some(siblings) = node.parent.and_then(|parent| children.get_mut(parent)) {
                siblings.push(at);
            }
        }

        let mut drawing = String::new();
        // What is still to be drawn, the next one last: a node, the branches to its left, its own branch.
        let mut waiting = vec![(ROOT, String::new(), "")];
        while let Some((at, left, branch)) = waiting.pop() {
            let Some(node) = self.nodes.get(at) else { continue };
            pen.line(
                &mut drawing,
                Some(node.duration_us),
                &format!("{left}{branch}"),
                &self.label(node, pen),
            );
            let below = match branch {
                _ if left.chars().count() >= 3 * MAX_INDENT => left,
                "" => left,
                "└─ " => left + "   ",
                _ => left + "│  ",
            };
            for (n, child) in children[at].iter().rev().enumerate() {
                waiting.push((*child, below.clone(), if n == 0 { "└─ " } else { "├─ " }));
            }
        }
        if self.left_out > 0 {
            pen.line(&mut drawing, None, "", &format!("({} more spans)", self.left_out));
        }
        drawing
    }

    fn label(&self, node: &Node, pen: &Pen) -> String {
        let fields = &node.fields;
        let text = |name| fields.text(name).map(shown);
        let mut parts = Vec::new();
        match node.name {
            names::INVOKE_WORKFLOW => {
                parts.push(node.name.to_owned());
                parts.extend(text(names::CONVERSATION_ID).map(|id| format!("conversation {id}")));
                if let (Some(question), Some(answered)) = (text(names::QUESTION), text(names::ANSWERED)) {
                    parts.push(format!("a person answered {question}: {answered}"));
                }
                if fields.is_set(names::WORDS_WAIT) {
                    parts.push("words for an open question wait".to_owned());
                }
                parts.extend(text(names::END));
                parts.extend(text(names::WAITS_FOR).map(|what| format!("for {what}")));
            }
            names::INVOKE_AGENT => {
                parts.push(format!("agent {}", pen.agent(text(names::AGENT_NAME))));
            }
            names::CHAT => {
                let model = text(names::REQUEST_MODEL);
                let decision = text(names::DECISION);
                // A label such as `concept (model)` names the model already.
                let names_it =
                    model.as_ref().zip(decision.as_ref()).is_some_and(|(model, label)| label.contains(model));
                let model = model.filter(|_| !names_it);
                parts.push(format!("chat {}", model.or_else(|| decision.clone()).unwrap_or_else(unknown)));
                parts.extend(decision.filter(|_| !names_it));
                parts.extend(tokens(fields));
                parts.extend(text(names::FINISH_REASONS));
            }
            names::EXECUTE_TOOL => {
                parts.push(format!("tool {}", text(names::TOOL_NAME).unwrap_or_else(unknown)));
                parts.extend(text(names::APPROVAL).map(|approval| approval.replace('_', " ")));
            }
            names::HANDOFF => {
                parts.push(handoff(fields, pen));
                let from = text(names::AGENT_NAME).or_else(|| self.agent_above(node));
                parts.push(format!(
                    "{} → {}{}",
                    pen.agent(from),
                    pen.agent(text(names::TRANSFER_TARGET)),
                    bytes(fields)
                ));
            }
            names::DELEGATE => {
                parts.push(delegate(fields, pen));
                let asker = pen.agent(text(names::AGENT_NAME).or_else(|| self.agent_above(node)));
                let asked =
                    text(names::TRANSFER_TARGET).map(|asked| format!(" ⇄ {}", pen.agent(Some(asked))));
                parts.push(format!("{asker}{}{}", asked.unwrap_or_default(), bytes(fields)));
                parts.extend(fields.number(names::STEPS_USED).map(steps));
            }
            name => {
                parts.push(name.to_owned());
                parts.extend(text(names::OTEL_NAME));
            }
        }
        parts.extend(text(names::ERROR_TYPE).map(|error| pen.paint(RED, &format!("error {error}"))));
        parts.join(" · ")
    }

    fn agent_above(&self, node: &Node) -> Option<String> {
        let mut above = node.parent;
        while let Some(node) = above.and_then(|at| self.nodes.get(at)) {
            if node.name == names::INVOKE_AGENT {
                return node.fields.text(names::AGENT_NAME).map(shown);
            }
            above = node.parent;
        }
        None
    }
}

fn unknown() -> String {
    "?".to_owned()
}

fn tokens(fields: &Fields) -> Option<String> {
    match (fields.number(names::INPUT_TOKENS), fields.number(names::OUTPUT_TOKENS)) {
        // Decisions that are scripted cost none.
        (None | Some(0), None | Some(0)) => None,
        (input, output) => {
            Some(format!("{} tokens in, {} out", input.unwrap_or_default(), output.unwrap_or_default()))
        }
    }
}

fn handoff(fields: &Fields, pen: &Pen) -> String {
    let hop = fields.number(names::HOP).map(|hop| format!(" {hop}")).unwrap_or_default();
    match (fields.text(names::OUTCOME), fields.text(names::REFUSAL)) {
        (Some(names::TAKEN), _) => pen.paint(GREEN, &format!("handoff{hop}")),
        (Some(names::REFUSED), Some(guard)) => {
            pen.paint(YELLOW, &format!("handoff{hop} refused by {}", shown(guard)))
        }
        (Some(outcome), _) => pen.paint(YELLOW, &format!("handoff{hop} {}", shown(outcome))),
        (None, _) => format!("handoff{hop}"),
    }
}

fn delegate(fields: &Fields, pen: &Pen) -> String {
    let tool = fields.text(names::TOOL_NAME).map_or_else(unknown, shown);
    let Some(status) = fields.text(names::STATUS) else { return format!("delegate {tool}") };
    let colour = match status {
        names::DONE => GREEN,
        names::FAILED => RED,
        _ => YELLOW,
    };
    pen.paint(colour, &format!("delegate {tool} {}", shown(status)))
}

fn bytes(fields: &Fields) -> String {
    let package = fields.number(names::PACKAGE_BYTES).map(|bytes| format!(" {bytes} B")).unwrap_or_default();
    // Nothing is left behind by a sender who keeps the turn.
    match fields.number(names::HISTORY_BYTES) {
        Some(history) if fields.text(names::OUTCOME) == Some(names::TAKEN) => {
            format!("{package} (left behind {history} B)")
        }
        _ => package,
    }
}

const RED: u8 = 31;
const GREEN: u8 = 32;
const YELLOW: u8 = 33;
const CYAN: u8 = 36;
const GREY: u8 = 90;

struct Pen {
    ansi: bool,
    /// How wide the column of times is, where there is one.
    times: Option<usize>,
}

impl Pen {
    fn line(&self, drawing: &mut String, duration_us: Option<u64>, branch: &str, label: &str) {
        if let Some(wide) = self.times {
            let time = duration_us.map(duration).unwrap_or_default();
            drawing.push_str(&self.paint(GREY, &format!("{time:>wide$}")));
            drawing.push_str("  ");
        }
        drawing.push_str(&self.paint(GREY, branch));
        drawing.push_str(label);
        drawing.push('\n');
    }

    fn agent(&self, name: Option<String>) -> String {
        self.paint(CYAN, &name.unwrap_or_else(unknown))
    }

    fn paint(&self, colour: u8, text: &str) -> String {
        if self.ansi && !text.is_empty() {
            format!("\u{1b}[{colour}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn that waited for a person took minutes: what stands behind the times begins at one place all the same.
    #[test]
    fn long_times_move_no_line() {
        let node = |name, parent, duration_us| Node {
            name,
            parent,
            opened: Instant::now(),
            duration_us,
            fields: Fields::default(),
        };
        let nodes = vec![node(names::CHAT, None, 3_599_000_000), node(names::CHAT, Some(ROOT), 850)];
        let tree = Tree { nodes, left_out: 0 };
        let pen = Pen { ansi: false, times: Some(tree.widest()) };
        assert_eq!(tree.draw(&pen), "59 min 59 s  chat ?\n     850 µs  └─ chat ?\n");
    }
}
