//! Who is at the desk, who may hand over to whom, and under which guards.

use sommelier_handoff::{
    Agent, BuildErrors, Checked, Conduct, Done, EntryPolicy, Field, Guard, Guards, OnRefusal, PackagePolicy,
    Relay, RelayBuilder, Route, Section, Work,
};
use sommelier_runner::{Decision, Gate, Outcome, RunError, Runner};
use sommelier_runtime::Model;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::intent::Intent;
use crate::records::{billing_tools, technical_tools};

/// The most handoffs between two messages of the customer.
pub const MAX_HANDOFFS: u32 = 5;

/// A role at the desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Hears every query first.
    Triage,
    /// Works on what does not work.
    Technical,
    /// Works on money.
    Billing,
    /// Nobody has anything to do: a run that has ended. It is no agent.
    Done,
}

impl Role {
    /// The role's agent. The names end in `_agent`, so that an answer may speak of billing without naming anybody.
    pub fn agent(self) -> Option<&'static str> {
        match self {
            Self::Triage => Some("triage_agent"),
            Self::Technical => Some("technical_agent"),
            Self::Billing => Some("billing_agent"),
            Self::Done => None,
        }
    }

    /// Whose query it is.
    pub fn of(intent: Intent) -> Self {
        match intent {
            Intent::Billing => Self::Billing,
            Intent::Technical => Self::Technical,
            Intent::Closing => Self::Done,
        }
    }

    /// The role's system prompt; empty for the role that is no agent.
    pub fn prompt(self) -> &'static str {
        match self {
            Self::Triage => {
                "You hear each query first. Greetings, thanks and farewells you answer yourself, in a sentence. All else \
                 you hand over at once, by a call of handoff_to_specialist; saying that you hand over moves nothing. \
                 billing_agent has what is about money: charges, refunds, invoices, payments. technical_agent has what does \
                 not work, and what you are not sure of. Where a query is about both, billing_agent comes first. \
                 Write the package for somebody who has read nothing. `task`: the goal. `context`: the values that you \
                 know, none made up. `completed_steps`: what is done. `open_items`: one for each thing that the customer \
                 wants. `constraints`: what binds whoever goes on, such as \"be concise\", \"do not ask again for what was \
                 said\", and the plan or a trial, if the customer named one. Where a handoff is refused, mend what the result \
                 says and call again; if it cannot be mended, tell the customer that the query is noted."
            }
            Self::Technical => {
                "You solve technical problems. Begin from the package: what it says is known, and the customer is \
                 never asked for it again. Look the problem up with search_issues, in the customer's own words, and tell \
                 what helps; what is not found is not known yet, and you make nothing up. Do the open items, not the \
                 completed steps. Keep to the constraints. What is about money is billing_agent's: hand it over with what you \
                 have told so far as `answer_so_far`. Otherwise end with complete_handoff, and say of each open item, to \
                 the letter, whether it is done."
            }
            Self::Billing => {
                "You handle refunds and invoices. Read the constraints for the plan or a trial before you promise \
                 anything: on a trial nothing is given back. Begin from the package, and never ask again for what it says. \
                 Look at the charges with find_charges before you speak of any; a charge that was taken twice is given back \
                 by refund_charge, once, by its id. What does not work is technical_agent's: hand it over when the money is \
                 settled, with what you have told so far as `answer_so_far`. Otherwise do the open items and end with \
                 complete_handoff: say of each, to the letter, whether it is done."
            }
            Self::Done => "",
        }
    }
}

/// The guards of the desk: at the cap and at a circle a person is asked, and no other agent.
pub fn guards() -> Guards {
    Guards::default()
        .max_handoffs(MAX_HANDOFFS)
        .on_refusal(Guard::Cap, OnRefusal::Escalate)
        .on_refusal(Guard::Pair, OnRefusal::Escalate)
}

/// What a package must be like on every route: a task, at least one open item and one constraint, and room for a long
/// message of the customer. The values that a sender may know are named, so that a model need not think names up.
pub fn policy() -> PackagePolicy {
    PackagePolicy::strict()
        .require(Section::Constraints)
        .package_bytes(20 * 1024)
        .field(Field::one_of("intent", "what the query is about", ["billing", "technical"]).optional())
        .field(Field::text("said_before", "what the customer said before the last words").optional())
        .field(Field::text("answer_so_far", "what the customer was told already").optional())
}

