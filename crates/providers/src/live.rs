//! A model behind a network.

use std::fmt;
use std::time::{Duration, SystemTime};

use sommelier_protocol::{ModelRequest, ModelResponse, Usage};
use sommelier_runtime::{Model, ModelError, Remote};

use crate::exchange::{Exchange, Lost, Sent};
use crate::key::Key;
use crate::service::Service;
use crate::{
    Clock, Heard, Observer, ProviderError, ReplyLimits, Retry, SetupError, SystemClock, anthropic, openai,
};

/// A model behind a network: a [`Model`] like any other.
///
/// Whatever happens is a reply or an error, within the time of the call: see [`LiveBuilder`] for the limits. A call that
/// failed is made again, with the same bytes, where [`ProviderError::retry`] says that it may help.
///
/// ```
/// use sommelier_providers::{Live, openai};
/// use sommelier_runtime::Model;
///
/// let settings = openai::Settings { model: Some("qwen3:4b".into()), ..openai::Settings::default() };
/// let model = Live::openai(settings).base_url("http://127.0.0.1:11434").without_key().build()?;
/// assert_eq!((model.provider(), model.name()), ("openai", Some("qwen3:4b")));
/// assert_eq!(model.endpoint(), "http://127.0.0.1:11434/v1/chat/completions");
/// # Ok::<(), sommelier_providers::SetupError>(())
/// ```
pub struct Live {
    service: Service,
    exchange: Exchange,
    deadline: Duration,
    retries: u32,
    longest_pause: Duration,
    observer: Option<Box<dyn Observer>>,
    raw: Option<Box<Raw>>,
    clock: Box<dyn Clock>,
}

/// Who waits for a reply, and bytes of it.
type Raw = dyn Fn(&str, &[u8]) + Send + Sync;

impl Live {
    /// A model of Anthropic's, or one behind a server that speaks its Messages API.
    pub fn anthropic(settings: anthropic::Settings) -> LiveBuilder {
        LiveBuilder::new(Service::Anthropic(settings))
    }

    /// A model behind a server that speaks OpenAI's chat completions.
    pub fn openai(settings: openai::Settings) -> LiveBuilder {
        LiveBuilder::new(Service::OpenAi(settings))
    }

    /// Where requests go.
    pub fn endpoint(&self) -> &str {
        self.exchange.endpoint()
    }

    /// Takes the key that is sent out of a text, for who keeps what a service sends back: it shows the key to nobody. Where none is
    /// sent, a text is what it was.
    pub fn scrubber(&self) -> impl Fn(&str) -> String + Send + Sync + use<> {
        let key = self.exchange.key().cloned();
        move |text| key.as_ref().map_or_else(|| text.to_owned(), |key| key.scrub(text))
    }

    /// As [`complete`](Model::complete), with an error that says more: whose fault it is, what the service called it. What
    /// the service had counted before it failed is told by `complete` alone.
    ///
    /// # Errors
    /// [`ProviderError`]. A key stands in none of them.
    pub fn ask(&self, request: &ModelRequest<'_>) -> Result<ModelResponse, ProviderError> {
        self.attempts(request).map_err(|lost| lost.error)
    }

    /// Asks until there is a reply, or asking again does not help. What attempts used that broke off is part of what the
    /// call used.
    fn attempts(&self, request: &ModelRequest<'_>) -> Result<ModelResponse, Box<Lost>> {
        let body = self.service.encode(request, self.observer.is_some())?;
        let waited = match request.time_left {
            Some(left) => self.deadline.min(Duration::from_millis(left)),
            None => self.deadline,
        };
        let until = self.clock.elapsed().saturating_add(waited);
        let mut attempt = 0;
        let mut used = Usage::default();
        loop {
            let time_left = until.saturating_sub(self.clock.elapsed());
            if time_left.is_zero() {
                return Err(Lost::of(ProviderError::TimedOut { waited }, used));
            }
            let mut has_told = false;
            let mut tell = |words: &str| {
                has_told = true;
                self.observe(request, Heard::Text(words));
            };
            let raw = |bytes: &[u8]| {
                if let Some(raw) = &self.raw {
                    raw(&request.caller, bytes);
                }
            };
            let sent = Sent { body: &body, time_left, waited, now: self.clock.now(), raw: &raw };
            let error = match self.exchange.make(&self.service, &sent, &mut tell) {
                Ok(mut reply) => {
                    reply.usage.add(&used);
                    self.observe(request, Heard::Whole);
                    return Ok(reply);
                }
                Err(lost) => {
                    used.add(&lost.used);
                    lost.error
                }
            };
            let time_left = until.saturating_sub(self.clock.elapsed());
            let Some(pause) = self.pause(&error, attempt).filter(|pause| *pause < time_left) else {
                return Err(Lost::of(error, used));
            };
            // What the service said may quote the conversation, and is not for a log.
            let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            tracing::warn!(attempt, fault = %error.blame(), pause_ms, "a model call failed and is made again");
            if has_told {
                self.observe(request, Heard::Again);
            }
            self.clock.sleep(pause);
            attempt += 1;
        }
    }

    fn observe(&self, request: &ModelRequest<'_>, heard: Heard<'_>) {
        if let Some(observer) = &self.observer {
            observer.hear(&request.caller, heard);
        }
    }

    /// How long to wait before the call is made again; `None` when it is not.
    fn pause(&self, error: &ProviderError, attempt: u32) -> Option<Duration> {
        if attempt >= self.retries {
            return None;
        }
        let pause = match error.retry() {
            Retry::Never => return None,
            Retry::Backoff => backoff(attempt, self.clock.now()),
            Retry::After(pause) => pause,
        };
        (pause <= self.longest_pause).then_some(pause)
    }
}

