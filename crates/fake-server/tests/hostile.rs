//! Clients that are slow, silent, greedy or wrong: none of them holds the server up.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use harness::{Told, bytes, connect, hang_up, hello, read, server, until_so};
use serde_json::json;
use sommelier_fake_server::{FakeServer, Faults, Settings};

fn impatient() -> FakeServer {
    server(Settings { patience: Duration::from_millis(300), ..Settings::default() })
}

fn request() -> Vec<u8> {
    bytes("POST", "/v1/messages", &json!({}), &hello().to_string())
}

/// What is said to these bytes, after which nothing more comes. Who is not quick enough to speak at all is let go without a
/// word by a server that is impatient, and comes again.
fn told(server: &FakeServer, bytes: &[u8]) -> Told {
    let mut told = Told::default();
    until_so(|| {
        let mut stream = connect(server);
        let _ = stream.write_all(bytes);
        told = read(&mut stream);
        told.status != 0
    });
    told
}

/// The server still works.
fn assert_alive(server: &FakeServer) {
    let told = told(server, &request());
    assert_eq!((told.status, told.is_whole), (200, true));
}

#[test]
fn half_a_request_is_told_to_have_taken_too_long() {
    let server = impatient();
    let whole = request();
    for len in [1, 20, whole.len() / 2, whole.len() - 1] {
        let told = told(&server, &whole[..len]);
        assert_eq!((told.status, told.header("connection")), (408, Some("close")), "{len} bytes");
    }
    assert_alive(&server);
}

/// Bytes that trickle in do not prolong the time: long before the last one the request has been given up.
#[test]
fn a_slow_client_is_not_waited_for() {
    let server = impatient();
    let is_over = || !server.log().entries.is_empty();
    until_so(|| {
        let mut stream = connect(&server);
        for byte in request() {
            if is_over() || stream.write_all(&[byte]).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        is_over()
    });
    let log = server.log();
    assert_eq!((log.requests, log.broken.get("http")), (1, Some(&1)));
    assert_alive(&server);
}

#[test]
fn a_client_that_leaves_in_mid_request_leaves_nothing_behind() {
    let server = server(Settings::default());
    for len in [0, 1, 100] {
        let mut stream = connect(&server);
        stream.write_all(&request()[..len]).unwrap();
        hang_up(&stream);
        assert_eq!(read(&mut stream).status, 0);
    }
    assert_eq!(server.log().requests, 0);
    assert_alive(&server);
}

/// Whoever says nothing is let go without a word.
#[test]
fn a_silent_client_is_let_go() {
    let server = impatient();
    let mut stream = connect(&server);
    assert_eq!(read(&mut stream).status, 0);
    assert_eq!(server.log().requests, 0);
}

#[test]
fn a_head_without_an_end_is_refused() {
    let server = server(Settings::default());
    for line in ["x-long: ".to_owned() + &"a".repeat(20_000), "x: 1\r\n".repeat(5_000)] {
        let mut stream = connect(&server);
        let _ = stream.write_all(format!("POST /v1/messages HTTP/1.1\r\n{line}").as_bytes());
        assert_eq!(read(&mut stream).status, 431);
    }
    assert_alive(&server);
}

/// Requests that were sent ahead are answered in their order.
#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = server(Settings::default());
    let mut all = request();
    all.extend(bytes("GET", "/nowhere", &json!({"content-length": null}), ""));
    all.extend(bytes("POST", "/v1/messages", &json!({"connection": "close"}), &hello().to_string()));
    let mut stream = connect(&server);
    stream.write_all(&all).unwrap();
    let mut answers = Vec::new();
    for _ in 0..4 {
        let mut one = head_and_body(&mut stream);
        answers.append(&mut one);
    }
    assert_eq!(answers, [200, 404, 200]);
}

/// The status of one answer, read to its last byte and no further.
fn head_and_body(stream: &mut TcpStream) -> Vec<u16> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if !matches!(stream.read(&mut byte), Ok(1)) {
            return Vec::new();
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    stream.read_exact(&mut vec![0; length]).unwrap();
    vec![head.split(' ').nth(1).unwrap().parse().unwrap()]
}

/// A body that is announced as too large is refused before it is sent, and one in chunks as soon as it is.
#[test]
fn a_body_that_is_too_large_is_not_read() {
    let server = server(Settings { max_body: 1_000, ..Settings::default() });
    let mut stream = connect(&server);
    stream
        .write_all(&bytes(
            "POST",
            "/v1/messages",
            &json!({"content-length": "99999999999999999999999"}),
            "{}",
        ))
        .unwrap();
    assert_eq!(read(&mut stream).status, 413);

    let mut stream = connect(&server);
    let chunked = json!({"content-length": null, "transfer-encoding": "chunked"});
    stream.write_all(&bytes("POST", "/v1/messages", &chunked, "ffffffffffffffff\r\n")).unwrap();
    let told = read(&mut stream);
    assert_eq!((told.status, told.json()["error"]["type"].as_str()), (413, Some("request_too_large")));
    assert_alive(&server);
}

