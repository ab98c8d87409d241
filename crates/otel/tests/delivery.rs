//! Several layers, several threads, and a collector that is slower than what is sent to it.
#![expect(clippy::unwrap_used, reason = "a test may; clippy excuses only the test functions themselves")]

mod collector;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::thread;

use collector::{Arrived, Collector};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use prost::Message;
use sommelier_otel::{ExportError, Otlp, TraceContext};
use tracing::{Dispatch, dispatcher, info_span};
use tracing_subscriber::prelude::*;

/// So many threads, each with so many roots, with one child and one grandchild each.
const THREADS: usize = 8;
const ROOTS: usize = 50;

fn watched(otlp: &Otlp) -> Dispatch {
    Dispatch::new(tracing_subscriber::registry().with(otlp.layer()))
}

/// A root with a child and a grandchild, named after it.
fn three(name: &str, trace: &str) {
    let span = |depth: usize| format!("{name}/{depth}");
    let root = info_span!(target: "sommelier", parent: None, "invoke_workflow", otel.name = span(0), trace);
    let child = info_span!(target: "sommelier", parent: &root, "invoke_agent", otel.name = span(1));
    drop(info_span!(target: "sommelier", parent: &child, "chat", otel.name = span(2)));
}

/// Each span has an id that no other has, and stands under the one above it that has its name.
fn are_threes(spans: &[Arrived], roots: usize) {
    let by_id: BTreeMap<&str, &Arrived> = spans.iter().map(|span| (&*span.id, span)).collect();
    assert_eq!((by_id.len(), spans.len()), (3 * roots, 3 * roots));
    for span in spans {
        let (name, depth) = span.name.rsplit_once('/').unwrap();
        let above = by_id.get(&*span.parent).map(|parent| (&*parent.name, &*parent.trace));
        let expected = match depth {
            "0" => None,
            "1" => Some((format!("{name}/0"), &*span.trace)),
            _ => Some((format!("{name}/1"), &*span.trace)),
        };
        assert_eq!(above, expected.as_ref().map(|(name, trace)| (&**name, *trace)), "{}", span.name);
    }
}

/// S3-31, C133: many threads over one layer, each root in a trace of its own: no span stands under another's.
#[test]
fn many_threads_keep_their_trees_apart() {
    let collector = Collector::start();
    let otlp = Otlp::to(collector.url()).start().unwrap();
    let dispatch = watched(&otlp);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let dispatch = &dispatch;
            scope.spawn(move || {
                dispatcher::with_default(dispatch, || {
                    for root in 0..ROOTS {
                        three(&format!("{thread}-{root}"), &TraceContext::begin().to_string());
                    }
                });
            });
        }
    });
    otlp.finish().unwrap();
    let spans = collector.spans();
    are_threes(&spans, THREADS * ROOTS);
    let traces: BTreeSet<&str> = spans.iter().map(|span| &*span.trace).collect();
    assert_eq!(traces.len(), THREADS * ROOTS);
}

/// S3-31: layers number their spans alike, each from 1; what they send has ids of its own all the same, in one trace too.
#[test]
fn two_layers_in_one_trace_have_ids_of_their_own() {
    let collector = Collector::start();
    let otlp = Otlp::to(collector.url()).start().unwrap();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for layer in ["first", "second"] {
        dispatcher::with_default(&watched(&otlp), || three(layer, trace));
    }
    otlp.finish().unwrap();
    let spans = collector.spans();
    are_threes(&spans, 2);
    let parents = spans.iter().map(|span| &*span.parent).filter(|parent| *parent == "00f067aa0ba902b7");
    assert_eq!(parents.count(), 2);
}

/// Only the first root of a trace has the id that follows from the trace's name, however many traces go on side by side.
#[test]
fn roots_that_take_turns_have_ids_of_their_own() {
    let collector = Collector::start();
    let otlp = Otlp::to(collector.url()).start().unwrap();
    let traces = [0; 100].map(|_| TraceContext::begin().to_string());
    dispatcher::with_default(&watched(&otlp), || {
        for round in 0..3 {
            for (place, trace) in traces.iter().enumerate() {
                three(&format!("{round}-{place}"), trace);
            }
        }
    });
    otlp.finish().unwrap();
    are_threes(&collector.spans(), 300);
}

