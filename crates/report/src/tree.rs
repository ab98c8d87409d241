//! The spans of a file, each with those that it stands around.

use std::collections::BTreeMap;

use sommelier_metrics::{ClosedSpan, names};

/// What stands in the path of a branch behind the name of who asked it.
const BRANCH: char = '/';

/// Spans by who stands around whom.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// Where each span is, by its layer and its number.
    places: BTreeMap<(String, u64), usize>,
    /// How many processes have written lines without the name of a layer.
    unnamed: u64,
    /// What the spans of each trace name.
    told: BTreeMap<(String, u64), Told>,
}

/// The conversations of one trace.
#[derive(Default)]
struct Told {
    /// Each name, of a conversation or of a branch, and the place of the conversation that it belongs to.
    names: BTreeMap<String, usize>,
    conversations: Vec<String>,
}

impl Told {
    /// Finds to which conversation each name belongs: a branch's path begins with the name of who asked it. With the parts of the paths
    /// in order, what belongs to a name comes right after it.
    fn settle(&mut self) {
        let mut names: Vec<_> = self.names.iter_mut().collect();
        names.sort_by(|(one, _), (other, _)| one.split(BRANCH).cmp(other.split(BRANCH)));
        for (name, place) in names {
            let around = self.conversations.last().and_then(|around| name.strip_prefix(around.as_str()));
            if !around.is_some_and(|rest| rest.starts_with(BRANCH)) {
                self.conversations.push(name.clone());
            }
            *place = self.conversations.len() - 1;
        }
    }
}

pub(crate) struct Node {
    pub(crate) span: ClosedSpan,
    layer: String,
    pub(crate) parent: Option<usize>,
    pub(crate) children: Vec<usize>,
}

impl Node {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.span.name == name
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.span.fields.text(name)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.span.fields.number(name)
    }

    /// Its trace, of which each layer counts its own.
    pub(crate) fn trace(&self) -> (&str, u64) {
        (&self.layer, self.span.trace)
    }

    pub(crate) fn begin(&self) -> u64 {
        if self.span.at_us == 0 { self.span.start_us } else { self.span.at_us }
    }

    pub(crate) fn end(&self) -> u64 {
        self.begin().saturating_add(self.span.duration_us)
    }
}

impl Tree {
    /// Whether the span is a new one.
    pub(crate) fn add(&mut self, span: ClosedSpan) -> bool {
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
        if let Some(id) = span.fields.text(names::CONVERSATION_ID) {
            let told = self.told.entry((layer.clone(), span.trace)).or_default();
            told.names.insert(id.to_owned(), 0);
        }
        self.nodes.push(Node { span, layer, parent: None, children: Vec::new() });
        true
    }

    /// Finds who stands around whom. Of spans that say that they stand around each other, the first stands alone.
    pub(crate) fn link(&mut self) {
        self.told.values_mut().for_each(Told::settle);
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
        let mut walked_from = vec![None; self.nodes.len()];
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
                let first = self.first_of_circle(first, &mut walked_from);
                let parent = self.nodes.get_mut(first).and_then(|node| node.parent.take());
                if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(parent)) {
                    parent.children.retain(|child| *child != first);
                }
                next.push(first);
            }
        }
    }

    /// Of the spans that stand around each other and around this one, that which comes first. No span is walked twice, for once a circle is
    /// parted a root leads to all that hangs on it.
    fn first_of_circle(&self, from: usize, walked_from: &mut [Option<usize>]) -> usize {
        let mut at = from;
        while let Some(walked) = walked_from.get_mut(at).filter(|walked| **walked != Some(from)) {
            *walked = Some(from);
            at = self.parent(at).unwrap_or(at);
        }
        let around = |place: &usize| self.parent(*place).filter(|above| *above != at);
        std::iter::successors(Some(at), around).min().unwrap_or(at)
    }

    fn parent(&self, place: usize) -> Option<usize> {
        self.nodes.get(place)?.parent
    }

    /// The spans that nothing stands around, in the order in which they began.
    pub(crate) fn roots(&self) -> Vec<usize> {
        let mut roots: Vec<usize> = (0..self.nodes.len())
            .filter(|place| self.nodes.get(*place).is_some_and(|it| it.parent.is_none()))
            .collect();
        let order =
            |root: &usize| self.nodes.get(*root).map(|node| (node.begin(), &*node.layer, node.span.span));
        roots.sort_by(|one, other| order(one).cmp(&order(other)));
        roots
    }

    /// How many spans there are at a place and below it.
    pub(crate) fn count(&self, place: usize) -> usize {
        let (mut next, mut count) = (vec![place], 0);
        while let Some(node) = next.pop().and_then(|place| self.nodes.get(place)) {
            count += 1;
            next.extend(&node.children);
        }
        count
    }

    /// The conversation that a span belongs to: of one that stands alone, the one that the others of its trace are of.
    pub(crate) fn conversation(&self, place: usize) -> Option<&str> {
        let node = self.nodes.get(place)?;
        let own = node.text(names::CONVERSATION_ID);
        if own.is_some() && node.is(names::INVOKE_WORKFLOW) {
            return own;
        }
        let told = self.told.get(&(node.layer.clone(), node.span.trace))?;
        match (own, &*told.conversations) {
            (Some(own), all) => all.get(*told.names.get(own)?).map(String::as_str),
            (None, [only]) => Some(only),
            (None, _) => None,
        }
    }
}
