//! Who decides: `--model`, and the flags that belong to it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

#[path = "../../providers/tests/support/double.rs"]
mod double;
mod harness;

use double::{Answer, Double};
use harness::serving::Serve;
use harness::{BOOKING, Place, RUNNING_CASE, Said, said};
use serde_json::{Value, json};
use sommelier_fake_server::{FakeServer, Script, Settings};

const CLAUDE: &str = "anthropic:claude-sonnet-5";

fn server(replies: Value) -> FakeServer {
    let script = Script::read(&json!({ "replies": replies }).to_string()).unwrap();
    FakeServer::start(0, Settings { script, strict: true, ..Settings::default() }).unwrap()
}

/// Runs the command in a process with a key for Anthropic in its environment, or without.
fn with_key(place: &Place, key: Option<&str>, arguments: &[&str]) -> Said {
    let mut command = place.command(&[&["--now", "2026-11-30T10:00"], arguments].concat());
    for variable in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"] {
        command.env_remove(variable);
    }
    command.envs(key.map(|key| ("ANTHROPIC_API_KEY", key)));
    said(command.output().unwrap())
}

#[track_caller]
fn misused(arguments: &[&str], key: Option<&str>, code: &str, told: &str) {
    let place = Place::new();
    let json = with_key(&place, key, &[&["--json"], arguments].concat());
    let error = &json.json()["error"];
    assert_eq!((json.code, &error["code"], &error["whose"]), (2, &json!(code), &json!("caller")), "{error}");
    let message = error["message"].as_str().unwrap();
    assert_eq!(message.split('\n').next(), Some(told));
    assert_eq!(with_key(&place, key, arguments).err.lines().next(), Some(&*format!("sommelier: {told}")));
    assert!(!place.journal().exists(), "a model that cannot be asked leaves no journal behind");
}

/// S1-20. What cannot be asked is wrong use, told with what would be right, and nothing is written.
#[test]
fn a_model_that_cannot_be_asked_is_told_with_what_would_be_right() {
    let no_network = "; without a network there are `offline`, `script` and `cassette:FILE`";
    misused(
        &["ask", "hello", "--model", "ollama:qwen3:4b"],
        None,
        "usage",
        &format!(
            "invalid value 'ollama:qwen3:4b' for '--model <MODEL>': `ollama:qwen3:4b` is no name of a live model; did you mean \
             `openai:qwen3:4b`?{no_network}"
        ),
    );
    misused(
        &["chat", "--model", "claude-sonnet-5"],
        None,
        "usage",
        &format!(
            "invalid value 'claude-sonnet-5' for '--model <MODEL>': `claude-sonnet-5` does not say what the model's server \
             speaks: it is `anthropic:NAME` for Anthropic's Messages API, and `openai:NAME` for chat completions, as OpenAI, \
             llama.cpp, Ollama and vLLM have them{no_network}"
        ),
    );
    let own = "; a server of your own, named by --base-url, needs none";
    for (model, provider, variable) in
        [(CLAUDE, "anthropic", "ANTHROPIC_API_KEY"), ("openai:gpt", "openai", "OPENAI_API_KEY")]
    {
        let told = format!("no key for {provider}: set the environment variable {variable}{own}");
        misused(&["ask", "hello", "--model", model], None, "no_key", &told);
        misused(
            &["lesson", "05", "--model", model],
            Some(" ").filter(|_| provider == "anthropic"),
            "no_key",
            &told,
        );
    }
    let bad = "the key in the environment variable ANTHROPIC_API_KEY holds white space or other characters that no header takes";
    misused(&["ask", "hello", "--model", CLAUDE], Some("a b"), "bad_key", bad);
}

