//! What was said stands in spans where somebody asked for it, and nothing of it that the redactor takes out.

#![expect(clippy::unwrap_used, reason = "a test may; clippy excuses only the test functions themselves")]

mod harness;

use harness::{Nothing, Spans, calls, ended, hands_to, runner, says, script};
use serde_json::{Value, json};
use sommelier_handoff::{Agent, Delegate, HANDOFF_TO_SPECIALIST, Relay};
use sommelier_runner::{DurableRunner, Runner, Turn, run_until_handoff};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Tool, tool_args};
use sommelier_store::MemoryStore;

const SECRET: &str = "4000 0000 0000 0002";

tool_args! {
    /// A card.
    struct Card {
        /// Its number.
        number: String,
    }
}

/// A till that takes cards, and a cellar which it hands over to or asks.
fn house() -> Relay {
    let pay = Tool::new("pay", "Takes the money.", |card: Card, _: &CallContext<'_>| {
        Ok::<_, Failure>(format!("{} was charged.", card.number))
    });
    let open = Tool::new("open", "Opens.", |_: Nothing, _: &CallContext<'_>| Ok::<_, Failure>("It is open."));
    Relay::builder()
        .agent(Agent::new("till", "You take the money.").tools([pay.secret(["number"])]))
        .agent(Agent::new("cellar", "You fetch the wine.").tools([open]))
        .entry("till")
        .route("till", "cellar")
        .delegate("cellar", Delegate::new("ask_cook", Agent::new("cook", "You cook.")))
        .build()
        .unwrap()
}

