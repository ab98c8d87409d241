//! `serve`, over a socket: what each path shows and does, and that the journal is all that it keeps.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use harness::serving::{Event, Got, Serve, encoded, field};
use harness::{BOOKING, Place, RUNNING_CASE};
use serde_json::Value;

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
    told(said(&digest, "nonsense", ""), 422, "none of the answers that a question has");
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