/// S1-20. The address of a server is looked at before anything is sent; no key goes over the network in the clear.
#[test]
fn an_address_that_is_none_is_told() {
    let at = |url| ["ask", "hello", "--model", CLAUDE, "--base-url", url];
    let right = "; one is written like http://127.0.0.1:8080";
    let rows = [
        ("localhost:8080", "it begins with neither http:// nor https://"),
        ("http://me:secret@127.0.0.1", "a name and password may not stand in it"),
        ("http://127.0.0.1/?key=1", "nothing may stand behind a `?` or a `#`"),
    ];
    for (url, fault) in rows {
        let shown = url.replace("http://me:secret@", "").replace("?key=1", "");
        misused(&at(url), None, "bad_url", &format!("{shown:?} is no base URL: {fault}{right}"));
    }
    let clear = "\"http://10.0.0.5:8080\" would have the key go over the network in the clear; use https, or send none with --no-key";
    misused(&at("http://10.0.0.5:8080"), Some("a-key-of-somebody"), "bad_url", clear);
}

/// S1-20. A flag for live models says nothing where none is asked, and no model is named where none is.
#[test]
fn flags_for_a_live_model_want_one() {
    for flag in
        [&["--base-url", "http://127.0.0.1:1"][..], &["--no-key"], &["--stream"], &["--deadline", "5"]]
    {
        let name = flag[0];
        let told = format!(
            "{name} is for a live model, and none is asked; name one with --model anthropic:NAME or --model openai:NAME"
        );
        misused(&[&["ask", "hello"], flag].concat(), None, "usage", &told);
        misused(&[&["lesson", "05", "--model", "script"], flag].concat(), None, "usage", &told);
    }
    for command in [&["runs"][..], &["inbox"], &["show", "a"], &["cancel", "a"], &["verify"], &["export"]] {
        let told = "unexpected argument '--model' found";
        misused(&[command, &["--model", "offline"]].concat(), None, "usage", told);
    }
}

#[test]
fn a_lesson_that_is_not_held_here_is_wrong_use_and_named() {
    let invalid = |given: &str, why: &str| format!("invalid value '{given}' for '<NN>': {why}");
    let elsewhere = "no model is asked in lesson 04; it is run by `cargo xtask lesson 04`, and 05 here";
    misused(&["lesson", "4"], None, "usage", &invalid("4", elsewhere));
    let none = "a lesson has a number, and the one that is held here is 05";
    misused(&["lesson", "five"], None, "usage", &invalid("five", none));
}

/// S1-20. The decisions of the running case are for its words; to others the script has no turn, and the rules of the house take
/// the run over from there.
#[test]
fn a_script_has_turns_for_its_own_words_alone() {
    let place = Place::new();
    let case = place.then(&["ask", "--model", "script", "--conversation", "a", RUNNING_CASE]).fine();
    let answer = "The quote is 6000 cents. If you do not show up, you are charged 6500 cents: the whole quote and the fee \
                  [POL-NOSHOW].\n\npolicy_agent answered, decisions by concept (claude-sonnet-5)\nbooking_agent → \
                  policy_agent with 105 bytes, 402 stay behind\nrun a\n";
    assert_eq!(case, answer);
    let other = place.then(&["ask", "--model", "script", "--conversation", "b", "Quote Studio basic 2h"]);
    let store = place.journal().display().to_string();
    let told = format!(
        "No answer: the run ended as failed: the script has no turn 1 for booking_agent (it has 0).\n\nNothing was done in this \
         turn.\n\nbooking_agent had the turn\nrun b\n\nIt can be tried again from there, and nothing is done twice:\n  \
         sommelier --store {store} resume --model script b\n"
    );
    assert_eq!((other.code, &*other.out, &*other.err), (1, &*told, ""));
    let gone_on = place.then(&["resume", "b"]).fine();
    assert_eq!(
        gone_on,
        "Studio basic for 2 hours costs 8000 cents.\n\nbooking_agent answered, decisions by offline-rules\nrun b\n"
    );
}

