//! `sommelier serve` in a process of its own, and a browser that was let in.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Place;

/// A server over the journal of a place, killed when it is dropped, with a browser that was let in.
pub(crate) struct Serve {
    pub(crate) process: Child,
    /// Whether its agents take their time, so that what is said while they are at work is said on purpose.
    is_slow: bool,
    /// What it has said beside.
    remarks: Arc<Mutex<Vec<String>>>,
    /// Hears it, until there is nothing more to hear.
    hears: Option<JoinHandle<()>>,
    /// The address for other machines, where one is told.
    pub(crate) others: Option<String>,
    pub(crate) port: u16,
    pub(crate) token: String,
    /// The path of the browser's pages.
    pub(crate) home: String,
    pub(crate) cookie: String,
    pub(crate) form_token: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Serve {
    pub(crate) fn start(place: &Place, slow: u32) -> Self {
        let millis = slow.to_string();
        let mut serve = Self::of(place.command(&["--json", "--slow", &millis, "serve", "--port", "0"]));
        serve.is_slow = slow > 0;
        serve
    }

    /// The server that this command starts.
    pub(crate) fn of(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (remarks, err) = (Arc::new(Mutex::default()), process.stderr.take().unwrap());
        let said: Arc<Mutex<Vec<String>>> = remarks.clone();
        let hears = std::thread::spawn(move || {
            BufReader::new(err)
                .lines()
                .map_while(Result::ok)
                .for_each(|line| said.lock().unwrap().push(line));
        });
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
            is_slow: false,
            remarks,
            hears: Some(hears),
            others: told["others"].as_str().map(str::to_owned),
            port: address.parse().unwrap(),
            token: token.to_owned(),
            home: String::new(),
            cookie: String::new(),
            form_token: String::new(),
        };
        serve.comes_in();
        serve
    }

    /// A browser comes in by the token, as whom everything is asked from then on.
    pub(crate) fn comes_in(&mut self) {
        let got = self.raw("GET", &format!("/?token={}", self.token), &[], "");
        let home = got.header("location").unwrap().strip_suffix('/').unwrap();
        assert!(got.status == 303 && home.len() == 33, "{got:?}");
        let cookie = got.header("set-cookie").unwrap();
        let (value, rest) = cookie.split_once(';').unwrap();
        assert_eq!(rest, format!(" HttpOnly; SameSite=Strict; Path={home}"));
        assert!(!cookie.contains(&self.token));
        (self.cookie, self.home) = (value.to_owned(), home.to_owned());
        self.form_token = field(&self.get("/").body, "form_token");
    }

