//! `serve`, over a socket: who is let in and who is not, and how much is taken.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use harness::serving::{Got, Serve, form};
use harness::{Place, RUNNING_CASE};

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
            let got = serve.at_home("GET", path, &[("cookie", cookie)], "");
            assert_eq!(got.status, 401, "{path} {cookie}");
            assert!(!got.body.contains("booking_agent") && !got.body.contains(&serve.token), "{got:?}");
        }
    }
    for token in ["", &near, &serve.token[1..], "%ff"] {
        let got = serve.raw("GET", &format!("/?token={token}"), &[], "");
        assert_eq!((got.status, got.header("set-cookie")), (401, None), "{token}");
    }
    let said = serve.at_home("POST", "/say", &[], "");
    assert_eq!(said.status, 401);
    // Who guesses has one guess for each connection, and not many answers to read.
    for path in ["/?token=x", "/", &serve.at("/runs")] {
        let mut stream = serve.connect();
        let ask = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\n\r\n", serve.port);
        stream.write_all(ask.repeat(3).as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert_eq!(said.matches("HTTP/1.1 401 ").count(), 1, "{said}");
    }
    // What another server of this machine has its pages set beside it changes nothing.
    let beside = format!("{name}=0; a=b; {}; {name}=1", serve.cookie);
    assert_eq!(serve.at_home("GET", "/", &[("cookie", &beside)], "").status, 200);
}

/// A browser sends a cookie to every port of a host, but to no path that it is not for: who sees it elsewhere has asked for the path
/// of these pages, which nobody else knows, and without that path it lets nobody in.
#[test]
fn a_cookie_is_good_at_the_path_alone_that_it_is_sent_to() {
    let place = Place::new();
    let mut serve = Serve::start(&place, 0);
    let guessed = format!("/{}", "0".repeat(32));
    for path in
        ["/", "/runs", "/script.js", &guessed, &format!("{guessed}{}/runs", serve.home), &serve.home[..32]]
    {
        for cookie in ["", &serve.cookie] {
            let got = serve.raw("GET", path, &[("cookie", cookie)], "");
            assert_eq!(
                (got.status, got.header("location"), got.header("set-cookie")),
                (401, None, None),
                "{path}"
            );
            assert!(!got.body.contains(&serve.home), "{got:?}");
        }
    }
    assert_eq!(serve.at_home("GET", "", &[("cookie", &serve.cookie)], "").status, 200);
    // Nor is the path of one browser good for another one's cookie.
    let before = (serve.home.clone(), serve.cookie.clone());
    serve.lets_another_in();
    assert_eq!(serve.at_home("GET", "/", &[("cookie", &before.1)], "").status, 401);
    assert_eq!(serve.raw("GET", &format!("{}/", before.0), &[("cookie", &before.1)], "").status, 200);
    assert_eq!(serve.raw("GET", &format!("{}/", before.0), &[("cookie", &serve.cookie)], "").status, 401);
}

/// The address lies in a history, and in what a terminal has shown.
#[test]
fn a_token_lets_one_browser_in_and_there_is_another_one_for_the_next() {
    let place = Place::new();
    let mut serve = Serve::start(&place, 0);
    let used = format!("/?token={}", serve.token);
    let got = serve.raw("GET", &used, &[], "");
    assert_eq!((got.status, got.header("set-cookie")), (401, None));
    assert!(got.body.contains("has printed last"), "{got:?}");
    let first = serve.token.clone();
    // To look at the head alone is not to come in.
    assert_eq!(serve.raw("HEAD", &used, &[], "").status, 401);
    serve.lets_another_in();
    assert_ne!(serve.token, first);
    assert_eq!(serve.raw("GET", &used, &[], "").status, 401);
}

/// How pages look is told to anybody who asks for this host, and nothing else is.
#[test]
fn who_is_not_let_in_is_told_so_on_a_page_that_looks_like_the_others() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let got = serve.raw("GET", "/", &[], "");
    assert_eq!(got.status, 401);
    let told = "Open the address that <code>sommelier serve</code> has printed last: the token in it lets one browser in, once.";
    assert!(got.body.contains(told) && !got.body.contains('`'), "{got:?}");
    assert!(got.body.contains("<link rel=\"stylesheet\" href=\"/style.css\">"), "{got:?}");
    let style = serve.raw("GET", "/style.css", &[], "");
    assert_eq!((style.status, style.header("content-type")), (200, Some("text/css; charset=utf-8")));
    assert_eq!(style.body, serve.get("/style.css").body);
    assert_eq!(serve.raw("POST", "/style.css", &[], "").status, 401);
    assert_eq!(serve.raw("GET", "/style.css", &[("host", "evil.example")], "").status, 421);
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
    let at = |hosts: &[&str]| {
        let hosts = hosts.iter().map(|host| ("host", *host));
        serve.at_home("GET", "/", &hosts.chain([("cookie", &*serve.cookie)]).collect::<Vec<_>>(), "").status
    };
    assert_eq!(at(&[&ours, "evil.example"]), 400);
    assert_eq!(at(&[&ours, &ours]), 421);
    assert_eq!(at(&[&format!("localhost:{}", serve.port)]), 200);
    assert_eq!(at(&[&format!("localhost:+{}", serve.port)]), 421);
}

