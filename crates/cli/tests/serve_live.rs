//! `serve`, over a socket: pages that are kept up to date, how much is done at a time, and how it ends.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use harness::serving::{Serve, encoded, field};
use harness::{BOOKING, Place, RUNNING_CASE, while_at_work};
use sommelier_http::{Answer, Limits, Server, converse};

/// A stream of the inbox that has told how it stands.
fn stream(serve: &Serve, agent: &str) -> TcpStream {
    stream_of(serve, "/inbox/events", agent)
}

fn stream_of(serve: &Serve, path: &str, agent: &str) -> TcpStream {
    let mut stream = serve.connect();
    let headers = [("cookie", &*serve.cookie), ("user-agent", agent)];
    stream.write_all(serve.request("GET", &serve.at(path), &headers, "").as_bytes()).unwrap();
    // A piece may end in the middle of a character.
    let mut told = Vec::new();
    while !String::from_utf8_lossy(&told).contains("event: state") {
        let mut part = [0; 4096];
        let len = stream.read(&mut part).unwrap();
        assert_ne!(len, 0, "{}", String::from_utf8_lossy(&told));
        told.extend(&part[..len]);
    }
    stream
}

/// What a stream tells until it ends, as it has to.
fn end_of(stream: &mut TcpStream) -> String {
    let (start, mut told, mut part) = (Instant::now(), Vec::new(), [0; 4096]);
    loop {
        let len = stream.read(&mut part).unwrap();
        told.extend(&part[..len]);
        if len == 0 {
            return String::from_utf8_lossy(&told).into_owned();
        }
        // It is heard of every few seconds while it goes on.
        assert!(start.elapsed() < Duration::from_secs(60), "it goes on");
    }
}

/// Whether a stream has not ended for a while.
fn goes_on(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(Duration::from_millis(1500))).unwrap();
    match stream.read_to_string(&mut String::new()) {
        Ok(_) => false,
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
            true
        }
    }
}

/// A browser connects to one host six times at most: what is kept up to date leaves room for pages and forms.
#[test]
fn a_browser_has_three_streams_and_the_oldest_makes_room_for_one_more() {
    let place = Place::new();
    let mut serve = Serve::start(&place, 0);
    let mut of_another = stream(&serve, "another");
    // It may come in several times, and has no more connections by that.
    let mut streams: Vec<TcpStream> = Vec::new();
    for _ in 0..4 {
        streams.push(stream(&serve, "one"));
        serve.lets_another_in();
    }
    let told = end_of(&mut streams[0]);
    assert!(told.contains("retry: 2000\n\n") && told.ends_with("\r\n0\r\n\r\n"), "{told}");
    streams.push(stream(&serve, "one"));
    end_of(&mut streams[1]);
    assert!(streams[2..].iter_mut().chain([&mut of_another]).all(goes_on));
    // One that was closed has left its place, as soon as that is noticed. Where one that comes was too early, three others begin.
    let leaves = |_| {
        drop(streams.pop());
        std::thread::sleep(Duration::from_secs(6));
        streams.push(stream(&serve, "one"));
        let has_left = streams[2..].iter_mut().all(goes_on);
        if !has_left {
            streams.truncate(2);
            streams.extend([(); 3].map(|()| stream(&serve, "one")));
        }
        has_left
    };
    assert!((0..5).any(leaves));
}

/// While its stream goes on a page looks as if nothing had happened; where none can be had it says that it wants to be reloaded.
#[cfg(unix)]
#[test]
fn where_the_journal_is_gone_streams_end_and_each_page_tells_what_to_do() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    serve.say("b", BOOKING);
    serve.shows("/chat/b", "wants to run");
    let paths = ["/inbox/events", "/chat/b/events"];
    let streams = paths.map(|path| stream_of(&serve, path, "one"));
    std::fs::rename(place.journal(), place.path("elsewhere.db")).unwrap();
    for mut stream in streams {
        assert!(end_of(&mut stream).ends_with("0\r\n\r\n"));
    }
    for path in paths.iter().chain(&["/runs", "/inbox", "/chat/b"]) {
        let got = serve.get(path);
        let told = "was removed or replaced while it was open; whoever has this server has to end it and start it again";
        assert!(got.status == 500 && got.body.contains(told), "{path}: {got:?}");
    }
}

#[test]
fn of_a_conversation_that_there_is_not_nothing_is_told() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    for path in ["/chat/nobody", "/runs/nobody"] {
        let got = serve.get(path);
        assert!(got.status == 404 && got.body.contains("there is no run"), "{path}: {got:?}");
    }
    for path in ["/chat/nobody/events", "/chat//events"] {
        assert_eq!(serve.at_home("HEAD", path, &[("cookie", &serve.cookie)], "").status, 404, "{path}");
    }
}

