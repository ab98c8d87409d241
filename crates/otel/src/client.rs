//! The exporter's HTTP client.

use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use ureq::Agent;
use ureq::http::StatusCode;
use ureq::http::header::CONTENT_TYPE;

/// How long one delivery may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes of an answer that are read.
const ANSWER: u64 = 64 << 10;

/// The most characters of a collector's own words that are told.
const WORDS: usize = 200;

/// What helps where something else than a collector answers.
const NO_COLLECTOR: &str = "; there is no collector that takes OTLP over HTTP at this address";

/// Async in form and blocking in fact, which is right: it is called on the exporter's own thread.
#[derive(Debug)]
pub(crate) struct Client {
    agent: Agent,
    failed: Failed,
}

/// What the last delivery lacked, if anything. The exporter's own outcome does not say it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failed(Arc<Mutex<Option<Lack>>>);

/// Spans that were not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lack {
    pub(crate) why: String,
    /// How many; all of the delivery where there is no number.
    pub(crate) spans: Option<u64>,
}

impl Lack {
    fn of_all(why: String) -> Self {
        Self { why, spans: None }
    }
}

impl Failed {
    fn set(&self, lack: Option<Lack>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = lack;
    }

    pub(crate) fn take(&self) -> Option<Lack> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Client {
    /// One for a collector on this machine, which is not looked for at a proxy, or for another one.
    pub(crate) fn new(failed: Failed, is_near: bool) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Headers may have a key, which must not follow to another host.
            .max_redirects(0)
            .timeout_global(Some(PATIENCE))
            .user_agent(concat!("sommelier/", env!("CARGO_PKG_VERSION")));
        let config = if is_near { config.proxy(None) } else { config };
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
fn refused(answer: &Response<Bytes>) -> Option<Lack> {
    let status = answer.status();
    if !status.is_success() {
        return Some(Lack::of_all(format!("it answered {status}{}", help(status))));
    }
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("text/html") {
        return Some(Lack::of_all(format!("it answered with a page for people{NO_COLLECTOR}")));
    }
    // An answer of another kind, which some viewers give, says that all was taken.
    let partly = ExportTraceServiceResponse::decode(&**answer.body()).ok()?.partial_success?;
    rejected(&partly)
}

/// What would help against a status that is no success.
fn help(status: StatusCode) -> &'static str {
    match status.as_u16() {
        300..=399 => "; it is at another address, which is to be given",
        401 | 403 => {
            "; its key belongs into the variable OTEL_EXPORTER_OTLP_HEADERS, as in `Authorization=Bearer KEY`"
        }
        404 | 405 => NO_COLLECTOR,
        _ => "",
    }
}

/// A collector may take some and tell how many it did not; where it has words alone, it has taken all.
fn rejected(partly: &ExportTracePartialSuccess) -> Option<Lack> {
    let spans = u64::try_from(partly.rejected_spans).ok().filter(|spans| *spans > 0)?;
    let why = match &*partly.error_message {
        "" => "it rejected them".to_owned(),
        words => format!("it rejected them: {}", visible(words)),
    };
    Some(Lack { why, spans: Some(spans) })
}

/// Words of a collector, cut, and in quotes with nothing in them that a terminal would obey.
fn visible(words: &str) -> String {
    match words.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{:?}…", words.get(..end).unwrap_or_default()),
        None => format!("{words:?}"),
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.send(request);
        self.failed.set(match &answer {
            Ok(answer) => refused(answer),
            Err(error) => Some(Lack::of_all(error.to_string())),
        });
        answer
    }
}
