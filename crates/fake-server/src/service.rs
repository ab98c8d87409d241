//! What a request is answered with.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use serde_json::json;
use sommelier_http::{Limits, Line, Request, Stop, Unreadable, Wire, locked};
use sommelier_protocol::ContentBlock;

use crate::answer::{Answer, Body, Cut, send};
use crate::breach::{ApiError, Breach};
use crate::cache::Cache;
use crate::events::{event, events};
use crate::fault::LARGEST;
use crate::log::{Entry, Log};
use crate::memory::Memory;
use crate::reply::{Block, Reply, tokens_of};
use crate::rules::{Illegal, Legal, judge};
use crate::script::{Next, Reading};
use crate::{Fault, Rule, Settings};

/// The service: its settings, and what it remembers of requests.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) settings: Settings,
    script: Mutex<Reading>,
    memory: Mutex<Memory>,
    cache: Mutex<Cache>,
    log: Mutex<Log>,
}

impl Service {
    pub(crate) fn new(settings: Settings) -> Self {
        let script = Mutex::new(Reading::new(settings.script.clone()));
        Self { settings, script, memory: Mutex::default(), cache: Mutex::default(), log: Mutex::default() }
    }

    pub(crate) fn log(&self) -> Log {
        locked(&self.log).clone()
    }

    /// Answers what comes over one connection, one request after the other.
    pub(crate) fn converse(&self, line: impl Line, stop: &Stop) {
        let (patience, max_body) = (self.settings.patience, self.settings.max_body);
        let mut wire = Wire::new(line, Limits { head: patience, patience, max_body });
        while !stop.is_set() {
            let (incoming, answer, stays) = match wire.read() {
                Ok(incoming) => {
                    let answer = self.answer(&incoming);
                    let stays = incoming.stays();
                    (incoming, answer, stays)
                }
                Err(Unreadable::Gone) => break,
                Err(Unreadable::Told(wrong)) => {
                    let answer = self.unreadable(&wrong.head, wrong.status, &wrong.why);
                    (wrong.head, answer, false)
                }
            };
            if !send(&answer, &incoming, stays, wire.out(), stop).unwrap_or_default() {
                break;
            }
        }
        wire.linger();
    }

    fn answer(&self, incoming: &Request) -> Answer {
        if incoming.method == "GET" && incoming.path() == "/_log" {
            let log = serde_json::to_string_pretty(&self.log()).unwrap_or_default();
            return Answer::json(200, log);
        }
        let mut entry = self.begin(incoming);
        entry.keep_body(&incoming.body);
        let judged = judge(incoming, &self.settings, &locked(&self.memory));
        let answer = match judged {
            Err(illegal) => refuse(&mut entry, &illegal),
            Ok(legal) => self.serve(&mut entry, &legal),
        };
        self.end(entry, answer)
    }

    /// The answer to what could not be read as a request.
    fn unreadable(&self, head: &Request, status: u16, why: &str) -> Answer {
        let mut entry = self.begin(head);
        let rule = if status == 413 { Rule::Size } else { Rule::Http };
        let first = Breach::new(rule, ApiError::new(status, why));
        let answer = refuse(&mut entry, &Illegal::from(first));
        self.end(entry, answer)
    }

    fn begin(&self, incoming: &Request) -> Entry {
        Entry {
            number: locked(&self.log).begin(),
            method: incoming.method.clone(),
            target: incoming.target.clone(),
            ..Entry::default()
        }
    }

    fn end(&self, mut entry: Entry, mut answer: Answer) -> Answer {
        answer.headers.push(("request-id", request_id(entry.number)));
        if answer.status == 405 {
            answer.headers.push(("allow", "POST".to_owned()));
        }
        entry.status = answer.status;
        locked(&self.log).end(entry);
        answer
    }