/// S1-20. Who decides is no part of what a conversation is, so any model goes on with any conversation, and each turn tells whose
/// replies it has.
#[test]
fn a_conversation_goes_on_under_another_model_and_tells_whose_replies_it_has() {
    let place = Place::new();
    let ask = |model: &[&str], text| {
        let arguments = [&["--json", "ask", "--conversation", "a", text], model].concat();
        with_key(&place, Some("a-key"), &arguments).json()
    };
    assert_eq!(ask(&[], "Quote Focus pro 3h")["model"], "offline-rules");
    let quote = json!({"tool_use": [{"name": "get_quote", "input": {"room": "Studio", "plan": "basic", "hours": 2}}]});
    let first = server(json!([quote, {"refusal": "No.", "refusal_category": "cyber"}]));
    let live = ["--model", CLAUDE, "--base-url", &first.url()];
    let row = ask(&live, "And Studio basic for 2 hours?");
    assert_eq!((&row["end"], &row["model"]), (&json!("model_refused"), &json!("claude-sonnet-5")), "{row}");
    assert_eq!(row["why"], "No. (cyber)", "{row}");
    assert_eq!((first.log().requests, first.log().refused), (2, 0));
    let row = place.json(&["resume", "a", "--again"]);
    assert_eq!(
        (&row["end"], &row["model"]),
        (&json!("answered"), &json!("claude-sonnet-5, offline-rules")),
        "{row}"
    );
    assert_eq!(row["answer"], "Studio basic for 2 hours costs 8000 cents.");
    // The records play, and what is told of the last turn is the same whoever asks.
    assert_eq!(place.json(&["verify"])["sound"], true);
    assert_eq!(place.json(&["resume", "a", "--model", "script"]), row);
}

/// S1-20. A person's answer goes on with the model that asked, by the command that is shown.
#[test]
fn the_command_that_answers_a_question_names_the_model() {
    let place = Place::new();
    let input = json!({
        "room": "Studio", "plan": "basic", "date": "2026-12-01", "start_hour": 14, "hours": 2, "customer": "Ada",
    });
    let server = server(json!([{"tool_use": [{"name": "book", "input": input}]}, {"text": "It is booked."}]));
    let flags = ["--model", CLAUDE, "--base-url", &server.url(), "--no-key"];
    // The server wants a key, and a question is not asked without one.
    let refused = with_key(&place, Some("a-key"), &[&["ask", BOOKING], &flags[..]].concat());
    assert!(refused.out.contains("the service answered 401: authentication_error"), "{refused:?}");
    let asked = with_key(
        &place,
        Some("a-key"),
        &[&["--json", "ask", "--conversation", "b", BOOKING], &flags[..4]].concat(),
    );
    let command = asked.json()["waiting"][0]["commands"][0].as_str().unwrap().to_owned();
    let shown = format!("answer --model {CLAUDE} --base-url {} --digest", server.url());
    assert_eq!((asked.code, command.contains(&shown)), (3, true), "{command}");
    let words: Vec<&str> = command.split(' ').skip(3).collect();
    let answered = with_key(&place, Some("a-key"), &words);
    let told = "It is booked.\n\nDone: book RSV-0006, 8000 cents\n\nbooking_agent answered, decisions by claude-sonnet-5\nrun b\n";
    assert_eq!((answered.code, &*answered.out), (0, told), "{answered:?}");
    assert_eq!(server.log().refused, 1);
}