/// Beyond this machine it is reached by addresses, and from this machine by its name for itself.
#[test]
fn at_all_addresses_it_has_every_address_and_no_name_but_localhost() {
    let place = Place::new();
    assert_eq!(Serve::start(&place, 0).others, None);
    let serve = Serve::of(place.command(&["--json", "serve", "--port", "0", "--host", "0.0.0.0"]));
    serve.remark("what is sent is not encrypted");
    // Others cannot open the address that is for this machine, and are told one that they can.
    let others = serve.others.as_ref().unwrap();
    let (first, then) = (&serve.token, serve.remark("a browser was let in"));
    assert!(others.ends_with(&format!(":{}/?token={first}", serve.port)), "{others}");
    let place_of = |url: &str| url.split("/?token=").next().unwrap().to_owned();
    let (_, next) = then.split_once(", on another machine ").unwrap();
    assert!(place_of(next) == place_of(others) && !next.contains(&**first), "{next}");
    assert!(
        !["http://127.", "http://0.0.0.0:", "http://["].iter().any(|place| others.starts_with(place)),
        "{others}"
    );
    for (host, status) in [
        ("10.0.0.1", 200),
        ("localhost", 200),
        ("[::1]", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
    ] {
        let host = format!("{host}:{}", serve.port);
        let got = serve.at_home("GET", "/", &[("host", &host), ("cookie", &serve.cookie)], "");
        assert_eq!(got.status, status, "{host}");
    }
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
        serve.at_home("POST", "/say", &headers, body).status
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
    // What is said twice and not in the same words is believed neither way.
    for (name, one, other) in [
        ("origin", &*ours, "http://evil.example"),
        ("sec-fetch-site", "same-origin", "cross-site"),
        ("content-type", kind, "text/plain"),
        ("cookie", &serve.cookie, "a=b"),
    ] {
        for pair in [[(name, one), (name, other)], [(name, other), (name, one)]] {
            let headers: Vec<(&str, &str)> = [("content-type", kind)].into_iter().chain(pair).collect();
            assert_eq!(sent(&headers, &body), 400, "{headers:?}");
        }
    }
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
        let got = serve.at_home(method, path, &[("cookie", &serve.cookie)], "");
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
    // What is too large need not be sent to be refused.
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let request = serve.request("POST", &serve.at("/say"), &[("cookie", &serve.cookie), kind], "");
    let too_large = request.replace("content-length: 0", &format!("content-length: {}", (1 << 20) + 1));
    let mut stream = serve.connect();
    stream.write_all(too_large.as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
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

/// A body is read of nobody who is not let in, of no form of somebody else's, and at no path that takes none.
#[test]
fn what_its_head_tells_is_refused_before_a_body_is_sent() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let kind = ("content-type", "application/x-www-form-urlencoded");
    let known = ("cookie", &*serve.cookie);
    for (path, headers, status) in [
        ("/say", vec![("host", "evil.example"), known, kind], 421),
        ("/say", vec![kind], 401),
        ("/say", vec![known], 415),
        ("/say", vec![known, kind, ("origin", "http://evil.example")], 403),
        ("/runs", vec![known, kind], 405),
    ] {
        let mut stream = serve.connect();
        let request = serve.request("POST", &serve.at(path), &headers, "");
        stream.write_all(request.replace("content-length: 0", "content-length: 1000000").as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        // Who waited for the body would say after half a minute that it took too long.
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{path} {headers:?}: {said}");
    }
}

/// What anybody may see is seen once by a connection: who asks for it over and over and reads nothing would hold it without end.
#[test]
fn a_stranger_gets_one_answer_by_a_connection() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let mut stream = serve.connect();
    let request = serve.request("GET", "/style.css", &[], "");
    stream.write_all(request.repeat(3).as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    assert_eq!((said.matches("HTTP/1.1 200 OK").count(), said.matches("HTTP/1.1").count()), (1, 1), "{said}");
    assert_eq!(serve.get("/runs").status, 200);
}

/// Silent connections lock nobody out, and end soon: a connection that comes makes room for itself, and does not wait until they end by
/// themselves. On a machine that is held up for so long they may have, and then it is tried again.
#[test]
fn a_hundred_silent_connections_lock_nobody_out() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let makes_room = |_| {
        let mut silent: Vec<_> = (0..100).map(|_| serve.connect()).collect();
        assert_eq!(serve.get("/runs").status, 200);
        let last = silent.last_mut().unwrap();
        last.set_nonblocking(true).unwrap();
        let is_there = last.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        last.set_nonblocking(false).unwrap();
        assert_eq!(last.read(&mut [0]).unwrap(), 0);
        is_there
    };
    assert!((0..5).any(makes_room));
}

/// Where the system has no more of them, connections that wait make room, and nothing turns in circles meanwhile.
#[cfg(target_os = "linux")]
#[test]
fn without_descriptors_it_takes_breath_and_who_asks_is_answered() {
    let place = Place::new();
    let shell = place.path("limited.sh");
    std::fs::write(&shell, "ulimit -n 40\nexec \"$@\"\n").unwrap();
    let serve = place.command(&["--json", "serve", "--port", "0"]);
    let mut command = std::process::Command::new("sh");
    command.arg(shell).arg(serve.get_program()).args(serve.get_args()).stdin(std::process::Stdio::null());
    let serve = Serve::of(command);
    let _silent: Vec<_> = (0..80).map(|_| serve.connect()).collect();
    let ticks = || -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", serve.process.id())).unwrap();
        stat.rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|it| it.parse::<u64>().unwrap())
            .sum()
    };
    let before = ticks();
    std::thread::sleep(Duration::from_secs(2));
    // A hundredth of a second each.
    assert!(ticks() - before < 60, "{} hundredths of two seconds", ticks() - before);
    assert_eq!(serve.get("/runs").status, 200);
}
