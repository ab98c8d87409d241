//! An order that stands before there is a request.

use sommelier_handoff::RelayBuilder;
use std::fmt;
use std::sync::Arc;

use crate::fan_out::told;
use crate::team::Lead;
use crate::{Finding, Member, Move, Question, Rule, Team, TeamError};

type Ask = dyn Fn(&str, &[Finding]) -> String + Send + Sync;

/// Stages in a fixed order: each works on what the one before it found, and none decides what comes next.
///
/// ```
/// use sommelier_handoff::{Agent, Delegate};
/// use sommelier_patterns::Pipeline;
/// use sommelier_runner::{Outcome, Runner};
/// use sommelier_runtime::{ScriptedModel, script};
///
/// let team = Pipeline::new("pipeline")
///     .stage(Delegate::new("draft", Agent::new("drafter", "")), |words, _| words.to_owned())
///     .stage(Delegate::new("check", Agent::new("checker", "")), |_, so_far| so_far[0].words().to_owned())
///     .build()?;
/// let model = ScriptedModel::new()
///     .turn("drafter", |_| script::say("A draft."))
///     .turn("checker", |request| {
///         let saw_draft = script::first_words(request).contains("A draft.");
///         script::say(if saw_draft { "A checked draft." } else { "Nothing came." })
///     });
/// let Outcome::Ended(report) = team.run(Runner::new(model), "Write something.")? else { panic!() };
/// assert_eq!(report.answer(), "A checked draft.");
/// assert_eq!(team.critical_path(&report), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pipeline {
    name: String,
    members: Vec<Member>,
    stages: Vec<(String, Arc<Ask>)>,
}

impl Pipeline {
    /// A pipeline without stages, of this name in records and spans.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), members: Vec::new(), stages: Vec::new() }
    }

    /// Adds the next stage: whom to ask, and the question, made of the user's words and what the stages before have
    /// found.
    pub fn stage(
        mut self,
        member: impl Into<Member>,
        question: impl Fn(&str, &[Finding]) -> String + Send + Sync + 'static,
    ) -> Self {
        let member = member.into();
        self.stages.push((member.tool().to_owned(), Arc::new(question)));
        self.members.push(member);
        self
    }

    /// Checks everything before anything runs. The answer is what the last stage finds; where a stage is not done, the
    /// stages after it are not run, and the answer says so in plain words. Why it is not done stands in the report's
    /// [links](sommelier_runner::Report::links).
    ///
    /// # Errors
    /// [`TeamError`] when there are no stages, when an agent has a rule's name, or when it all makes no relay.
    pub fn build(self) -> Result<Team, TeamError> {
        self.build_with(|relay| relay)
    }

    /// Like [`build`](Self::build), after `change` has set what else the relay is to have, such as another budget or a
    /// greater depth.
    ///
    /// # Errors
    /// [`TeamError`], as [`build`](Self::build).
    pub fn build_with(self, change: impl FnOnce(RelayBuilder) -> RelayBuilder) -> Result<Team, TeamError> {
        let Self { name, members, stages } = self;
        if stages.is_empty() {
            return Err(TeamError::NoStages { name });
        }
        let moves = u32::try_from(stages.len()).unwrap_or(u32::MAX).saturating_add(1);
        let rule = Rule::new(move |sight| {
            let so_far = &sight.findings;
            if let Some(stopped) = so_far.last().filter(|found| !found.is_done()) {
                let left = match stages.len().saturating_sub(so_far.len()) {
                    0 => String::new(),
                    left => format!("\nStages not run: {left}."),
                };
                return Move::Say(told(stopped) + &left);
            }
            match stages.get(so_far.len()) {
                Some((tool, ask)) => {
                    let question = Question::new(tool.clone(), ask(&sight.words, so_far));
                    Move::Ask(vec![question.with_context(sight.context.clone())])
                }
                None => Move::Say(so_far.last().map_or_else(String::new, |found| found.words().to_owned())),
            }
        });
        Team::by_rule(Lead { name, rule, moves }, members, change)
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stages: Vec<&str> = self.stages.iter().map(|(tool, _)| tool.as_str()).collect();
        f.debug_struct("Pipeline").field("name", &self.name).field("stages", &stages).finish_non_exhaustive()
    }
}
