//! The way of spans to a collector.

use std::env::VarError;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_otlp::{WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::resource::{EnvResourceDetector, ResourceDetector};
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, OTEL_BSP_MAX_EXPORT_BATCH_SIZE_DEFAULT,
    OTEL_BSP_MAX_QUEUE_SIZE_DEFAULT, SpanData, SpanExporter, SpanProcessor,
};
use sommelier_metrics::{ClosedSpan, OpenedSpan, SpanSink, SpansLayer};
use ureq::http::{HeaderName, HeaderValue};

use crate::Traces;
use crate::address::{self, shown};
use crate::client::{Client, Failed, Lack, PATIENCE};

/// Spans on their way to a collector, in batches and on a thread of their own.
///
/// Clones share one thread. See the [crate](crate) for how it is put up.
#[derive(Clone)]
pub struct Otlp(Arc<Way>);

struct Way {
    endpoint: String,
    processor: BatchSpanProcessor,
    /// How many spans were given away.
    sent: AtomicU64,
    told: Arc<Told>,
}

/// What became of the spans.
#[derive(Debug, Default)]
struct Told {
    delivered: AtomicU64,
    /// Why the last ones that were not delivered were not.
    why: Mutex<Option<String>>,
}

/// Spans that did not reach the collector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The address is none, or the exporter could not be set up.
    #[error("spans cannot be sent to {endpoint:?}: {detail}")]
    Setup {
        /// The address.
        endpoint: String,
        /// What is wrong.
        detail: String,
    },
    /// Some were not taken.
    #[error("{lost} of {all} spans did not reach the collector at {endpoint}: {why}")]
    Lost {
        /// Where it was to be, without what may be secret of the address.
        endpoint: String,
        /// How many.
        lost: u64,
        /// Of how many.
        all: u64,
        /// Why the last ones did not.
        why: String,
    },
}

/// An [`Otlp`] as it is set up.
#[derive(Clone)]
pub struct OtlpBuilder {
    endpoint: String,
    attributes: Vec<KeyValue>,
}

impl Otlp {
    /// Sends spans to the collector at this address, such as `http://127.0.0.1:4318`. `/v1/traces` is added to it, unless it ends so;
    /// it has no query and no fragment. Headers, such as a key, come from the variable `OTEL_EXPORTER_OTLP_HEADERS`; what is not [said](OtlpBuilder::attribute) of the
    /// sender comes from `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
    pub fn to(endpoint: impl Into<String>) -> OtlpBuilder {
        OtlpBuilder { endpoint: endpoint.into(), attributes: Vec::new() }
    }

    /// A layer whose spans are sent.
    #[must_use]
    pub fn layer(&self) -> SpansLayer<Sink> {
        SpansLayer::to(Sink { way: Arc::clone(&self.0), traces: Mutex::default() })
    }

    /// Sends what is left, and ends: spans that close later are lost.
    ///
    /// # Errors
    /// [`ExportError::Lost`] when spans did not reach the collector, now or before.
    pub fn finish(&self) -> Result<(), ExportError> {
        let ended = self.0.processor.shutdown_with_timeout(PATIENCE + Duration::from_secs(1));
        let Told { delivered, why } = &*self.0.told;
        let (all, delivered) = (self.0.sent.load(Ordering::Relaxed), delivered.load(Ordering::Relaxed));
        let why = why.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let why = why.or_else(|| match ended {
            Ok(()) | Err(OTelSdkError::AlreadyShutdown) => None,
            Err(error) => Some(error.to_string()),
        });
        match all.saturating_sub(delivered) {
            0 => Ok(()),
            lost => {
                let why = why.unwrap_or_else(|| "more came at once than could be kept for it".to_owned());
                Err(ExportError::Lost { endpoint: self.0.endpoint.clone(), lost, all, why })
            }
        }
    }
}

impl fmt::Debug for Otlp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Otlp").field(&self.0.told).finish()
    }
}

impl fmt::Debug for OtlpBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpBuilder").field("endpoint", &shown(&self.endpoint)).finish_non_exhaustive()
    }
}

impl OtlpBuilder {
    /// Names the service whose spans these are; unless said, by the environment, and else `sommelier`.
    #[must_use]
    pub fn service(self, name: &str) -> Self {
        self.attribute("service.name", name)
    }

    /// Names the project under which Phoenix shows them.
    #[must_use]
    pub fn project(self, name: &str) -> Self {
        self.attribute("openinference.project.name", name)
    }

