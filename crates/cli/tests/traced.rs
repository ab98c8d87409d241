//! The spans of what a command does: where they go, in which trace, with what in them.
#![expect(clippy::unwrap_used, reason = "a test may; clippy excuses only the test functions themselves")]

mod harness;

use harness::{BOOKING, Place, RUNNING_CASE, said};
use sommelier_metrics::ClosedSpan;

/// Where nobody listens, and nobody begins to while a test runs: it is no port that anybody is given by chance.
const AWAY: &str = "http://127.0.0.1:1";

/// The spans that a file has.
fn spans(place: &Place, file: &str) -> Vec<ClosedSpan> {
    let text = std::fs::read_to_string(place.path(file)).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// S3-31: lines are added to a file, each command's after those of the one before; a turn that is gone on with names the trace in
/// which it began.
#[test]
fn spans_are_added_to_a_file() {
    let place = Place::new();
    let file = place.path("spans.jsonl");
    let to_file = ["--trace-file", file.to_str().unwrap()];
    let asked = place.says(&[&["ask", BOOKING, "--conversation", "c"], &to_file[..]].concat());
    assert_eq!(asked.code, 3);
    let question = place.says(&["inbox", "--json"]).json()["questions"][0]["id"].as_str().unwrap().to_owned();
    place.says(&[&["answer", &question, "approve"], &to_file[..]].concat()).fine();

    let roots: Vec<ClosedSpan> =
        spans(&place, "spans.jsonl").into_iter().filter(ClosedSpan::is_root).collect();
    let told = |root: &ClosedSpan| {
        ["end", "trace", "resumed_trace"].map(|name| root.fields.text(name).unwrap_or_default().to_owned())
    };
    let [[waiting, began, none], [answered, trace, resumed]] = [told(&roots[0]), told(&roots[1])];
    assert_eq!([&*waiting, &*answered, &*none], ["waiting", "answered", ""]);
    assert_eq!(resumed, began);
    assert!(began.len() == 32 && trace.len() == 32 && trace != began, "{began} {trace}");
    assert_ne!(roots[0].layer, roots[1].layer);
}

/// What was left of a line by a process that was killed costs none of the lines that are added after it.
#[test]
fn a_half_line_is_ended_before_others_are_added() {
    let place = Place::new();
    let file = place.path("spans.jsonl");
    std::fs::write(&file, r#"{"name":"chat","otel_na"#).unwrap();
    place.says(&["ask", RUNNING_CASE, "--trace-file", file.to_str().unwrap()]).fine();
    let text = std::fs::read_to_string(&file).unwrap();
    let (half, whole) = text.split_once('\n').unwrap();
    assert_eq!(half, r#"{"name":"chat","otel_na"#);
    assert!(whole.lines().all(|line| serde_json::from_str::<ClosedSpan>(line).is_ok()), "{whole}");
    assert_eq!(whole.lines().count(), 10);
}

/// A run depends on nobody who watches it: a disk that is full is told once and costs no answer, and a pipe, whose reader could hold
/// the run up, is no file for spans.
#[test]
#[cfg(target_os = "linux")]
fn where_spans_go_holds_no_run_up() {
    let place = Place::new();
    let full = place.says(&["ask", RUNNING_CASE, "--trace-file", "/dev/full"]);
    assert_eq!(full.code, 0);
    assert_eq!(
        full.err.lines().filter(|line| line.contains("/dev/full")).collect::<Vec<_>>(),
        ["sommelier: /dev/full: No space left on device (os error 28); spans since then are not in it"]
    );
    assert!(full.out.contains("Not showing up costs 6500 cents."), "{}", full.out);

    let pipe = place.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let refused = place.says(&["ask", RUNNING_CASE, "--trace-file", pipe.to_str().unwrap()]);
    assert_eq!((refused.code, &*refused.out), (2, ""));
    assert!(refused.err.contains("give a file, or take `--trace json` and stderr"), "{}", refused.err);
}

/// What was said is in the spans where it is asked for, and not otherwise.
#[test]
fn contents_are_in_the_spans_where_they_are_asked_for() {
    let place = Place::new();
    for (file, flags) in [("without.jsonl", &[][..]), ("with.jsonl", &["--contents"][..])] {
        let path = place.path(file);
        place.says(&[&["ask", RUNNING_CASE, "--trace-file", path.to_str().unwrap()], flags].concat()).fine();
    }
    let has = |file: &str, words: &str| std::fs::read_to_string(place.path(file)).unwrap().contains(words);
    for words in ["gen_ai.input.messages", "don't show up", "gen_ai.tool.call.result"] {
        assert_eq!([has("without.jsonl", words), has("with.jsonl", words)], [false, true], "{words}");
    }
}

/// A viewer that is away costs no answer, and is told; an address that is none is wrong use.
#[test]
fn a_viewer_that_is_away_costs_nothing() {
    let place = Place::new();
    let said = place.says(&["ask", RUNNING_CASE, "--otlp", AWAY]);
    assert_eq!(said.code, 0);
    let told = format!("sommelier: 10 of 10 spans did not reach the collector at {AWAY}: ");
    assert!(said.err.starts_with(&told), "{}", said.err);
    let said = place.says(&["ask", RUNNING_CASE, "--otlp", "localhost:4317"]);
    assert_eq!(
        (said.code, &*said.err),
        (
            2,
            "sommelier: spans cannot be sent to \"localhost:4317\": it begins with neither http:// nor https://\n"
        )
    );
}

/// Whoever has begun the trace may have decided that it is not recorded. Then nothing is sent, and the command says why.
#[test]
fn a_trace_that_is_not_recorded_is_not_sent_and_that_is_told() {
    let place = Place::new();
    let not_recorded = "sommelier: TRACEPARENT says that its trace is not recorded, so no spans are sent; its last two digits would be 01\n";
    let not_reached = format!("sommelier: 10 of 10 spans did not reach the collector at {AWAY}: ");
    for (flags, told) in [("00", not_recorded), ("01", &*not_reached)] {
        let mut command = place.command(&["ask", RUNNING_CASE, "--otlp", AWAY]);
        command.env("TRACEPARENT", format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}"));
        let said = said(command.output().unwrap());
        assert!(said.code == 0 && said.err.starts_with(told) && said.err.lines().count() == 1, "{said:?}");
    }
}