/// What a turn is told to have come to has its own handoffs and those of no turn before, in the order in which they were asked for.
#[test]
fn an_outcome_has_the_handoffs_of_its_own_turn() {
    let place = Place::new();
    let hands = |to: &str, task: &str| json!({"tool_use": [{"name": "handoff_to_specialist", "input": {"specialist": to, "task": task, "context": {}}}]});
    let server = server(json!([
        hands("nobody", "Book a room."),
        hands("booking_agent", "Book a room."),
        {"text": "Which one?"},
        {"text": "You are welcome."},
        hands("pricing_agent", "Name the price."),
        {"text": "20 euros."}
    ]));
    let url = server.url();
    let asked = |text: &str| {
        let asking = ["ask", "--conversation", "a", text, "--model", CLAUDE, "--base-url", &url];
        let said = with_key(&place, Some("a-key"), &asking).fine();
        let (_, hops) = said.split_once("decisions by claude-sonnet-5\n").unwrap();
        hops.lines().map(|line| line.split(" with ").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let refused = "policy_agent → nobody refused: there is no specialist \"nobody\"; legal: booking_agent, pricing_agent";
    assert_eq!(asked("What are the rules?"), [refused, "policy_agent → booking_agent", "run a"]);
    assert_eq!(asked("Thank you."), ["run a"]);
    assert_eq!(asked("And the price?"), ["booking_agent → pricing_agent", "run a"]);
    let shown = place.json(&["show", "a"]);
    assert_eq!(shown["hops"].as_array().map(Vec::len), Some(3), "{shown}");
}

/// S3-31. A key in what somebody says is in nothing that is kept, sent or shown: neither the one that is sent to the model, which looks
/// like none, nor one that looks like a service's. The model does not read it either.
#[test]
fn a_key_that_somebody_says_is_in_nothing_that_is_kept() {
    let place = Place::new();
    let server = server(json!([{"text": "I do not need it."}]));
    let (sent, alike) = ("mellon-mellon-mellon", "sk-ant-api03-0123456789abcdef");
    let says = format!("My keys are {sent} and {alike}, quote me a room.");
    let lines = place.path("spans.jsonl");
    let url = server.url();
    let asking = ["ask", "--conversation", "a", &says, "--model", CLAUDE, "--base-url", &url];
    let watched = ["--contents", "--trace-file", lines.to_str().unwrap()];
    let asked = with_key(&place, Some(sent), &[&watched[..], &asking].concat());
    assert_eq!(asked.code, 0, "{asked:?}");
    let export = place.then(&["export"]).out;
    let lines = std::fs::read_to_string(lines).unwrap();
    for kept in [&export, &lines, &place.then(&["report", "a"]).out, &place.then(&["show", "a", "--all"]).out]
    {
        assert!(!kept.contains(sent) && !kept.contains(alike), "{kept}");
    }
    for told in [&export, &lines] {
        assert!(told.contains("My keys are [key] and [key], quote me a room."), "{told}");
    }
}

/// S1-20. Who answers without naming a model is told, wherever the question is shown and by `answer` itself, that another one goes on.
#[test]
fn an_answer_without_a_model_is_told_which_one_has_decided_until_now() {
    let place = Place::new();
    let input = json!({ "room": "Studio", "plan": "basic", "date": "2026-12-01", "start_hour": 14, "hours": 2, "customer": "Ada" });
    let server = server(json!([{"tool_use": [{"name": "book", "input": input}]}]));
    let url = server.url();
    let asking = ["ask", "--conversation", "b", BOOKING, "--model", CLAUDE, "--base-url", &url];
    let asked = with_key(&place, Some("a-key"), &asking);
    let remark = "decided until now by claude-sonnet-5; without --model it goes on with offline-rules";
    assert!(asked.code == 3 && !asked.out.contains("decided until now"), "{asked:?}");

    let line = format!("\n  model      {remark}\n");
    for shown in [["inbox"].as_slice(), &["show", "b"]] {
        let said = place.then(shown).out;
        assert_eq!(said.matches(&line).count(), 1, "{said}");
        assert_eq!(said.matches("decided until now").count(), 1, "{said}");
    }
    let question = &place.json(&["inbox"])["questions"][0];
    assert_eq!((&question["model"], &question["remark"]), (&json!("claude-sonnet-5"), &json!(remark)));
    let page = Serve::start(&place, 0).get("/inbox").body;
    // In a browser nobody types a flag.
    let remark_in_page =
        "decided until now by claude-sonnet-5; it goes on with the model of this server, offline-rules";
    assert!(page.contains(&format!("Model: <bdi>{remark_in_page}</bdi>")), "{page}");

    // Whoever names a model has decided, and where the same one goes on there is nothing to say.
    let named = place.then(&["answer", "b/1/1/0", "reject", "no", "--model", "offline", "--digest", "0"]);
    assert!(named.code == 1 || named.code == 2, "{named:?}");
    assert!(!named.err.contains("decided until now"), "{named:?}");
    let answered = place.then(&["answer", "b/1/1/0", "reject", "not on a Monday"]);
    assert_eq!(answered.err, format!("sommelier: {remark}\n"), "{answered:?}");
    // From then on the other one has decided.
    assert_eq!(place.then(&["ask", "--conversation", "b", "Quote Focus pro 3h"]).err, "");
    place.then(&["ask", "--conversation", "c", BOOKING]);
    let question = &place.json(&["inbox"])["questions"][0];
    assert_eq!((&question["model"], question.get("remark")), (&json!("offline-rules"), None));
    assert_eq!(place.then(&["answer", "c/1/1/0", "approve"]).err, "");
}

/// S1-20. A server of one's own that speaks chat completions is asked without a key.
#[test]
fn a_server_of_chat_completions_is_asked() {
    let reply = |message: Value| {
        Answer::json(
            200,
            json!({"id": "c", "model": "qwen3:4b", "choices": [{"index": 0, "message": message,
            "finish_reason": "stop"}], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}),
        )
    };
    let function = json!({"name": "get_quote", "arguments": r#"{"room":"Focus","plan":"pro","hours":3}"#});
    let call = json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}]});
    let double =
        Double::answering([reply(call), reply(json!({"role": "assistant", "content": "6000 cents."}))]);
    let place = Place::new();
    let flags = ["--model", "openai:qwen3:4b", "--base-url", &double.url];
    let said =
        with_key(&place, None, &[&["ask", "--conversation", "a", "Quote Focus pro 3h"], &flags[..]].concat());
    let told = "6000 cents.\n\nbooking_agent answered, decisions by qwen3:4b\nrun a\n";
    assert_eq!((said.code, &*said.out, &*said.err), (0, told, ""));
    for asked in double.asked() {
        assert_eq!(asked.line, "POST /v1/chat/completions HTTP/1.1");
        assert!(!asked.headers.iter().any(|header| header.starts_with("authorization")), "{asked:?}");
        assert_eq!(serde_json::from_str::<Value>(&asked.body).unwrap()["model"], "qwen3:4b");
    }
}

