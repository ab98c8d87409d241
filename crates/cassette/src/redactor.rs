//! What must not stand in a cassette.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{PoisonError, RwLock};

use sommelier_handoff::Relay;
use sommelier_runtime::ModelError;

use crate::node::Node;

/// What stands where a key was.
const KEY: &str = "[key]";
/// What stands where a secret value was.
pub(crate) const SECRET: &str = "[secret]";
/// What stands where a redactor has failed: nothing is kept then.
const WITHHELD: &str = "[withheld]";

/// The shortest value that is looked for within texts. What is shorter would be found everywhere.
const SHORTEST: usize = 4;

/// How keys of well-known services begin.
const PREFIXES: [&str; 18] = [
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "hf_",
    "eyJ",
];
/// How many characters a key has behind its prefix at least.
const KEY_LENGTH: usize = 16;

type Words = dyn Fn(&str) -> String + Send + Sync;

/// What is taken out of everything before it comes into a cassette; a placeholder stands in its place. The model and the run
/// see what they would see without it.
///
/// It takes out what looks like a key of a well-known service, the [values](Self::value) that it is told, what tools
/// [declare](Self::secrets_of) secret, and whatever a function of yours [takes out](Self::words). It reads texts, names of
/// members and numbers, also within JSON that stands in a text. It does **not** find what is split over two texts or is
/// encoded, such as in base64, nor what nobody told it and looks like nothing: whoever keeps recordings of customers looks at
/// them first.
///
/// What was recorded with a redactor is replayed with an equal one, since it is the redacted requests that are compared. And a
/// run that needs what was taken out goes another way when it is replayed: its tools get the placeholder.
///
/// ```
/// use sommelier_cassette::Redactor;
///
/// let redactor = Redactor::new().value("Rosebud").words(|text| text.replace("ada@example.org", "[address]"));
/// assert_eq!(
///     redactor.redact("I am ada@example.org, my key is sk-ant-api03-0123456789abcdef, my word Rosebud."),
///     "I am [address], my key is [key], my word [secret].",
/// );
/// ```
#[derive(Default)]
pub struct Redactor {
    words: Vec<Box<Words>>,
    /// The members of tools' arguments that are secret, by the tool.
    declared: BTreeMap<Box<str>, BTreeSet<Box<str>>>,
    /// What must not be in any text: what was told, and what has come up where a tool declares a secret.
    values: RwLock<BTreeSet<String>>,
}

impl Redactor {
    /// A redactor that takes out what looks like a key.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes out a value wherever it stands; one of less than four bytes only where it is all of a text.
    #[must_use]
    pub fn value(self, value: impl Into<String>) -> Self {
        self.remember(value.into());
        self
    }

    /// Takes out what `words` leaves out of a text that it is given. It is called from any thread, and should be a function of
    /// the text alone: a replay calls it again. Where it panics, nothing of the text is kept.
    #[must_use]
    pub fn words(mut self, words: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.words.push(Box::new(words));
        self
    }

    /// Takes out of calls what the tools of this relay, and of its delegates, declare
    /// [secret](sommelier_runtime::Tool::secret), and what stands in the calls of those tools under names that they do not take.
    /// The same values are taken out wherever they come up later. A recorder stands before the runner, which keeps such values
    /// from all others, so it has to be told.
    #[must_use]
    pub fn secrets_of(mut self, relay: &Relay) -> Self {
        self.declare(relay);
        self
    }

    fn declare(&mut self, relay: &Relay) {
        for agent in relay.agents() {
            for (tool, declared) in agent.table().declarations().filter(|(_, of)| !of.secrets().is_empty()) {
                let paths = self.declared.entry(tool.as_str().into()).or_default();
                paths.extend(declared.secrets().iter().cloned());
            }
        }
        let below =
            relay.delegates().filter_map(|(asker, tool)| relay.delegate(asker.as_str(), tool.as_str()));
        for relay in below {
            self.declare(relay);
        }
    }

    /// A text as it may be kept.
    pub fn redact(&self, text: &str) -> String {
        let mut text = self.hard(text);
        for words in &self.words {
            let redacted = catch_unwind(AssertUnwindSafe(|| words(&text)));
            // One that fails has let nothing pass.
            text = redacted.unwrap_or_else(|_| WITHHELD.to_owned());
        }
        text
    }

    /// An error of a model as it may be kept: whichever it is, each text in it passes.
    pub(crate) fn error(&self, error: &ModelError) -> ModelError {
        let node = serde_json::to_string(error).ok().and_then(|json| Node::of_json(&json));
        let redacted = node.and_then(|mut node| {
            if let Node::Object(_) = node {
                self.values_of(&mut node);
            }
            serde_json::from_str(&node.json()).ok()
        });
        redacted.unwrap_or_else(|| ModelError::Unreachable { detail: WITHHELD.to_owned() })
    }

    /// The texts of an object whose names are a program's.
    fn values_of(&self, node: &mut Node) {
        match node {
            Node::Object(members) => members.iter_mut().for_each(|(_, value)| self.values_of(value)),
            Node::Text(text) => *text = self.redact(text),
            Node::List(_) | Node::Number(_) | Node::Word(_) => {}
        }
    }

    /// A tree as it may be kept: every text, name and number of it passes.
    pub(crate) fn node(&self, node: &mut Node) {
        match node {
            Node::Object(members) => {
                for (name, value) in members {
                    *name = self.redact(name);
                    self.node(value);
                }
            }
            Node::List(items) => items.iter_mut().for_each(|item| self.node(item)),
            Node::Text(text) => *text = self.text(text),
            Node::Number(number) => {
                let redacted = self.redact(number);
                if redacted != *number {
                    *node = Node::Text(redacted);
                }
            }
            Node::Word(_) => {}
        }
    }

