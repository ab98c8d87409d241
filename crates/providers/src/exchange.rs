//! One request over HTTP, and what comes back.

use std::io::Read;
use std::time::{Duration, SystemTime};

use sommelier_protocol::{ModelResponse, Usage};
use ureq::http::{HeaderValue, Uri};
use ureq::{Agent, Body, Timeout};

use crate::error::clip;
use crate::key::Key;
use crate::observer::Tell;
use crate::service::{Service, Stream};
use crate::sse::too_large;
use crate::{Head, ProviderError, ReplyLimits, ServiceError, SetupError, anthropic};

/// Where requests go, and with which key.
#[derive(Debug)]
pub(crate) struct Exchange {
    agent: Agent,
    endpoint: String,
    key: Option<Key>,
    limits: ReplyLimits,
}

/// One request as it is sent.
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

/// The most of an error's body that is read.
const ERROR_BYTES: u64 = 64 << 10;
/// A host that does not answer at all is given up before the whole call is.
const CONNECT: Duration = Duration::from_secs(30);

impl Exchange {
    pub(crate) fn new(
        service: &Service,
        base: &str,
        key: Option<Key>,
        limits: ReplyLimits,
    ) -> Result<Self, SetupError> {
        let is_near = check(base, key.is_some())?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A key must not follow to another host.
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .user_agent(concat!("sommelier/", env!("CARGO_PKG_VERSION")));
        // What is on this machine is not looked for at a proxy.
        let config = if is_near { config.proxy(None) } else { config };
        Ok(Self { agent: config.build().new_agent(), endpoint: service.endpoint(base), key, limits })
    }

    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
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
        self.reply(service, sent, tell).map_err(|lost| match &self.key {
            Some(key) => Lost::of(scrub(lost.error, key), lost.used),
            None => lost,
        })
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
            let mut body = Vec::new();
            // What of the body came is told; its status is known in any case.
            let _ = reader.take(ERROR_BYTES).read_to_end(&mut body);
            return Err(ProviderError::Service(service.decode_error(&head, &body, sent.now)).into());
        }
        match head.media_type().as_deref() {
            Some("text/event-stream") => self.read_stream(service, &head, reader, sent, tell),
            None => Ok(service.decode(&self.read_whole(reader, sent)?)?),
            Some(media) if media == "application/json" || media.ends_with("+json") => {
                Ok(service.decode(&self.read_whole(reader, sent)?)?)
            }
            Some(media) => {
                let mut body = Vec::new();
                let _ = reader.take(ERROR_BYTES).read_to_end(&mut body);
                let body = clip(&String::from_utf8_lossy(&body));
                let detail = format_args!("the reply is {media} and no JSON: {body}");
                Err(ProviderError::malformed(detail).into())
            }
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

/// Whether the base is on this machine.
fn check(base: &str, has_key: bool) -> Result<bool, SetupError> {
    let bad = |fault| SetupError::BadUrl { url: without_secrets(base), fault };
    let uri: Uri = base.parse().map_err(|_| bad("it cannot be read"))?;
    let is_secure = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        _ => return Err(bad("it begins with neither http:// nor https://")),
    };
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(bad("a name and password may not stand in it"));
    }
    // What stands behind a `#` is not sent, and the path of a request would be part of it.
    if base.contains(['?', '#']) {
        return Err(bad("nothing may stand behind a `?` or a `#`"));
    }
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| bad("it names no host"))?;
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    let is_near = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    if has_key && !is_secure && !is_near {
        return Err(SetupError::KeyInTheClear { url: without_secrets(base) });
    }
    Ok(is_near)
}

/// The address without a name, a password or a query.
fn without_secrets(base: &str) -> String {
    let base = base.split(['?', '#']).next().unwrap_or_default();
    match base.rsplit_once('@') {
        Some((_, host)) => clip(host),
        None => clip(base),
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
