//! What the tests of the desk share.
#![allow(dead_code, reason = "each file of tests uses its part")]

use sommelier_protocol::{Message, ModelRequest, ModelResponse, System};
use sommelier_runner::{Outcome, Parked, Report};
use sommelier_runtime::{Model, ModelError};
use std::sync::Mutex;

/// A model that is asked through, and what it was sent.
#[derive(Debug)]
pub(crate) struct Heard<M> {
    model: M,
    requests: Mutex<Vec<Request>>,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) agent: String,
    pub(crate) system: String,
    pub(crate) messages: Vec<Message>,
}

impl<M> Heard<M> {
    pub(crate) fn new(model: M) -> Self {
        Self { model, requests: Mutex::default() }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Who was asked, in order.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.agent).collect()
    }

    /// The first request of an agent.
    pub(crate) fn first_of(&self, agent: &str) -> Request {
        self.requests().into_iter().find(|request| request.agent == agent).unwrap()
    }
}

impl<M: Model> Model for Heard<M> {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let system = match request.system.as_deref() {
            Some(System::Text(text)) => text.to_string(),
            _ => String::new(),
        };
        let noted =
            Request { agent: request.caller.to_string(), system, messages: request.messages.to_vec() };
        self.requests.lock().unwrap().push(noted);
        self.model.complete(request)
    }
}

/// The report of a run that has ended.
#[track_caller]
pub(crate) fn ended(outcome: Outcome) -> Report {
    match outcome {
        Outcome::Ended(report) => report,
        other => panic!("not ended: {other:?}"),
    }
}

/// A run that waits.
#[track_caller]
pub(crate) fn waiting(outcome: Outcome) -> Parked {
    match outcome {
        Outcome::Waiting(parked) => parked,
        other => panic!("not waiting: {other:?}"),
    }
}

/// The handoffs that were taken, as `from -> to`.
pub(crate) fn hops(report: &Report) -> Vec<String> {
    report.hops().map(|hop| format!("{} -> {}", hop.from, hop.to)).collect()
}