/// An address is taken with the path and without it.
#[test]
fn the_path_is_added_where_it_is_missing() {
    let collector = Collector::start();
    for path in ["", "/", "/v1/traces", "/v1/traces/"] {
        let otlp = Otlp::to(format!("{}{path}", collector.url())).start().unwrap();
        dispatcher::with_default(&watched(&otlp), || three("root", ""));
        otlp.finish().unwrap();
    }
    are_threes(&collector.spans(), 4);
}

/// A query is no part of a collector's address: the path would be added to it. What stands in it may be a key, and is not told.
#[test]
fn an_address_with_a_query_is_refused() {
    let why = "it has a `?` or a `#`, behind which nothing of the address of a collector stands; a key belongs into the variable \
               OTEL_EXPORTER_OTLP_HEADERS, as in `Authorization=Bearer KEY`";
    for (address, shown) in [
        ("http://h:1/?k=s3cret", "http://h:1/"),
        ("http://h:1?", "http://h:1"),
        ("http://h:1/v1/traces#s3cret", "http://h:1/v1/traces"),
        ("http://h:1/#/v1/traces", "http://h:1/"),
        ("http://ada@h:1/?k=s3cret", "http://...@h:1/"),
        ("http://ada:s3#cret@h:1", "http://..."),
        ("http://h:1/?k=s3@cret", "http://..."),
    ] {
        let Err(refused) = Otlp::to(address).start() else { panic!("{address} was taken") };
        assert_eq!(refused.to_string(), format!("spans cannot be sent to {shown:?}: {why}"), "{address}");
    }
}

/// What is no port would be passed over for the usual one, and the spans be sent there. What is wrong is told in words of ours, with
/// nothing of the address in them but what may be shown.
#[test]
fn an_address_that_is_none_is_refused() {
    let port = "its port is no number from 1 to 65535";
    for (address, shown, why) in [
        ("http://127.0.0.1:99999", "http://127.0.0.1:99999", port),
        ("http://h:0/v1/traces", "http://h:0/v1/traces", port),
        ("https://h:", "https://h:", port),
        ("http://ada:s3cret@[::1]:65536", "http://...@[::1]:65536", port),
        ("http://:80", "http://:80", "it names no host"),
        ("http://[::1", "http://[::1", "it cannot be read"),
        ("http://a\u{1b}[2J", "http://a\u{1b}[2J", "it cannot be read"),
    ] {
        let Err(refused) = Otlp::to(address).start() else { panic!("{address} was taken") };
        assert_eq!(refused.to_string(), format!("spans cannot be sent to {shown:?}: {why}"), "{address}");
    }
    for good in ["http://ada:s3cret@h:65535", "HTTPS://[::1]:1/x", "http://h"] {
        assert!(Otlp::to(good).start().is_ok(), "{good}");
    }
}

/// What is on this machine is not looked for at a proxy, and for what is elsewhere none is passed over. The variables are those of a
/// process of its own: this test, once more.
#[test]
fn a_proxy_is_for_what_is_elsewhere() {
    if let Ok(url) = std::env::var("SOMMELIER_TEST_COLLECTOR") {
        let otlp = Otlp::to(url).start().unwrap();
        dispatcher::with_default(&watched(&otlp), || three("root", ""));
        otlp.finish().unwrap();
        let ended = Otlp::to("http://h:1").start().map(drop);
        return print!("<{}>", ended.map_or_else(|error| error.to_string(), |()| "good".to_owned()));
    }
    for (variable, proxy, told) in [
        ("HTTP_PROXY", "http://127.0.0.1:1", "good"),
        ("https_proxy", "http://me:s3cret@127.0.0.1:1", "good"),
        (
            "ALL_PROXY",
            "socks5://me:s3cret@127.0.0.1:1",
            "spans cannot be sent to \"http://h:1\": the environment variable ALL_PROXY names no proxy that can be used; it is http://HOST:PORT",
        ),
    ] {
        let collector = Collector::start();
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        for set in [
            "ALL_PROXY",
            "all_proxy",
            "HTTPS_PROXY",
            "https_proxy",
            "HTTP_PROXY",
            "http_proxy",
            "NO_PROXY",
            "no_proxy",
        ] {
            again.env_remove(set);
        }
        let again = again
            .args(["--exact", "a_proxy_is_for_what_is_elsewhere", "--nocapture"])
            .env("SOMMELIER_TEST_COLLECTOR", collector.url())
            .env(variable, proxy)
            .output()
            .unwrap();
        assert!(again.status.success(), "{again:?}");
        are_threes(&collector.spans(), 1);
        let out = String::from_utf8(again.stdout).unwrap();
        assert!(out.contains(&format!("<{told}>")), "{out}");
    }
}