    fn serve(&self, entry: &mut Entry, request: &Legal) -> Answer {
        entry.model = request.text("model").to_owned();
        entry.stream = request.is_streamed();
        entry.noted = request.noted.iter().map(|rule| rule.code()).collect();
        let faults: Vec<Fault> = self.settings.faults.at(entry.number).cloned().collect();
        entry.faults = faults.iter().map(Fault::name).collect();
        let mut answer = match faults.iter().find_map(|fault| status(fault, entry.number)) {
            Some(answer) => answer,
            None if request.is_count => {
                let counted = json!({"input_tokens": tokens_of(request)});
                Answer::json(200, counted.to_string())
            }
            None => match self.reply(entry.number, request, faults.iter().any(Fault::spoils)) {
                Ok(reply) => self.said(reply, request, &faults, entry.number),
                Err(error) => {
                    let mut answer = failed(&error, entry.number);
                    answer.headers.push(("x-should-retry", "false".to_owned()));
                    answer
                }
            },
        };
        for fault in &faults {
            strike_wire(fault, &mut answer);
        }
        answer
    }

    fn reply(&self, number: u64, request: &Legal, is_lost: bool) -> Result<Reply, ApiError> {
        match locked(&self.script).next(request, is_lost) {
            Next::Say(scripted) => Ok(Reply::scripted(number, request, *scripted)),
            Next::Improvise => Ok(Reply::improvised(number, request)),
            Next::BeLost => {
                Err(ApiError::new(500, "the script of this fake server has no reply to this request"))
            }
        }
    }

    /// The reply on the wire, with whatever is wrong in it.
    fn said(&self, mut reply: Reply, request: &Legal, faults: &[Fault], number: u64) -> Answer {
        reply.cached = locked(&self.cache).take(&request.body);
        for fault in faults {
            reply = strike_reply(fault, reply, request);
        }
        self.remember(&reply);
        let mut answer = if request.is_streamed() {
            let mut answer =
                Answer::new(200, "text/event-stream; charset=utf-8", Body::Pieces(events(&reply)));
            answer.headers.push(("cache-control", "no-cache".to_owned()));
            answer
        } else {
            Answer::json(200, reply.whole().to_string())
        };
        for fault in faults {
            strike_answer(fault, &mut answer, number);
        }
        answer
    }

    /// Keeps a reply whose thinking has to come back.
    fn remember(&self, reply: &Reply) {
        let content: Vec<ContentBlock> = reply
            .content
            .iter()
            .filter_map(|block| serde_json::from_str(&block.whole().to_string()).ok())
            .collect();
        let mut ids = BTreeSet::new();
        // Under an id that stands twice nobody can say which call comes back.
        if content.iter().filter_map(ContentBlock::as_tool_use).all(|call| ids.insert(call.id())) {
            locked(&self.memory).keep(content);
        }
    }
}

fn request_id(number: u64) -> String {
    format!("req_fake_{number:06}")
}

fn failed(error: &ApiError, number: u64) -> Answer {
    Answer::json(error.status, error.body(&request_id(number)).to_string())
}

fn refuse(entry: &mut Entry, illegal: &Illegal) -> Answer {
    let codes = |rules: &[Rule]| rules.iter().map(|rule| rule.code()).collect();
    entry.broken = codes(&illegal.broken);
    entry.noted = codes(&illegal.noted);
    entry.error = Some(illegal.first.error.message.clone());
    failed(&illegal.first.error, entry.number)
}

/// A fault that takes the place of the reply.
fn status(fault: &Fault, number: u64) -> Option<Answer> {
    let error = match fault {
        Fault::RateLimited { .. } | Fault::RateLimitedUntil(_) => {
            ApiError::new(429, "This request would exceed your organization's rate limit")
        }
        Fault::Overloaded => ApiError::new(529, "Overloaded"),
        Fault::ApiError => ApiError::new(500, "Internal server error"),
        Fault::Timeout => ApiError::new(504, "Request timed out"),
        Fault::WrongContentType => {
            let page = "<html><head><title>Welcome</title></head><body>Please sign in.</body></html>\n";
            return Some(Answer::new(200, "text/html; charset=utf-8", Body::Whole(page.to_owned())));
        }
        _ => return None,
    };
    let mut answer = failed(&error, number);
    let pause = match fault {
        Fault::RateLimited { retry_after } => retry_after.map(|seconds| seconds.to_string()),
        Fault::RateLimitedUntil(seconds) => date_in(*seconds),
        _ => None,
    };
    answer.headers.extend(pause.map(|pause| ("retry-after", pause)));
    Some(answer)
}

