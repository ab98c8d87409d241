//! The exporter's HTTP client.

use std::io::Read;
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use ureq::Agent;

/// How long one delivery may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The most bytes of an answer that are read.
const ANSWER: u64 = 64 << 10;

/// Async in form and blocking in fact, which is right: it is called on the exporter's own thread.
#[derive(Debug)]
pub(crate) struct Client(Agent);

impl Client {
    pub(crate) fn new() -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Headers may have a key, which must not follow to another host.
            .max_redirects(0)
            .timeout_global(Some(PATIENCE))
            .user_agent(concat!("sommelier/", env!("CARGO_PKG_VERSION")));
        Self(config.build().new_agent())
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (head, body) = request.into_parts();
        let answer = self.0.run(Request::from_parts(head, &*body))?;
        let (head, body) = answer.into_parts();
        let mut read = Vec::new();
        body.into_reader().take(ANSWER).read_to_end(&mut read)?;
        Ok(Response::from_parts(head, read.into()))
    }
}
