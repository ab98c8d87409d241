//! Who works here: two desks, each with one tool over one fixture, and the agent that hears the customer first.

use serde_json::json;
use sommelier_handoff::Agent;
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Tool, tool_args};
use std::sync::atomic::{AtomicU32, Ordering};

tool_args! {
    /// Which invoice.
    struct Invoice {
        /// Its id, such as INV-311.
        invoice_id: String,
    }
}

tool_args! {
    /// Which parcel.
    struct Parcel {
        /// Its id, such as A-7.
        parcel_id: String,
    }
}

/// Billing, which knows one invoice. Its archive fails the first `failures` times that it is asked.
pub(crate) fn billing(failures: u32) -> Agent {
    let asked = AtomicU32::new(0);
    let get_invoice = move |wanted: Invoice, _: &CallContext<'_>| {
        if asked.fetch_add(1, Ordering::Relaxed) < failures {
            return Err(Failure::new("archive_down", "the archive of invoices does not answer"));
        }
        match wanted.invoice_id.as_str() {
            "INV-311" => Ok(json!({"id": "INV-311", "amount": 49.0, "times_paid": 2})),
            other => Err(Failure::new("unknown_invoice", format!("there is no invoice {other}"))),
        }
    };
    Agent::new("billing", "You know the invoices. What is not about invoices goes back, with a word why.")
        .purpose("Invoices and refunds.")
        .tools([Tool::new("get_invoice", "Gets an invoice.", get_invoice)])
}

/// Shipping, which knows one parcel.
pub(crate) fn shipping() -> Agent {
    let track_parcel = |wanted: Parcel, _: &CallContext<'_>| match wanted.parcel_id.as_str() {
        "A-7" => Ok(json!({"id": "A-7", "status": "in transit", "eta": "2026-09-30"})),
        other => Err(Failure::new("unknown_parcel", format!("there is no parcel {other}"))),
    };
    Agent::new("shipping", "You know the parcels. What is not about parcels goes back, with a word why.")
        .purpose("Parcels and when they arrive.")
        .tools([Tool::new("track_parcel", "Tracks a parcel.", track_parcel)])
}

/// Triage, which hears the customer first and knows nothing itself.
pub(crate) fn triage() -> Agent {
    Agent::new(
        "triage",
        "You find out what it is about and hand the turn to the desk that knows. Once, not in circles.",
    )
    .purpose("Finds the right desk.")
}
