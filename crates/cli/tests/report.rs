//! `report`: in each form, to a file and to stdout, of runs and of files.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

mod harness;

use std::fs;
use std::path::Path;

use harness::{BOOKING, Place, RUNNING_CASE};
use serde_json::json;

fn answered() -> Place {
    let place = Place::new();
    place.then(&["ask", "--conversation", "guest-7", RUNNING_CASE]).fine();
    place
}

/// S1-39: one page that loads nothing, the same bytes whenever it is made.
#[test]
fn a_page_is_written_and_replaced() {
    let place = answered();
    let file = place.path("report.html");
    let name = file.to_str().unwrap();
    let said = place.then(&["report", "gue", "-o", name]).fine();
    let page = fs::read_to_string(&file).unwrap();
    assert_eq!(said, format!("{name}: {} bytes\n", page.len()));
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(!page.contains("<script") && !page.contains(" src="));
    fs::write(&file, "something else").unwrap();
    let told = place.json(&["report", "guest-7", "-o", name]);
    assert_eq!(told, json!({ "file": name, "format": "html", "bytes": page.len() }));
    assert_eq!(fs::read_to_string(&file).unwrap(), page);
    assert_eq!(place.then(&["report", "guest-7"]).fine(), page);
    // Nothing is left beside it.
    let names =
        fs::read_dir(place.path("")).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.contains("report")).collect::<Vec<_>>(), ["report.html"]);
}