    /// The path of a page of the browser's.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.home)
    }

    /// Another browser comes in, by the address that was told when the last one did.
    pub(crate) fn lets_another_in(&mut self) {
        let told = self.remark("a browser was let in");
        let (_, token) = told.split_once("/?token=").unwrap();
        self.token = token.split(',').next().unwrap().to_owned();
        self.comes_in();
    }

    /// The next remark that has these words, once it is there.
    pub(crate) fn remark(&self, words: &str) -> String {
        let start = Instant::now();
        loop {
            let mut remarks = self.remarks.lock().unwrap();
            if let Some(place) = remarks.iter().position(|line| line.contains(words)) {
                return remarks.remove(place);
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{words}: {remarks:?}");
            drop(remarks);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether it remarks these words before it ends, as it has to.
    pub(crate) fn remarks(&mut self, words: &str) -> bool {
        loop {
            let has_ended = self.process.try_wait().unwrap().is_some();
            if let Some(hears) = self.hears.take_if(|_| has_ended) {
                hears.join().unwrap();
            }
            if self.remarks.lock().unwrap().iter().any(|line| line.contains(words)) {
                return true;
            }
            if has_ended {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A request with these headers and no others but those of the connection.
    pub(crate) fn raw(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Got {
        let mut stream = self.connect();
        stream.write_all(self.request(method, path, headers, body).as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Got { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// A request for a page of the browser's, whose links are told as they are behind its path.
    pub(crate) fn at_home(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Got {
        let mut got = self.raw(method, &self.at(path), headers, body);
        for link in ["href=\"", "src=\"", "action=\"", "data-live=\""] {
            // None leads anywhere else, but within the page, and to how a page looks for who is not let in.
            for target in got.body.split(link).skip(1) {
                let is_ours = target.starts_with('#') || target.starts_with(&self.home);
                assert!(is_ours || target.starts_with("/style.css\""), "{target}");
            }
        }
        got.body = got.body.replace(&self.home, "");
        got.head = got.head.replace(&format!("location: {}", self.home), "location: ");
        got
    }

    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
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

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    pub(crate) fn get(&self, path: &str) -> Got {
        self.at_home("GET", path, &[("cookie", &self.cookie)], "")
    }

    /// Sends a form. A run is shown as done a moment before it can be gone on with: who is so early by chance sends it again.
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Got {
        let start = Instant::now();
        loop {
            let got = self.post_once(path, fields);
            let is_early = got.status == 409 && got.body.contains("are still at work");
            if self.is_slow || !is_early {
                return got;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{path}: {got:?}");
        }
    }

    fn post_once(&self, path: &str, fields: &[(&str, &str)]) -> Got {
        let body =
            form(&[("form_token", &*self.form_token)].iter().chain(fields).copied().collect::<Vec<_>>());
        let kind = ("content-type", "application/x-www-form-urlencoded");
        self.at_home(
            "POST",
            path,
            &[("cookie", &self.cookie), kind, ("sec-fetch-site", "same-origin")],
            &body,
        )
    }

    /// Says something in a conversation.
    pub(crate) fn say(&self, run: &str, text: &str) -> Got {
        self.post("/say", &[("run", &encoded(run)), ("key", ""), ("text", text)])
    }

    /// The page, once it has these words.
    pub(crate) fn shows(&self, path: &str, words: &str) -> String {
        self.shows_one_of(path, &[words])
    }

    /// The page, once it has the words of one of these.
    pub(crate) fn shows_one_of(&self, path: &str, words: &[&str]) -> String {
        let start = Instant::now();
        loop {
            let got = self.get(path);
            if words.iter().any(|words| has_words(&got.body, words)) {
                return got.body;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{words:?}: {got:?}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// Answers the only question in the inbox, with the digest that is shown there.
    pub(crate) fn answers(&self, fields: &[(&str, &str)]) -> Got {
        let page = self.get("/inbox").body;
        let shown = ["question", "digest", "run"].map(|name| (name, field(&page, name)));
        let shown = shown.iter().map(|(name, value)| (*name, &**value));
        self.post("/answer", &shown.chain(fields.iter().copied()).collect::<Vec<_>>())
    }

    /// The events of a path, until one of them has these words.
    pub(crate) fn events(&self, path: &str, last: Option<u64>, until: &str) -> Vec<Event> {
        let mut stream = self.connect();
        let last = last.map(|id| id.to_string());
        let mut headers = vec![("cookie", &*self.cookie)];
        headers.extend(last.as_deref().map(|id| ("last-event-id", id)));
        stream.write_all(self.request("GET", &self.at(path), &headers, "").as_bytes()).unwrap();
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
                event.data.push_str(&data.replace(&self.home, ""));
            } else if line.is_empty() && !event.name.is_empty() {
                events.push(std::mem::take(&mut event));
                if events.last().is_some_and(|event: &Event| has_words(&event.data, until)) {
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
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: u64,
    pub(crate) data: String,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Whether a page has these words. Digits of hexadecimal alone are none: a token, a key or a digest has them by chance.
pub(crate) fn has_words(page: &str, words: &str) -> bool {
    assert!(words.contains(|c: char| !c.is_ascii_digit() && !('a'..='f').contains(&c)), "{words}");
    page.contains(words)
}

/// The value of the first field of this name in a page.
pub(crate) fn field(page: &str, name: &str) -> String {
    let (_, rest) =
        page.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{name}: {page}"));
    rest.split('"').next().unwrap().to_owned()
}

pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
}

pub(crate) fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}
