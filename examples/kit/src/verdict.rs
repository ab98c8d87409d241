//! Which pattern a request called for: from its text alone, and as the run met it.

use reservo::{Entry, Facets, facets};
use serde::Serialize;
use sommelier_handoff::{HANDOFF_TO_SPECIALIST, HandoffPackage, Hop, RunEnd};
use sommelier_patterns::{Choice, Dependence, Pattern, Shape, choose};
use sommelier_protocol::{Message, ToolUse};
use sommelier_runner::Report;
use std::fmt;

/// What a handoff that was taken was for, held against the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Something that the text does not ask of the receiver: it came up when somebody had called a tool.
    FoundInWork,
    /// A part that the text asks of the receiver, and that needs what another trade brings.
    NeedsResult,
    /// A part that the text asks of the receiver, and that needs nothing: it could have begun at once.
    KnownAndIndependent,
    /// Anything that was handed over before anyone had called a tool: the request was sent on, and no need was found.
    BeforeWork,
}

impl Need {
    /// Whether a handoff is the way for it.
    pub const fn calls_for_handoff(self) -> bool {
        matches!(self, Self::FoundInWork | Self::NeedsResult)
    }
}

/// What is known of a request that reads like `facets`, when the handoffs of its run were for `needs`; with none of
/// them, what is known at arrival.
///
/// The house works off no fixed order, and none of its texts needs somebody outside to decide: each of its agents may
/// hand over to each other. So neither a pipeline nor a supervisor comes of it.
///
/// ```
/// use examples_kit::{Need, shape_of};
/// use sommelier_patterns::{Pattern, choose};
///
/// let text = reservo::facets("Book Forum team 3h tomorrow at 9, for 6 people");
/// assert_eq!(choose(&shape_of(&text, &[])).pattern, Pattern::SingleAgent);
/// // The room was taken, and somebody who compares prices was asked for another.
/// assert_eq!(choose(&shape_of(&text, &[Need::FoundInWork])).pattern, Pattern::Handoff);
/// ```
pub fn shape_of(facets: &Facets, needs: &[Need]) -> Shape {
    let dependence = match facets.needing_another().next() {
        Some(_) => Dependence::OnResult,
        None => Dependence::Independent,
    };
    Shape {
        parts: facets.trades(),
        dependence,
        order_fixed: false,
        found_in_work: needs.contains(&Need::FoundInWork),
    }
}

/// The pattern that a request called for, before its run and after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// From the text alone, before anyone has worked.
    pub from_text: Choice,
    /// With what came up in the run.
    pub as_met: Choice,
    /// What each handoff that was taken was for, in order.
    pub needs: Vec<Need>,
    /// Whether the run ended with an answer.
    pub is_answered: bool,
}

impl Verdict {
    /// The verdict on the run of a text at the house, with one message of the user.
    pub fn of(text: &str, report: &Report) -> Self {
        let facets = facets(text);
        let needs = needs(&facets, report);
        Self {
            from_text: choose(&shape_of(&facets, &[])),
            as_met: choose(&shape_of(&facets, &needs)),
            needs,
            is_answered: *report.end() == RunEnd::Answered,
        }
    }

    /// Whether a handoff was the way for what was handed over; `None` if nothing was. One handoff that was needed is
    /// enough.
    pub fn handoff_was_right(&self) -> Option<bool> {
        let was_right = self.needs.iter().any(|need| need.calls_for_handoff());
        (!self.needs.is_empty()).then_some(was_right)
    }

    /// What the run made of it; `None` where it did as the pattern says. One sentence, without a full stop.
    fn in_this_run(&self) -> Option<String> {
        let right = self.from_text.pattern;
        match self.handoff_was_right() {
            None => (self.as_met.pattern == Pattern::Handoff).then(|| "nothing was handed over".to_owned()),
            Some(true) => None,
            Some(false) if !self.needs.contains(&Need::KnownAndIndependent) => {
                Some("the request was sent on before anyone had worked, which is no handoff".to_owned())
            }
            Some(false) if self.is_answered => Some(format!("a handoff worked, where {right} was right")),
            Some(false) => Some(format!("a handoff brought no answer, where {right} was right")),
        }
    }
}

/// The pattern and why; on a second line, where there is something to say, what the run made of it.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_met)?;
        match self.in_this_run() {
            Some(told) => write!(f, "\nin this run: {told}"),
            None => Ok(()),
        }
    }
}

impl Serialize for Verdict {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Told {
            #[serde(flatten)]
            choice: Choice,
            detail: String,
        }

        #[derive(Serialize)]
        struct Row<'v> {
            from_text: Told,
            as_met: Told,
            in_this_run: Option<String>,
            needs: &'v [Need],
            handoff_was_right: Option<bool>,
        }

        let told = |choice: Choice| Told { choice, detail: choice.reason.to_string() };
        let row = Row {
            from_text: told(self.from_text),
            as_met: told(self.as_met),
            in_this_run: self.in_this_run(),
            needs: &self.needs,
            handoff_was_right: self.handoff_was_right(),
        };
        row.serialize(serializer)
    }
}

/// What each handoff taken was for.
fn needs(facets: &Facets, report: &Report) -> Vec<Need> {
    let hops: Vec<&Hop> = report.hops().collect();
    let mut needs: Vec<Need> = Vec::new();
    let mut has_worked = false;
    for (place, hop) in hops.iter().enumerate() {
        has_worked |= had_called_a_tool(report, hop);
        // Who gets the turn back gets it for what it gave it away for.
        let way_out = hops[..place].iter().rposition(|earlier| earlier.from.as_str() == &*hop.to);
        let need = match way_out.map(|out| needs[out]) {
            Some(need) if need != Need::BeforeWork => need,
            _ => need(facets, hop, has_worked),
        };
        needs.push(need);
    }
    needs
}

fn need(facets: &Facets, hop: &Hop, has_worked: bool) -> Need {
    if !has_worked {
        return Need::BeforeWork;
    }
    let Some(desk) = Entry::ALL.into_iter().find(|desk| desk.name() == &*hop.to) else {
        return Need::FoundInWork;
    };
    // The text may ask something of the receiver, and the work more.
    let task = reservo::facets(hop.package.as_ref().map_or("", HandoffPackage::task));
    if facets.count(desk) == 0 || task.count(desk) > facets.count(desk) {
        return Need::FoundInWork;
    }
    match facets.needing_another().any(|part| part.desk == desk) {
        true => Need::NeedsResult,
        false => Need::KnownAndIndependent,
    }
}

/// Whether the sender had called a tool of its own before it handed over, or in the same reply: those run first.
fn had_called_a_tool(report: &Report, hop: &Hop) -> bool {
    let turn = report.done().run().idle(hop.from.as_str());
    let messages: &[Message] = turn.map(|turn| turn.messages()).unwrap_or_default();
    let is_of_hop = |message: &Message| message.tool_uses().any(|call| call.id() == &*hop.call_id);
    let until = messages.iter().position(is_of_hop).map_or(messages.len(), |at| at + 1);
    let is_own = |call: &ToolUse| call.name() != HANDOFF_TO_SPECIALIST;
    messages[..until].iter().flat_map(Message::tool_uses).any(is_own)
}