/// Records are never lost to a report: neither the journal nor what belongs to it is written over, by whatever name, and a report
/// does not take the place of the trace that it is of. What tells a run in another way than the journal does keeps off it as well.
#[test]
fn a_report_never_takes_the_place_of_a_journal() {
    let place = answered();
    let journal = place.journal();
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let refused = |arguments: &[&str], why: &str| {
        let before = fs::read(&journal).unwrap();
        let said = place.then(arguments);
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains(why), "{}", said.err);
        assert_eq!(fs::read(&journal).unwrap(), before);
    };
    let is_one = "it is a database, as a journal is, and is not replaced; give another file";
    refused(&["report", "guest-7", "--format", "html", "-o", journal.to_str().unwrap()], is_one);
    fs::copy(&journal, place.path("other.db")).unwrap();
    refused(&["report", "guest-7", "--format", "html", "-o", &path("other.db")], is_one);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&journal, place.path("link.html")).unwrap();
        refused(&["report", "guest-7", "--format", "html", "-o", &path("link.html")], is_one);
    }
    for end in ["-wal", "-shm", "-journal"] {
        let beside = format!("{}{end}", journal.display());
        refused(
            &["report", "guest-7", "--format", "html", "-o", &beside],
            "it belongs to the database journal.db",
        );
        refused(&["cassette", "guest-7", "-o", &beside], "give another file");
    }
    let is_its = "it is the journal's; give another file for the spans";
    refused(&["ask", "hello", "--trace-file", journal.to_str().unwrap()], is_its);
    let new = Place::new();
    for end in ["", "-wal"] {
        let trace = format!("{}{end}", new.journal().display());
        let said = new.says(&["ask", "hello", "--trace-file", &trace]);
        assert_eq!((said.code, new.journal().exists()), (2, false), "{said:?}");
        assert!(said.err.contains(is_its), "{}", said.err);
    }
    fs::copy(&journal, place.path("others.db")).unwrap();
    refused(&["ask", "hello", "--trace-file", &path("others.db")], is_one);

    #[cfg(unix)]
    {
        let new = Place::new();
        fs::write(new.journal(), "").unwrap();
        fs::hard_link(new.journal(), new.path("linked")).unwrap();
        let said = new.says(&["ask", "hello", "--trace-file", new.path("linked").to_str().unwrap()]);
        assert!(said.code == 2 && said.err.contains(is_its), "{said:?}");
    }
    let cassettes = "it is the cassette's; give another file for the spans";
    let tape = path("tape.json");
    refused(&["ask", "hello", "--model", "script", "--record", &tape, "--trace-file", &tape], cassettes);
    place.then(&["cassette", "guest-7", "-o", &tape]).fine();
    let played = format!("cassette:{tape}");
    refused(&["ask", "hello", "--model", &played, "--trace-file", &tape], cassettes);
    refused(&["ask", "hello", "--trace-file", &tape], "there is something else than lines of spans in it");
    fs::write(path("half.jsonl"), r#"{"na"#).unwrap();
    place.then(&["ask", RUNNING_CASE, "--conversation", "h", "--trace-file", &path("half.jsonl")]).fine();
    place.then(&["ask", RUNNING_CASE, "--conversation", "i", "--trace-file", &path("half.jsonl")]).fine();
    assert_eq!(fs::read_to_string(path("half.jsonl")).unwrap().lines().next(), Some(r#"{"na"#));

    let trace = path("trace.jsonl");
    place.then(&["ask", RUNNING_CASE, "--conversation", "t", "--trace-file", &trace]).fine();
    refused(
        &["report", &trace, "--format", "html", "-o", &trace],
        "the report would replace the trace that it is of",
    );
    place.then(&["verify"]).fine();
    assert!(place.then(&["runs"]).fine().contains("guest-7"));
}

/// What a run says is its owner's alone, as in the journal; who has given a file to others has it stay so.
#[cfg(unix)]
#[test]
fn a_file_that_is_made_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = answered();
    let file = place.path("report.txt");
    let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    place.then(&["report", "guest-7", "-o", file.to_str().unwrap()]).fine();
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    place.then(&["report", "guest-7", "-o", file.to_str().unwrap()]).fine();
    assert_eq!(mode(), 0o644);
}

#[test]
fn the_form_is_the_one_that_is_asked_for_or_that_the_file_is_named_by() {
    let place = answered();
    let begins = |arguments: &[&str], with: &str| {
        let said = place.then(arguments).fine();
        assert!(said.starts_with(with), "{said}");
    };
    begins(&["report", "guest-7", "--format", "text"], "guest-7  answered\n");
    begins(
        &["report", "guest-7", "--format", "mermaid", "-o", "-"],
        "sequenceDiagram\n    actor P0 as user\n",
    );
    begins(&["report", "guest-7", "--format", "svg"], "<svg xmlns=");
    let begin = [
        ("a.svg", "<svg "),
        ("a.mmd", "sequenceDiagram"),
        ("a.txt", "guest-7 "),
        ("a.HTM", "<!doctype"),
        ("a.json", "{\n  \"title\": \"guest-7\""),
        ("a", "<!doctype"),
    ];
    for (name, with) in begin {
        let file = place.path(name);
        place.then(&["report", "guest-7", "-o", file.to_str().unwrap()]).fine();
        assert!(fs::read_to_string(&file).unwrap().starts_with(with), "{name}");
    }
    // A form that is said goes before the file's name; where neither says it, `--json` does.
    let (pdf, plain) = (place.path("a.pdf"), place.path("plain"));
    place.then(&["report", "guest-7", "--format", "text", "-o", pdf.to_str().unwrap()]).fine();
    assert!(fs::read_to_string(&pdf).unwrap().starts_with("guest-7 "));
    let told = place.json(&["report", "guest-7", "-o", plain.to_str().unwrap()]);
    let document = place.then(&["--json", "report", "guest-7"]).fine();
    assert_eq!((&told["format"], fs::read_to_string(&plain).unwrap()), (&json!("json"), document.clone()));
    assert_eq!(place.then(&["report", "guest-7", "--format", "json"]).fine(), document);
    let story = place.json(&["report", "guest-7"]);
    assert_eq!((&story["title"], &story["outcome"]["status"]), (&json!("guest-7"), &json!("answered")));
    assert_eq!(
        (&story["hops"][0]["package_bytes"], &story["hops"][0]["history_bytes"]),
        (&json!(105), &json!(406))
    );
}

/// No form is chosen that nobody asked for: what a name says that is known to no form, or two flags say against each other, is
/// told, and nothing is written.
#[test]
fn a_form_that_nobody_knows_is_refused() {
    let place = answered();
    let refused = |arguments: &[&str], says: &str| {
        let said = place.then(arguments);
        assert_eq!((said.code, &*said.out), (2, ""), "{said:?}");
        assert!(said.err.contains(says), "{}", said.err);
    };
    let pdf = place.path("a.pdf");
    let endings =
        "the endings are .html, .htm, .svg, .mmd, .mermaid, .txt and .json, and `--format` says the form";
    refused(&["report", "guest-7", "-o", pdf.to_str().unwrap()], endings);
    assert!(!pdf.exists());
    let said = place.then(&["--json", "report", "guest-7", "--format", "text"]);
    let told = said.json()["error"].clone();
    assert_eq!((said.code, &told["code"]), (2, &json!("usage")));
    assert!(told["message"].as_str().unwrap().contains("leave one out"), "{told}");
}

/// One drawing would put several conversations on the same lines; a page, a text and a document tell them apart.
#[test]
fn a_drawing_is_of_one_conversation() {
    let place = Place::new();
    let trace = place.path("trace.jsonl");
    let name = trace.to_str().unwrap();
    let line = |span: u64, guest: &str| {
        let fields =
            format!(r#""gen_ai.agent.name":"clerk","gen_ai.conversation.id":"{guest}","end":"answered""#);
        let root =
            SPAN.replace("\"handoff\"", "\"invoke_workflow\"").replace("\"parent\":2", "\"parent\":null");
        let numbered = root.replace("\"span\":3", &format!("\"span\":{span}"));
        let (begin, end) = (numbered.find("{\"gen_ai").unwrap(), numbered.find(",\"at_us").unwrap());
        format!("{}{{{fields}}}{}\n", &numbered[..begin], &numbered[end..])
    };
    fs::write(&trace, line(3, "guest-7") + &line(4, "guest-8")).unwrap();
    for format in ["svg", "mermaid"] {
        let said = place.then(&["report", name, "--format", format]);
        assert_eq!((said.code, &*said.out), (2, ""));
        let why = "the trace tells of 2: guest-7, guest-8; say which with `--conversation NAME`";
        assert!(said.err.contains(why), "{}", said.err);
        place.then(&["report", name, "--format", format, "--conversation", "guest-8"]).fine();
    }
    let text = place.then(&["report", name, "--format", "text"]).fine();
    assert!(text.starts_with("2 conversations  2 answered\n"), "{text}");
    let story = place.json(&["report", name]);
    let outcomes = |run: usize| story["runs"][run]["outcome"]["status"].clone();
    assert_eq!(
        (&story["outcome"]["status"], outcomes(0), outcomes(1)),
        (&json!("several"), json!("answered"), json!("answered"))
    );
}

/// A page is not for a terminal, and nothing is written to it.
#[test]
fn a_terminal_is_told_how() {
    let place = answered();
    let said = place.hears_at_a_terminal("", &["report", "guest-7"]);
    assert_eq!((said.code, &*said.out), (2, ""));
    assert!(said.err.contains("`-o report.html`") && said.err.contains("`--format text`"), "{}", said.err);
    // There the text has colours, as the tree of spans has.
    let said = place.hears_at_a_terminal("", &["report", "guest-7", "--format", "text"]).fine();
    assert!(said.starts_with("\u{1b}[1mguest-7\u{1b}[0m  \u{1b}[32manswered\u{1b}[0m\n"), "{said}");
    let file = place.path("report.txt");
    let to_file = ["report", "guest-7", "--format", "text", "-o", file.to_str().unwrap()];
    place.hears_at_a_terminal("", &to_file).fine();
    assert!(fs::read_to_string(&file).unwrap().starts_with("guest-7  answered\n"));
}

#[test]
fn a_run_that_waits_is_told_as_far_as_it_is() {
    let place = Place::new();
    assert_eq!(place.then(&["ask", "--conversation", "b", BOOKING]).code, 3);
    let story = place.json(&["report", "b"]);
    assert_eq!(story["outcome"]["status"], "waiting");
    assert_eq!((&story["asks"][0]["about"], &story["asks"][0]["answer"]), (&json!("book"), &json!(null)));
}

const SPAN: &str = r#"{"name":"handoff","otel_name":null,"trace":1,"span":3,"parent":2,"follows_from":[],"start_us":90,"duration_us":20,"fields":{"gen_ai.agent.name":"clerk","gen_ai.transfer.target.name":"till","package_bytes":105,"history_bytes":402,"outcome":"taken","hop":1},"at_us":1796032800000090,"layer":"00f067aa0ba902b7"}"#;

/// A trace needs no journal.
#[test]
fn a_file_of_spans_is_told_also_from_stdin() {
    let place = Place::new();
    let file = place.path("trace.jsonl");
    fs::write(&file, SPAN).unwrap();
    let hop = "clerk ⇒ till: handoff 1, 105 B cross, 402 B left behind";
    let said = place.then(&["report", file.to_str().unwrap(), "--format", "text"]).fine();
    assert!(said.contains(hop), "{said}");
    let said = place.hears(SPAN, &["report", "-", "--format", "text"]).fine();
    assert!(said.contains(hop), "{said}");
}

/// The file that stdin comes from is the trace too.
#[cfg(unix)]
#[test]
fn a_report_replaces_no_trace_that_it_hears() {
    let place = Place::new();
    let file = place.path("trace.jsonl");
    fs::write(&file, SPAN).unwrap();
    let heard = |output: &Path| {
        let mut command = place.command(&["report", "-", "--format", "text", "-o", output.to_str().unwrap()]);
        command.stdin(fs::File::open(&file).unwrap()).output().unwrap()
    };
    let said = heard(&file);
    assert_eq!(said.status.code(), Some(2));
    let err = String::from_utf8(said.stderr).unwrap();
    assert!(err.contains("the report would replace the trace that it is of"), "{err}");
    assert_eq!(fs::read_to_string(&file).unwrap(), SPAN);
    assert!(heard(&place.path("report.txt")).status.success());
}

/// What has no end is not begun, and what is too long is not read: a pipe that nobody writes to would be waited for.
#[cfg(unix)]
#[test]
fn what_may_never_end_is_refused_before_it_is_read() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let refused = |file: &str, says: &str| {
        let said = place.then(&["--json", "report", file]);
        let told = said.json()["error"].clone();
        assert_eq!((said.code, &told["code"], &told["whose"]), (2, &json!("no_trace"), &json!("caller")));
        assert!(told["message"].as_str().unwrap().contains(says), "{told}");
    };
    let endless = "it is no regular file, but a pipe or a device; give the file of a trace";
    symlink("/dev/zero", path("zero.jsonl")).unwrap();
    refused(&path("zero.jsonl"), endless);
    let made = std::process::Command::new("mkfifo").arg(path("pipe.jsonl")).status().unwrap();
    assert!(made.success());
    refused(&path("pipe.jsonl"), endless);
    fs::create_dir(path("folder.jsonl")).unwrap();
    refused(&path("folder.jsonl"), "it is a folder; give the file of a trace");
    // Nothing is written of it but its length.
    fs::File::create(path("huge.jsonl")).unwrap().set_len(1 << 40).unwrap();
    refused(&path("huge.jsonl"), "1099511627776 bytes: there are more than 268435456 bytes");
}

#[test]
fn what_tells_nothing_is_refused_with_what_would_be_right() {
    let place = answered();
    let refused = |arguments: &[&str], code: &str, says: &str| {
        let error = place.then(&[&["--json"], arguments].concat());
        let told = error.json()["error"].clone();
        assert_eq!(
            (error.code, &told["code"], &told["whose"]),
            (2, &json!(code), &json!("caller")),
            "{told}"
        );
        assert!(told["message"].as_str().unwrap().contains(says), "{told}");
    };
    let (records, empty) = (place.path("records.jsonl"), place.path("empty.jsonl"));
    fs::write(&records, place.then(&["export"]).fine()).unwrap();
    fs::write(&empty, "").unwrap();
    refused(&["report", "nobody"], "unknown_run", "`sommelier runs` lists them");
    refused(
        &["report", "none.jsonl"],
        "no_trace",
        "give the file of a trace, the name of a run, or `-` for stdin",
    );
    refused(&["report", records.to_str().unwrap()], "no_trace", "`sommelier report guest-7`");
    refused(&["report", empty.to_str().unwrap()], "no_trace", "it is empty: no span came");
    let other = place.path("trace.log");
    fs::write(&other, SPAN).unwrap();
    let known = "there is a file of this name and no run; a trace is known by `.jsonl` at its name's end";
    refused(&["report", other.to_str().unwrap()], "no_trace", known);
    refused(&["report", "guest-7", "--conversation", "a"], "usage", "a run is one");
    refused(
        &["report", "guest-7", "-o", place.path("no/such/a.html").to_str().unwrap()],
        "unwritten",
        "no/such",
    );
    let said = place.hears(SPAN, &["report", "-", "--conversation", "guest-8", "--json"]);
    assert_eq!((said.code, &said.json()["error"]["code"]), (2, &json!("unknown_conversation")));
    let said = place.hears("", &["report", "-", "--json"]);
    let told = said.json()["error"].clone();
    assert_eq!(
        (&told["code"], &told["message"]),
        (&json!("no_trace"), &json!("-: it is empty: no span came"))
    );
    // Also where there is no journal yet.
    let none = Place::new();
    let other = none.path("trace.log");
    fs::write(&other, SPAN).unwrap();
    let said = none.then(&["report", other.to_str().unwrap()]);
    assert!(said.err.contains("sommelier report - <"), "{}", said.err);
}
