//! One request over HTTP, and what comes back.

use std::cell::RefCell;
use std::io::Read;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use sommelier_address::{Address, BadProxy, check_proxy};
use sommelier_protocol::{ModelResponse, Usage};
use ureq::http::HeaderValue;
use ureq::{Agent, Body, Timeout};

use crate::address;
use crate::error::clip;
use crate::key::{Key, Veil};
use crate::observer::Tell;
use crate::service::{Service, Stream};
use crate::sse::too_large;
use crate::{Head, ProviderError, ReplyLimits, Retry, ServiceError, SetupError, anthropic};

/// Where requests go, and with which key.
#[derive(Debug)]
pub(crate) struct Exchange {
    agent: Agent,
    endpoint: String,
    address: Address,
    key: Option<Key>,
    limits: ReplyLimits,
}

/// One request as it is sent.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) body: &'a [u8],
    /// What is left of the time of the call.
    pub(crate) time_left: Duration,
    /// The time of the whole call, for the error that tells that it is over.
    pub(crate) waited: Duration,
    pub(crate) now: SystemTime,
    /// Who is given the bytes of a reply as they came.
    pub(crate) raw: &'a dyn Fn(&[u8]),
}

/// An attempt that brought no reply.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) error: ProviderError,
    /// What the service had counted for it.
    pub(crate) used: Usage,
}

impl Lost {
    /// Boxed, since a result is moved often and seldom this.
    pub(crate) fn of(error: ProviderError, used: Usage) -> Box<Self> {
        Box::new(Self { error, used })
    }
}

impl From<ProviderError> for Box<Lost> {
    fn from(error: ProviderError) -> Self {
        Lost::of(error, Usage::default())
    }
}

/// The most of an error's body that is read, and for how long: its status is known, and the time is for asking again.
const ERROR_BYTES: u64 = 64 << 10;
const ERROR_TIME: Duration = Duration::from_secs(3);
/// A host that does not answer at all is given up before the whole call is.
const CONNECT: Duration = Duration::from_secs(30);

impl Exchange {
    pub(crate) fn new(
        service: &Service,
        base: &str,
        key: Option<Key>,
        limits: ReplyLimits,
    ) -> Result<Self, SetupError> {
        let address = address::check(base, key.is_some())?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A key must not follow to another host.
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("sommelier/", env!("CARGO_PKG_VERSION")));
        if !address.is_near() {
            check_proxy().map_err(|BadProxy { variable }| SetupError::BadProxy { variable })?;
        }
        // What is on this machine is not looked for at a proxy.
        let config = if address.is_near() { config.proxy(None) } else { config };
        let agent = config.build().new_agent();
        Ok(Self { agent, endpoint: service.endpoint(base), address, key, limits })
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// The key that is sent.
    pub(crate) fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// Sends the request and reads the reply.
    pub(crate) fn make(
        &self,
        service: &Service,
        sent: &Sent<'_>,
        tell: Tell<'_>,
    ) -> Result<ModelResponse, Box<Lost>> {
        let Some(key) = &self.key else { return self.reply(service, sent, tell) };
        let (mut words, bytes) = (Veil::default(), RefCell::new(Veil::default()));
        let mut tell_words = |told: Vec<u8>| {
            if !told.is_empty() {
                tell(&String::from_utf8_lossy(&told));
            }
        };
        let tell_bytes = |told: Vec<u8>| {
            if !told.is_empty() {
                (sent.raw)(&told);
            }
        };
        let raw = |piece: &[u8]| tell_bytes(bytes.borrow_mut().pass(key, piece));
        let veiled = Sent { raw: &raw, ..*sent };
        let come = self
            .reply(service, &veiled, &mut |piece| tell_words(words.pass(key, piece.as_bytes())))
            .and_then(|reply| {
                let used = reply.usage.clone();
                key.scrub_reply(reply).map_err(|error| Lost::of(error, used))
            });
        tell_words(words.rest());
        tell_bytes(bytes.borrow_mut().rest());
        come.map_err(|lost| Lost::of(scrub(lost.error, key), lost.used))
    }

    fn reply(&self, service: &Service, sent: &Sent<'_>, tell: Tell<'_>) -> Result<ModelResponse, Box<Lost>> {
        let response = self.send(service, sent).map_err(|error| broken(error, sent.waited))?;
        let mut head = Head::new(response.status().as_u16());
        for (name, value) in response.headers() {
            if let Ok(value) = value.to_str() {
                head.header(name.as_str(), value);
            }
        }
        let is_well = response.status().is_success();
        let reader = response.into_body().into_reader();
        if !is_well {
            // What of the body came is told; its status is known in any case.
            let body = read_for_error(reader);
            return Err(ProviderError::Service(service.decode_error(&head, &body, sent.now)).into());
        }
        let come = match head.media_type().as_deref() {
            Some("text/event-stream") => self.read_stream(service, &head, reader, sent, tell),
            Some(media) if media != "application/json" && !media.ends_with("+json") => {
                let body = clip(&String::from_utf8_lossy(&read_for_error(reader)));
                let detail = format_args!("the reply is {media} and no JSON: {body}");
                return Err(ProviderError::malformed(detail).into());
            }
            _ => self.read_plain(service, reader, sent),
        };
        come.map_err(|lost| Lost::of(paused(lost.error, &head, sent.now), lost.used))
    }

