//! The root of what is told of a run.

use sommelier_handoff::{Relay, Step};
use tracing::Span;

use crate::conduct::Ended;
use crate::driven::Driven;
use crate::journal::Head;
use crate::runner::Around;
use crate::spans::{self, Told};
use crate::{RunError, contents};

/// The span of one message of the user, or of the part of the answer to it that this process gives.
pub(crate) struct Root {
    span: Span,
    ended: Ended,
    is_shown: bool,
}

impl Root {
    /// Opens it. With contents it says what the user said, if a model is to read that next.
    pub(crate) fn open(relay: &Relay, step: &Step, told: Told<'_>, around: &Around<'_>) -> Self {
        let is_shown = around.vault.is_shown();
        let span = spans::workflow(step.run(), told);
        if let (true, Step::CallModel(call)) = (is_shown, step)
            && let Some(words) = contents::last_words(&call.request(relay).messages)
        {
            span.record("gen_ai.input.messages", words);
        }
        if let Some(answered) = around.answered {
            answered.record(&span);
        }
        Self { span, ended: Ended::of(step.run()), is_shown }
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// The driver could not go on.
    pub(crate) fn stop(&self, error: &RunError) {
        spans::record_stopped(&self.span, error);
    }

    /// Says how far the run was driven, and where its records end.
    pub(crate) fn close<T>(self, driven: &Driven<T>, head: Option<Head>) {
        spans::record_head(&self.span, head);
        if let Some(run) = driven.run() {
            self.ended.record_since(&self.span, run);
        }
        match driven {
            Driven::Done(done) => {
                if let (true, Some(answer)) = (self.is_shown, done.answer()) {
                    self.span.record("gen_ai.output.messages", contents::answer(&answer));
                }
                spans::record_end(&self.span, done.end());
            }
            Driven::Waiting(step) => spans::record_waiting(&self.span, step),
            Driven::TakenOut(_) => spans::record_handed_off(&self.span),
            Driven::Unwritten(..) => spans::record_unwritten(&self.span),
        }
    }
}
