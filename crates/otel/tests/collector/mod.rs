//! A collector for tests: it takes what is posted to it, and reads it as any other would.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests fail as tests do")]
#![allow(dead_code, reason = "each test file uses its own part of it")]

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

/// What a collector has got.
pub(crate) struct Collector {
    url: String,
    got: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
    /// Held, it answers nobody.
    gate: Arc<Mutex<()>>,
}

/// One span, with what a test looks at.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Arrived {
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) name: String,
    pub(crate) kind: i32,
    /// As OTLP has them: 0x200 says that the parent is in another process, 0x100 that this is known.
    pub(crate) flags: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Trace and span of each.
    pub(crate) links: Vec<(String, String)>,
    pub(crate) error: Option<String>,
    pub(crate) attributes: Vec<(String, String)>,
    /// The names of those attributes that are whole numbers.
    pub(crate) numbers: Vec<String>,
}

/// A line of a [tree](Collector::tree).
pub(crate) fn line(depth: usize, name: &str, kind: &str, more: &str) -> String {
    format!("{}{name} [{kind}] {more}", "  ".repeat(depth)).trim_end().to_owned()
}

impl Collector {
    /// One that answers each post with `200`.
    pub(crate) fn start() -> Self {
        Self::answering("200 OK")
    }

    pub(crate) fn answering(status: &'static str) -> Self {
        Self::answering_with(status, "application/x-protobuf", Vec::new())
    }

    /// One that answers each post with this status and a body of this kind.
    pub(crate) fn answering_with(status: &'static str, kind: &'static str, answer: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let got = Arc::new(Mutex::new(Vec::new()));
        let keeps = Arc::clone(&got);
        let gate = Arc::new(Mutex::new(()));
        let passes = Arc::clone(&gate);
        // It ends with the process.
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                while let Some(body) = posted(&stream) {
                    keeps.lock().unwrap().push(ExportTraceServiceRequest::decode(&*body).unwrap());
                    drop(passes.lock().unwrap());
                    let length = answer.len();
                    let head = format!(
                        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
                    );
                    (&stream).write_all(&[head.as_bytes(), &answer].concat()).unwrap();
                }
            }
        });
        Self { url, got, gate }
    }

    /// It takes what is sent, and answers nobody while this is held.
    pub(crate) fn hold(&self) -> MutexGuard<'_, ()> {
        self.gate.lock().unwrap()
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// All spans, in the order in which they began.
    pub(crate) fn spans(&self) -> Vec<Arrived> {
        let got = self.got.lock().unwrap();
        let all = got.iter().flat_map(|request| &request.resource_spans);
        let all = all.flat_map(|spans| &spans.scope_spans).flat_map(|spans| &spans.spans);
        let mut all: Vec<Arrived> = all.map(arrived).collect();
        all.sort_by_key(|span| span.start);
        all
    }

    /// What whoever sent them says of itself.
    pub(crate) fn resource(&self) -> Vec<(String, String)> {
        let got = self.got.lock().unwrap();
        let of = |request: &ExportTraceServiceRequest| {
            let resource = request.resource_spans[0].resource.clone().unwrap();
            resource.attributes.iter().map(attribute).collect::<Vec<_>>()
        };
        let mut told = of(&got[0]);
        told.sort();
        told
    }

    /// What has made the spans: its name and version.
    pub(crate) fn scope(&self) -> (String, String) {
        let got = self.got.lock().unwrap();
        let scope = got[0].resource_spans[0].scope_spans[0].scope.clone().unwrap();
        (scope.name, scope.version)
    }

    /// The spans as lines, each below its parent.
    pub(crate) fn tree(&self) -> Vec<String> {
        let spans = self.spans();
        let mut lines = Vec::new();
        let is_root = |span: &&Arrived| !spans.iter().any(|other| other.id == span.parent);
        for root in spans.iter().filter(is_root) {
            draw(root, &spans, 0, &mut lines);
        }
        lines
    }
}

fn draw(span: &Arrived, spans: &[Arrived], depth: usize, lines: &mut Vec<String>) {
    let after = span.links.iter().map(|(_, id)| {
        let name = spans.iter().find(|other| other.id == *id).map_or("another trace", |other| &other.name);
        format!("after {name}")
    });
    let more: Vec<String> = after.chain(span.error.iter().map(|error| format!("error {error}"))).collect();
    lines.push(line(depth, &span.name, span.attribute("openinference.span.kind"), &more.join(" ")));
    for child in spans.iter().filter(|child| child.parent == span.id) {
        draw(child, spans, depth + 1, lines);
    }
}

impl Arrived {
    /// The attribute of this name, as text; empty where there is none.
    pub(crate) fn attribute(&self, name: &str) -> &str {
        self.attributes.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

fn arrived(span: &Span) -> Arrived {
    let status = span.status.clone().unwrap_or_default();
    Arrived {
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        name: span.name.clone(),
        kind: span.kind,
        flags: span.flags,
        start: span.start_time_unix_nano,
        end: span.end_time_unix_nano,
        links: span.links.iter().map(|link| (hex(&link.trace_id), hex(&link.span_id))).collect(),
        error: (status.code == 2).then_some(status.message),
        attributes: span.attributes.iter().map(attribute).collect(),
        numbers: span.attributes.iter().filter(|it| is_number(it)).map(|it| it.key.clone()).collect(),
    }
}

fn attribute(attribute: &KeyValue) -> (String, String) {
    (attribute.key.clone(), attribute.value.as_ref().map_or_else(String::new, value))
}

fn is_number(attribute: &KeyValue) -> bool {
    matches!(attribute.value.as_ref().and_then(|value| value.value.as_ref()), Some(Value::IntValue(_)))
}

fn value(value: &AnyValue) -> String {
    match &value.value {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::BoolValue(flag)) => flag.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(Value::ArrayValue(all)) => {
            format!("{:?}", all.values.iter().map(self::value).collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The body of the next request on the connection.
fn posted(stream: &TcpStream) -> Option<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    let mut length = 0;
    assert!(reader.read_line(&mut line).ok()? == 0 || line.starts_with("POST /v1/traces HTTP/1.1"), "{line}");
    while line.trim_end() != "" {
        let header = line.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    (length > 0).then_some(body)
}
