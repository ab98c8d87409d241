//! Two delegates asked at the same time, and what the lines of the trace tell of it: who asked whom, and what each
//! branch cost.
//!
//! Run it with `cargo run -p sommelier-runner --example branches`.

use serde_json::Value;
use sommelier_metrics::{LinesLayer, TreeLayer, names};
use sommelier_runner::Runner;
use sommelier_runner::handoff::{Agent, Delegate, HANDOFF_TO_SPECIALIST, Relay};
use sommelier_runner::runtime::tool::{CallContext, Failure};
use sommelier_runner::runtime::{ScriptedModel, Tool, script, tool_args};
use std::error::Error;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::layer::SubscriberExt;

tool_args! {
    /// Which invoice.
    struct Invoice {
        /// Its number.
        number: String,
    }
}

#[cfg_attr(test, test)]
fn main() -> Result<(), Box<dyn Error>> {
    let lines = Kept::default();
    let subscriber = tracing_subscriber::registry()
        .with(TreeLayer::new(io::stdout()))
        .with(LinesLayer::new(lines.clone()));
    tracing::subscriber::with_default(subscriber, || {
        Runner::new(decisions()).conversation("c").run(&desk()?, "INV-311, and where is parcel A-7?")?;
        Ok::<_, Box<dyn Error>>(())
    })?;

    let spans = lines.read()?;
    println!();
    for asked in spans.iter().filter(|span| span["name"] == names::DELEGATE) {
        let text = |name: &str| asked["fields"][name].as_str().unwrap_or_default();
        let number = |name: &str| asked["fields"][name].as_u64().unwrap_or_default();
        // All that happened in the branch stands under this span, however deep.
        let within = spans.iter().filter(|span| is_within(&spans, span, asked));
        let calls = within.filter(|span| span["name"] == names::CHAT).count();
        println!(
            "{} in {} asked {} in {}: {} B, {}, {calls} model calls, {} µs",
            text(names::AGENT_NAME),
            text(names::PARENT_RUN),
            text(names::TRANSFER_TARGET),
            text(names::CHILD_RUN),
            number(names::PACKAGE_BYTES),
            text(names::STATUS),
            asked["duration_us"]
        );
        assert_eq!(number(names::STEPS_USED), calls as u64);
    }
    Ok(())
}

/// Whether a span is under another, by the numbers of the spans.
fn is_within(spans: &[Value], span: &Value, above: &Value) -> bool {
    let parent = spans.iter().find(|other| other["span"] == span["parent"]);
    parent.is_some_and(|parent| parent["span"] == above["span"] || is_within(spans, parent, above))
}

fn desk() -> Result<Relay, Box<dyn Error>> {
    let find = Tool::new("find_invoice", "Finds an invoice.", |invoice: Invoice, _: &CallContext<'_>| {
        Ok::<_, Failure>(format!("{}: paid on 1 May and on 3 May", invoice.number))
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
        .delegate("supervisor", Delegate::new("ask_billing", billing))
        .delegate("supervisor", Delegate::team("ask_shipping", shipping))
        .entry("supervisor");
    Ok(relay.build()?)
}

fn decisions() -> ScriptedModel {
    let form = r#"{"specialist":"customs","task":"Which form does A-7 wait for?","context":{}}"#;
    ScriptedModel::new()
        .turn("supervisor", |_| {
            script::calls([
                ("tu_1", "ask_billing", r#"{"question":"Was INV-311 paid twice?"}"#),
                ("tu_2", "ask_shipping", r#"{"question":"Where is A-7?"}"#),
            ])
        })
        .turn("supervisor", |_| script::say("INV-311 was paid twice. A-7 waits for form C 23."))
        .turn("billing", |_| script::call("tu_1", "find_invoice", r#"{"number":"INV-311"}"#))
        .turn("billing", |_| script::say("Paid on 1 May and on 3 May."))
        .turn("shipping", move |_| script::call("tu_1", HANDOFF_TO_SPECIALIST, form))
        .turn("customs", |_| script::say("It waits for form C 23."))
}

/// Lines that are kept to be read.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn read(&self) -> serde_json::Result<Vec<Value>> {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(serde_json::from_slice)
            .collect()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
