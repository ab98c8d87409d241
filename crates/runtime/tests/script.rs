//! The scripted model: replies are functions of the request.

mod harness;

use harness::{Drive, clerk, replies};
use sommelier_protocol::{Message, ModelRequest, ToolResult};
use sommelier_runtime::script::{self, call, say};
use sommelier_runtime::{Model, ModelError, ScriptedModel, TurnEnd};

fn request<'a>(caller: &'a str, replies: u32, messages: &'a [Message]) -> ModelRequest<'a> {
    let mut request = ModelRequest::new("claude-sonnet-5", 1024, messages);
    (request.caller, request.replies) = (caller.into(), replies);
    request
}

#[test]
fn a_missing_turn_is_an_error_that_names_agent_and_turn() {
    let run = Drive::new(&clerk().build().unwrap(), &replies([call("tu_1", "tick", "{}")])).start("go");
    let error = ModelError::NoScript { agent: "clerk".to_owned(), turn: 2, known: 1 };
    assert_eq!(error.to_string(), "the script has no turn 2 for clerk (it has 1)");
    assert_eq!((run.turn.end(), error.kind()), (&TurnEnd::Failed { error: error.clone() }, "no_script"));
}

#[test]
fn an_agent_that_is_not_in_the_script_has_no_turn() {
    let (model, messages) = (replies([say("Hello.")]), [Message::user("hello")]);
    let error = model.complete(request("stranger", 0, &messages)).unwrap_err();
    assert_eq!(error, ModelError::NoScript { agent: "stranger".to_owned(), turn: 1, known: 0 });
    assert!(model.complete(request("clerk", u32::MAX, &messages)).is_err());
}

#[test]
fn leftover_turns_are_told() {
    let model = ScriptedModel::new()
        .turn("clerk", |_| say("1"))
        .turn("clerk", |_| say("2"))
        .turn("boss", |_| say("3"))
        .turn("clerk", |_| say("4"));
    assert_eq!(model.unused(), [("boss", 1), ("clerk", 1), ("clerk", 2), ("clerk", 3)]);
    Drive::new(&clerk().build().unwrap(), &model).start("go");
    assert_eq!(model.unused(), [("boss", 1), ("clerk", 2), ("clerk", 3)]);
}

/// There is no cursor: asking is not remembered, so branches do not disturb each other.
#[test]
fn the_same_request_gets_the_same_reply() {
    let model = ScriptedModel::new()
        .turn("clerk", |request| say(format!("You said {}.", script::last_words(request))))
        .turn("clerk", |_| say("Second."));
    let (hello, bye) = ([Message::user("hello")], [Message::user("bye")]);
    let words =
        |replies, messages: &[Message]| model.complete(request("clerk", replies, messages)).unwrap().words();
    let asked = [words(1, &bye), words(0, &hello), words(0, &bye), words(0, &hello), words(1, &hello)];
    assert_eq!(asked, ["Second.", "You said hello.", "You said bye.", "You said hello.", "Second."]);
}

#[test]
fn a_script_reads_the_newest_result_and_words() {
    let results = ["5", "6"].map(|text| ToolResult::text("tu_1", text).into());
    let messages = [Message::user("first"), Message::user_blocks(results.into()), Message::user("second")];
    let request = request("clerk", 0, &messages);
    assert_eq!((script::last_result(&request).as_str(), script::last_words(&request)), ("6", "second"));
    let request = ModelRequest::new("claude-sonnet-5", 1024, &[]);
    assert_eq!((script::last_result(&request).as_str(), script::last_words(&request)), ("", ""));
}

#[test]
fn a_scripted_model_is_labelled_through_every_pointer() {
    fn label(model: impl Model) -> Option<String> {
        model.label().map(str::to_owned)
    }
    let expected = Some("concept (claude-sonnet-5)".to_owned());
    let model = ScriptedModel::new();
    let boxed: Box<dyn Model> = Box::new(ScriptedModel::new());
    assert_eq!((label(&model), label(&*boxed), label(boxed)), (expected.clone(), expected.clone(), expected));
}
