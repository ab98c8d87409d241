//! The exporter's HTTP client.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use ureq::Agent;
use ureq::http::StatusCode;

/// How long one delivery may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes of an answer that are read.
const ANSWER: u64 = 64 << 10;

/// Async in form and blocking in fact, which is right: it is called on the exporter's own thread.
#[derive(Debug)]
pub(crate) struct Client {
    agent: Agent,
    failed: Failed,
}

/// Why the last delivery failed. The exporter's own errors do not say it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failed(Arc<Mutex<Option<String>>>);

impl Failed {
    fn set(&self, why: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Client {
    pub(crate) fn new(failed: Failed) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Headers may have a key, which must not follow to another host.
            .max_redirects(0)
            .timeout_global(Some(PATIENCE))
            .user_agent(concat!("sommelier/", env!("CARGO_PKG_VERSION")));
        Self { agent: config.build().new_agent(), failed }
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let answer = self.agent.run(Request::from_parts(head, &*body))?;
        let (head, body) = answer.into_parts();
        let mut read = Vec::new();
        body.into_reader().take(ANSWER).read_to_end(&mut read)?;
        Ok(Response::from_parts(head, read.into()))
    }
}

/// What an answer says that is no success, and what would help.
fn refused(status: StatusCode) -> Option<String> {
    let help = match status.as_u16() {
        200..=299 => return None,
        300..=399 => "; it is at another address, which is to be given",
        401 | 403 => {
            "; its key belongs into the variable OTEL_EXPORTER_OTLP_HEADERS, as in `Authorization=Bearer KEY`"
        }
        404 | 405 => "; there is no collector that takes OTLP over HTTP at this address",
        _ => "",
    };
    Some(format!("it answered {status}{help}"))
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.send(request);
        self.failed.set(match &answer {
            Ok(answer) => refused(answer.status()),
            Err(error) => Some(error.to_string()),
        });
        answer
    }
}