    /// What a message or a reply holds: a text, or blocks. What the API goes by stays what it is, but for keys and values.
    pub(crate) fn content(&self, content: &mut Node) {
        let Node::List(blocks) = content else { return self.node(content) };
        for block in blocks {
            let Node::Object(members) = block else { return self.node(block) };
            for (name, value) in members {
                match (&**name, &mut *value) {
                    ("type", _) => {}
                    ("id" | "name" | "tool_use_id" | "signature", Node::Text(text)) => {
                        *text = self.hard(text);
                    }
                    ("content", Node::List(_)) => self.content(value),
                    _ => self.node(value),
                }
            }
        }
    }

    /// Puts a placeholder in the place of what the tools that are called declare secret. `tools` are those on offer.
    pub(crate) fn calls(&self, content: &mut Node, tools: Option<&Node>) {
        let Node::List(blocks) = content else { return };
        for block in blocks {
            let Some(tool) = block.get("name").and_then(Node::as_text).map(str::to_owned) else { continue };
            let Some(paths) = self.declared.get(&*tool) else { continue };
            let is_it = |of: &&Node| of.get("name").and_then(Node::as_text) == Some(&tool);
            let offered = tools.and_then(|tools| tools.items().iter().find(is_it));
            let schema = offered.and_then(|of| of.get("input_schema")?.get("properties"));
            let Node::Object(members) = block else { continue };
            let Some((_, input)) = members.iter_mut().find(|(name, _)| name == "input") else { continue };
            for path in paths {
                self.hide_at(input, &path.split('.').collect::<Vec<_>>());
            }
            let Node::Object(members) = input else { continue };
            let astray = members.iter_mut().filter(|(name, _)| {
                schema.is_none_or(|schema| schema.get(name).is_none())
                    && !paths.iter().any(|path| path.split('.').next() == Some(name))
            });
            astray.for_each(|(_, value)| self.hide(value));
        }
    }

    /// Hides what stands at a path of names, in each item of a list on the way. Where something else is on the way, it is
    /// taken for the value.
    fn hide_at(&self, node: &mut Node, path: &[&str]) {
        match (path.split_first(), node) {
            (None, node) => self.hide(node),
            (Some(_), Node::List(items)) => items.iter_mut().for_each(|item| self.hide_at(item, path)),
            (Some((name, rest)), Node::Object(members)) => {
                let named = members.iter_mut().filter(|(member, _)| member == name);
                named.for_each(|(_, value)| self.hide_at(value, rest));
            }
            (Some(_), node) => self.hide(node),
        }
    }

    fn hide(&self, node: &mut Node) {
        match node {
            Node::Word("null") => return,
            // What stands for a value already is no value.
            Node::Text(text) if text.is_empty() || crate::names::is_handle(text) => return,
            _ => {}
        }
        self.remember_all(node);
        *node = Node::text(SECRET);
    }

    fn remember_all(&self, node: &Node) {
        match node {
            Node::Object(members) => members.iter().for_each(|(_, value)| self.remember_all(value)),
            Node::List(items) => items.iter().for_each(|item| self.remember_all(item)),
            Node::Text(text) | Node::Number(text) => self.remember(text.clone()),
            Node::Word(_) => {}
        }
    }

    fn remember(&self, value: String) {
        if !value.is_empty() {
            self.values.write().unwrap_or_else(PoisonError::into_inner).insert(value);
        }
    }

    /// A text that may be JSON itself. What stands in it is looked at first, since a text may be written in JSON in many ways.
    fn text(&self, text: &str) -> String {
        let is_json = text.trim_start().starts_with(['{', '[']);
        let inside = is_json.then(|| Node::read(text).ok()).flatten();
        let cleaned = inside.and_then(|inside| {
            let mut cleaned = inside.clone();
            self.node(&mut cleaned);
            (cleaned != inside).then(|| cleaned.json())
        });
        self.redact(cleaned.as_deref().unwrap_or(text))
    }

    /// Without keys and values; what else is taken out is for words.
    fn hard(&self, text: &str) -> String {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
        if values.contains(text) {
            return SECRET.to_owned();
        }
        // The longest first: another may be a part of it.
        let mut long: Vec<&String> = values.iter().filter(|value| value.len() >= SHORTEST).collect();
        long.sort_by_key(|value| std::cmp::Reverse(value.len()));
        let text = long.iter().fold(text.to_owned(), |text, value| text.replace(&***value, SECRET));
        without_keys(&text)
    }
}

/// A text with a placeholder for each word in it that looks like a key.
fn without_keys(text: &str) -> String {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
        let key = word.trim_end_matches('.');
        match is_key(key) || key.len() >= KEY_LENGTH && follows_bearer(&out) {
            true => {
                out.push_str(KEY);
                out.push_str(&word[key.len()..]);
            }
            false => out.push_str(word),
        }
        let (between, next) = after.split_at(after.find(is_part).unwrap_or(after.len()));
        out.push_str(between);
        rest = next;
    }
    out
}

fn is_key(word: &str) -> bool {
    let rest = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix));
    rest.is_some_and(|rest| rest.len() >= KEY_LENGTH && rest.bytes().any(|byte| byte.is_ascii_digit()))
}

fn follows_bearer(before: &str) -> bool {
    let before = before.trim_end_matches(' ');
    before
        .len()
        .checked_sub("bearer".len())
        .and_then(|from| before.get(from..))
        .is_some_and(|word| word.eq_ignore_ascii_case("bearer"))
}

impl fmt::Debug for Redactor {
    /// How much it takes out, and nothing of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("Redactor")
            .field("values", &values)
            .field("declared", &self.declared)
            .field("words", &self.words.len())
            .finish()
    }
}
