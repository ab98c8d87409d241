//! Requests and answers over a socket.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use sommelier_http::{Answer, Connection, Limits, Line, Request, Server, converse};

/// So long that nothing ends by them alone: whatever a test waits for comes by itself, also on a machine that is slow.
const LIMITS: Limits =
    Limits { head: Duration::from_secs(120), patience: Duration::from_secs(120), max_body: 64 };

/// How long a test waits for what has to come.
const SOON: Duration = Duration::from_secs(60);

fn server(most: usize, answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Server {
    server_within(LIMITS, most, move |request| answer(&request.target))
}

/// A server that refuses what has a header `x-refuse` before it reads a body.
fn server_within(
    limits: Limits,
    most: usize,
    answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
) -> Server {
    let refuse = |head: &Request| head.header("x-refuse").map(|why| Answer::whole(403, "text/plain", why));
    Server::start(([127, 0, 0, 1], 0).into(), most, limits.patience, move |connection, stop| {
        converse(connection, limits, stop, refuse, |heard| match heard {
            Ok(request) => answer(request),
            Err(wrong) => Answer::whole(wrong.status, "text/plain", wrong.why.clone()),
        });
    })
    .unwrap()
}

fn connected(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Whether the other side has closed the connection, without a word.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(len) => len == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}

/// Asks, and reads the beginning of the answer.
fn ask(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(b"GET /a HTTP/1.1\r\n\r\n")?;
    stream.read_exact(&mut [0; 12])
}

fn asked(server: &Server) -> TcpStream {
    let mut stream = connected(server);
    ask(&mut stream).unwrap();
    stream
}

fn told(server: &Server, request: &str) -> String {
    let mut stream = connected(server);
    stream.write_all(request.as_bytes()).unwrap();
    let mut told = String::new();
    stream.read_to_string(&mut told).unwrap();
    told
}

#[test]
fn a_connection_answers_one_request_after_the_other() {
    let server = server(4, |target| Answer::whole(200, "text/plain", target));
    let said = told(&server, "GET /a HTTP/1.1\r\n\r\nHEAD /b HTTP/1.1\r\nconnection: close\r\n\r\n");
    let head = |stays| {
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nconnection: {stays}\r\n\r\n"
        )
    };
    assert_eq!(said, format!("{}/a{}", head("keep-alive"), head("close")));
}

#[test]
fn a_body_that_is_too_large_is_refused_with_what_was_said_and_the_connection_ends() {
    let server = server(4, |target| Answer::whole(200, "text/plain", target));
    let said = told(&server, &format!("POST / HTTP/1.1\r\ncontent-length: 65\r\n\r\n{}", "x".repeat(65)));
    assert!(said.starts_with("HTTP/1.1 413 Content Too Large\r\n"), "{said}");
    assert!(said.contains("connection: close"), "{said}");
}

#[test]
fn a_header_begins_no_other_header() {
    let server =
        server(4, |_| Answer::whole(303, "text/plain", "").header("location", "/a\r\nset-cookie: b"));
    let said = told(&server, "GET / HTTP/1.1\r\nconnection: close\r\n\r\n");
    assert!(said.contains("\r\nlocation: /aset-cookie: b\r\n"), "{said}");
}

