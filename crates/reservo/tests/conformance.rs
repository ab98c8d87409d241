//! What the house's tools declare of themselves is true, as far as the house by itself can show it.

#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::sync::Arc;

use reservo::{Reservo, demo, specialists::specialist};
use sommelier_runtime::Definition;
use sommelier_runtime::tool::Effect;
use sommelier_runtime::tool::conformance::{Claim, Conformance, Moment, Report, Seen, Unchecked};

const FOCUS: &str = r#"{"room":"Focus","plan":"pro","date":"2026-12-01","start_hour":9,"hours":3}"#;

fn agent(name: &str, house: &Arc<Reservo>) -> Definition {
    specialist(name).unwrap().agent(house).build().unwrap()
}

/// T37: who only looks changes no booking and uses no key.
#[test]
fn whoever_only_looks_changes_nothing() {
    let house = Arc::new(demo());
    for (desk, tool, arguments, fails) in [
        (
            "booking_agent",
            "get_quote",
            r#"{"room":"Focus","plan":"pro","hours":3}"#,
            Some(r#"{"room":"Attic","plan":"pro","hours":3}"#),
        ),
        ("policy_agent", "search_docs", r#"{"query":"May I cancel?"}"#, None),
        ("pricing_agent", "compare_prices", r#"{"hours":3}"#, Some(r#"{"hours":99}"#)),
    ] {
        let agent = agent(desk, &house);
        let check = Conformance::of(&agent, tool, || format!("{:?}", house.bookings));
        let (check, unchecked) = match fails {
            Some(fails) => (check.fails(fails), vec![]),
            None => (check, vec![Unchecked::Failure]),
        };
        let expected = Report { effect: Effect::ReadOnly, alone: None, could_be: None, unchecked };
        assert_eq!(check.check(arguments), Ok(expected), "{tool}");
    }
}

/// What books writes through the transaction of its call where the ledger can. The ledger in memory cannot: a booking stays
/// there though the transaction is rolled back, and what was declared is not true of it.
#[test]
fn a_ledger_without_transactions_is_found_out() {
    let house = Arc::new(demo());
    let agent = agent("booking_agent", &house);
    for (tool, arguments) in [("book", FOCUS), ("cancel", r#"{"booking_id":"RSV-0002"}"#)] {
        let all = || house.bookings.all().unwrap();
        let check = Conformance::of(&agent, tool, all).transaction(|work, _| work(&()));
        let before = all();
        let findings = check.check(arguments).unwrap_err();
        let claim = Claim::Effect(Effect::Transactional);
        let told: Vec<_> = findings
            .all()
            .iter()
            .map(|of| (of.claim, of.at, matches!(of.seen, Seen::Changed { .. })))
            .collect();
        assert_eq!(
            told,
            [(claim, Moment::RolledBack, true), (claim, Moment::Committed, false)],
            "{findings}"
        );
        assert_ne!(before, all());
    }
}
