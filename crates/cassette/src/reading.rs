//! A cassette from its text: what each request says is new, put together with what was before it.

use std::collections::BTreeSet;
use std::sync::Arc;

use sommelier_protocol::ModelResponse;
use sommelier_runtime::ModelError;

use crate::exchange::{Asked, Exchange, Settings, in_form, in_order, without_places};
use crate::node::{DEEPEST_FILE, NoNode, Node};
use crate::tape::{number, parted};
use crate::writing::Before;
use crate::{Cassette, CassetteError, Source, VERSION};

/// The whole file.
pub(crate) fn cassette(json: &str) -> Result<Cassette, CassetteError> {
    let node = Node::read_file(json).map_err(|fault| match fault {
        NoNode::Json(why) => CassetteError::Json { why },
        NoNode::Deep => CassetteError::Json { why: format!("it is nested more than {DEEPEST_FILE} deep") },
    })?;
    let whole = Part::root(&node);
    // Before anything else: of another version nothing is known.
    let version = whole.must("cassette")?;
    match version.node {
        Node::Number(found) if *found == VERSION.to_string() => {}
        Node::Number(found) => return Err(CassetteError::Version { found: found.clone() }),
        _ => return Err(version.is_not(&format!("the version {VERSION}"))),
    }
    whole.has_only(&["cassette", "recorded_from", "exchanges"])?;
    let source = match whole.may("recorded_from") {
        None => Source::default(),
        Some(part) => source(&part)?,
    };
    let mut before = Before::default();
    let mut exchanges = Vec::new();
    for part in whole.must("exchanges")?.items()? {
        let exchange = exchange(&part, &before)?;
        before.note(&exchange)?;
        exchanges.push(exchange);
    }
    Ok(Cassette { source, exchanges })
}

fn source(part: &Part<'_>) -> Result<Source, CassetteError> {
    part.has_only(&["provider", "name", "label"])?;
    let text = |name| part.may(name).map(|part| part.text().map(Into::into)).transpose();
    Ok(Source {
        provider: text("provider")?.unwrap_or_else(|| Source::default().provider),
        name: text("name")?,
        label: text("label")?,
    })
}

fn exchange(part: &Part<'_>, before: &Before) -> Result<Exchange, CassetteError> {
    part.has_only(&["run", "caller", "turn", "keeps", "request", "reply", "error"])?;
    let run = part.must("run")?;
    let name = run.text()?;
    if !is_run(name) {
        return Err(
            run.is_not("the number of a conversation and the path of a branch, such as \"1\" or \"1/1/3/0\"")
        );
    }
    let caller = part.must("caller")?.text()?;
    let turn = part.must("turn")?;
    let number = turn.count().filter(|number| *number > 0).and_then(|number| u32::try_from(number).ok());
    let asked = asked(part, before, name, caller)?;
    Ok(Exchange {
        run: name.into(),
        caller: caller.into(),
        turn: number.ok_or_else(|| turn.is_not("a number from 1 on"))?,
        asked,
        outcome: outcome(part)?,
    })
}

fn is_run(name: &str) -> bool {
    let (root, _) = parted(name);
    number(root).is_some_and(|number| number > 0)
}

/// The whole request of an exchange.
fn asked(part: &Part<'_>, before: &Before, run: &str, caller: &str) -> Result<Asked, CassetteError> {
    let talk = before.talk(run, caller);
    let keeps = match part.may("keeps") {
        None => talk.len(),
        Some(keeps) => keeps.count().filter(|keeps| *keeps <= talk.len()).ok_or_else(|| {
            keeps.is_not(&format!("how many of the {} message(s) so far the request keeps", talk.len()))
        })?,
    };
    let request = part.must("request")?;
    let Node::Object(new) = request.node else {
        return Err(request.is_not("an object of what is new in the request"));
    };
    request.has_no_doubles()?;
    let mut asked = Asked { messages: talk[..keeps].to_vec(), ..Asked::default() };
    asked.settings = settings(new, before, caller);
    if let Some(messages) = request.may("messages") {
        let new = messages.items()?.into_iter().map(|message| {
            let mut message = message.node.clone();
            without_places(&mut message);
            Arc::new(message)
        });
        asked.messages.extend(new);
    }
    Ok(asked)
}

/// The settings of the request before with what is new in these; they are shared, since each exchange has all of them.
fn settings(new: &[(String, Node)], before: &Before, caller: &str) -> Settings {
    let known = before.settings(caller);
    let names: BTreeSet<&str> =
        new.iter().map(|(name, _)| &**name).filter(|name| *name != "messages").collect();
    if names.is_empty() {
        return known;
    }
    let kept = known.iter().filter(|(name, _)| !names.contains(&**name)).cloned();
    // What was there before, and is null now, is there no more.
    let is_set = |(name, value): &&(String, Node)| name != "messages" && *value != Node::NULL;
    let set = new.iter().filter(is_set).map(|(name, value)| (name.clone(), Arc::new(value.clone())));
    let mut settings: Vec<_> = kept.chain(set).collect();
    in_order(&mut settings);
    Arc::new(settings)
}

