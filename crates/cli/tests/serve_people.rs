//! `serve`: what only a person can end.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

mod harness;

use harness::serving::Serve;
use harness::{BOOKING, Place};
use serde_json::{Value, json};
use sommelier_fake_server::{FakeServer, Script, Settings};

/// A model whose agents hand over to each other until they are stopped, and say `last` then.
fn circling(last: &str) -> FakeServer {
    let handoff = |to: &str| {
        let input = json!({ "specialist": to, "task": "What happens if nobody shows up?", "context": {} });
        json!({ "tool_use": [{ "name": "handoff_to_specialist", "input": input }] })
    };
    let replies =
        [handoff("policy_agent"), handoff("booking_agent"), handoff("policy_agent"), json!({ "text": last })];
    let script = Script::read(&json!({ "replies": replies }).to_string()).unwrap();
    FakeServer::start(0, Settings { script, strict: true, ..Settings::default() }).unwrap()
}

/// A conversation in which the agents have handed over to each other, and a person is asked.
fn escalated(place: &Place, model: &FakeServer) -> (Serve, String) {
    let (name, url) = ("anthropic:claude-sonnet-5", model.url());
    let mut command = place.command(&["--json", "serve", "--port", "0", "--model", name, "--base-url", &url]);
    command.env("ANTHROPIC_API_KEY", "a-key");
    let serve = Serve::of(command);
    serve.say("e", "And what happens if nobody shows up? Quote nothing.");
    let page = serve.shows("/inbox", "was refused a handoff");
    (serve, page)
}

/// S1-36: at the limit a person gets it, with all hops, and no agent is asked again before that person has answered.
#[test]
fn agents_in_a_circle_end_with_a_person_who_has_them_go_on() {
    let place = Place::new();
    let model = circling("Not showing up costs the quote and 500 cents.");
    let (serve, page) = escalated(&place, &model);
    for words in [
        "The run waits for you.",
        "Refused by the guard <code dir=\"auto\">pair</code> as <code dir=\"auto\">repeated_pair</code>.",
        "<bdi>booking_agent → policy_agent with 56 bytes,",
        "<bdi>policy_agent → booking_agent with 56 bytes,",
        "<bdi>booking_agent → policy_agent refused: ",
        "&quot;task&quot;:&quot;What happens if nobody shows up?&quot;",
        "What the agent is to hear <input",
        ">Have the agents go on<",
        "The handoff stays refused. The agent reads your words and goes on without it.",
        ">End it and take over<",
        "No agent goes on with this. What is left to do is yours.",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains(">Approve") && !page.contains(">Reject"), "{page}");
    // Why it was refused is long, and stands once.
    let detail = place.json(&["inbox"])["questions"][0]["input"]["detail"].as_str().unwrap().to_owned();
    assert_eq!(page.matches(&*detail).count(), 1, "{detail}: {page}");
    assert_eq!(model.log().requests, 3);
    let got = serve.answers(&[("word", "reject"), ("text", "Answer it yourself.")]);
    assert_eq!((got.status, got.header("location")), (303, Some("/chat/e")));
    let page = serve.shows("/chat/e", "Not showing up costs the quote and 500 cents.");
    assert!(page.contains("Answer it yourself.") && page.contains("answered"), "{page}");
    assert_eq!((model.log().requests, model.log().refused), (4, 0));
    assert!(serve.get("/inbox").body.contains("Nothing waits for a person."));
    assert_eq!(place.json(&["verify"])["sound"], true);
}

/// S1-36: who takes over has it, and agents do not go on beside that person.
#[test]
fn a_person_takes_over_and_no_agent_goes_on() {
    let place = Place::new();
    let model = circling("Here again.");
    let (serve, _) = escalated(&place, &model);
    // What is no answer to it changes nothing.
    assert_eq!(serve.answers(&[("word", "approve")]).status, 422);
    assert_eq!(serve.answers(&[("word", "take-over"), ("text", "")]).status, 422);
    assert_eq!(serve.answers(&[("word", "take-over"), ("text", "Kim <b>calls</b> back")]).status, 303);
    let page = serve.shows("/chat/e", "<bdi>taken over</bdi>");
    assert!(page.contains("Kim &lt;b&gt;calls&lt;/b&gt; back") && !page.contains("Here again."), "{page}");
    let over = "A person has taken this over, so agents do not go on by themselves. <a href=\"/\">Begin a new conversation</a>";
    assert!(page.contains(over) && page.contains("<bdi>booking_agent</bdi> had the turn"), "{page}");
    let got = serve.say("e", "are you there?");
    assert!(got.status == 409 && got.body.contains("are you there?</textarea>"), "{got:?}");
    assert!(serve.get("/runs").body.contains("<bdi>taken over</bdi>"));
    assert!(serve.get("/runs/e").body.contains("Kim &lt;b&gt;calls&lt;/b&gt; back"));
    assert_eq!(model.log().requests, 3);
    let end: Value = place.json(&["runs"])["runs"][0]["status"].clone();
    assert_eq!(end, "taken_over");
    // Where a person says that they shall, they do.
    let said = [("run", "e"), ("key", ""), ("text", "are you there?"), ("over", "go-on")];
    assert_eq!(serve.post("/say", &said).status, 303);
    assert!(!serve.shows("/chat/e", "Here again.").contains("id=\"over\""));
    assert_eq!((model.log().requests, model.log().refused), (4, 0));
}