    fn read_plain(
        &self,
        service: &Service,
        reader: impl Read,
        sent: &Sent<'_>,
    ) -> Result<ModelResponse, Box<Lost>> {
        let reply = service.decode(&self.read_whole(reader, sent)?)?;
        match service.check(&reply, self.limits) {
            Ok(()) => Ok(reply),
            Err(error) => Err(Lost::of(error, reply.usage)),
        }
    }

    fn send(&self, service: &Service, sent: &Sent<'_>) -> Result<ureq::http::Response<Body>, ureq::Error> {
        let mut request = self
            .agent
            .post(&self.endpoint)
            .config()
            .timeout_global(Some(sent.time_left))
            .build()
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if let Service::Anthropic(_) = service {
            request = request.header("anthropic-version", anthropic::VERSION);
        }
        if let Some(key) = &self.key {
            let (name, text) = match service {
                Service::Anthropic(_) => ("x-api-key", key.expose().to_owned()),
                Service::OpenAi(_) => ("authorization", format!("Bearer {}", key.expose())),
            };
            let mut value = HeaderValue::try_from(text).map_err(ureq::http::Error::from)?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        request.send(sent.body)
    }

    fn read_whole(&self, reader: impl Read, sent: &Sent<'_>) -> Result<Vec<u8>, ProviderError> {
        let most = self.limits.total_bytes;
        let mut body = Vec::new();
        let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
        reader.take(limit).read_to_end(&mut body).map_err(|error| broken(error.into(), sent.waited))?;
        if body.len() > most {
            return Err(too_large("the reply", most));
        }
        (sent.raw)(&body);
        Ok(body)
    }

    fn read_stream(
        &self,
        service: &Service,
        head: &Head,
        mut reader: impl Read,
        sent: &Sent<'_>,
        tell: Tell<'_>,
    ) -> Result<ModelResponse, Box<Lost>> {
        let mut stream = service.stream(head, self.limits);
        let come = read_into(&mut stream, &mut reader, sent, tell);
        let used = stream.used();
        come.and_then(|()| stream.finish()).map_err(|error| Lost::of(error, used))
    }
}

/// Reads until the stream says that it is over, or ends.
fn read_into(
    stream: &mut Stream,
    reader: &mut impl Read,
    sent: &Sent<'_>,
    tell: Tell<'_>,
) -> Result<(), ProviderError> {
    let mut buffer = [0; 8192];
    while !stream.is_over() {
        let read = reader.read(&mut buffer).map_err(|error| broken(error.into(), sent.waited))?;
        match buffer.get(..read) {
            None | Some([]) => break,
            Some(bytes) => {
                (sent.raw)(bytes);
                stream.push(bytes, tell)?;
            }
        }
    }
    Ok(())
}

/// The beginning of a body that only says what is wrong. It is read beside the call, for as long as it is worth: a service that
/// lets it drip must not take the time in which it would be asked again.
fn read_for_error(reader: impl Read + Send + 'static) -> Vec<u8> {
    let (give, take) = mpsc::channel();
    let read = move || {
        let mut reader = reader.take(ERROR_BYTES);
        let mut piece = [0; 4096];
        while let Ok(length @ 1..) = reader.read(&mut piece) {
            let Some(bytes) = piece.get(..length) else { return };
            if give.send(bytes.to_vec()).is_err() {
                return;
            }
        }
    };
    let mut body = Vec::new();
    // Without a thread there is no body, and still a status.
    if thread::Builder::new().name("error-body".to_owned()).spawn(read).is_err() {
        return body;
    }
    let until = Instant::now() + ERROR_TIME;
    while let Ok(bytes) = take.recv_timeout(until.saturating_duration_since(Instant::now())) {
        body.extend(bytes);
    }
    body
}

/// An error that came behind a head of success, with what that head says of asking again.
fn paused(error: ProviderError, head: &Head, now: SystemTime) -> ProviderError {
    match error {
        ProviderError::Service(error) if error.retry != Retry::Never => {
            let mut head = head.clone();
            head.status = error.status;
            ProviderError::Service(ServiceError { retry: head.retry(now), ..error })
        }
        error => error,
    }
}

/// What it means that nothing came, or not all.
fn broken(error: ureq::Error, waited: Duration) -> ProviderError {
    match error {
        ureq::Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
            ProviderError::Unreachable { detail: format!("no connection within {CONNECT:?}") }
        }
        ureq::Error::Timeout(_) => ProviderError::TimedOut { waited },
        error => ProviderError::Unreachable { detail: clip(&error.to_string()) },
    }
}

/// The error without the key.
fn scrub(error: ProviderError, key: &Key) -> ProviderError {
    match error {
        ProviderError::Service(error) => ProviderError::Service(ServiceError {
            kind: key.scrub(&error.kind),
            code: error.code.map(|code| key.scrub(&code)),
            message: key.scrub(&error.message),
            request_id: error.request_id.map(|id| key.scrub(&id)),
            ..error
        }),
        ProviderError::Malformed { detail } => ProviderError::Malformed { detail: key.scrub(&detail) },
        ProviderError::Unreachable { detail } => ProviderError::Unreachable { detail: key.scrub(&detail) },
        error => error,
    }
}
