//! The agents of the scenes, and what their models say.

use std::sync::Arc;

use sommelier_handoff::{Agent, Delegate, HANDOFF_TO_SPECIALIST, Relay};
use sommelier_protocol::{ModelRequest, ModelResponse, Usage};
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Model, ModelError, ScriptedModel, Tool, script, tool_args};

use crate::Failed;

tool_args! {
    /// Which one.
    pub(crate) struct Which {
        /// Its number.
        pub(crate) number: String,
    }
}

/// What nobody may find in a span, unless contents are asked for: the user's words, what a tool found, and what was handed over.
pub(crate) const WORDS: [&str; 4] = ["INV-311", "A-7", "form C 23", "show up"];

/// A supervisor asks two desks at the same time. One of them is a team, which hands over within; one looks for what is not
/// there; and the supervisor wants to hand over to somebody whom it has no route to.
pub(crate) fn desks() -> Result<Relay, Failed> {
    let find = Tool::new("find_invoice", "Finds an invoice.", |invoice: Which, _: &CallContext<'_>| {
        Err::<String, _>(Failure::new("no_such_invoice", format!("there is no {}", invoice.number)))
    });
    let shipping = Relay::builder()
        .agent(Agent::new("shipping", "You know the parcels."))
        .agent(Agent::new("customs", "You know the forms."))
        .route("shipping", "customs")
        .entry("shipping")
        .build()?;
    let billing = Agent::new("billing", "You know the invoices.").tools([find]);
    let relay = Relay::builder()
        .agent(Agent::new("supervisor", "You ask the desks."))
        .agent(Agent::new("manager", "You see to complaints."))
        .route("supervisor", "manager")
        .delegate("supervisor", Delegate::new("ask_billing", billing))
        .delegate("supervisor", Delegate::team("ask_shipping", shipping))
        .entry("supervisor");
    Ok(relay.build()?)
}

pub(crate) fn at_the_desks() -> Counted {
    let to_customs = r#"{"specialist":"customs","task":"Which form does A-7 wait for?","context":{}}"#;
    let to_nobody = r#"{"specialist":"the_bank","task":"Was INV-311 paid?","context":{}}"#;
    let script = ScriptedModel::new()
        .turn("supervisor", |_| {
            script::calls([
                ("tu_1", "ask_billing", r#"{"question":"Was INV-311 paid twice?"}"#),
                ("tu_2", "ask_shipping", r#"{"question":"Where is A-7?"}"#),
            ])
        })
        .turn("supervisor", move |_| script::call("tu_3", HANDOFF_TO_SPECIALIST, to_nobody))
        .turn("supervisor", |_| script::say("There is no INV-311. A-7 waits for form C 23."))
        .turn("billing", |_| script::call("tu_1", "find_invoice", r#"{"number":"INV-311"}"#))
        .turn("billing", |_| script::say("There is none of that number."))
        .turn("shipping", move |_| script::call("tu_1", HANDOFF_TO_SPECIALIST, to_customs))
        .turn("customs", |_| script::say("It waits for form C 23."));
    Counted(script)
}

/// A waiter who rings the cellar, which is another process, with this tool.
pub(crate) fn waiter(
    ring: impl Fn() -> Result<String, Failure> + Send + Sync + 'static,
) -> Result<Relay, Failed> {
    let ring = Tool::new("ring_cellar", "Rings the cellar.", move |_: Which, _: &CallContext<'_>| ring());
    let waiter = Agent::new("waiter", "You bring the wine.").tools([ring]);
    Ok(Relay::builder().agent(waiter).entry("waiter").build()?)
}

pub(crate) fn at_the_table() -> Counted {
    let script = ScriptedModel::new()
        .turn("waiter", |_| script::call("tu_1", "ring_cellar", r#"{"number":"A-7"}"#))
        .turn("waiter", |request| script::say(script::last_result(request)));
    Counted(script)
}

/// The other end of the wire.
pub(crate) fn cellar() -> Result<Relay, Failed> {
    let cellar = Agent::new("cellar", "You know what there is.");
    Ok(Relay::builder().agent(cellar).entry("cellar").build()?)
}

pub(crate) fn in_the_cellar() -> Counted {
    Counted(ScriptedModel::new().turn("cellar", |_| script::say("A Barolo.")))
}

/// A clerk whose payments a person approves.
pub(crate) fn till() -> Result<Relay, Failed> {
    let pay = Tool::new("pay", "Pays an invoice.", |invoice: Which, _: &CallContext<'_>| {
        Ok::<_, Failure>(format!("{} is paid", invoice.number))
    });
    let pay = pay.keyed(23 * 3_600_000).business_key(["number"]).needs_approval();
    let clerk = Agent::new("clerk", "You pay what is due.").tools([pay]);
    Ok(Relay::builder().agent(clerk).entry("clerk").build()?)
}

pub(crate) fn at_the_till() -> Counted {
    let script = ScriptedModel::new()
        .turn("clerk", |_| script::call("tu_1", "pay", r#"{"number":"INV-311"}"#))
        .turn("clerk", |_| script::say("INV-311 is paid."));
    Counted(script)
}

/// The running case.
pub(crate) fn reservo() -> Result<Relay, Failed> {
    Ok(reservo::specialists::relay(&Arc::new(reservo::demo()), reservo::Entry::Booking).build()?)
}

/// A script whose replies tell what they used, as a service does.
pub(crate) struct Counted(pub(crate) ScriptedModel);

impl Model for Counted {
    fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
        let replies = u64::from(request.replies);
        let mut response = self.0.complete(request)?;
        response.usage = Usage::new(60 + 10 * replies, 7);
        response.usage.cache_read_input_tokens = Some(40);
        response.usage.cache_creation_input_tokens = Some(20);
        Ok(response)
    }

    fn label(&self) -> Option<&str> {
        self.0.label()
    }
}