#[test]
fn a_form_names_all_of_a_name_and_names_and_texts_have_an_end() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    serve.say("long-name", BOOKING);
    serve.shows("/chat/long-name", "wants to run");
    for path in ["/cancel", "/resume", "/again"] {
        assert_eq!(serve.post(path, &[("run", "long"), ("reason", "x")]).status, 404, "{path}");
    }
    assert!(serve.get("/chat/long-name").body.contains("wants to run"));

    let emoji = "\u{1f377}".repeat(3000);
    for name in ["", " ", "\u{200b}", "a%00b", &encoded(&emoji), &"a".repeat(257)] {
        for path in ["/say", "/cancel", "/resume", "/again"] {
            let got = serve.post(path, &[("run", name), ("text", "hello")]);
            assert!(got.status == 422 && got.body.contains("has 1 to 256 bytes"), "{name:?}: {got:?}");
            assert!(got.body.len() < 3000, "{} bytes", got.body.len());
        }
    }
    for path in ["/chat/", "/runs/"] {
        // Longer ones have no room in a head.
        let got = serve.get(&format!("{path}{}", encoded(&emoji[..1200])));
        assert!((got.status, got.body.len() < 3000) == (404, true), "{} bytes", got.body.len());
    }
    assert_eq!(serve.answers(&[("word", "reject"), ("text", &"x".repeat(20_001))]).status, 422);
    let long = "x".repeat(100_001);
    let got = serve.say("b", &long);
    assert!(got.status == 422 && got.body.contains("100000 characters at most"), "{}", got.status);
    assert!(got.body.contains(&long), "the words are on the page still");
    let keyed = [("run", "b"), ("key", &*"k".repeat(65)), ("text", "hello")];
    assert_eq!(serve.post("/say", &keyed).status, 422);
    assert_eq!(serve.post("/cancel", &[("run", "long-name"), ("reason", &"x".repeat(2_001))]).status, 422);
    assert_eq!(place.json(&["runs"])["runs"].as_array().map(Vec::len), Some(1));
    // As long as may be, and shown no longer than there is room for.
    let longest = "\u{1f377}".repeat(64);
    assert_eq!(serve.say(&longest, "Quote Focus pro 3h").status, 303);
    serve.shows(&format!("/chat/{}", encoded(&longest)), "answered");
}

/// In a browser nobody types a command.
#[test]
fn a_page_says_what_can_be_done_in_it() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    serve.say("b", BOOKING);
    let page = serve.shows("/inbox", "wants to run");
    let (question, digest) = (field(&page, "question"), field(&page, "digest"));
    let said = |question: &str, digest: &str, word: &str| {
        serve.post("/answer", &[("question", question), ("digest", digest), ("word", word), ("text", "")])
    };
    let mut pages = vec![
        said(&question, &digest, "reject"),
        said(&question, &digest, "nonsense"),
        said(&question, &digest, "happened"),
        said(&question, "0000000000000000", "approve"),
        said("b/9/9/9", &digest, "approve"),
        said(&"b".repeat(10_000), &digest, "approve"),
        serve.post("/cancel", &[("run", "nobody")]),
        serve.get("/runs/nobody"),
        serve.say("b", ""),
    ];
    serve.answers(&[("word", "approve")]);
    serve.shows("/chat/b", "answered");
    pages.push(said(&question, &digest, "approve"));
    serve.post("/say", &[("run", "b"), ("key", "k"), ("text", "Quote Focus pro 3h")]);
    serve.shows("/chat/b", "6000 cents");
    serve.post("/say", &[("run", "b"), ("key", "k"), ("text", "Quote Focus pro 4h")]);
    serve.shows("/chat/b", "is the key of other words");
    pages.push(serve.get("/chat/b"));
    for got in pages {
        for typed in ["sommelier ", " --", "possible values", "&lt;"] {
            assert!(!got.body.contains(typed), "{typed}: {}", got.body);
        }
        assert!(got.body.len() < 100_000);
    }
}

