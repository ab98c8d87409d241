//! Requests and answers over a socket.
#![allow(clippy::unwrap_used, reason = "a test says so by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use sommelier_http::{Answer, Limits, Server, converse};

const LIMITS: Limits = Limits { patience: Duration::from_secs(5), max_body: 64 };

fn server(most: usize, answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Server {
    Server::start(([127, 0, 0, 1], 0).into(), most, LIMITS.patience, move |stream, stop| {
        converse(stream, LIMITS, stop, |heard| match heard {
            Ok(request) => answer(&request.target),
            Err(wrong) => Answer::whole(wrong.status, "text/plain", wrong.why.clone()),
        });
    })
    .unwrap()
}

fn told(server: &Server, request: &str) -> String {
    let mut stream = TcpStream::connect(server.address()).unwrap();
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
    let hear = std::sync::Arc::new(std::sync::Mutex::new(hear));
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

#[test]
fn one_connection_too_many_is_closed_and_the_next_after_one_has_ended_is_taken() {
    let server = server(1, |target| Answer::whole(200, "text/plain", target));
    let mut first = TcpStream::connect(server.address()).unwrap();
    first.write_all(b"GET /a HTTP/1.1\r\n\r\n").unwrap();
    first.read_exact(&mut [0; 12]).unwrap();
    let mut second = TcpStream::connect(server.address()).unwrap();
    assert!(matches!(second.read(&mut [0; 1]), Ok(0) | Err(_)));
    drop(first);
    let begin = Instant::now();
    loop {
        let mut third = TcpStream::connect(server.address()).unwrap();
        let mut told = String::new();
        let asked = third.write_all(b"GET /c HTTP/1.1\r\nconnection: close\r\n\r\n");
        if asked.is_ok() && third.read_to_string(&mut told).is_ok() && told.ends_with("/c") {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(5));
    }
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