/// Where two servers on the way might see two bodies, none is taken: two codings, a coding and a length, a coding in HTTP/1.0.
#[test]
fn a_body_that_may_be_read_in_two_ways_is_refused() {
    let server = server(Settings::default());
    let head =
        "host: a\r\nx-api-key: k\r\nanthropic-version: 2026-10-21\r\ncontent-type: application/json\r\n";
    for (version, codings) in [
        ("1.1", "transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n"),
        ("1.1", "transfer-encoding: chunked\r\ncontent-length: 5\r\n"),
        ("1.0", "transfer-encoding: chunked\r\n"),
    ] {
        let mut stream = connect(&server);
        let request = format!("POST /v1/messages HTTP/{version}\r\n{head}{codings}\r\n0\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        assert_eq!(read(&mut stream).status, 400, "{version} {codings}");
    }
    assert_alive(&server);
}

/// A client that sends its whole body before it listens is not cut off, and reads why it was refused; if it is quick enough, for
/// which it has some tries.
#[test]
fn a_refused_body_is_taken_in() {
    let server = server(Settings { max_body: 1_000, ..Settings::default() });
    let request = bytes("POST", "/v1/messages", &json!({}), &" ".repeat(16_000_000));
    assert_eq!(told(&server, &request).status, 413);
}

/// A client that waits to be told to go on is told.
#[test]
fn a_body_is_asked_for_when_the_client_waits() {
    let server = server(Settings::default());
    let body = hello().to_string();
    let mut stream = connect(&server);
    let all = bytes("POST", "/v1/messages", &json!({"expect": "100-continue"}), &body);
    stream.write_all(&all[..all.len() - body.len()]).unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).unwrap();
    assert_eq!(read(&mut stream).status, 200);
}

/// Chance bytes, and requests with chance changes: an answer or none, and never the server's end.
#[test]
fn chance_bytes_do_not_kill_it() {
    let server = impatient();
    let mut seed = 7_u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap()
    };
    for _ in 0..300 {
        let mut bytes = request();
        for _ in 0..1 + next() % 4 {
            let at = next() % bytes.len();
            bytes[at] = u8::try_from(next() % 256).unwrap();
        }
        let mut stream = connect(&server);
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let told = read(&mut stream);
        assert!(told.status == 0 || told.is_whole || told.status == 200, "{told:?}");
    }
    assert_alive(&server);
}

/// A server that would wait for a day for who is silent.
fn patient() -> FakeServer {
    server(Settings { patience: Duration::from_secs(24 * 60 * 60), ..Settings::default() })
}

/// Many at a time are answered, and a server with open connections ends without waiting for them.
#[test]
fn it_ends_while_clients_wait() {
    let server = patient();
    let silent: Vec<_> = (0..50).map(|_| connect(&server)).collect();
    assert_alive(&server);
    drop(server);
    drop(silent);
}

/// A question for the head alone is answered with the head alone.
#[test]
fn a_head_has_no_body() {
    let server = server(Settings::default());
    let mut stream = connect(&server);
    let ask = bytes("HEAD", "/v1/messages", &json!({"content-length": null, "connection": "close"}), "");
    stream.write_all(&ask).unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert!(all.starts_with("HTTP/1.1 405 Method Not Allowed\r\n") && all.ends_with("\r\n\r\n"), "{all}");
    assert!(all.contains("\r\nallow: POST\r\n"), "{all}");
}

/// A client that asks and does not read is let go when nothing more goes out for as long as the server is patient. Nobody
/// sees that it is before he reads, so a server that was not quick enough is asked again, and left alone for longer.
#[test]
fn a_client_that_does_not_read_is_let_go() {
    let body = json!({"at": 1, "until": 1_000, "fault": {"oversized_body": 16_000_000}});
    let faults = Faults::read(&json!({"faults": [body]}).to_string()).unwrap();
    let server = server(Settings { faults, patience: Duration::from_secs(1), ..Settings::default() });
    let mut pause = Duration::from_millis(1_500);
    until_so(|| {
        let heard = server.log().entries.len();
        let mut stream = connect(&server);
        stream.write_all(&request()).unwrap();
        // The answer is there before its first byte goes out.
        until_so(|| server.log().entries.len() > heard);
        pause *= 2;
        std::thread::sleep(pause);
        // What was on its way still comes, and no more.
        let told = read(&mut stream);
        told.status == 200 && !told.is_whole
    });
    let log = bytes("GET", "/_log", &json!({"content-length": null}), "");
    assert_eq!(told(&server, &log).status, 200, "it still works");
}

/// There is an end to how many may be connected at a time, and who is silent keeps nobody out.
#[test]
fn for_one_connection_too_many_the_one_is_closed_that_is_silent_longest() {
    let server = patient();
    let mut silent: Vec<_> = (0..256).map(|_| connect(&server)).collect();
    assert_alive(&server);
    assert_eq!(read(&mut silent[0]).status, 0);
}