/// A collector that takes some says how many it did not, and why. Those are lost, and its words are told, with nothing in them that a
/// terminal would obey.
#[test]
fn spans_that_a_collector_rejects_are_told() {
    let told = |rejected_spans, words: &str| {
        let partial_success =
            Some(ExportTracePartialSuccess { rejected_spans, error_message: words.to_owned() });
        let answer = ExportTraceServiceResponse { partial_success }.encode_to_vec();
        let collector = Collector::answering_with("200 OK", "application/x-protobuf", answer);
        let otlp = Otlp::to(collector.url()).start().unwrap();
        dispatcher::with_default(&watched(&otlp), || three("root", ""));
        let ended = otlp.finish();
        are_threes(&collector.spans(), 1);
        ended.map_err(|error| error.to_string().replace(collector.url(), "URL"))
    };
    let lost = |lost, why: &str| Err(format!("{lost} of 3 spans did not reach the collector at URL: {why}"));
    assert_eq!(told(0, ""), Ok(()));
    assert_eq!(told(0, "soon there is a limit"), Ok(()));
    assert_eq!(told(-1, ""), Ok(()));
    assert_eq!(told(2, ""), lost(2, "it rejected them"));
    assert_eq!(told(2, "over quota"), lost(2, "it rejected them: \"over quota\""));
    assert_eq!(told(9, "a\u{1b}[2J\nb\u{202e}"), lost(3, r#"it rejected them: "a\u{1b}[2J\nb\u{202e}""#));
    let cut = format!("it rejected them: \"{}\"…", "é".repeat(200));
    assert_eq!(told(1, &"é".repeat(201)), lost(1, &cut));
    assert_eq!(told(1, &"é".repeat(200)), lost(1, cut.trim_end_matches('…')));
}

/// A page for people is what any web application answers: nobody has taken the spans. What else a viewer answers with is its own.
#[test]
fn a_page_is_no_collector() {
    let told = |kind, answer: &str| {
        let collector = Collector::answering_with("200 OK", kind, answer.into());
        let otlp = Otlp::to(collector.url()).start().unwrap();
        dispatcher::with_default(&watched(&otlp), || three("root", ""));
        otlp.finish().map_err(|error| error.to_string().replace(collector.url(), "URL"))
    };
    let lost = "3 of 3 spans did not reach the collector at URL: it answered with a page for people; there is no collector that takes \
                OTLP over HTTP at this address";
    for kind in ["text/html", "text/html; charset=utf-8", "Text/HTML;charset=utf-8"] {
        assert_eq!(told(kind, "<!doctype html>"), Err(lost.to_owned()), "{kind}");
    }
    for (kind, answer) in [("application/json", "{}"), ("text/plain", "ok"), ("application/x-protobuf", "")] {
        assert_eq!(told(kind, answer), Ok(()), "{kind}");
    }
}

/// Who sends is told: the service, by the last name that it was given, and what has made the spans.
#[test]
fn who_sends_is_told() {
    for (names, service) in [(&[][..], "sommelier"), (&["till", "cellar"][..], "cellar")] {
        let collector = Collector::start();
        let otlp = names.iter().fold(Otlp::to(collector.url()), |otlp, name| otlp.service(name));
        let otlp = otlp.start().unwrap();
        dispatcher::with_default(&watched(&otlp), || three("root", ""));
        otlp.finish().unwrap();
        assert_eq!(collector.resource(), [("service.name".to_owned(), service.to_owned())]);
        assert_eq!(collector.scope(), ("sommelier".to_owned(), env!("CARGO_PKG_VERSION").to_owned()));
    }
}

/// What nobody has said of the sender the environment says. The variables are those of a process of its own: this test, once more.
#[test]
fn the_environment_says_who_sends() {
    if let Ok(url) = std::env::var("SOMMELIER_TEST_COLLECTOR") {
        let otlp = Otlp::to(url).attribute("deployment.environment.name", "cellar").start().unwrap();
        dispatcher::with_default(&watched(&otlp), || three("root", ""));
        return otlp.finish().unwrap();
    }
    let told = |name: &str| {
        let collector = Collector::start();
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_environment_says_who_sends"])
            .env("SOMMELIER_TEST_COLLECTOR", collector.url())
            // It would be more memory than there is.
            .env("OTEL_BSP_MAX_QUEUE_SIZE", "999999999999999999")
            .env("OTEL_SERVICE_NAME", name)
            .env("OTEL_RESOURCE_ATTRIBUTES", "service.name=desk,deployment.environment.name=test,host.name=h")
            .output()
            .unwrap();
        assert!(again.status.success(), "{again:?}");
        let mut resource = collector.resource();
        resource.sort();
        resource
    };
    let expected = |name: &str| {
        [("deployment.environment.name", "cellar"), ("host.name", "h"), ("service.name", name)]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
    };
    assert_eq!(told("till"), expected("till"));
    assert_eq!(told(""), expected("desk"));
}

/// A header that is none is told before anything is sent, and not what it is: a key may stand there.
#[test]
fn a_header_that_is_none_is_told() {
    if std::env::var_os("OTEL_EXPORTER_OTLP_HEADERS").is_some() {
        let ended = Otlp::to("http://127.0.0.1:1").start().map(drop);
        return print!("<{}>", ended.map_or_else(|error| error.to_string(), |()| "good".to_owned()));
    }
    let told = |headers: &OsStr| {
        let again = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_header_that_is_none_is_told", "--nocapture"])
            .env("OTEL_EXPORTER_OTLP_HEADERS", headers)
            .output()
            .unwrap();
        let out = String::from_utf8(again.stdout).unwrap();
        out.split_once('<').unwrap().1.split_once('>').unwrap().0.to_owned()
    };
    let at = |piece| {
        format!(
            "spans cannot be sent to \"http://127.0.0.1:1\": piece {piece} of the variable OTEL_EXPORTER_OTLP_HEADERS is no \
             header; right is `Authorization=Bearer KEY`, and a comma between two"
        )
    };
    for good in ["", "a=b", "Authorization=Bearer s3cret==", "a=b, c = d ,", "a=%41%2C%zz%", "a=\u{fc}"] {
        assert_eq!(told(good.as_ref()), "good", "{good:?}");
    }
    for (bad, piece) in [
        ("s3cret", 1),
        ("Authorization: Bearer s3cret", 1),
        ("a=b,s3cret", 2),
        ("=s3cret", 1),
        ("a=,b=c", 1),
        ("a=b,c=s3\u{1}cret", 2),
        ("a=s3cret%0d%0ab: c", 1),
    ] {
        assert_eq!(told(bad.as_ref()), at(piece), "{bad:?}");
    }
    #[cfg(unix)]
    assert_eq!(
        told(std::os::unix::ffi::OsStrExt::from_bytes(b"a=s3cret\xff")),
        "spans cannot be sent to \"http://127.0.0.1:1\": the variable OTEL_EXPORTER_OTLP_HEADERS is no UTF-8"
    );
}

/// A collector that is slower than the run is not waited for: what there is no room for is lost, and all of it is told.
#[test]
fn what_there_is_no_room_for_is_told() {
    // There is room for some 2,500: none more than it takes, since a delivery that is held has ten seconds.
    const SPANS: usize = 3_600;
    let collector = Collector::start();
    let held = collector.hold();
    let otlp = Otlp::to(collector.url()).start().unwrap();
    dispatcher::with_default(&watched(&otlp), || {
        for root in 0..SPANS / 3 {
            three(&root.to_string(), "");
        }
    });
    drop(held);
    let Err(ExportError::Lost { lost, all, why, .. }) = otlp.finish() else {
        panic!("there was room for all")
    };
    let arrived = collector.spans().len();
    assert_eq!((all, arrived + usize::try_from(lost).unwrap()), (3_600, SPANS));
    assert!(arrived >= 2_048 && lost > 0, "{arrived} have arrived");
    assert_eq!(why, "more came at once than could be kept for it");
}