/// Half a second, doubled with each attempt up to 8 seconds, less up to a quarter: many that fail at once do not come
/// back at once. The quarter is taken by the fraction of the second, which is chance enough.
fn backoff(attempt: u32, now: SystemTime) -> Duration {
    let whole = Duration::from_millis(500).saturating_mul(1 << attempt.min(4));
    let nanos = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    whole - whole.mul_f64(0.25 * f64::from(nanos) / 1e9)
}

impl Model for Live {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        self.attempts(&request).map_err(|lost| {
            let Lost { error, used } = *lost;
            ModelError::from(error).charged(used.total_input_tokens(), used.output_tokens)
        })
    }

    fn provider(&self) -> &str {
        self.service.provider()
    }

    fn name(&self) -> Option<&str> {
        self.service.model()
    }

    fn remote(&self) -> Option<Remote<'_>> {
        let address = self.exchange.address();
        let is_streamed = self.observer.is_some();
        Some(Remote { address: address.host(), port: address.port(), is_streamed })
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("service", &self.service)
            .field("exchange", &self.exchange)
            .field("deadline", &self.deadline)
            .field("retries", &self.retries)
            .field("is_streamed", &self.observer.is_some())
            .finish_non_exhaustive()
    }
}

/// A [`Live`] model as it is set up.
pub struct LiveBuilder {
    service: Service,
    base_url: Option<String>,
    key_variable: Option<String>,
    sends_key: bool,
    limits: ReplyLimits,
    deadline: Duration,
    retries: u32,
    longest_pause: Duration,
    observer: Option<Box<dyn Observer>>,
    raw: Option<Box<Raw>>,
    clock: Box<dyn Clock>,
}

impl LiveBuilder {
    fn new(service: Service) -> Self {
        Self {
            service,
            base_url: None,
            key_variable: None,
            sends_key: true,
            limits: ReplyLimits::default(),
            deadline: Duration::from_secs(600),
            retries: 2,
            longest_pause: Duration::from_secs(60),
            observer: None,
            raw: None,
            clock: Box::new(SystemClock::default()),
        }
    }

    /// Where the service is, such as `http://127.0.0.1:8080`, with `/v1` or without it. Unless it is said, it is the
    /// provider's own.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The variable of the environment that holds the key: [`anthropic::KEY_VARIABLE`] or [`openai::KEY_VARIABLE`] unless
    /// said. There is no other way to give a key, so that none stands in code, in a file of settings or on a command line. One of
    /// fewer than 8 characters is sent, and is no secret: it is not taken out of what a service sends back.
    #[must_use]
    pub fn key_variable(mut self, name: impl Into<String>) -> Self {
        self.key_variable = Some(name.into());
        self
    }

    /// Sends no key, whatever the environment holds: for a server of one's own.
    #[must_use]
    pub fn without_key(mut self) -> Self {
        self.sends_key = false;
        self
    }

    /// The most time of a whole call, pauses and further attempts included; 10 minutes unless said. A request that says
    /// less goes before.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// How often a call that failed is made again; 2 unless said.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// The longest pause that a service may ask for before the next attempt; a minute unless said. Where it asks for more,
    /// the call fails at once.
    #[must_use]
    pub fn longest_pause(mut self, pause: Duration) -> Self {
        self.longest_pause = pause;
        self
    }

    /// How much of a reply is read.
    #[must_use]
    pub fn limits(mut self, limits: ReplyLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Asks for replies in pieces, and tells `observer` of their words as they come.
    #[must_use]
    pub fn stream_to(mut self, observer: impl Observer + 'static) -> Self {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Gives `tell` the bytes of each reply as the service sent them, before anything is made of them: who waits for the
    /// reply, and the bytes, in as many pieces as they came in. For those who want to see what a model really said. What of a
    /// reply broke off is among them; an error is not. The key is taken out of them where it stands in one piece, which it does in
    /// a plain reply; one that a service lets run over two events of a stream stands there in two parts. They hold what the model wrote, so they belong into no log.
    #[must_use]
    pub fn raw_to(mut self, tell: impl Fn(&str, &[u8]) + Send + Sync + 'static) -> Self {
        self.raw = Some(Box::new(tell));
        self
    }

    /// The clock, for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// The model. Nothing is sent yet.
    ///
    /// # Errors
    /// [`SetupError`]: no key for the provider's own service, and it names the variable to set; a key that cannot be sent,
    /// or would go over the network in the clear; an address that is none; settings that contradict each other.
    pub fn build(self) -> Result<Live, SetupError> {
        if let Service::Anthropic(settings) = &self.service {
            settings.check()?;
        }
        let variable = self.key_variable.as_deref().unwrap_or(self.service.key_variable());
        let key = if self.sends_key { Key::from_environment(variable)? } else { None };
        // A server of one's own may need none; a variable that somebody names is meant.
        let needs_key = self.sends_key && (self.base_url.is_none() || self.key_variable.is_some());
        if needs_key && key.is_none() {
            return Err(SetupError::NoKey {
                provider: self.service.provider(),
                variable: variable.to_owned(),
            });
        }
        let base = self.base_url.as_deref().unwrap_or(self.service.default_base());
        let exchange = Exchange::new(&self.service, base, key, self.limits)?;
        Ok(Live {
            service: self.service,
            exchange,
            deadline: self.deadline,
            retries: self.retries,
            longest_pause: self.longest_pause,
            observer: self.observer,
            raw: self.raw,
            clock: self.clock,
        })
    }
}

impl fmt::Debug for LiveBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveBuilder").field("service", &self.service).finish_non_exhaustive()
    }
}