    /// Says something of whatever sends them, such as `deployment.environment.name`.
    #[must_use]
    pub fn attribute(mut self, name: &str, value: &str) -> Self {
        self.attributes.retain(|known| known.key.as_str() != name);
        self.attributes.push(KeyValue::new(name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the thread that sends. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ExportError::Setup`] when the address is none or has a query or a fragment, the variable of the headers has a piece that
    /// is no header, or a proxy that the environment names for what is not on this machine cannot be used.
    pub fn start(self) -> Result<Otlp, ExportError> {
        let base = self.endpoint.trim_end_matches('/');
        let endpoint =
            if base.ends_with("/v1/traces") { base.to_owned() } else { format!("{base}/v1/traces") };
        let shown = shown(base);
        // What others say of an address may quote all of it.
        let bad = |detail: String| {
            let detail = detail.replace(&endpoint, &shown).replace(base, &shown);
            ExportError::Setup { endpoint: shown.clone(), detail }
        };
        let is_near = address::check(base).map_err(&bad)?;
        headers_are_good().map_err(&bad)?;
        let failed = Failed::default();
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(Client::new(failed.clone(), is_near))
            .with_endpoint(endpoint.clone())
            .with_timeout(PATIENCE)
            .build()
            .map_err(|error| bad(error.to_string()))?;
        let told = Arc::new(Told::default());
        // Not by the environment: a queue of any length would be asked for.
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(OTEL_BSP_MAX_QUEUE_SIZE_DEFAULT)
            .with_max_export_batch_size(OTEL_BSP_MAX_EXPORT_BATCH_SIZE_DEFAULT)
            .build();
        let counted = Counted { exporter, failed, told: Arc::clone(&told) };
        let mut processor = BatchSpanProcessor::builder(counted).with_batch_config(batches).build();
        processor.set_resource(&sender(self.attributes));
        Ok(Otlp(Arc::new(Way { endpoint: shown, processor, sent: AtomicU64::new(0), told })))
    }
}

/// A piece that is no header is left out by the exporter without a word, and the collector would refuse all spans for want of a key.
fn headers_are_good() -> Result<(), String> {
    let set = |name| match std::env::var(name) {
        Err(VarError::NotPresent) => None,
        set => Some((name, set)),
    };
    let found = set("OTEL_EXPORTER_OTLP_TRACES_HEADERS").or_else(|| set("OTEL_EXPORTER_OTLP_HEADERS"));
    let Some((variable, headers)) = found else { return Ok(()) };
    let headers = headers.map_err(|_| format!("the variable {variable} is no UTF-8"))?;
    match headers.split_terminator(',').position(|piece| !is_header(piece)) {
        None => Ok(()),
        // It may be a key, and is not told.
        Some(at) => Err(format!(
            "piece {} of the variable {variable} is no header; right is `Authorization=Bearer KEY`, and a comma between two",
            at + 1
        )),
    }
}

/// Whether this is a header, as the exporter reads it: what stands behind a percent sign in its value may be a character.
fn is_header(piece: &str) -> bool {
    let Some((name, value)) = piece.split_once('=') else { return false };
    let (name, value) = (name.trim(), value.trim());
    let escaped = value.split('%').skip(1).filter_map(|rest| u8::from_str_radix(rest.get(..2)?, 16).ok());
    HeaderName::from_bytes(name.as_bytes()).is_ok()
        && !value.is_empty()
        && HeaderValue::from_str(value).is_ok()
        && escaped.into_iter().all(|byte| byte == b'\t' || !byte.is_ascii_control())
}

/// Who sends: what was said of it, else what the environment says, else that it is `sommelier`.
fn sender(said: Vec<KeyValue>) -> Resource {
    let named = std::env::var("OTEL_SERVICE_NAME").ok().filter(|name| !name.is_empty());
    let by_environment = EnvResourceDetector::new().detect();
    let known = by_environment.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    let service = |name: String| KeyValue::new("service.name", name);
    // Of two that say the same the later one holds.
    let all =
        [service("sommelier".to_owned())].into_iter().chain(known).chain(named.map(service)).chain(said);
    Resource::builder_empty().with_attributes(all).build()
}

/// The sink of [`Otlp::layer`].
pub struct Sink {
    way: Arc<Way>,
    traces: Mutex<Traces>,
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").finish_non_exhaustive()
    }
}

impl SpanSink for Sink {
    fn opened(&self, span: &OpenedSpan<'_>) {
        self.traces.lock().unwrap_or_else(PoisonError::into_inner).opened(span);
    }

    fn closed(&self, span: ClosedSpan) {
        let data = self.traces.lock().unwrap_or_else(PoisonError::into_inner).closed(&span);
        // What whoever began the trace does not want to see is not sent.
        if let Some(data) = data.filter(|data| data.span_context.is_sampled()) {
            self.way.sent.fetch_add(1, Ordering::Relaxed);
            self.way.processor.on_end(data);
        }
    }
}

/// An exporter whose outcomes are counted.
#[derive(Debug)]
struct Counted<E> {
    exporter: E,
    failed: Failed,
    told: Arc<Told>,
}

impl<E: SpanExporter> SpanExporter for Counted<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        let exported = self.exporter.export(batch).await;
        let lack = self.failed.take();
        let lost = match (&exported, &lack) {
            (Ok(()), None) => 0,
            // A collector cannot reject more than it was sent, whatever it says.
            (Ok(()), Some(Lack { spans: Some(rejected), .. })) => spans.min(*rejected),
            _ => spans,
        };
        self.told.delivered.fetch_add(spans - lost, Ordering::Relaxed);
        if let Some(why) = lack.map(|lack| lack.why).or_else(|| Some(exported.as_ref().err()?.to_string())) {
            *self.told.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