fn outcome(part: &Part<'_>) -> Result<Result<Box<ModelResponse>, ModelError>, CassetteError> {
    match (part.may("reply"), part.may("error")) {
        (Some(reply), None) => {
            let Node::Object(members) = reply.node else {
                return Err(reply.is_not("a reply, which is an object"));
            };
            let mut members = members.clone();
            in_form(&mut members);
            let read: Result<ModelResponse, _> = serde_json::from_str(&Node::Object(members).json());
            read.map(|reply| Ok(Box::new(reply)))
                .map_err(|why| reply.is_unread("a reply as the Messages API sends it", &why))
        }
        (None, Some(error)) => {
            let read: Result<ModelError, _> = serde_json::from_str(&error.node.json());
            read.map(Err).map_err(|why| error.is_unread("an error of a model", &why))
        }
        (Some(_), Some(both)) => Err(both.is_not("no `error` beside a `reply`")),
        (None, None) => Err(part.is_not("an exchange with either a `reply` or an `error`")),
    }
}

/// A part of the file, with its place.
struct Part<'n> {
    path: String,
    node: &'n Node,
}

impl<'n> Part<'n> {
    fn root(node: &'n Node) -> Self {
        Self { path: String::new(), node }
    }

    fn may(&self, name: &str) -> Option<Self> {
        let node = self.node.get(name)?;
        Some(Self { path: joined(&self.path, name), node })
    }

    fn must(&self, name: &str) -> Result<Self, CassetteError> {
        if !matches!(self.node, Node::Object(_)) {
            return Err(self.is_not("an object"));
        }
        self.may(name).ok_or_else(|| CassetteError::Shape {
            path: joined(&self.path, name),
            expected: "a member".to_owned(),
            found: "nothing".to_owned(),
        })
    }

    fn items(&self) -> Result<Vec<Self>, CassetteError> {
        let Node::List(items) = self.node else { return Err(self.is_not("a list")) };
        let part = |(place, node)| Part { path: format!("{}[{place}]", self.path), node };
        Ok(items.iter().enumerate().map(part).collect())
    }

    fn text(&self) -> Result<&'n str, CassetteError> {
        self.node.as_text().ok_or_else(|| self.is_not("a text"))
    }

    fn count(&self) -> Option<usize> {
        if let Node::Number(number) = self.node { number.parse().ok() } else { None }
    }

    /// A name that is misspelt would be a member that is not there.
    fn has_only(&self, names: &[&str]) -> Result<(), CassetteError> {
        let Node::Object(members) = self.node else { return Err(self.is_not("an object")) };
        match members.iter().find(|(name, _)| !names.contains(&&**name)) {
            Some((name, _)) => Err(CassetteError::Shape {
                path: joined(&self.path, name),
                expected: format!("one of {}", names.join(", ")),
                found: "a member of another name".to_owned(),
            }),
            None => self.has_no_doubles(),
        }
    }

    fn has_no_doubles(&self) -> Result<(), CassetteError> {
        let Node::Object(members) = self.node else { return Ok(()) };
        let mut names = BTreeSet::new();
        match members.iter().find(|(name, _)| !names.insert(&**name)) {
            Some((name, _)) => Err(CassetteError::Shape {
                path: joined(&self.path, name),
                expected: "one member of this name".to_owned(),
                found: "a second one".to_owned(),
            }),
            None => Ok(()),
        }
    }

    fn is_not(&self, expected: &str) -> CassetteError {
        let found = match self.node {
            Node::Text(_) | Node::Number(_) => crate::difference::shown(&self.node.json(), 0),
            node => node.kind().to_owned(),
        };
        CassetteError::Shape { path: self.shown_path(), expected: expected.to_owned(), found }
    }

    /// The place for people; the whole file is a dot.
    fn shown_path(&self) -> String {
        if self.path.is_empty() { ".".to_owned() } else { self.path.clone() }
    }

    fn is_unread(&self, expected: &str, why: &serde_json::Error) -> CassetteError {
        let why = crate::difference::shown(&why.to_string(), 0);
        let found = format!("{} that is none ({})", self.node.kind(), without_place(&why));
        CassetteError::Shape { path: self.path.clone(), expected: expected.to_owned(), found }
    }
}

/// The line and column are those of a text that nobody has seen.
fn without_place(why: &str) -> &str {
    why.split(" at line ").next().unwrap_or(why)
}

fn joined(path: &str, name: &str) -> String {
    let name = crate::difference::shown(name, 0);
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
