//! What a question may be: one that is wrong is told to the agent that asked, and opens no branch.

mod harness;

use harness::{Session, agent, calls, question, says, script};
use sommelier_handoff::{Delegate, LinkOutcome, PackagePolicy, Relay, RunEnd};
use sommelier_runtime::Limits;

/// A supervisor that asks billing, and whose calls may bring 20 000 bytes.
fn desk(policy: PackagePolicy) -> Relay {
    let limits = Limits { input_bytes: 20_000, ..Limits::default() };
    Relay::builder()
        .agent(agent("supervisor").limits(limits))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")).policy(policy))
        .entry("supervisor")
        .build()
        .unwrap_or_else(|errors| unreachable!("{errors}"))
}

/// Asks all of these in one reply, then one that is right, and gives what the first were told.
#[track_caller]
fn told<'a>(relay: &Relay, wrong: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wrong: Vec<(&str, String)> =
        wrong.into_iter().map(|input| ("ask_billing", input.to_owned())).collect();
    let asked = wrong.len();
    let model = script([
        ("supervisor", calls(wrong)),
        ("supervisor", calls([("ask_billing", question("Was INV-311 paid twice?"))])),
        ("billing", says("Twice.")),
        ("supervisor", says("Paid twice.")),
    ]);
    let session = Session::new(relay, &model).say("hello").ends(RunEnd::Answered);
    assert_eq!(session.order(), "supervisor supervisor billing supervisor");
    let refused = session.run().links().iter().filter(|link| {
        matches!(&link.outcome, LinkOutcome::Refused { refusal } if refusal.code() == "invalid_question")
    });
    assert_eq!((refused.count(), session.run().links().len()), (asked, asked + 1));
    let right = r#"tu_2_0={"status":"done","finding":"Twice.","steps_used":1}"#;
    assert_eq!(session.results("supervisor", 1), [right]);
    session.results("supervisor", 0)
}