/// The moment so many seconds from now as a header has it; `None` beyond the last one that it can tell.
fn date_in(seconds: u64) -> Option<String> {
    // The year 9999 ends then.
    const LAST: u64 = 253_402_300_799;
    let moment =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs().checked_add(seconds)?;
    let is_told = moment <= LAST;
    is_told.then(|| httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(moment)))
}

/// A fault that changes what the model says.
fn strike_reply(fault: &Fault, mut reply: Reply, request: &Legal) -> Reply {
    match fault {
        Fault::Refusal => Reply::declined(reply.number, request, None, "This request was declined."),
        Fault::MaxTokensInCall => {
            if let Some(call) = reply.calls(request).pop() {
                call.cut_at = Some(call.written().len() / 2);
            }
            reply.stop_reason = "max_tokens".to_owned();
            reply
        }
        Fault::DuplicateIds => {
            let first = reply.calls(request).first().map(|call| (**call).clone());
            let Some(first) = first else { return reply };
            if reply.calls(request).len() < 2 {
                reply.content.push(Block::Call(first.clone()));
            }
            for call in reply.calls(request) {
                call.id.clone_from(&first.id);
            }
            reply.stop_reason = "tool_use".to_owned();
            reply
        }
        Fault::OversizedBody(bytes) => {
            reply.content = vec![Block::Text("x".repeat((*bytes).min(LARGEST)))];
            reply
        }
        _ => reply,
    }
}

/// A fault that changes the bytes of a reply.
fn strike_answer(fault: &Fault, answer: &mut Answer, number: u64) {
    match (fault, &mut answer.body) {
        (Fault::MalformedJson, Body::Whole(body)) => halve(body),
        (Fault::MalformedJson, Body::Pieces(events)) => {
            if let Some(event) = events.get_mut(2) {
                halve(event);
                event.push_str("\n\n");
            }
        }
        (Fault::EndlessStream, body) => {
            *body = match body {
                Body::Pieces(events) => {
                    let delta = json!({"type": "text_delta", "text": "and so on, "});
                    let start = json!({"type": "text", "text": ""});
                    let start = json!({"type": "content_block_start", "index": 0, "content_block": start});
                    let again = json!({"type": "content_block_delta", "index": 0, "delta": delta});
                    let first = events.drain(..).take(2).chain([event(&start)]).collect();
                    Body::Endless(first, event(&again))
                }
                _ => {
                    let begin = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":""#;
                    Body::Endless(vec![begin.to_owned()], "and so on, ".to_owned())
                }
            };
        }
        (Fault::ErrorAfterEvents(most), Body::Pieces(events)) => {
            events.truncate(*most);
            let error = ApiError::new(529, "Overloaded");
            events.push(event(&error.body(&request_id(number))));
        }
        (Fault::ErrorAfterEvents(_), _) => *answer = failed(&ApiError::new(529, "Overloaded"), number),
        _ => {}
    }
}

/// A fault of the connection.
fn strike_wire(fault: &Fault, answer: &mut Answer) {
    match fault {
        Fault::SlowHeaders(millis) => {
            answer.delay = answer.delay.saturating_add(Duration::from_millis(*millis));
        }
        Fault::SlowEvents(millis) => {
            answer.pause = answer.pause.saturating_add(Duration::from_millis(*millis));
        }
        Fault::HangUp => answer.cut = Some(Cut::Unanswered),
        Fault::CutAfterBytes(bytes) => answer.cut = Some(Cut::Bytes(*bytes)),
        Fault::CutAfterEvents(events) => answer.cut = Some(Cut::Pieces(*events)),
        _ => {}
    }
}

/// Leaves the first half, which ends inside the JSON.
fn halve(text: &mut String) {
    let half = text.trim_end().len() / 2;
    let place = (0..=half).rev().find(|&at| text.is_char_boundary(at)).unwrap_or_default();
    text.truncate(place);
}
