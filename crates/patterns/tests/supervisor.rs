//! Agents as tools: a supervisor asks two specialists in one message and answers both halves.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at what cannot be")]

use serde_json::{Value, json};
use sommelier_handoff::{Agent, Delegate, DelegateStatus};
use sommelier_patterns::{Question, Supervisor, Team};
use sommelier_protocol::openai::{self, ChatRole};
use sommelier_protocol::{Message, ModelRequest, Role, System, ToolUse};
use sommelier_runner::{Outcome, Report, Runner, run_agent};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{ScriptedModel, Tool, script, tool_args};
use std::borrow::Cow;

tool_args! {
    /// Which invoice.
    struct Invoice {
        /// Its id.
        invoice_id: String,
    }
}

tool_args! {
    /// Which parcel.
    struct Parcel {
        /// Its id.
        parcel_id: String,
    }
}

const REQUEST: &str = "Was INV-311 charged twice, and where is parcel A-7?";

/// Billing, which knows one invoice.
fn billing() -> Agent {
    let get_invoice = |asked: Invoice, _: &CallContext<'_>| match asked.invoice_id.as_str() {
        "INV-311" => Ok(json!({"id": "INV-311", "amount": 49.0, "paid": 2})),
        other => Err(Failure::new("unknown_invoice", format!("there is no invoice {other}"))),
    };
    Agent::new("billing", "You know the invoices.")
        .purpose("Asks billing about invoices and refunds.")
        .tools([Tool::new("get_invoice", "Gets an invoice.", get_invoice)])
}

/// Shipping, which knows one parcel.
fn shipping() -> Agent {
    let track_parcel = |asked: Parcel, _: &CallContext<'_>| match asked.parcel_id.as_str() {
        "A-7" => Ok(json!({"id": "A-7", "status": "in transit", "eta": "2026-09-30"})),
        other => Err(Failure::new("unknown_parcel", format!("there is no parcel {other}"))),
    };
    Agent::new("shipping", "You know the parcels.")
        .purpose("Asks shipping about parcels.")
        .tools([Tool::new("track_parcel", "Tracks a parcel.", track_parcel)])
}

fn by_model() -> Team {
    Supervisor::by_model(Agent::new("supervisor", "You answer from what the desks find."))
        .delegate(Delegate::new("ask_billing", billing()))
        .delegate(Delegate::new("ask_shipping", shipping()))
        .build()
        .unwrap()
}