/// The result of the nth call, for a question that is not valid.
fn invalid(place: usize, detail: &str) -> String {
    let detail = serde_json::to_string(&format!("the question is not valid: {detail}")).unwrap_or_default();
    format!(r#"tu_1_{place}!{{"error":"invalid_question","detail":{detail}}}"#)
}

#[track_caller]
fn check(relay: &Relay, cases: &[(&str, &str)]) {
    let told = told(relay, cases.iter().map(|(input, _)| *input));
    for (place, ((input, detail), told)) in cases.iter().zip(told).enumerate() {
        assert_eq!(told, invalid(place, detail), "{}", input.chars().take(200).collect::<String>());
    }
}

/// S3-06: a question is one string that says something, with a context of values beside it; what is wrong is told with
/// its place and with what would be right, and a right one goes through afterwards.
#[test]
fn a_question_that_is_wrong_is_told_and_opens_no_branch() {
    check(
        &desk(PackagePolicy::minimal()),
        &[
            ("{}", "`question` is missing"),
            (r#"{"question":""}"#, "`question` is blank"),
            (r#"{"question":" \n\u00a0"}"#, "`question` is blank"),
            (r#"{"question":7}"#, "`question` is a number, must be a string"),
            (r#"{"question":null}"#, "`question` is null, must be a string"),
            (r#"{"question":["a"]}"#, "`question` is a list, must be a string"),
            (r#"{"question":"Q?","context":"cents"}"#, "`context` is a string, must be an object"),
            (r#"{"question":"Q?","context":[1]}"#, "`context` is a list, must be an object"),
            (r#"{"task":"Q?"}"#, "`question` is missing, `task` is no argument; legal: question, context"),
            (
                r#"{"question":"Q?","artifacts":{"a":1}}"#,
                "`artifacts` is no argument; legal: question, context",
            ),
            (r#"{"question":"Q?","question":"R?"}"#, "`question` stands twice"),
            (r#"["Q?"]"#, r#"no JSON: the arguments must be one JSON object; it begins "[\"Q?\"]""#),
            (r#""Q?""#, r#"no JSON: the arguments must be one JSON object; it begins "\"Q?\"""#),
            (
                r#"{"question":"Q?","context":{"id":12345678901234567890123}}"#,
                "`context.id`: the number 12345678901234567890123 would be changed by a reader; write it as a string",
            ),
            (
                r#"{"question":"Q?","context":{"a b":1}}"#,
                "`context`: the key \"a b\" is no ASCII identifier of 1 to 128 bytes",
            ),
            ("{\"question\":\"Q\u{202e}?\"}", "`question` holds the character U+202E, which is not allowed"),
        ],
    );
}

/// S3-26: no conversation goes along with a question, as JSON or as JSON in a string, wherever it stands.
#[test]
fn no_history_goes_along_with_a_question() {
    let history = |path: &str| {
        format!(
            "`{path}` holds a message (`role` and `content`); a package carries a task and its data, never a history"
        )
    };
    let (question, context, deep) = (history("question"), history("context.so_far"), history("context.a.b"));
    check(
        &desk(PackagePolicy::minimal()),
        &[
            (r#"{"question":"[{\"role\":\"user\",\"content\":\"hello\"}] and now?"}"#, &question),
            (
                r#"{"question":"Q?","context":{"so_far":"{\"role\":\"user\",\"content\":\"hello\"}"}}"#,
                &context,
            ),
            (r#"{"question":"Q?","context":{"a":{"b":{"role":"assistant","content":"hello"}}}}"#, &deep),
            (
                r#"{"question":{"role":"user","content":"hello"}}"#,
                &format!("`question` is an object, must be a string, {question}"),
            ),
        ],
    );
}

/// Over a cap of the delegate's policy, or of the law, a question is refused with the size and the cap; nothing is cut.
#[test]
fn a_question_over_a_cap_is_told_both_sizes() {
    let policy = PackagePolicy { context_keys: 2, depth: 3, ..PackagePolicy::minimal() }.package_bytes(600);
    let long = question(&"x".repeat(501));
    let law = question(&"x".repeat(16_385));
    let wide = format!(r#"{{"question":"Q?","context":{{"a":"{}"}}}}"#, "x".repeat(600));
    check(
        &desk(policy),
        &[
            (&long, "bytes of the question: 501, at most 500"),
            (&law, "`question` has 16385 bytes, at most 16384"),
            (&wide, "bytes of the package: 632, at most 600"),
            (r#"{"question":"Q?","context":{"a":1,"b":2,"c":3}}"#, "values of the context: 3, at most 2"),
            (r#"{"question":"Q?","context":{"a":{"b":{"c":1}}}}"#, "depth of the package: 4, at most 3"),
        ],
    );
}

/// An input that is no JSON, or more than the asker's calls may bring, is told as such.
#[test]
fn an_input_that_cannot_be_read_is_told() {
    let large = question(&"x".repeat(20_000));
    check(
        &desk(PackagePolicy::minimal()),
        &[
            (
                r#"{"question": "Was INV"#,
                r#"no JSON: the arguments are no JSON: EOF while parsing a string at line 1 column 21; it begins "{\"question\": \"Was INV""#,
            ),
            (&large, "20015 bytes of input, at most 20000 are read"),
        ],
    );
}

/// A policy may ask for more than a question: a context that must be filled is told as missing.
#[test]
fn a_policy_may_demand_a_context() {
    let policy = PackagePolicy::minimal().require(sommelier_handoff::Section::Context);
    let told = told_without_a_right_one(&desk(policy));
    assert_eq!(told, [invalid(0, "`context` is missing"), invalid(1, "`context` is missing")]);
}

fn told_without_a_right_one(relay: &Relay) -> Vec<String> {
    let model = script([
        (
            "supervisor",
            calls([
                ("ask_billing", question("Q?")),
                ("ask_billing", r#"{"question":"Q?","context":{}}"#.to_owned()),
                ("ask_billing", r#"{"question":"Q?","context":{"id":"INV-311"}}"#.to_owned()),
            ]),
        ),
        ("billing", says("Twice.")),
        ("supervisor", says("Twice.")),
    ]);
    let session = Session::new(relay, &model).say("hello").ends(RunEnd::Answered);
    let mut told = session.results("supervisor", 0);
    assert_eq!(told.pop().as_deref(), Some(r#"tu_1_2={"status":"done","finding":"Twice.","steps_used":1}"#));
    told
}
