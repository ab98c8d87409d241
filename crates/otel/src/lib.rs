//! The spans of a run, sent to any OpenTelemetry collector or viewer: Jaeger, Phoenix, Langfuse, a vendor's own.
//!
//! **What this crate knows:** OTLP over HTTP, what a span of ours is in OpenTelemetry's terms, and how a trace goes on in
//! another process. **What it does not know:** what a run is. It sees spans, as [`sommelier_metrics`] gives them away.
//!
//! ```text
//!   runner ── spans ──▶ tracing ──▶ SpansLayer ──▶ Otlp ──▶ batches, on a thread of their own ──▶ POST /v1/traces
//! ```
//!
//! ```
//! use sommelier_otel::{Otlp, TraceContext};
//! use tracing_subscriber::prelude::*;
//!
//! # use std::io::{Read, Write};
//! # let viewer = std::net::TcpListener::bind("127.0.0.1:0")?;
//! # let address = viewer.local_addr()?;
//! # let asked = std::thread::spawn(move || {
//! #     let (mut stream, _) = viewer.accept()?;
//! #     let mut request = [0; 4096];
//! #     let read = stream.read(&mut request)?;
//! #     stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
//! #     Ok::<_, std::io::Error>(String::from_utf8_lossy(&request[..read]).into_owned())
//! # });
//! // A viewer or a collector, such as http://127.0.0.1:6006.
//! let otlp = Otlp::to(&format!("http://{address}")).service("reservo").start()?;
//! let subscriber = tracing_subscriber::registry().with(otlp.layer());
//! tracing::subscriber::with_default(subscriber, || {
//!     // A trace that another process began, or one of our own; `Runner::trace` takes it to the roots.
//!     let trace = TraceContext::from_environment().unwrap_or_else(TraceContext::begin);
//!     tracing::info_span!(target: "sommelier", "invoke_workflow", trace = %trace);
//! });
//! // Without this the last batch is lost.
//! otlp.finish()?;
//! # assert!(asked.join().unwrap()?.starts_with("POST /v1/traces HTTP/1.1\r\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What always holds
//!
//! - A run does not wait for a viewer, and does not end otherwise for one that is away. What could not be delivered is
//!   counted, and [`Otlp::finish`] tells it.
//! - No words are sent but those that stand in the spans, and none do unless the runner was told to
//!   [show them](https://docs.rs/sommelier-runner).
//! - What is sent is a function of the spans, [`span_data`](Traces::closed): the same spans of the same layer have the same
//!   ids.

mod address;
mod attributes;
mod client;
mod context;
mod otlp;
mod traces;

pub use context::{ContextError, TraceContext};
pub use otlp::{ExportError, Otlp, OtlpBuilder, Sink};
pub use traces::Traces;
