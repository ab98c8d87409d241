//! `serve`, over a socket: who is let in, what each path shows and does, and that the journal is all that it keeps.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use harness::{BOOKING, Place, RUNNING_CASE};
use serde_json::Value;

/// A server over the journal of a place, killed when it is dropped, with a browser that was let in.
struct Serve {
    process: Child,
    port: u16,
    token: String,
    cookie: String,
    form_token: String,
}

/// An answer.
#[derive(Debug)]
struct Got {
    status: u16,
    head: String,
    body: String,
}

impl Serve {
    fn start(place: &Place, slow: u32) -> Self {
        let slow = slow.to_string();
        let mut command = place.command(&["--json", "--slow", &slow, "serve", "--port", "0"]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut document = String::new();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        while !document.ends_with("}\n") {
            assert_ne!(out.read_line(&mut document).unwrap(), 0, "{document}");
        }
        let told: Value = serde_json::from_str(&document).unwrap();
        let url = told["url"].as_str().unwrap();
        let (address, token) = url.strip_prefix("http://127.0.0.1:").unwrap().split_once("/?token=").unwrap();
        let mut serve = Self {
            process,
            port: address.parse().unwrap(),
            token: token.to_owned(),
            cookie: String::new(),
            form_token: String::new(),
        };
        let got = serve.raw("GET", &format!("/?token={token}"), &[], "");
        assert_eq!((got.status, got.header("location")), (303, Some("/")), "{got:?}");
        let cookie = got.header("set-cookie").unwrap();
        let (value, rest) = cookie.split_once(';').unwrap();
        assert_eq!(rest, " HttpOnly; SameSite=Strict; Path=/");
        assert!(!cookie.contains(token));
        serve.cookie = value.to_owned();
        serve.form_token = field(&serve.get("/").body, "form_token");
        serve
    }

    /// A request with these headers and no others but those of the connection.
    fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Got {
        let mut stream = self.connect();
        stream.write_all(self.request(method, path, headers, body).as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Got { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut request = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            request.push_str(&format!("host: 127.0.0.1:{}\r\n", self.port));
        }
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        if method == "POST" {
            request.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        format!("{request}\r\n{body}")
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    fn get(&self, path: &str) -> Got {
        self.raw("GET", path, &[("cookie", &self.cookie)], "")
    }

    fn post(&self, path: &str, fields: &[(&str, &str)]) -> Got {
        let body =
            form(&[("form_token", &*self.form_token)].iter().chain(fields).copied().collect::<Vec<_>>());
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.raw("POST", path, &[("cookie", &self.cookie), kind, ("sec-fetch-site", "same-origin")], &body)
    }

    /// Says something in a conversation.
    fn say(&self, run: &str, text: &str) -> Got {
        self.post("/say", &[("run", &encoded(run)), ("key", ""), ("text", text)])
    }

    /// The page, once it has these words.
    fn shows(&self, path: &str, words: &str) -> String {
        let start = Instant::now();
        loop {
            let got = self.get(path);
            if got.body.contains(words) {
                return got.body;
            }
            assert!(start.elapsed() < Duration::from_secs(30), "{words}: {got:?}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Answers the only question in the inbox, with the digest that is shown there.
    fn answers(&self, fields: &[(&str, &str)]) -> Got {
        let page = self.get("/inbox").body;
        let shown = [("question", field(&page, "question")), ("digest", field(&page, "digest"))];
        let shown = shown.iter().map(|(name, value)| (*name, &**value));
        self.post("/answer", &shown.chain(fields.iter().copied()).collect::<Vec<_>>())
    }

    /// The events of a path, until one of them has these words.
    fn events(&self, path: &str, last: Option<u64>, until: &str) -> Vec<Event> {
        let mut stream = self.connect();
        let last = last.map(|id| id.to_string());
        let mut headers = vec![("cookie", &*self.cookie)];
        headers.extend(last.as_deref().map(|id| ("last-event-id", id)));
        stream.write_all(self.request("GET", path, &headers, "").as_bytes()).unwrap();
        let (mut events, mut event) = (Vec::new(), Event::default());
        // Lines of the pieces' lengths are no lines of events.
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if let Some(name) = line.strip_prefix("event: ") {
                event.name = name.to_owned();
            } else if let Some(id) = line.strip_prefix("id: ") {
                event.id = id.parse().unwrap();
            } else if let Some(data) = line.strip_prefix("data: ") {
                if !event.data.is_empty() {
                    event.data.push('\n');
                }
                event.data.push_str(data);
            } else if line.is_empty() && !event.name.is_empty() {
                events.push(std::mem::take(&mut event));
                if events.last().is_some_and(|event: &Event| event.data.contains(until)) {
                    break;
                }
            }
        }
        events
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Event {
    name: String,
    id: u64,
    data: String,
}

impl Got {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// The value of the first field of this name in a page.
fn field(page: &str, name: &str) -> String {
    let (_, rest) =
        page.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{name}: {page}"));
    rest.split('"').next().unwrap().to_owned()
}

fn form(fields: &[(&str, &str)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
}

fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

const PAGES: [&str; 9] = [
    "/",
    "/chat/a",
    "/chat/a/events",
    "/runs",
    "/runs/a",
    "/inbox",
    "/inbox/events",
    "/style.css",
    "/nothing",
];

#[test]
fn nobody_comes_in_without_the_token_and_is_told_nothing() {
    let place = Place::new();
    place.then(&["ask", "--conversation", "a", RUNNING_CASE]).fine();
    let serve = Serve::start(&place, 0);
    let near = format!("{}x", &serve.token[..serve.token.len() - 1]);
    let name = serve.cookie.split('=').next().unwrap();
    let wrong =
        [String::new(), format!("{name}="), format!("{name}={}", serve.token), format!("x{}", serve.cookie)];
    for path in PAGES {
        for cookie in &wrong {
            let got = serve.raw("GET", path, &[("cookie", cookie)], "");
            assert_eq!(got.status, 401, "{path} {cookie}");
            assert!(!got.body.contains("booking_agent") && !got.body.contains(&serve.token), "{got:?}");
        }
    }
    for token in ["", &near, &serve.token[1..], "%ff"] {
        let got = serve.raw("GET", &format!("/?token={token}"), &[], "");
        assert_eq!((got.status, got.header("set-cookie")), (401, None), "{token}");
    }
    let said = serve.raw("POST", "/say", &[], "");
    assert_eq!(said.status, 401);
}

#[test]
fn a_request_for_another_host_goes_nowhere() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let other = [
        "evil.example",
        &format!("evil.example:{}", serve.port),
        "127.0.0.1",
        "127.0.0.1:1",
        &format!("10.0.0.1:{}", serve.port),
        "",
    ];
    for host in other {
        let got = serve.raw("GET", &format!("/?token={}", serve.token), &[("host", host)], "");
        assert_eq!((got.status, got.header("set-cookie")), (421, None), "{host}");
    }
    let ours = format!("127.0.0.1:{}", serve.port);
    let twice =
        serve.raw("GET", "/", &[("host", &ours), ("host", "evil.example"), ("cookie", &serve.cookie)], "");
    assert_eq!(twice.status, 421);
    let named = serve.raw(
        "GET",
        "/",
        &[("host", &format!("localhost:{}", serve.port)), ("cookie", &serve.cookie)],
        "",
    );
    assert_eq!(named.status, 200, "{named:?}");
}

/// Nothing is on record by any of them.
#[test]
fn what_another_site_sends_does_nothing() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let ours = format!("http://127.0.0.1:{}", serve.port);
    let body = form(&[("form_token", &serve.form_token), ("run", "a"), ("text", "hello")]);
    let stale = form(&[("form_token", &serve.form_token[1..]), ("run", "a"), ("text", "hello")]);
    let without = form(&[("run", "a"), ("text", "hello")]);
    let kind = "application/x-www-form-urlencoded";
    let sent = |headers: &[(&str, &str)], body: &str| {
        let headers: Vec<(&str, &str)> =
            [("cookie", &*serve.cookie)].iter().chain(headers).copied().collect();
        serve.raw("POST", "/say", &headers, body).status
    };
    assert_eq!(sent(&[("content-type", kind), ("origin", "http://evil.example")], &body), 403);
    assert_eq!(sent(&[("content-type", kind), ("origin", "null")], &body), 403);
    assert_eq!(sent(&[("content-type", kind), ("origin", "http://127.0.0.1:1")], &body), 403);
    assert_eq!(
        sent(&[("content-type", kind), ("origin", &ours), ("sec-fetch-site", "cross-site")], &body),
        403
    );
    assert_eq!(
        sent(&[("content-type", kind), ("origin", &ours), ("sec-fetch-site", "same-site")], &body),
        403
    );
    assert_eq!(sent(&[("content-type", kind), ("origin", &ours)], &stale), 403);
    assert_eq!(sent(&[("content-type", kind), ("origin", &ours)], &without), 403);
    assert_eq!(sent(&[("content-type", "text/plain"), ("origin", &ours)], &body), 415);
    assert_eq!(place.json(&["runs"])["runs"].as_array().map(Vec::len), Some(0));
    assert_eq!(
        sent(&[("content-type", kind), ("origin", &ours), ("sec-fetch-site", "same-origin")], &body),
        303
    );
    serve.shows("/chat/a", "answered");
}

#[test]
fn a_page_is_got_and_a_form_is_sent_and_what_is_too_large_is_refused() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    for path in ["/say", "/answer", "/resume", "/again", "/cancel"] {
        let got = serve.get(path);
        assert_eq!((got.status, got.header("allow")), (405, Some("POST")), "{path}");
    }
    for (method, path) in [("POST", "/inbox"), ("PUT", "/say"), ("DELETE", "/runs/a"), ("OPTIONS", "/")] {
        let got = serve.raw(method, path, &[("cookie", &serve.cookie)], "");
        assert_eq!((got.status, got.header("allow")), (405, Some("GET, HEAD")), "{method} {path}");
    }
    for path in
        ["/nothing", "/chat", "/chat/a/b/c", "/runs/../../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "//x"]
    {
        assert_eq!(serve.get(path).status, 404, "{path}");
    }
    assert_eq!(serve.get("/chat/%ff").status, 400);
    for path in ["/chat/a", "/runs/a"] {
        let got = serve.get(path);
        assert!((got.status, got.body.contains("there is no run")) == (404, true), "{got:?}");
    }
    let body = "x".repeat((1 << 20) + 1);
    assert_eq!(serve.raw("POST", "/say", &[("cookie", &serve.cookie)], &body).status, 413);
    assert_eq!(place.json(&["runs"])["runs"].as_array().map(Vec::len), Some(0));
}

#[test]
fn each_answer_has_the_headers_that_keep_a_page_to_itself() {
    let place = Place::new();
    place.then(&["ask", "--conversation", "a", RUNNING_CASE]).fine();
    let serve = Serve::start(&place, 0);
    let policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; \
                  base-uri 'none'; frame-ancestors 'none'";
    let mut got: Vec<Got> =
        PAGES.iter().filter(|path| !path.ends_with("/events")).map(|path| serve.get(path)).collect();
    got.extend([
        serve.raw("GET", "/", &[], ""),
        serve.raw("GET", "/", &[("host", "x")], ""),
        serve.get("/say"),
        serve.say("b", ""),
    ]);
    for got in got {
        assert_eq!(got.header("content-security-policy"), Some(policy), "{got:?}");
        assert_eq!(got.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(got.header("cache-control"), Some("no-store"));
        assert_eq!(got.header("referrer-policy"), Some("same-origin"));
        // The policy would keep them from working, so there must be none.
        let is_page = got.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
        assert!(
            !is_page
                || !(got.body.contains(" style=\"")
                    || got.body.contains("<style")
                    || got.body.contains(" onclick")),
            "{got:?}"
        );
    }
}

#[test]
fn a_conversation_is_held_and_its_pages_tell_it() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let got = serve.say("a", RUNNING_CASE);
    assert_eq!((got.status, got.header("location")), (303, Some("/chat/a")));
    let page = serve.shows("/chat/a", "Not showing up costs 6500 cents.");
    for words in ["Quote Focus pro 3h.", "hands over to", "<b>105 B</b>", "<b>406 B</b>", "get_quote"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(serve.get("/runs").body.contains("href=\"/chat/a\""));
    let report = serve.get("/runs/a").body;
    for words in ["class=\"sequence\"", "What crossed", "handoff_committed"] {
        assert!(report.contains(words), "{words}");
    }
    // A second turn goes on in the same run.
    serve.say("a", "Quote Studio basic 2h");
    serve.shows("/chat/a", "Studio basic for 2 hours costs");
    assert_eq!(place.json(&["runs"])["runs"][0]["turns"], 2);
}

/// T24: a form that is sent twice is heard once.
#[test]
fn a_form_that_is_sent_twice_is_heard_once() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let fields = [("run", "a"), ("key", "0123"), ("text", "Quote Focus pro 3h")];
    for _ in 0..2 {
        assert_eq!(serve.post("/say", &fields).status, 303);
        serve.shows("/chat/a", "answered");
    }
    assert_eq!(place.json(&["runs"])["runs"][0]["turns"], 1);
    // Other words under the same key are not said, and not lost.
    serve.post("/say", &[("run", "a"), ("key", "0123"), ("text", "Quote something else")]);
    let page = serve.shows("/chat/a", "is the key of other words");
    assert!(
        page.contains("What you said is not on record:") && page.contains("Quote something else"),
        "{page}"
    );
    let got = serve.say("a", " \r\n ");
    assert!((got.status, got.body.contains("there are no words")) == (422, true), "{got:?}");
}

#[test]
fn an_approval_is_given_once_and_bound_to_what_was_shown() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    serve.say("b", BOOKING);
    let page = serve.shows("/inbox", "wants to run");
    for words in ["Studio", "2026-12-01", "It has not been done.", "Approve", "Why, for the agent"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let (question, digest) = (field(&page, "question"), field(&page, "digest"));
    let said = |digest: &str, word: &str, text: &str| {
        serve.post("/answer", &[("question", &question), ("digest", digest), ("word", word), ("text", text)])
    };
    let told = |got: Got, status: u16, words: &str| {
        assert!(got.status == status && got.body.contains(words), "{got:?}");
    };
    told(said("0000000000000000", "approve", ""), 409, "digest");
    told(said("", "approve", ""), 422, "digest");
    told(said(&digest, "say", "hello"), 422, "is no answer to");
    told(said(&digest, "reject", ""), 422, "wants a text");
    told(said(&digest, "nonsense", ""), 422, "invalid value");
    assert_eq!(place.json(&["inbox"])["questions"].as_array().map(Vec::len), Some(1));
    assert_eq!(said(&digest, "approve", "").header("location"), Some("/chat/b"));
    serve.shows("/chat/b", "answered");
    told(said(&digest, "approve", ""), 409, "has been answered before, with approve");
    assert!(serve.get("/inbox").body.contains("Nothing waits for a person."));
    let verified = place.json(&["verify"]);
    assert_eq!(
        (&verified["sound"], &verified["ledger"]["findings"]),
        (&true.into(), &Value::Array(Vec::new()))
    );
}

#[test]
fn what_a_command_has_answered_is_told_and_not_done_twice() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    place.says(&["ask", "--conversation", "b", BOOKING]);
    let page = serve.shows("/inbox", "wants to run");
    place.says(&["answer", "b/1/1/0", "reject", "not on a Monday"]);
    let fields =
        [("question", &*field(&page, "question")), ("digest", &*field(&page, "digest")), ("word", "approve")];
    let got = serve.post("/answer", &fields);
    assert!(got.status == 409 && got.body.contains("has been answered before, with reject"), "{got:?}");
    assert!(serve.get("/chat/b").body.contains("not on a Monday"));
}

#[test]
fn a_run_is_called_off_while_it_waits_and_while_it_works() {
    let place = Place::new();
    let serve = Serve::start(&place, 400);
    serve.say("b", BOOKING);
    serve.shows("/chat/b", "wants to run");
    assert_eq!(serve.post("/cancel", &[("run", "b"), ("reason", "no money")]).status, 303);
    let page = serve.shows("/chat/b", "cancelled");
    assert!(page.contains("no money"), "{page}");
    // Agents do not go on by themselves, and the words are not lost.
    let got = serve.say("b", "hello again");
    assert!((got.status, got.body.contains("hello again</textarea>")) == (409, true), "{got:?}");
    serve.say("c", RUNNING_CASE);
    let got = serve.say("c", "and quickly");
    assert!(
        got.status == 409 && got.body.contains("are still at work") && got.body.contains("and quickly"),
        "{got:?}"
    );
    serve.post("/cancel", &[("run", "c")]);
    let page = serve.shows("/chat/c", "cancelled");
    assert!(!page.contains("6500"), "{page}");
}

const HOSTILE: &str = "<script>alert(1)</script>\"'&<b> \u{202e}evil \u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f469}\u{200d}\u{1f373} a/../b?c#d";

/// In a name, in words, in a reason, in arguments, in an error and in a field that comes back.
#[test]
fn what_is_hostile_is_text_in_every_place() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let path = encoded(HOSTILE);
    serve.say(HOSTILE, HOSTILE);
    serve.shows(&format!("/chat/{path}"), "answered");
    serve.say(HOSTILE, BOOKING);
    let chat = serve.shows(&format!("/chat/{path}"), "wants to run");
    let inbox = serve.get("/inbox").body;
    serve.answers(&[("word", "reject"), ("text", HOSTILE)]);
    let answered = serve.shows(&format!("/chat/{path}"), "answered");
    let refused = serve.post("/say", &[("run", &path), ("text", " ")]).body;
    let returned = serve.post("/cancel", &[("run", &encoded("<script>alert(2)</script>"))]).body;
    let pages = [
        chat,
        inbox,
        answered,
        refused,
        returned,
        serve.get("/runs").body,
        serve.get(&format!("/runs/{path}")).body,
    ];
    for page in pages {
        assert!(!page.contains("<script>alert") && !page.contains("<b> "), "{page}");
        assert!(!page.contains('\u{202e}'), "{page}");
        assert!(page.contains("&lt;script&gt;alert"), "{page}");
    }
    let live = serve.events(&format!("/chat/{path}/events"), None, "answered");
    assert!(
        live.iter().all(|event| !event.data.contains("<script>alert") && !event.data.contains('\u{202e}'))
    );
    // What was typed comes back as it was.
    serve.post("/cancel", &[("run", &path)]);
    let kept = serve.post("/say", &[("run", "x"), ("text", "")]);
    assert_eq!(kept.status, 422);
}

#[test]
fn events_come_in_order_and_go_on_where_a_page_was_when_it_left() {
    let place = Place::new();
    let serve = Serve::start(&place, 150);
    serve.say("a", RUNNING_CASE);
    let live = serve.events("/chat/a/events", None, "6500 cents");
    let items: Vec<&Event> = live.iter().filter(|event| event.name == "item").collect();
    assert!(items.is_sorted_by_key(|event| event.id), "{items:?}");
    let place_of = |words: &str| items.iter().position(|event| event.data.contains(words)).unwrap();
    assert!(place_of("Quote Focus pro 3h.") < place_of("hands over to"));
    assert!(place_of("hands over to") < place_of("6500 cents"));
    // It came while the run went on, and not in one go at its end.
    assert!(items[place_of("hands over to")].id < items[place_of("6500 cents")].id);
    assert!(live.iter().any(|event| event.name == "state" && event.data.contains("is at work")));

    let page = serve.shows("/chat/a", "answered");
    let all = serve.events("/chat/a/events", Some(0), "answered");
    let shown = |event: &&Event| event.name != "item" || page.contains(&event.data);
    assert!(all.iter().filter(|event| event.name == "item").all(|event| shown(&event)), "{all:?}");
    // A page that left when it had the hop is told what came behind it, and no more.
    let hop = items[place_of("hands over to")].id;
    let rest = serve.events("/chat/a/events", Some(hop), "answered</bdi></span> <span>");
    let rest: Vec<&Event> = rest.iter().filter(|event| event.name == "item").collect();
    assert!(rest.iter().any(|event| event.data.contains("6500 cents")));
    assert!(rest.iter().all(|event| !event.data.contains("Quote Focus pro 3h.")), "{rest:?}");
    // A page that has all of it hears how it stands, and no item.
    let last = all.iter().map(|event| event.id).max().unwrap();
    let none = serve.events(&format!("/chat/a/events?after={last}"), None, "answered");
    assert_eq!(none.iter().map(|event| &*event.name).collect::<Vec<_>>(), ["state"]);
}

#[test]
fn the_inbox_hears_of_what_another_process_asks_and_answers() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    place.says(&["ask", "--conversation", "b", BOOKING]);
    let events = serve.events("/inbox/events", None, "wants to run");
    assert_eq!(events.last().map(|event| &*event.name), Some("state"));
}

/// The server is killed while it waits for a person and while it is at work: another one shows the same and goes on.
#[test]
fn a_server_that_is_killed_has_lost_nothing() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    serve.say("b", BOOKING);
    let before = serve.shows("/chat/b", "wants to run");
    drop(serve);
    let serve = Serve::start(&place, 500);
    let now = |page: &str| {
        let (_, rest) = page.split_once("<ol class=\"feed\"").unwrap();
        let end = rest.split("class=\"composer\"").next().unwrap().to_owned();
        let token = field(page, "form_token");
        end.replace(&token, "")
    };
    assert_eq!(now(&serve.get("/chat/b").body), now(&before));
    // A form of the server that was killed is none of this one's.
    assert_eq!(serve.answers(&[("word", "approve")]).status, 303);
    serve.shows("/chat/b", "answered");

    serve.say("a", RUNNING_CASE);
    serve.shows("/chat/a", "hands over to");
    drop(serve);
    let serve = Serve::start(&place, 0);
    let page = serve.shows("/chat/a", "interrupted");
    assert!(page.contains("Go on") && !page.contains("6500"), "{page}");
    serve.post("/resume", &[("run", "a")]);
    let page = serve.shows("/chat/a", "Not showing up costs 6500 cents.");
    assert_eq!(page.matches("hands over to").count(), 1);
}

/// While another process has the run it is waited for, and then told.
#[test]
fn a_run_that_another_process_has_is_waited_for() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    place.says(&["ask", "--conversation", "a", "Quote Focus pro 3h"]);
    let mut other = place.begin(&["--slow", "4500", "ask", "--conversation", "a", "Quote Studio basic 2h"]);
    serve.shows("/chat/a", "Quote Studio basic 2h");
    let got = serve.say("a", "Quote Focus basic 1h");
    assert_eq!(got.status, 303, "{got:?}");
    let page = serve.shows("/chat/a", "What you said is not on record:");
    assert!(page.contains("drives") && page.contains("Quote Focus basic 1h"), "{page}");
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn a_port_that_is_taken_is_told() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let said = place.apart(&["--json", "serve", "--port", &serve.port.to_string()]);
    let error = &said.json()["error"];
    assert_eq!((said.code, &error["code"]), (2, &"port".into()));
    assert!(error["message"].as_str().unwrap().contains("--port 0"), "{error}");
}