fn told(runner: Runner<'_>, words: &str) -> Spans {
    Spans::of(|| ended(runner.conversation("c").run(&house(), words))).1
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The messages of a call, its reply, the arguments and the result of a tool and the package of a handoff are JSON in the form of
/// the conventions.
#[test]
fn contents_are_shown_where_they_are_asked_for() {
    let model = script([
        ("till", calls([("pay", r#"{"number":"4000 0000 0000 0002"}"#)])),
        ("till", hands_to("cellar")),
        ("cellar", calls([("ask_cook", harness::question("Is there soup?"))])),
        ("cook", says("Soup.")),
        ("cellar", says("Here is your wine.")),
    ]);
    let spans = told(runner(&model).show_contents(), "A bottle, please.");
    let contents = ["gen_ai.system_instructions", "gen_ai.input.messages", "gen_ai.output.messages"];
    let second = &spans.named("chat")[1];
    let [system, input, output] = second.pick(contents).map(json_of);
    assert_eq!(system, json!([{"type": "text", "content": "You take the money."}]));
    let call = &input[1]["parts"][0];
    let handle = call["arguments"]["number"].as_str().unwrap();
    assert!(handle.starts_with("secret:"), "a secret is its handle: {handle}");
    assert_eq!(
        input,
        json!([
            {"role": "user", "parts": [{"type": "text", "content": "A bottle, please."}]},
            {"role": "assistant", "parts": [
                {"type": "tool_call", "id": "tu_1_0", "name": "pay", "arguments": {"number": handle}},
            ]},
            {"role": "tool", "parts": [
                {"type": "tool_call_response", "id": "tu_1_0", "response": format!("\"{handle} was charged.\"")},
            ]},
        ])
    );
    assert_eq!(
        output,
        json!([{"role": "assistant", "finish_reason": "tool_use", "parts": [{
            "type": "tool_call", "id": "tu_2_0", "name": "handoff_to_specialist",
            "arguments": {"specialist": "cellar", "task": "Go on.", "context": {}},
        }]}])
    );
    let both = ["gen_ai.tool.call.arguments", "gen_ai.tool.call.result"];
    assert_eq!(
        spans.named("execute_tool")[0].pick(both),
        [&*format!(r#"{{"number":"{handle}"}}"#), &*format!(r#""{handle} was charged.""#)]
    );
    assert_eq!(spans.named("handoff")[0].pick(both), [r#"{"task":"Go on.","context":{}}"#, ""]);
    assert_eq!(spans.named("delegate")[0].pick(both), [r#"{"task":"Is there soup?","context":{}}"#, ""]);
}

/// The root has the two ends of a turn alone: what the user said and what the answer is. A viewer shows them in its list of traces.
#[test]
fn the_root_has_what_was_said_and_answered() {
    let model = script([("till", hands_to("cellar")), ("cellar", says("Here is your wine, Ada."))]);
    let ends = ["gen_ai.input.messages", "gen_ai.output.messages"];
    let redacting = runner(&model).redact(|text| text.replace("Ada", "<name>")).show_contents();
    let parts = |text: &str| json!([{"type": "text", "content": text}]);
    assert_eq!(
        told(redacting, "A bottle for Ada.").named("invoke_workflow")[0].pick(ends).map(json_of),
        [
            json!([{"role": "user", "parts": parts("A bottle for <name>.")}]),
            // What an answer is by the conventions says why it ended.
            json!([{"role": "assistant", "parts": parts("Here is your wine, <name>."), "finish_reason": "stop"}]),
        ]
    );
    let model = script([("till", says("Here."))]);
    assert_eq!(told(runner(&model), "A bottle.").named("invoke_workflow")[0].pick(ends), ["", ""]);
}

/// Each result of a reply that called several tools is a message of its own: viewers show one of a message.
#[test]
fn each_result_is_a_message_of_its_own() {
    let model = script([
        ("till", hands_to("cellar")),
        ("cellar", calls([("open", "{}"), ("open", "{}")])),
        ("cellar", says("It is open.")),
    ]);
    let spans = told(runner(&model).show_contents(), "A bottle, please.");
    let input = json_of(spans.named("chat")[2].field("gen_ai.input.messages"));
    let result = |id: &str| json!({"role": "tool", "parts": [{"type": "tool_call_response", "id": id, "response": "\"It is open.\""}]});
    let roles: Vec<_> =
        input.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
    assert_eq!([&input[2], &input[3]], [&result("tu_1_0"), &result("tu_1_1")]);
}

/// The redactor stands before all of it, and what is known as a secret of a tool is its handle everywhere.
#[test]
fn nothing_that_is_redacted_is_shown() {
    let model = script([
        ("till", calls([("pay", &*format!(r#"{{"number":"{SECRET}"}}"#))])),
        ("till", hands_to("cellar")),
        ("cellar", says("It went to 4000 0000 0000 0002.")),
    ]);
    let redacted = runner(&model).show_contents().redact(|text| text.replace(SECRET, "<card>"));
    let spans = told(redacted, &format!("Charge {SECRET}."));
    let all = format!("{:?}", spans.all());
    assert!(!all.contains(SECRET), "{all}");
    assert!(all.contains("Charge <card>.") && all.contains("It went to secret:"), "{all}");
}

/// A long conversation fills no trace: the last messages are told, and how many were before them. A long text is cut.
#[test]
fn what_is_long_is_cut_and_says_so() {
    let model = script([("till", says("Yes."))]);
    let words = "🍷".repeat(10_000);
    let spans = told(runner(&model).show_contents(), &words);
    let input = json_of(spans.named("chat")[0].field("gen_ai.input.messages"));
    let cut = format!("{} [and {} bytes]", "🍷".repeat(4_096), 40_000 - 16_384);
    assert_eq!(input, json!([{"role": "user", "parts": [{"type": "text", "content": cut}]}]));

    let turns: Vec<_> =
        (0..7).map(|n| ("till", calls([("pay", format!(r#"{{"number":"{n}"}}"#))]))).collect();
    let long = "x".repeat(16_000);
    let says_much: Vec<_> = turns.into_iter().map(|(agent, turn)| (agent, with_words(turn, &long))).collect();
    let model = script(says_much.into_iter().chain([("till", says("Done."))]));
    let spans = told(runner(&model).show_contents(), "hello");
    let last = spans.named("chat").pop().unwrap();
    let told = json_of(last.field("gen_ai.input.messages")).as_array().unwrap().len();
    let left_out: usize = last.field("messages_left_out").parse().unwrap();
    assert_eq!(told + left_out, 15);
    assert!(last.field("gen_ai.input.messages").len() <= 64 << 10 && left_out > 0);
}

fn with_words(turn: harness::Turn, words: &str) -> harness::Turn {
    let words = words.to_owned();
    Box::new(move |request| {
        let mut reply = turn(request);
        reply.content.insert(0, sommelier_protocol::ContentBlock::text(&*words));
        reply
    })
}

/// Words that never came past the redactor do so on their way into a span: those of a step that the caller has made, of a journal that
/// was begun without one, of the author's instructions, of a tool's arguments, which the tool gets as they are, and the
/// name of a trace. What was JSON is JSON.
#[test]
fn what_has_not_passed_the_redactor_passes_it_on_its_way_into_a_span() {
    let ask = r#"{"word":"Ada","Ada":["4 for Ada",4]}"#;
    let relay = Relay::builder()
        .agent(Agent::new("till", "You wait on Ada.").tools(harness::tools()))
        .agent(Agent::new("cellar", "You fetch the wine."))
        .entry("till")
        .route("till", "cellar")
        .delegate("cellar", Delegate::new("ask_cook", Agent::new("cook", "You cook.")))
        .build()
        .unwrap();
    let model = || {
        script([
            ("till", calls([("look", ask), ("look", r#"{"word":"Ada"}"#)])),
            ("till", calls([(HANDOFF_TO_SPECIALIST, harness::to("cellar", "Ada wants wine."))])),
            ("cellar", calls([("ask_cook", harness::question("Is there soup for Ada?"))])),
            ("cook", says("Soup for Ada.")),
            ("cellar", says("Here, Ada.")),
        ])
    };
    let redacts = |model| runner(model).redact(|text| text.replace("Ada", "<name>")).show_contents();
    let words = "I am Ada.";
    let driven = Spans::of(|| {
        let runner = redacts(model()).trace("trace of Ada");
        ended(runner.drive(&relay, relay.start("c", words).unwrap()))
    });

    let store = MemoryStore::new();
    let silent = runner(script([])).trace("trace of Ada");
    DurableRunner::new(&silent, &relay, &store).submit("c", Turn::new(words)).unwrap();
    let resumed = Spans::of(|| {
        let runner = redacts(model());
        DurableRunner::new(&runner, &relay, &store).resume("c").unwrap()
    });

    let (driven, resumed) = (driven.1, resumed.1);
    for spans in [&driven, &resumed] {
        let all = format!("{:?}", spans.all());
        assert!(!all.contains("Ada"), "{all}");
        let root = &spans.named("invoke_workflow")[0];
        let said = json!([{"role": "user", "parts": [{"type": "text", "content": "I am <name>."}]}]);
        assert_eq!(json_of(root.field("gen_ai.input.messages")), said);
        let arguments = json!({"word": "<name>", "<name>": ["4 for <name>", 4]});
        // Tools run at the same time, so their spans stand in no order.
        let tools = spans.named("execute_tool");
        let tool = tools.iter().find(|tool| tool.field("gen_ai.tool.call.id") == "tu_1_0").unwrap();
        assert_eq!(json_of(tool.field("gen_ai.tool.call.arguments")), arguments);
        let reply = json_of(spans.named("chat")[0].field("gen_ai.output.messages"));
        assert_eq!(reply[0]["parts"][0]["arguments"], arguments);
        let asked = json_of(spans.named("chat")[1].field("gen_ai.input.messages"));
        assert_eq!(asked[3]["parts"][0]["response"], r#""<name>""#);
    }
    assert_eq!(driven.named("invoke_workflow")[0].field("trace"), "trace of <name>");
    assert_eq!(resumed.named("invoke_workflow")[0].field("resumed_trace"), "trace of <name>");
}

/// The words with which one agent is run pass the redactor as those of any user.
#[test]
fn the_words_for_one_agent_pass_the_redactor() {
    let redacts = runner(script([("till", says("Yes."))])).redact(|text| text.replace("Ada", "<name>"));
    let run = run_until_handoff(&redacts, &house(), "I am Ada.", |_| true).unwrap();
    assert_eq!(harness::story(&run.messages), ["user: I am <name>.", "assistant: Yes."]);
}