/// The desk, to be built: three agents and four routes. Each new query starts at triage.
pub fn relay(guards: Guards) -> RelayBuilder {
    let [triage, technical, billing] = [Role::Triage, Role::Technical, Role::Billing]
        .map(|role| (role.agent().unwrap_or_default(), role.prompt()));
    let route = |from: &str, to: &str, tools: &[&str]| {
        Route::new(from, to).policy(policy()).requires(tools.iter().copied()).with_user_words()
    };
    let (to_technical, to_billing) = (["search_issues"], ["find_charges", "refund_charge"]);
    Relay::builder()
        .agent(Agent::new(triage.0, triage.1).purpose("reads what a query is about"))
        .agent(
            Agent::new(technical.0, technical.1)
                .purpose("solves what does not work: errors, crashes, logins; also what nobody else has")
                .tools(technical_tools()),
        )
        .agent(
            Agent::new(billing.0, billing.1)
                .purpose("settles what is about money: charges, refunds, invoices, payments")
                .tools(billing_tools()),
        )
        .entry(triage.0)
        .entry_policy(EntryPolicy::Entry)
        .route_with(route(triage.0, technical.0, &to_technical))
        .route_with(route(triage.0, billing.0, &to_billing))
        .route_with(route(technical.0, billing.0, &to_billing))
        .route_with(route(billing.0, technical.0, &to_technical))
        .constraint_check("be concise", is_concise)
        .constraint_check("the account is on a trial", gives_nothing_back)
        .guards(guards)
}

/// The most characters of a concise answer.
pub const CONCISE: usize = 400;

fn is_concise(work: &Work<'_>) -> Checked {
    Ok(match work.answer().map_or(0, |answer| answer.chars().count()) {
        ..=CONCISE => Conduct::Keep,
        found => Conduct::Break { reason: format!("the answer has {found} characters") },
    })
}

/// Where nothing was collected nothing can be given back.
fn gives_nothing_back(work: &Work<'_>) -> Checked {
    let refunds = work.calls().filter(|(call, result)| {
        call.name() == "refund_charge" && result.is_some_and(|result| !result.is_error())
    });
    Ok(match refunds.count() {
        0 => Conduct::Keep,
        found => Conduct::Break { reason: format!("{found} refund(s) on a trial") },
    })
}

/// The most cents that are refunded without a person.
pub const REFUND_CENTS: i64 = 5000;

/// The gate of the desk: refunds of a charge up to [`REFUND_CENTS`] are approved, all else is not.
pub fn gate() -> Gate {
    Gate::new(|approval| {
        let written = serde_json::from_str::<serde_json::Value>(approval.input.get()).unwrap_or_default();
        let charge = crate::records::CHARGES.iter().find(|charge| written["charge"] == charge.charge);
        match charge {
            Some(charge) if charge.cents <= REFUND_CENTS => Decision::Approve,
            _ => Decision::Deny {
                reason: format!("only charges up to {REFUND_CENTS} cents are refunded without a person"),
            },
        }
    })
}

/// The moment at which the desk's own clock begins: 2026-11-30 10:00:00 UTC, in milliseconds since 1970.
pub const OPENING: u64 = 1_796_032_800_000;

/// A clock that begins at [`OPENING`] and goes on by a second each time it is read, so that every run shows the same.
pub fn ticking() -> impl Fn() -> u64 + Send + Sync + 'static {
    let seconds = AtomicU64::new(0);
    move || OPENING + 1000 * seconds.fetch_add(1, Ordering::Relaxed)
}

/// A desk with whatever executes its agents.
///
/// ```
/// use support_desk::{DeskRules, Desk, Told};
///
/// let desk = Desk::new("c-1", DeskRules)?;
/// let told = Told::of(&desk.ask(None, "I was charged twice this month.")?);
/// assert_eq!((&*told.agent, told.handoffs), ("billing_agent", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Desk<'m> {
    /// Agents, routes and guards: what the desk is.
    pub relay: Relay,
    /// What drives a run.
    pub runner: Runner<'m>,
}

impl<'m> Desk<'m> {
    /// The desk as it is meant to be, for a conversation of this name.
    ///
    /// # Errors
    /// [`BuildErrors`] when the desk cannot be: a fault of this file.
    pub fn new(conversation: &str, model: impl Model + 'm) -> Result<Self, BuildErrors> {
        Self::with(conversation, guards(), model)
    }

    /// The desk under other guards.
    ///
    /// # Errors
    /// As of [`new`](Self::new).
    pub fn with(conversation: &str, guards: Guards, model: impl Model + 'm) -> Result<Self, BuildErrors> {
        let runner = Runner::new(model).gate(gate()).clock(ticking()).conversation(conversation);
        Ok(Self { relay: relay(guards).build()?, runner })
    }

    /// Hears a query: the first one of a conversation, or the next after `earlier`.
    ///
    /// # Errors
    /// [`RunError`] for a blank query.
    pub fn ask(&self, earlier: Option<Done>, query: &str) -> Result<Outcome, RunError> {
        let Some(earlier) = earlier else { return self.runner.run(&self.relay, query) };
        self.runner.go_on(&self.relay, earlier, query)
    }
}
