//! One specialist, looked up by its name and run by itself.

use std::sync::Arc;

use reservo::{OfflineRules, Reservo, SPECIALISTS, SpecialistError, demo, run_specialist};
use sommelier_handoff::RunEnd;
use sommelier_runner::{AgentRun, Gate, Runner};

fn run(gate: Gate, house: &Arc<Reservo>, name: &str, task: &str) -> Result<AgentRun, SpecialistError> {
    run_specialist(&Runner::new(OfflineRules).gate(gate), house, name, task)
}

/// The calls that a specialist made, by name.
fn calls(run: &AgentRun) -> Vec<&str> {
    run.messages.iter().flat_map(|message| message.tool_uses()).map(|call| call.name()).collect()
}

#[test]
fn each_specialist_does_its_trade_with_its_own_tool() {
    let house = Arc::new(demo());
    let tasks = [
        ("Quote Focus pro 3h", "Focus pro for 3 hours costs 6000 cents."),
        ("How long does a refund take?", "within 5 business days (POL-REFUND)"),
        ("Compare pro prices for 4h", "I recommend Focus pro with 8000 cents"),
    ];
    for (specialist, (task, says)) in SPECIALISTS.iter().zip(tasks) {
        let run = run(Gate::default(), &house, specialist.name, task).unwrap();
        assert_eq!((run.steps, &run.stopped), (2, &RunEnd::Answered), "{}", specialist.name);
        assert_eq!(calls(&run), [specialist.required_tool]);
        assert!(run.answer.as_deref().unwrap().contains(says), "{:?}", run.answer);
    }
}

#[test]
fn a_specialist_by_itself_leaves_what_is_not_its_trade_and_says_so() {
    let text = "Quote Focus pro 3h. And what happens if I don't show up?";
    let run = run(Gate::default(), &Arc::new(demo()), "booking_agent", text).unwrap();
    assert_eq!(calls(&run), ["get_quote"]);
    assert_eq!(
        run.answer.as_deref(),
        Some(
            "Focus pro for 3 hours costs 6000 cents.\nI could not pass on what is not my trade: \
             \"What happens if the customer does not show up for the booking?\"."
        ),
    );
}

#[test]
fn the_gate_is_that_of_the_runner() {
    let house = Arc::new(demo());
    let order = "Book Studio basic for 2 hours tomorrow at 14, for Ada";
    let denied = run(Gate::default(), &house, "booking_agent", order).unwrap();
    assert!(denied.answer.unwrap().starts_with("Nothing was booked: it needs approval"));
    let approved = run(Gate::approve_all(), &house, "booking_agent", order).unwrap();
    assert!(approved.answer.unwrap().contains("The booking is RSV-0006 and costs 8000 cents."));
}

#[test]
fn an_unknown_name_is_told_with_the_known_ones() {
    let house = Arc::new(demo());
    for name in ["billing", "", "Booking_Agent", "booking_agent "] {
        let error = run(Gate::default(), &house, name, "Quote Focus pro 3h").unwrap_err();
        assert!(matches!(&error, SpecialistError::Unknown { name: told } if told == name), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!("no specialist is named {name:?}; there are booking_agent, policy_agent, pricing_agent"),
        );
    }
    let long = run(Gate::default(), &house, &"x".repeat(10_000), "Quote Focus pro 3h").unwrap_err();
    assert!(long.to_string().len() < 250, "{long}");
}

#[test]
fn a_blank_task_is_refused_and_nothing_is_run() {
    let error = run(Gate::default(), &Arc::new(demo()), "booking_agent", " \n").unwrap_err();
    assert!(matches!(error, SpecialistError::Run(_)), "{error:?}");
}
