//! A conversation that is built step by step breaks no rule, knows its size, and survives being saved.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test ends where something unexpected stands"
)]

mod strategies;

use std::borrow::Cow;

use proptest::collection::vec;
use proptest::prelude::*;
use sommelier_protocol::sequence::{Violation, check, check_echo};
use sommelier_protocol::{
    Asking, BlankText, ContentBlock, Message, ModelRequest, Owing, RawJson, Reply, Resting, ToolDefinition,
    ToolName, ToolResult, ToolUse, Words,
};

/// A conversation in any of its states.
#[derive(Clone, Debug, PartialEq)]
enum State {
    Asking(Asking),
    Owing(Owing),
    Resting(Resting),
}

impl From<Reply> for State {
    fn from(reply: Reply) -> Self {
        match reply {
            Reply::Called(called) => Self::Owing(called.owing),
            Reply::Said(resting) => Self::Resting(resting),
            Reply::Empty(asking) => Self::Asking(asking),
        }
    }
}

impl State {
    fn open() -> Self {
        Self::Asking(Asking::open("Quote Focus").unwrap())
    }

    fn messages(&self) -> &[Message] {
        match self {
            Self::Asking(state) => state.messages(),
            Self::Owing(state) => state.messages(),
            Self::Resting(state) => state.messages(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Asking(state) => state.bytes(),
            Self::Owing(state) => state.bytes(),
            Self::Resting(state) => state.bytes(),
        }
    }

    fn saved_and_loaded(&self) -> Self {
        let saved = serde_json::to_string(self.messages()).unwrap();
        match self {
            Self::Asking(_) => Self::Asking(serde_json::from_str(&saved).unwrap()),
            Self::Owing(_) => Self::Owing(serde_json::from_str(&saved).unwrap()),
            Self::Resting(_) => Self::Resting(serde_json::from_str(&saved).unwrap()),
        }
    }

    /// The model replies, the tools give their results, or the user goes on, as the state has it.
    fn step(self, step: &Step) -> Self {
        match self {
            Self::Asking(asking) => match Words::new(&*step.words) {
                Ok(words) if step.speaks => Self::Asking(asking.say(words)),
                _ => asking.replied(step.blocks.clone()).into(),
            },
            Self::Owing(owing) => {
                let mut results = step.results.iter().cycle();
                Self::Asking(owing.answer_each(|call| match results.next() {
                    Some(result) => result.clone(),
                    None => ToolResult::error(call.id(), &*step.words),
                }))
            }
            Self::Resting(resting) => match (resting.go_on(), Words::new(&*step.words)) {
                (Ok(asking), _) => Self::Asking(asking),
                (Err(resting), Ok(words)) => Self::Asking(resting.say(words)),
                (Err(resting), Err(_)) => Self::Resting(resting),
            },
        }
    }
}

/// What may happen in one step; each state takes of it what it needs.
#[derive(Clone, Debug)]
struct Step {
    blocks: Vec<ContentBlock>,
    results: Vec<ToolResult>,
    words: String,
    speaks: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let result = strategies::result_text().prop_map(|text| serde_json::from_str(&text).unwrap());
    let parts = (vec(strategies::block(), 0..5), vec(result, 0..3), strategies::words(), any::<bool>());
    parts.prop_map(|(blocks, results, words, speaks)| Step { blocks, results, words, speaks })
}

fn violations(messages: &[Message]) -> Vec<Violation> {
    let tool = ToolDefinition::new(ToolName::new("get_quote").unwrap(), "", RawJson::empty_object());
    let tools = Cow::Owned(vec![tool]);
    check(&ModelRequest { tools, ..ModelRequest::new("m", 1, messages) })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_request_keeps_every_rule_whatever_is_replied(steps in vec(step(), 1..12)) {
        let mut state = State::open();
        for step in &steps {
            state = state.step(step);
            if let State::Asking(asking) = &state {
                prop_assert_eq!(violations(asking.messages()), []);
            }
        }
    }

    #[test]
    fn the_size_is_that_of_the_list_as_it_is_written(steps in vec(step(), 1..12)) {
        let mut state = State::open();
        for step in &steps {
            state = state.step(step);
            prop_assert_eq!(state.bytes(), serde_json::to_string(state.messages()).unwrap().len());
        }
    }

    #[test]
    fn what_is_saved_is_loaded_as_the_same_and_goes_on_alike(steps in vec(step(), 1..12)) {
        let mut state = State::open();
        let mut loaded = state.saved_and_loaded();
        for step in &steps {
            state = state.step(step);
            loaded = loaded.step(step).saved_and_loaded();
            prop_assert_eq!(&loaded, &state);
            prop_assert_eq!(loaded.bytes(), state.bytes());
        }
    }

    #[test]
    fn thinking_comes_back_as_it_came(blocks in vec(strategies::block(), 0..6)) {
        let asking = match State::from(Asking::open("Hi").unwrap().replied(blocks.clone())) {
            State::Asking(_) => return Ok(()),
            State::Owing(owing) => owing.answer_each(|call| ToolResult::text(call.id(), "ok")),
            State::Resting(resting) => resting.say(Words::new("Well?").unwrap()),
        };
        prop_assert_eq!(check_echo(&blocks, &ModelRequest::new("m", 1, asking.messages())), []);
    }
}

fn block(wire: &str) -> ContentBlock {
    serde_json::from_str(wire).unwrap()
}

fn call(id: &str) -> ContentBlock {
    ToolUse::scripted(id, "get_quote", "{}").into()
}

fn owing(ids: &[&str]) -> Owing {
    match Asking::open("Quote").unwrap().replied(ids.iter().map(|id| call(id)).collect()) {
        Reply::Called(called) => called.owing,
        other => panic!("{other:?}"),
    }
}

/// A conversation that the service paused in the midst of a search.
fn paused() -> Asking {
    let search = r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}"#;
    match Asking::open("Search").unwrap().replied(vec![ContentBlock::text("I search."), block(search)]) {
        Reply::Said(resting) => resting.go_on().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn thinking_blocks_are_the_same_bytes_in_the_next_request() {
    let thinking = r#"{"type":"thinking","signature":"EqoB\/+==","thinking":"caf\u00e9" , "n":1.0}"#;
    let reply =
        format!(r#"[{thinking},{{"type":"tool_use","id":"a","name":"get_quote","input":{{"h":3.0}}}}]"#);
    let Reply::Called(called) = Asking::open("Quote").unwrap().replied(serde_json::from_str(&reply).unwrap())
    else {
        panic!("there is a call")
    };
    let asking = called.owing.answer(vec![ToolResult::text("a", "6000")]).unwrap();
    let request = serde_json::to_string(&ModelRequest::new("m", 1, asking.messages())).unwrap();
    assert!(request.contains(&reply), "{request}");
}

#[test]
fn a_conversation_is_opened_with_words() {
    for blank in ["", " \t\r\n", "\u{a0}\u{2003}"] {
        assert_eq!(Asking::open(blank), Err(BlankText));
    }
    assert_eq!(Asking::open(" hi ").unwrap().messages(), [Message::user(" hi ")]);
}

#[test]
fn a_reply_of_nothing_leaves_the_conversation_as_it_was() {
    let asking = Asking::open("Quote").unwrap();
    let thinking = r#"{"type":"thinking","thinking":"hm","signature":"s"}"#;
    for content in [vec![], vec![ContentBlock::text(" \n")], vec![block(thinking)]] {
        match asking.clone().replied(content) {
            Reply::Empty(same) => assert_eq!(same, asking),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn ids_that_are_illegal_or_taken_are_replaced() {
    let owing = owing(&["a", "a", "", "no id", "call_4"]);
    let ids: Vec<&str> = owing.calls().map(ToolUse::id).collect();
    assert_eq!(ids, ["a", "call_1", "call_2", "call_3", "call_4"]);
}

#[test]
fn a_name_that_no_tool_can_have_is_told_apart_from_the_others() {
    let calls = vec![call("a"), ToolUse::scripted("b", "get quote", "{}").into()];
    let Reply::Called(called) = Asking::open("Quote").unwrap().replied(calls) else {
        panic!("there are calls")
    };
    assert_eq!(called.misnamed, [(1, "get quote".into())]);
    let names: Vec<&str> = called.owing.calls().map(ToolUse::name).collect();
    assert_eq!(names, ["get_quote", "unreadable_tool_name"]);
}

#[test]
fn results_that_do_not_fit_the_calls_hand_the_conversation_back() {
    let owing = owing(&["a", "b"]);
    for ids in [&["a"][..], &["b", "a"], &["a", "b", "b"], &[]] {
        let results = ids.iter().map(|id| ToolResult::text(*id, "6000")).collect();
        let refused = owing.clone().answer(results).unwrap_err();
        assert_eq!(*refused.owing, owing);
        assert_eq!(refused.found, ids);
    }
}

#[test]
fn an_error_without_words_gets_some() {
    let mute = [
        r#"{"type":"tool_result","tool_use_id":"a","is_error":true}"#,
        r#"{"type":"tool_result","tool_use_id":"a","content":[{"type":"image"}],"is_error":true}"#,
    ];
    let said = mute.map(|wire| {
        let asking = owing(&["a"]).answer(vec![serde_json::from_str(wire).unwrap()]).unwrap();
        serde_json::to_string(&asking.messages()[2].content).unwrap()
    });
    let words = "the tool failed and gave no reason";
    let start = r#"[{"type":"tool_result","tool_use_id":"a","content":"#;
    assert_eq!(
        said,
        [
            format!(r#"{start}"{words}","is_error":true}}]"#),
            format!(r#"{start}[{{"type":"text","text":"{words}"}},{{"type":"image"}}],"is_error":true}}]"#),
        ],
    );
}

#[test]
fn words_after_results_stand_in_the_same_message() {
    let asking = owing(&["a"]).answer(vec![ToolResult::text("a", "6000")]).unwrap();
    let asking = asking.say(Words::new("Be brief.").unwrap());
    let expected = vec![ToolResult::text("a", "6000").into(), ContentBlock::text("Be brief.")];
    assert_eq!(asking.messages()[2], Message::user_blocks(expected));
}

#[test]
fn what_follows_a_pause_goes_on_in_the_paused_message() {
    let paused = paused();
    let Reply::Said(resting) = paused.clone().replied(vec![ContentBlock::text("Found.")]) else {
        panic!("there are words")
    };
    assert_eq!(resting.messages().len(), 2);
    assert_eq!(resting.last_words(), "I search.\nFound.");
    assert_eq!(resting.clone().go_on(), Err(resting));
}

#[test]
fn a_paused_conversation_is_saved_and_loaded_as_one_that_asks() {
    let saved = serde_json::to_string(&paused()).unwrap();
    assert_eq!(serde_json::from_str::<Asking>(&saved).unwrap(), paused());
}

#[test]
fn a_closing_system_message_stays_last() {
    let saved = r#"[{"role":"user","content":"Hi"},{"role":"system","content":"Be brief."}]"#;
    let asking: Asking = serde_json::from_str(saved).unwrap();
    let asking = asking.say(Words::new("Well?").unwrap());
    assert_eq!(violations(asking.messages()), []);
    let written = serde_json::to_string(&asking).unwrap();
    assert_eq!(asking.bytes(), written.len());
    assert!(written.ends_with(r#"{"role":"system","content":"Be brief."}]"#), "{written}");
}

/// Tries to load `saved` in all three states: the first violation found in each.
#[track_caller]
fn loads(saved: &str, asking: &str, owing: &str, resting: &str) {
    fn first<T: serde::de::DeserializeOwned>(saved: &str) -> String {
        match serde_json::from_str::<T>(saved) {
            Ok(_) => String::new(),
            Err(error) => {
                let error = error.to_string();
                error.split_once("first ").map_or(error.clone(), |(_, first)| first.to_owned())
            }
        }
    }

    assert_eq!(
        [first::<Asking>(saved), first::<Owing>(saved), first::<Resting>(saved)],
        [asking, owing, resting]
    );
}

#[test]
fn a_list_is_loaded_in_the_state_that_it_is_in_and_in_no_other() {
    loads(
        r#"[{"role":"user","content":"Hi"}]"#,
        "",
        "S3 messages.1: results are owed, but the last message holds no call",
        "S11 messages.1: two neighbours have the role user",
    );
    let open = r#"[{"role":"user","content":"Hi"},
        {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}]"#;
    loads(
        open,
        r#"S2 messages.1.content.0: the call "a" has no result in the next message"#,
        "",
        r#"S2 messages.1.content.0: the call "a" has no result in the next message"#,
    );
    loads(
        r#"[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"text","text":"Hello"}]}]"#,
        "S8 messages.1: the last message is the model's",
        "S8 messages.1: the last message is the model's",
        "",
    );
    let empty = "S1 messages: there is no message";
    loads("[]", empty, empty, empty);
}

#[test]
fn a_list_that_was_tampered_with_is_refused_in_every_state() {
    let stray = r#"S3 messages.0.content.0: the result for "a" names no call of the message before"#;
    let tampered = r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]"#;
    loads(tampered, stray, stray, stray);
    let blank = r#"[{"role":"user","content":" "},{"role":"assistant","content":"Hello"},{"role":"user","content":"Hi"}]"#;
    let place = "S7 messages.0: the text is blank";
    loads(blank, place, place, place);
}

/// Ids that a model writes so that each free one is hard to find cost no more than others.
#[test]
fn hostile_ids_are_settled_in_one_pass() {
    const REPLIES: usize = 48;
    const CALLS: usize = 1000;
    let began = std::time::Instant::now();
    let reply = |asking: Asking, id: &dyn Fn(usize) -> String| {
        let calls = (0..CALLS).map(|n| ToolUse::scripted(id(n), "f", "{}").into()).collect();
        let Reply::Called(called) = asking.replied(calls) else { panic!("there are calls") };
        let ids: Vec<String> = called.owing.calls().map(|call| call.id().to_owned()).collect();
        (called.owing.answer_each(|call| ToolResult::text(call.id(), "ok")), ids)
    };
    let mut asking = Asking::open("go").unwrap();
    // It takes the names that we would give, where the search will begin, and then repeats one.
    for round in 0..REPLIES {
        let first = REPLIES * CALLS + round * CALLS;
        let (next, ids) = reply(asking, &|n| format!("call_{}", first + n));
        assert_eq!(ids[0], format!("call_{first}"));
        asking = next;
    }
    for round in 0..REPLIES {
        let (next, ids) = reply(asking, &|_| "call_50000".to_owned());
        let free = 2 * REPLIES * CALLS + round * CALLS;
        assert_eq!(
            (&ids[0], &ids[CALLS - 1]),
            (&format!("call_{free}"), &format!("call_{}", free + CALLS - 1))
        );
        asking = next;
    }
    let loaded: Asking = serde_json::from_str(&serde_json::to_string(&asking).unwrap()).unwrap();
    let (goes_on, loaded) = (reply(asking, &|_| String::new()).1, reply(loaded, &|_| String::new()).1);
    assert_eq!(goes_on, loaded, "a loaded conversation gives the same ids");
    assert!(began.elapsed().as_secs() < 900, "{:?}", began.elapsed());
}

/// Words are added in the time that they take themselves, and the size stays exact.
#[test]
fn words_upon_words_are_counted_once() {
    let began = std::time::Instant::now();
    let words = |n: usize| Words::new(format!("\"{n}\"\n ä")).unwrap();
    let mut asking = Asking::opened(words(0));
    for n in 1..20_000 {
        asking = asking.say(words(n));
        if n < 4 || n % 5000 == 4999 {
            assert_eq!(asking.bytes(), serde_json::to_string(&asking).unwrap().len(), "after {n}");
        }
    }
    // Words before words that came in a form of their own.
    for saved in [
        r#"[{"content":"Hi","role":"user","x":1}]"#,
        r#"[{"role":"user","content":[{"text":"Hi","type":"text"}]}]"#,
    ] {
        let asking = serde_json::from_str::<Asking>(saved).unwrap().say(words(1)).say(words(2));
        assert_eq!(asking.bytes(), serde_json::to_string(&asking).unwrap().len(), "{saved}");
    }
    assert!(began.elapsed().as_secs() < 900, "{:?}", began.elapsed());
}