/// The specialists' turns. What they say is made of what their tools told; each looks `extra` times more before.
fn specialists(extra: usize) -> ScriptedModel {
    let look = |model: ScriptedModel, agent: &'static str, tool: &'static str, args: &'static str| {
        (0..=extra).fold(model, move |model, n| {
            model.turn(agent, move |_| script::call(&format!("tu_{n}"), tool, args))
        })
    };
    let found = |request: &ModelRequest<'_>| -> Value {
        serde_json::from_str(&script::last_result(request)).unwrap()
    };
    let model = look(ScriptedModel::new(), "billing", "get_invoice", r#"{"invoice_id":"INV-311"}"#);
    let model = model.turn("billing", move |request| {
        let invoice = found(request);
        let times = if invoice["paid"] == 2 { "twice" } else { "once" };
        script::say(format!(
            "{} was paid {times}; next: refund {:.2}.",
            invoice["id"].as_str().unwrap(),
            invoice["amount"].as_f64().unwrap()
        ))
    });
    let model = look(model, "shipping", "track_parcel", r#"{"parcel_id":"A-7"}"#);
    model.turn("shipping", move |request| {
        let parcel = found(request);
        script::say(format!(
            "{} is {}, expected {}.",
            parcel["id"].as_str().unwrap(),
            parcel["status"].as_str().unwrap(),
            parcel["eta"].as_str().unwrap()
        ))
    })
}

/// The supervisor's two turns: it asks both at once, and puts together what they found.
fn with_supervisor(model: ScriptedModel) -> ScriptedModel {
    let asks = script::calls([
        ("tu_b", "ask_billing", r#"{"question":"Was INV-311 paid twice?"}"#),
        ("tu_s", "ask_shipping", r#"{"question":"Where is parcel A-7?"}"#),
    ]);
    model.turn("supervisor", move |_| asks.clone()).turn("supervisor", |request| {
        let results = request.messages.last().unwrap().tool_results();
        let findings: Vec<String> = results
            .map(|result| {
                let told: Value = serde_json::from_str(&result.words()).unwrap();
                told["finding"].as_str().unwrap().to_owned()
            })
            .collect();
        script::say(findings.join(" "))
    })
}

fn run(team: &Team, model: &ScriptedModel) -> Report {
    let runner = Runner::new(model).conversation("c");
    let Outcome::Ended(report) = team.run(runner, REQUEST).unwrap() else { panic!("it ends") };
    assert_eq!(model.unused(), [], "every scripted turn was asked for");
    report
}

const BOTH: &str = "INV-311 was paid twice; next: refund 49.00. A-7 is in transit, expected 2026-09-30.";

/// S3-06, S3-10, S3-11, S3-12, S3-13: two questions go out in one message, both halves are answered, and there are two
/// links from the run that asked to the runs that answered.
#[test]
fn both_halves_are_answered_over_two_links() {
    let report = run(&by_model(), &with_supervisor(specialists(0)));
    assert_eq!(report.answer(), BOTH);
    let links: Vec<_> = report
        .links()
        .iter()
        .map(|link| {
            (
                &*link.id,
                link.from.as_str(),
                link.tool.as_str(),
                link.result().unwrap().finding.as_deref().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        links,
        [
            ("c/1/1/0", "supervisor", "ask_billing", "INV-311 was paid twice; next: refund 49.00."),
            ("c/1/1/1", "supervisor", "ask_shipping", "A-7 is in transit, expected 2026-09-30."),
        ]
    );
}

/// S3-07, S3-09: however long its specialists work, the supervisor's conversation is four messages here and six in the
/// form of OpenAI, where the system prompt stands among them and each result is a message; nothing of the work is in it.
#[test]
fn a_supervisor_holds_findings_and_nothing_of_the_steps() {
    let team = by_model();
    let conversation = |extra| {
        let report = run(&team, &with_supervisor(specialists(extra)));
        let steps: Vec<u32> = report.links().iter().map(|link| link.result().unwrap().steps_used).collect();
        assert_eq!(steps, [2 + extra as u32, 2 + extra as u32]);
        let turn = report.done().turn().unwrap();
        turn.messages().to_vec()
    };
    let short = conversation(0);
    let roles: Vec<Role> = short.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User, Role::Assistant]);
    let system = || Some(Cow::Owned(System::Text("You answer from what the desks find.".into())));
    let chat_roles = |messages: &[Message]| -> Vec<ChatRole> {
        let request = ModelRequest { system: system(), ..ModelRequest::new("", 0, messages) };
        openai::to_chat(&request).iter().map(|message| message.role).collect()
    };
    use ChatRole::{Assistant, System as Prompt, Tool as Result, User};
    let six = [Prompt, User, Assistant, Result, Result, Assistant];
    assert_eq!(chat_roles(&short), six);
    for extra in 1..=2 {
        let long = conversation(extra);
        let [asked, calls, _, answer] = &long[..] else { panic!("four messages: {long:?}") };
        assert_eq!(chat_roles(&long), six);
        assert_eq!([asked, calls, answer], [&short[0], &short[1], &short[3]]);
        let text = serde_json::to_string(&long).unwrap();
        assert!(!text.contains("get_invoice") && !text.contains("track_parcel"), "{text}");
    }
}

/// S0-12, S0-23, S0-24: by rule the supervisor decides on the raw words, before anybody works and at no model call; by
/// model it costs two calls. The answer is the same.
#[test]
fn a_supervisor_decides_by_rule_or_by_model() {
    let by_rule = Supervisor::by_rule(
        "supervisor",
        |words| {
            let asks = |word: &str, tool: &str, question: &str| {
                words.contains(word).then(|| Question::new(tool, question))
            };
            let billing = asks("INV-", "ask_billing", "Was INV-311 paid twice?");
            billing.into_iter().chain(asks("parcel", "ask_shipping", "Where is parcel A-7?")).collect()
        },
        |_, findings| findings.iter().map(|found| found.words()).collect::<Vec<_>>().join(" "),
    );
    let by_rule = by_rule
        .delegate(Delegate::new("ask_billing", billing()))
        .delegate(Delegate::new("ask_shipping", shipping()))
        .build()
        .unwrap();
    let ruled = run(&by_rule, &specialists(0));
    let by_model = by_model();
    let modelled = run(&by_model, &with_supervisor(specialists(0)));
    assert_eq!((ruled.answer(), modelled.answer()), (BOTH, BOTH));
    assert_eq!((by_rule.model_calls(&ruled), by_model.model_calls(&modelled)), (4, 6));
    assert_eq!((by_rule.critical_path(&ruled), by_model.critical_path(&modelled)), (2, 4));
}

/// C112: an agent has the tools that it has, whether it is asked as a delegate or runs by itself.
#[test]
fn an_agent_has_the_same_tools_as_a_delegate_and_alone() {
    use std::sync::Mutex;

    let offered: Mutex<Vec<Vec<String>>> = Mutex::default();
    struct Spy<'a>(&'a Mutex<Vec<Vec<String>>>);
    impl sommelier_runtime::Model for Spy<'_> {
        fn complete(
            &self,
            request: ModelRequest<'_>,
        ) -> Result<sommelier_protocol::ModelResponse, sommelier_runtime::ModelError> {
            self.0.lock().unwrap().push(request.tools.iter().map(|tool| tool.name.to_string()).collect());
            Ok(script::say("Fine."))
        }
    }
    run_agent(&Runner::new(Spy(&offered)), billing(), "hello").unwrap();
    let team = Supervisor::by_rule(
        "supervisor",
        |words| vec![Question::new("ask_billing", words)],
        |_, _| "Fine.".to_owned(),
    );
    let team = team.delegate(Delegate::new("ask_billing", billing())).build().unwrap();
    team.run(Runner::new(Spy(&offered)), "hello").unwrap();
    let offered = offered.into_inner().unwrap();
    assert_eq!(offered, [["get_invoice"], ["get_invoice"]]);
}

/// S3-08: a specialist that does not come to an end in its four model calls is told as what it is.
#[test]
fn a_specialist_has_four_model_calls() {
    let report = run(&by_model(), &{
        let model = (0..4).fold(ScriptedModel::new(), |model, n| {
            model.turn("billing", move |_| {
                script::call(&format!("tu_{n}"), "get_invoice", &format!(r#"{{"invoice_id":"INV-{n}"}}"#))
            })
        });
        model
            .turn("supervisor", |_| {
                script::call("tu_b", "ask_billing", r#"{"question":"Which invoices are there?"}"#)
            })
            .turn("supervisor", |_| script::say("Billing did not come to an end."))
    });
    let result = report.links()[0].result().unwrap();
    assert_eq!(
        (result.status, result.finding.as_deref(), result.steps_used),
        (DelegateStatus::Failed, None, 4)
    );
    assert_eq!(result.reason.as_deref(), Some("budget_spent: 4 model call(s)"));
    let calls: Vec<&str> = report
        .done()
        .turn()
        .unwrap()
        .messages()
        .iter()
        .flat_map(|m| m.tool_uses())
        .map(ToolUse::name)
        .collect();
    assert_eq!(calls, ["ask_billing"]);
}
