//! Somebody outside who decides.

use sommelier_handoff::{Agent, RelayBuilder};

use crate::member::all_at_once;
use crate::team::Lead;
use crate::{Finding, Member, Move, Question, Rule, Team, TeamError};

/// A supervisor receives the request, decides who works on it, has them work, and puts together what they found. It sees
/// their findings and nothing of their steps, and it keeps the turn.
///
/// It comes in two kinds. By rule, the decision and the putting together are code: the same for the same words, at no
/// model call. By model, both are a model's, which reads the descriptions of its delegates.
///
/// What its conversation holds does not grow with the work: the user's words, its calls, their results, its answer. These
/// are four messages in the form of Anthropic, however many it asks in one reply and however long they work. In the form
/// of OpenAI the system prompt is a message and so is each result: six, where it asks two. The steps are in the runs of
/// the branches, which the report's [links](sommelier_runner::Report::links) hold.
///
/// ```
/// use sommelier_handoff::{Agent, Delegate};
/// use sommelier_patterns::{Question, Supervisor};
/// use sommelier_runner::{Outcome, Runner};
/// use sommelier_runtime::{ScriptedModel, script};
///
/// let team = Supervisor::by_rule(
///     "supervisor",
///     |words| {
///         let asks = |word: &str, tool: &str| words.contains(word).then(|| Question::new(tool, words));
///         asks("invoice", "ask_billing").into_iter().chain(asks("parcel", "ask_shipping")).collect()
///     },
///     |_, findings| findings.iter().map(|found| found.words()).collect::<Vec<_>>().join(" "),
/// )
/// .delegate(Delegate::new("ask_billing", Agent::new("billing", "You know the invoices.")))
/// .delegate(Delegate::new("ask_shipping", Agent::new("shipping", "You know the parcels.")))
/// .build()?;
///
/// let model = ScriptedModel::new()
///     .turn("billing", |_| script::say("It was paid twice."))
///     .turn("shipping", |_| script::say("It is in transit."));
/// let Outcome::Ended(report) = team.run(Runner::new(model), "My invoice, and my parcel?")? else { panic!() };
/// assert_eq!(report.answer(), "It was paid twice. It is in transit.");
/// assert_eq!(team.model_calls(&report), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Supervisor {
    lead: Decider,
    members: Vec<Member>,
}

/// Who decides.
#[derive(Clone, Debug)]
enum Decider {
    Model(Agent),
    Rule(String, Rule),
}

impl Supervisor {
    /// A supervisor whose decisions are those of its model.
    pub fn by_model(lead: Agent) -> Self {
        Self { lead: Decider::Model(lead), members: Vec::new() }
    }

    /// A supervisor that decides by code. `decide` says from the user's words who is asked what, before anybody works;
    /// where it asks nobody, `aggregate` answers at once. `aggregate` makes the answer of the words and the findings,
    /// which stand in the order of the questions, the failed ones among them.
    pub fn by_rule(
        name: impl Into<String>,
        decide: impl Fn(&str) -> Vec<Question> + Send + Sync + 'static,
        aggregate: impl Fn(&str, &[Finding]) -> String + Send + Sync + 'static,
    ) -> Self {
        let rule = Rule::new(move |sight| {
            let questions = if sight.findings.is_empty() { decide(&sight.words) } else { Vec::new() };
            if questions.is_empty() {
                return Move::Say(aggregate(&sight.words, &sight.findings));
            }
            // What the supervisor was given with its own question its delegates need for theirs.
            let with_context = |asked: Question| match asked.context.is_empty() {
                true => asked.with_context(sight.context.clone()),
                false => asked,
            };
            Move::Ask(questions.into_iter().map(with_context).collect())
        });
        Self { lead: Decider::Rule(name.into(), rule), members: Vec::new() }
    }

    /// Adds somebody whom the supervisor may ask.
    pub fn delegate(mut self, member: impl Into<Member>) -> Self {
        self.members.push(member.into());
        self
    }

    /// Checks everything before anything runs.
    ///
    /// # Errors
    /// [`TeamError`] when it decides by rule and a delegate waits for another, when an agent has a rule's name, or when it
    /// all makes no relay.
    pub fn build(self) -> Result<Team, TeamError> {
        self.build_with(|relay| relay)
    }

    /// Like [`build`](Self::build), after `change` has set what else the relay is to have, such as another budget or a
    /// greater depth.
    ///
    /// # Errors
    /// [`TeamError`], as [`build`](Self::build).
    pub fn build_with(self, change: impl FnOnce(RelayBuilder) -> RelayBuilder) -> Result<Team, TeamError> {
        let Self { lead, members } = self;
        match lead {
            Decider::Model(lead) => Team::by_model(lead, members, change),
            Decider::Rule(name, rule) => {
                all_at_once(&name, &members)?;
                Team::by_rule(Lead { name, rule, moves: 2 }, members, change)
            }
        }
    }
}
