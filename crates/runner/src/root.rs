//! The root of what is told of a run.

use sommelier_handoff::{Relay, Step};
use tracing::Span;

use crate::conduct::Ended;
use crate::driven::Driven;
use crate::durable::Log;
use crate::journal::Head;
use crate::runner::Around;
use crate::secrets::Vault;
use crate::spans::{self, Told};
use crate::{RunError, contents};

/// The span of one message of the user, or of the part of the answer to it that this process gives.
pub(crate) struct Root<'v> {
    span: Span,
    ended: Ended,
    vault: &'v Vault<'v>,
}

impl<'v> Root<'v> {
    /// Opens it. With contents it says what the user said, if a model is to read that next or when a question has its answer.
    pub(crate) fn open(relay: &Relay, step: &Step, told: Told<'_>, around: &Around<'v>) -> Self {
        let vault = around.vault;
        let span = spans::workflow(step.run(), told);
        if let (true, Step::CallModel(call)) = (vault.is_shown(), step)
            && let Some(words) = contents::last_words(&call.request(relay).messages, vault)
        {
            span.record("gen_ai.input.messages", words);
        }
        if let Some(answered) = around.answered {
            answered.record(&span);
        }
        if let Some(words) = around.log.and_then(Log::waiting_words) {
            span.record("words_wait", true);
            if vault.is_shown() {
                span.record("gen_ai.input.messages", contents::user(words, vault));
            }
        }
        Self { span, ended: Ended::of(step.run()), vault }
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
                if let (true, Some(answer)) = (self.vault.is_shown(), done.answer()) {
                    self.span.record("gen_ai.output.messages", contents::answer(&answer, self.vault));
                }
                spans::record_end(&self.span, done.end());
            }
            Driven::Waiting(step) => spans::record_waiting(&self.span, step),
            Driven::TakenOut(_) => spans::record_handed_off(&self.span),
            Driven::Unwritten(..) => spans::record_unwritten(&self.span),
        }
    }
}