#[test]
fn live_pieces_arrive_one_by_one_and_empty_ones_do_not_end_the_body() {
    let (tell, hear) = mpsc::channel::<String>();
    let hear = std::sync::Arc::new(Mutex::new(hear));
    let server = server(4, move |_| {
        let hear = hear.clone();
        Answer::live("text/event-stream", move |_| hear.lock().unwrap().recv().ok())
    });
    let mut stream = BufReader::new(TcpStream::connect(server.address()).unwrap());
    stream.get_mut().write_all(b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
    let mut line = || {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    while !line().is_empty() {}
    for piece in ["one", "", "two"] {
        tell.send(piece.to_owned()).unwrap();
        // The piece is here before the next one is said.
        if !piece.is_empty() {
            assert_eq!([line(), line()], ["3", piece]);
        }
    }
    drop(tell);
    assert_eq!([line(), line()], ["0", ""]);
}

/// Silent connections lock nobody out.
#[test]
fn where_all_places_are_taken_the_one_is_closed_that_has_waited_longest() {
    let server = server(3, |target| Answer::whole(200, "text/plain", target));
    let [mut first, mut second] = [asked(&server), connected(&server)];
    // They are taken in their order, so the second one was before this one was answered.
    let third = asked(&server);
    // It asks once more, and so has waited for less long than the second one.
    first.write_all(b"GET /again HTTP/1.1\r\n\r\n").unwrap();
    let mut again = String::new();
    while !again.ends_with("/again") {
        let mut part = [0; 256];
        let len = first.read(&mut part).unwrap();
        again.push_str(std::str::from_utf8(&part[..len]).unwrap());
    }
    assert!(told(&server, "GET /c HTTP/1.1\r\nconnection: close\r\n\r\n").ends_with("/c"));
    assert!(is_closed(&mut second));
    for mut stays in [first, third] {
        stays.write_all(b"GET /b HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
        let mut said = String::new();
        stays.read_to_string(&mut said).unwrap();
        assert!(said.ends_with("/b"), "{said}");
    }
}

/// Ends, and is held up then: another client may be there before its thread goes on.
struct HeldUp<'a>(&'a Connection, &'a Mutex<Receiver<()>>);

impl Line for HeldUp<'_> {
    fn read(&mut self, part: &mut [u8], time: Duration) -> std::io::Result<usize> {
        (&mut &*self.0).read(part, time)
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        (&mut &*self.0).write_all(bytes)
    }

    fn end_writing(&mut self) {
        (&mut &*self.0).end_writing();
        let _ = self.1.lock().unwrap().recv();
    }

    fn waits(&mut self, is_waiting: bool) {
        (&mut &*self.0).waits(is_waiting);
    }
}

#[test]
fn who_has_been_answered_to_the_end_is_in_nobodys_way() {
    let (go_on, held) = mpsc::channel();
    let held = Mutex::new(held);
    let server = Server::start(([127, 0, 0, 1], 0).into(), 1, LIMITS.patience, move |connection, stop| {
        let line = HeldUp(connection, &held);
        converse(line, LIMITS, stop, |_| None, |_| Answer::whole(200, "text/plain", "here"));
    });
    // It goes on when the test is over.
    let (server, _go_on) = (server.unwrap(), go_on);
    for _ in 0..3 {
        assert!(told(&server, "GET /a HTTP/1.1\r\nconnection: close\r\n\r\n").ends_with("here"));
    }
}

#[test]
fn who_is_being_answered_is_not_closed_for_another_one() {
    let server = server(1, |_| {
        Answer::live("text/plain", |stop| (!stop.wait(Duration::from_millis(20))).then(|| "x".to_owned()))
    });
    let mut live = asked(&server);
    assert!(is_closed(&mut connected(&server)));
    live.read_exact(&mut [0; 300]).unwrap();
    drop(live);
    // The place is free again as soon as it is noticed that nobody listens; until then each one is closed.
    let is_free = |_| {
        std::thread::sleep(Duration::from_millis(20));
        ask(&mut connected(&server)).is_ok()
    };
    assert!((0..3_000).any(is_free));
}

/// Says `words`, and reads what is answered; what that is is nothing where the server was tired of waiting before.
fn perhaps_told(server: &Server, words: &str) -> String {
    let (mut stream, mut told) = (connected(server), String::new());
    let _ = stream.write_all(words.as_bytes()).and_then(|()| stream.read_to_string(&mut told));
    told
}

/// A test that is held up itself says nothing in time either, and tries again.
#[test]
fn who_connects_has_something_to_ask_and_says_it_soon() {
    let head = Duration::from_millis(200);
    let limits = Limits { head, ..LIMITS };
    let server = server_within(limits, 4, |request| Answer::whole(200, "text/plain", &*request.target));
    assert!(is_closed(&mut connected(&server)));
    let mut halves = (0..20).map(|_| perhaps_told(&server, "GET / HTTP/1.1\r\n"));
    let half = halves.find(|said| !said.is_empty()).unwrap();
    assert!(half.starts_with("HTTP/1.1 408 "), "{half}");
    // Who has asked once may think for longer.
    let mut all = (0..20).map(|_| connected(&server));
    let mut known = all.find_map(|mut stream| ask(&mut stream).is_ok().then_some(stream)).unwrap();
    std::thread::sleep(2 * head);
    known.write_all(b"GET /b HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
    let mut said = String::new();
    known.read_to_string(&mut said).unwrap();
    assert!(said.ends_with("/b"), "{said}");
}

/// The time of a request is that of all of it, however much comes in each moment.
#[test]
fn a_body_that_trickles_in_is_not_waited_for() {
    let limits = Limits { patience: Duration::from_millis(400), ..LIMITS };
    let server = server_within(limits, 4, |_| Answer::whole(200, "text/plain", ""));
    let mut stream = connected(&server);
    stream.write_all(b"POST / HTTP/1.1\r\ncontent-length: 30\r\n\r\n").unwrap();
    for _ in 0..30 {
        // All of it would be an answer of 200.
        if stream.write_all(b"x").is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 408 "), "{said}");
}

#[test]
fn what_is_refused_by_its_head_is_answered_before_its_body_is_sent() {
    let server = server(4, |target| Answer::whole(200, "text/plain", target));
    let said =
        told(&server, "POST / HTTP/1.1\r\nx-refuse: no\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n");
    assert!(
        said.starts_with("HTTP/1.1 403 Forbidden\r\n") && said.ends_with("\r\nconnection: close\r\n\r\nno"),
        "{said}"
    );
    // It is the last one also without a body: who is refused has not many answers on their way.
    let said = told(&server, &"GET / HTTP/1.1\r\nx-refuse: no\r\n\r\n".repeat(2));
    assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
}

#[test]
fn a_body_may_come_in_the_smallest_chunks() {
    let limits = Limits { max_body: 1 << 16, ..LIMITS };
    let server =
        server_within(limits, 4, |request| Answer::whole(200, "text/plain", request.body.len().to_string()));
    let body = "1\r\nx\r\n".repeat(1 << 16);
    let said = told(
        &server,
        &format!("POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{body}0\r\n\r\n"),
    );
    assert!(said.ends_with("\r\n\r\n65536"), "{said}");
}

/// RFC 9110, 10.1.1: who waits is told to go on, and a client of HTTP/1.0 would take that for its answer.
#[test]
fn who_waits_to_send_a_body_is_told_to_go_on() {
    let server = server(4, |target| Answer::whole(200, "text/plain", target));
    let said = |version: &str| {
        let head = format!(
            "POST /a HTTP/{version}\r\nexpect: 100-continue\r\nconnection: close\r\ncontent-length: 3\r\n\r\n"
        );
        let told = told(&server, &format!("{head}tea"));
        told.lines().filter(|line| line.starts_with("HTTP/")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(said("1.1"), ["HTTP/1.1 100 Continue", "HTTP/1.1 200 OK"]);
    assert_eq!(said("1.0"), ["HTTP/1.1 200 OK"]);
}

/// RFC 9112, 7.1: what one server takes for the end of a chunk and another does not is how one request is hidden in another.
#[test]
fn chunks_are_what_the_standard_says_and_nothing_like_it() {
    let server = server_within(LIMITS, 4, |request| {
        Answer::whole(200, "text/plain", String::from_utf8_lossy(&request.body).into_owned())
    });
    let sent = |body: &str| {
        let head = "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
        told(&server, &format!("{head}{body}"))
    };
    for fine in ["3\r\ntea\r\n0\r\n\r\n", "003;a=b\r\ntea\r\n0;c\r\n\r\n", "1\r\nt\r\n2\r\nea\r\n000\r\n\r\n"]
    {
        let said = sent(fine);
        assert!(said.starts_with("HTTP/1.1 200 ") && said.ends_with("\r\n\r\ntea"), "{fine:?}: {said}");
    }
    for wrong in [
        "3 \r\ntea\r\n0\r\n\r\n",
        " 3\r\ntea\r\n0\r\n\r\n",
        "3\ntea\r\n0\r\n\r\n",
        "3\r\ntea\n0\r\n\r\n",
        "3\r\ntea \r\n0\r\n\r\n",
        "3\r\nteas\r\n0\r\n\r\n",
        "3;\rx\r\ntea\r\n0\r\n\r\n",
        "3\r\ntea\r\n0\r\nx-late: 1\r\n\r\n",
        "3\r\ntea\r\n0\r\n \r\n",
        "0x3\r\ntea\r\n0\r\n\r\n",
        "+3\r\ntea\r\n0\r\n\r\n",
        "-1\r\n",
        ";a\r\n",
        "\r\n",
        "11111111111111111\r\n",
    ] {
        let said = sent(wrong);
        assert!(said.starts_with("HTTP/1.1 400 ") && said.contains("connection: close"), "{wrong:?}: {said}");
    }
}

#[test]
fn a_client_that_says_both_wants_to_close() {
    let server = server(4, |target| Answer::whole(200, "text/plain", target));
    let ends =
        |request: &str| told(&server, &format!("{request}GET /more HTTP/1.1\r\nconnection: close\r\n\r\n"));
    for closing in [
        "connection: keep-alive, close",
        "connection: keep-alive\r\nconnection: Close",
        "connection:\tclose ,x",
    ] {
        let said = ends(&format!("GET /a HTTP/1.1\r\n{closing}\r\n\r\n"));
        assert!(said.contains("connection: close") && said.ends_with("/a"), "{closing}: {said}");
    }
    for (version, staying) in
        [("1.1", "x-none: x"), ("1.1", "connection: upgrade"), ("1.0", "connection: x, keep-alive")]
    {
        let said = ends(&format!("GET /a HTTP/{version}\r\n{staying}\r\n\r\n"));
        assert!(said.contains("connection: keep-alive") && said.ends_with("/more"), "{staying}: {said}");
    }
}

#[test]
fn a_server_that_ends_in_good_order_sends_what_is_on_its_way() {
    let (tell, hear) = mpsc::channel();
    let server = server(8, move |target| {
        tell.send(()).unwrap();
        match target {
            "/live" => Answer::live("text/plain", |stop| (!stop.wait(2 * SOON)).then(String::new)),
            _ => {
                std::thread::sleep(Duration::from_millis(400));
                Answer::whole(200, "text/plain", "late")
            }
        }
    });
    let address = server.address();
    let mut silent = connected(&server);
    let sent = |target: &str| {
        let mut stream = connected(&server);
        stream.write_all(format!("GET {target} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        stream
    };
    let [live, slow] = [sent("/live"), sent("/slow")];
    // Both are being answered.
    (0..2).for_each(|_| hear.recv().unwrap());
    // Who does not hear of the end is cut off after this time, and has no end then.
    server.end(SOON);
    let [live, slow] = [live, slow].map(|mut stream| {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    });
    assert!(live.ends_with("\r\n\r\n0\r\n\r\n") && slow.ends_with("\r\n\r\nlate"), "{live} {slow}");
    assert!(is_closed(&mut silent) && TcpStream::connect(address).is_err());
}

#[test]
fn a_server_that_is_dropped_ends_what_is_live() {
    let server = server(4, |_| {
        Answer::live("text/event-stream", |stop| (!stop.wait(Duration::from_millis(20))).then(String::new))
    });
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    drop(server);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
}
