//! Where in the tree a relay works: behind which tools.

use std::collections::BTreeMap;

use crate::shown::short;

/// So many tools of a place are named at either end; of one that lies deeper, those between are counted.
const NAMED: usize = 4;

/// The places of a tree, each by a number. A file may nest as deep as it is long, so no place holds the names of those
/// around it.
#[derive(Debug)]
pub(crate) struct Places(Vec<Place>);

#[derive(Debug, Default)]
struct Place {
    /// The tool by which it is asked.
    tool: String,
    outer: usize,
    /// The place around it that is the last to be named before those that are counted.
    head: usize,
    depth: usize,
    within: BTreeMap<String, usize>,
}

impl Default for Places {
    fn default() -> Self {
        Self(vec![Place::default()])
    }
}

impl Places {
    /// The place of a relay that the user speaks to.
    pub(crate) const OUTERMOST: usize = 0;

    /// The place behind a tool of another.
    pub(crate) fn within(&mut self, outer: usize, tool: &str) -> usize {
        let new = self.0.len();
        let Some(around) = self.0.get_mut(outer) else { return outer };
        if let Some(known) = around.within.get(tool) {
            return *known;
        }
        around.within.insert(tool.to_owned(), new);
        let depth = around.depth + 1;
        let head = if depth <= NAMED { new } else { around.head };
        self.0.push(Place { tool: short(tool, 80), outer, head, depth, within: BTreeMap::new() });
        new
    }

    /// The place behind a tool of another, where anything has happened at it.
    pub(crate) fn find(&self, outer: usize, tool: &str) -> Option<usize> {
        self.0.get(outer)?.within.get(tool).copied()
    }

    /// The tools by which a place is asked, from the outside in.
    pub(crate) fn name(&self, place: usize) -> String {
        let Some(it) = self.0.get(place) else { return String::new() };
        if it.depth <= 2 * NAMED {
            return self.last(place, it.depth);
        }
        let between = it.depth - 2 * NAMED;
        format!("{}/… {between} more …/{}", self.last(it.head, NAMED), self.last(place, NAMED))
    }

    /// The last so many tools by which a place is asked.
    fn last(&self, mut place: usize, count: usize) -> String {
        let mut tools = Vec::new();
        while let Some(it) = self.0.get(place).filter(|_| tools.len() < count) {
            tools.push(&*it.tool);
            place = it.outer;
        }
        tools.reverse();
        tools.join("/")
    }
}