/// Whoever decides in the inbox sees what the user wanted, and what was said since; what is long is folded.
#[test]
fn a_person_who_decides_sees_what_the_user_has_said() {
    let place = Place::new();
    let serve = Serve::start(&place, 0);
    let heard = |page: &str| {
        let (_, rest) = page.split_once("<div class=\"heard\">").unwrap();
        rest.split_once("<dl class=\"arguments\">").unwrap().0.to_owned()
    };
    let words = |words: &str| format!("<div class=\"words\" dir=\"auto\">{words}</div>");
    serve.say("b", "Quote Focus pro 3h");
    serve.shows("/chat/b", "answered");
    serve.say("b", "<b>Book</b> Studio basic for 2 hours tomorrow at 14, for Ada");
    let page = serve.shows("/inbox", "wants to run");
    let asked = words("&lt;b&gt;Book&lt;/b&gt; Studio basic for 2 hours tomorrow at 14, for Ada");
    let begin = format!("<p class=\"by\">The user said</p>{asked}");
    assert_eq!(heard(&page), format!("{begin}</div>"));
    serve.say("b", "or rather not");
    let page = serve.shows("/inbox", "or rather not");
    let kept = "<p class=\"by\">What was said meanwhile is no answer to it, and is kept for the agent until then:</p>";
    assert_eq!(heard(&page), format!("{begin}{kept}{}</div>", words("or rather not")));
    // In the conversation it stands above.
    assert!(!serve.get("/chat/b").body.contains("class=\"heard\""));
    serve.answers(&[("word", "reject"), ("text", "not today")]);
    serve.shows("/chat/b", "<bdi>answered</bdi>");

    let long = format!("Book Studio basic for 2 hours tomorrow at 14, for Ada. {}", "Please. ".repeat(600));
    serve.say("c", &long);
    let page = heard(&serve.shows("/inbox", "wants to run"));
    let line =
        format!("Book Studio basic for 2 hours tomorrow at 14, for Ada. {}Please.…", "Please. ".repeat(7));
    let begin = format!("<details class=\"said\"><summary>The user said: <bdi>{line}</bdi></summary>");
    assert!(page.starts_with(&begin) && page.ends_with("</details></div>"), "{page}");
    assert!(page.len() < 4_500 && page.contains('…'), "{}", page.len());
}

/// Whoever says so answers and calls off by a name, as with `--by`: in the browser that was let in, and in no other.
#[test]
fn answers_of_a_browser_are_on_record_by_the_name_that_was_given_there() {
    let place = Place::new();
    let mut serve = Serve::start(&place, 0);
    let by = |serve: &Serve, name: &str| {
        assert_eq!(serve.post("/name", &[("by", name)]).header("location"), Some("/inbox"));
        let page = serve.get("/inbox").body;
        page.split_once("on record by <bdi>").unwrap().1.split("</bdi>").next().unwrap().to_owned()
    };
    let answers = |serve: &Serve, run: &str| {
        serve.say(run, BOOKING);
        serve.shows("/inbox", "wants to run");
        assert_eq!(serve.answers(&[("word", "reject"), ("text", "not today")]).status, 303);
        serve.shows(&format!("/chat/{run}"), "<bdi>answered</bdi>");
        let shown = place.json(&["show", run]);
        let given =
            shown["timeline"].as_array().unwrap().iter().find(|record| record["kind"] == "human_answered");
        given.unwrap()["body"]["what"]["human_answered"]["by"].clone()
    };
    assert_eq!(answers(&serve, "a"), json!(null));
    assert_eq!(by(&serve, " Kim <b>of the desk</b> "), "Kim &lt;b&gt;of the desk&lt;/b&gt;");
    assert_eq!(answers(&serve, "b"), "Kim <b>of the desk</b>");
    assert!(serve.get("/chat/b").body.contains("Kim &lt;b&gt;of the desk&lt;/b&gt;"));
    assert_eq!(serve.post("/name", &[("by", &"x".repeat(201))]).status, 422);
    assert_eq!(by(&serve, &"x".repeat(200)), "x".repeat(200));
    serve.say("d", BOOKING);
    serve.shows("/chat/d", "wants to run");
    assert_eq!(by(&serve, "Kim <b>of the desk</b>"), "Kim &lt;b&gt;of the desk&lt;/b&gt;");
    assert_eq!(serve.post("/cancel", &[("run", "d"), ("reason", "no money")]).status, 303);
    serve.shows("/chat/d", "Kim &lt;b&gt;of the desk&lt;/b&gt; called it off in the browser: no money");
    assert_eq!(by(&serve, " \u{200b} "), "a person without a name");
    assert_eq!(by(&serve, "Kim"), "Kim");
    serve.lets_another_in();
    assert_eq!(answers(&serve, "c"), json!(null));
}
