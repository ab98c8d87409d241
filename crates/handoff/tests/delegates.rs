//! Delegates: an agent asks others and keeps the turn.

mod harness;

use harness::{Session, agent, calls, says, script};
use sommelier_handoff::{Delegate, Relay, RunEnd};

/// A supervisor that asks billing and shipping.
fn desk() -> Relay {
    Relay::builder()
        .agent(agent("supervisor"))
        .delegate("supervisor", Delegate::new("ask_billing", agent("billing")))
        .delegate("supervisor", Delegate::new("ask_shipping", agent("shipping")))
        .entry("supervisor")
        .build()
        .unwrap()
}

const BOTH: [(&str, &str); 2] = [
    ("ask_billing", r#"{"question":"Was INV-311 paid twice?"}"#),
    ("ask_shipping", r#"{"question":"Where is A-7?"}"#),
];

/// S3-06, S3-07, S3-08, S3-10: two delegates are asked in one reply; each answers with its finding and the steps it used,
/// in the order of the calls, and the asker goes on.
#[test]
fn delegates_are_asked_and_the_asker_keeps_the_turn() {
    let relay = desk();
    let model = script([
        ("supervisor", calls(BOTH)),
        ("billing", calls([("look", r#"{"word":"INV-311"}"#)])),
        ("billing", says("Paid twice.")),
        ("shipping", says("In transit.")),
        ("supervisor", says("Twice, and on its way.")),
    ]);
    let session = Session::new(&relay, &model).say("INV-311 and A-7?").ends(RunEnd::Answered);
    assert_eq!(session.order(), "supervisor billing billing shipping supervisor");
    assert_eq!(
        session.results("supervisor", 0),
        [
            r#"tu_1_0={"status":"done","finding":"Paid twice.","steps_used":2}"#,
            r#"tu_1_1={"status":"done","finding":"In transit.","steps_used":1}"#,
        ]
    );
    assert_eq!(session.done().answer().as_deref(), Some("Twice, and on its way."));
}