/// Each turn is a thread, and asks a model.
#[test]
fn beyond_what_is_done_at_a_time_nothing_is_begun_and_who_asked_is_told() {
    let (_place, serve, got) = while_at_work(7_000, |slow| {
        let place = Place::new();
        let serve = Serve::start(&place, slow);
        for run in 0..16 {
            assert_eq!(serve.say(&format!("a{run}"), "Quote Focus pro 3h").status, 303, "{run}");
        }
        let got = serve.say("b", "Quote Focus pro 3h");
        (got.status != 303).then_some((place, serve, got))
    });
    assert!(got.status == 503 && got.body.contains("wait until some of it is done"), "{got:?}");
    assert!(got.body.contains("Quote Focus pro 3h</textarea>"), "{got:?}");
    // To call off is possible all the same: the last one that was begun is still at work.
    assert_eq!(serve.post("/cancel", &[("run", "a15")]).status, 303);
    serve.shows("/chat/a15", "cancelled");
    let start = Instant::now();
    while serve.say("b", "Quote Focus pro 3h").status != 303 {
        assert!(start.elapsed() < Duration::from_secs(120));
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn what_could_not_be_done_is_remembered_of_the_last_runs_alone() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    for run in 0..66 {
        let run = format!("a{run}");
        for text in ["Quote Focus pro 3h", "Quote Focus pro 4h"] {
            assert_eq!(serve.post("/say", &[("run", &run), ("key", "k"), ("text", text)]).status, 303);
        }
        serve.shows(&format!("/chat/{run}"), "is not on record");
    }
    let is_told = |run: u32| serve.get(&format!("/chat/a{run}")).body.contains("is not on record");
    assert_eq!([0, 1, 2, 65].map(is_told), [false, false, true, true]);
}

/// A collector of spans: the bytes of each request that it is sent.
fn collector() -> (Server, Receiver<usize>) {
    let (tell, hear) = mpsc::channel();
    let tell = std::sync::Mutex::new(tell);
    let patience = Duration::from_secs(120);
    let limits = Limits { head: patience, patience, max_body: 1 << 24 };
    let server = Server::start(([127, 0, 0, 1], 0).into(), 8, patience, move |connection, stop| {
        converse(
            connection,
            limits,
            stop,
            |_| None,
            |heard| {
                let bytes = heard.map_or(0, |request| request.body.len());
                tell.lock().unwrap().send(bytes).unwrap();
                Answer::whole(200, "application/x-protobuf", "")
            },
        );
    });
    (server.unwrap(), hear)
}

fn signalled(serve: &Serve, signal: &str) {
    let sent = Command::new("kill").args([signal, &serve.process.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

fn ended(serve: &mut Serve) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = serve.process.try_wait().unwrap() {
            return status;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The turn is long enough to be at work still when the server is asked to end, and shorter than it is waited for: how long that is
/// depends on the machine.
#[cfg(unix)]
#[test]
fn asked_to_end_it_ends_streams_and_turns_and_sends_what_was_traced() {
    for signal in ["-TERM", "-INT"] {
        let waited_for = |slow: &str| {
            let place = Place::new();
            let (collector, spans) = collector();
            let url = format!("http://{}", collector.address());
            let arguments = ["--json", "--slow", slow, "--otlp", &url, "serve", "--port", "0"];
            let mut serve = Serve::of(place.command(&arguments));
            let mut stream = stream(&serve, "one");
            serve.say("a", "Quote Focus pro 3h");
            signalled(&serve, signal);
            let told = end_of(&mut stream);
            assert!(told.ends_with("0\r\n\r\n"), "{told}");
            let is_waited_for = serve.remarks("are waited for, 5 seconds at most");
            assert!(!is_waited_for || TcpStream::connect(("127.0.0.1", serve.port)).is_err());
            assert_eq!(ended(&mut serve).code(), Some(0));
            (is_waited_for && !serve.remarks("1 turn is cut off")).then_some((place, spans))
        };
        let (place, spans) = ["1500", "400", "2000", "100"].into_iter().find_map(waited_for).unwrap();
        assert_eq!(place.json(&["runs"])["runs"][0]["status"], "answered");
        assert!(spans.try_iter().sum::<usize>() > 1000, "the spans of the turn have arrived");
    }
}

/// A turn that would take long is cut off, as by any other end, and gone on with.
#[cfg(unix)]
#[test]
fn what_takes_too_long_is_cut_off_and_asked_twice_it_ends_at_once() {
    // Who is waited for to the last has 0, also where the second signal was late.
    let ends_at_once = |_| {
        let place = Place::new();
        let mut serve = Serve::start(&place, 60_000);
        serve.say("a", RUNNING_CASE);
        signalled(&serve, "-TERM");
        serve.remark("are waited for");
        signalled(&serve, "-TERM");
        (ended(&mut serve).code() == Some(1)).then_some(place)
    };
    let place = (0..5).find_map(ends_at_once).unwrap();
    let mut serve = Serve::start(&place, 60_000);
    serve.say("b", RUNNING_CASE);
    signalled(&serve, "-INT");
    serve.remark("1 turn is cut off");
    assert_eq!(ended(&mut serve).code(), Some(0));
    let serve = Serve::start(&place, 0);
    for run in ["/chat/a", "/chat/b"] {
        serve.shows(run, "interrupted");
        serve.post("/resume", &[("run", &run[6..])]);
        serve.shows(run, "Not showing up costs 6500 cents.");
    }
}