/// S1-20. A handoff on record is taken again by another model.
#[test]
fn a_handoff_is_replayed_by_a_live_model() {
    let place = Place::new();
    place.then(&["ask", "--conversation", "a", RUNNING_CASE]).fine();
    let server = server(json!([{"when": {"offers": "search_docs"}, "text": "6500 cents."}]));
    let flags = ["--model", CLAUDE, "--base-url", &server.url()];
    let said = with_key(&place, Some("a-key"), &[&["replay", "a"], &flags[..]].concat());
    let told = "6500 cents.\n\npolicy_agent answered, decisions by anthropic:claude-sonnet-5\na/1/2/0: booking_agent → \
                policy_agent with 105 bytes, in a replay: nothing is on record\n";
    assert_eq!((said.code, &*said.out), (0, told), "{said:?}");
    assert_eq!((server.log().requests, server.log().refused), (1, 0));
}

/// What a server sends back of the key that it got is in no recording, wherever in its reply it stands.
#[test]
fn a_key_that_the_server_sends_back_is_in_no_recording() {
    const SENT: &str = "hunter2-and-some-more";
    let place = Place::new();
    let reply = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": SENT, "stop_reason": SENT,
        "content": [{ "type": "text", "text": format!("You sent {SENT}.") }, { "type": SENT, SENT: 1 }],
        "usage": { "input_tokens": 3, "output_tokens": 2, "service_tier": SENT },
    });
    let double = Double::answering([Answer::json(200, &reply)]);
    let file = place.path("run.json");
    let recorded =
        ["ask", "hello", "--model", CLAUDE, "--base-url", &double.url, "--record", file.to_str().unwrap()];
    with_key(&place, Some(SENT), &recorded);
    assert_eq!(double.asked().len(), 1);
    let json = std::fs::read_to_string(file).unwrap();
    assert!(json.contains("You sent [key].") && !json.contains("hunter2"), "{json}");
}
