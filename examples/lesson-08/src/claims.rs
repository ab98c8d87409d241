//! What the lesson claims of its runs.

use examples_kit::{Claim, Need};
use reservo::price::Comparison;
use reservo::{DEMO_NOW, Hours, Plan, Reservo, ReservoError, Room, demo};
use sommelier_handoff::HANDOFF_TO_SPECIALIST;
use sommelier_patterns::Pattern;

use crate::facts::Facts;
use crate::scene::Scene;

/// What is claimed of the four runs; `under` is what the second request sets, in cents.
pub(crate) fn all(scenes: &[Scene; 4], under: i64) -> Result<Vec<Claim>, ReservoError> {
    let [taken, conditional, handed, at_once] = scenes;
    let each = [of_taken(taken)?, of_conditional(conditional, under)?, of_two_known(handed, at_once)?];
    Ok(each.into_iter().flatten().chain(of_all(scenes)).collect())
}

fn of_taken(taken: &Scene) -> Result<Vec<Claim>, ReservoError> {
    let calls: Vec<(&str, &str)> =
        taken.steps.iter().map(|step| (step.calls.as_str(), step.result.as_str())).collect();
    let handed = calls.iter().position(|(call, _)| *call == HANDOFF_TO_SPECIALIST);
    let until = calls.get(..handed.unwrap_or_default()).unwrap_or_default();
    // What the house itself finds, and not what the run says.
    let found = demo().compare_prices(&Comparison {
        plans: vec![Plan::Team],
        min_seats: Some(6),
        exclude: vec![Room::Forum],
        ..Comparison::of(Hours::new(3)?)
    });
    let cheapest =
        found.first().map(|row| format!("I recommend {} {}: {}", row.room, row.plan, row.total_cents));
    Ok(vec![
        Claim::equal("(a) a handoff was right", taken.verdict.handoff_was_right(), Some(true)),
        Claim::equal(
            "(a) its need was found in the work",
            taken.verdict.needs.clone(),
            vec![Need::FoundInWork],
        ),
        Claim::equal(
            "(a) before the turn was handed over `book` had failed with slot_taken",
            until,
            &[("book", "slot_taken")],
        ),
        Claim::that(
            "(a) what is recommended is the cheapest that the house has, at its price",
            cheapest.is_some_and(|cheapest| taken.answer.contains(&cheapest)),
        ),
        Claim::that(
            "(a) it is recommended and not booked: the house's bookings are as before",
            taken.kept && taken.booked.is_empty(),
        ),
    ])
}

fn of_conditional(ran: &Scene, under: i64) -> Result<Vec<Claim>, ReservoError> {
    let quoted = Reservo::new(DEMO_NOW).quote(Room::Forum, Plan::Basic, Hours::new(2)?).total_cents;
    let booked: Vec<String> =
        ran.booked.iter().map(|booking| format!("{} {}", booking.id, booking.total_cents)).collect();
    let told = ran.booked.iter().all(|booking| ran.answer.contains(&booking.id.to_string()));
    let (claim, expected) = match quoted.0 < under {
        true => {
            ("(b) the booking stands in the house, at the price quoted", vec![format!("RSV-0001 {quoted}")])
        }
        false => ("(b) the quote is not what was set, and the house has no booking", Vec::new()),
    };
    Ok(vec![
        Claim::equal(claim, booked, expected),
        Claim::that("(b) the answer tells the price, and the booking if there is one", {
            told && ran.answer.contains(&quoted.to_string())
        }),
        Claim::equal(
            "(b) booking_agent did it alone",
            (ran.hops.len(), &*ran.last_agent),
            (0, "booking_agent"),
        ),
        Claim::equal("(b) no handoff was needed", ran.verdict.as_met.pattern, Pattern::SingleAgent),
    ])
}

fn of_two_known(handed: &Scene, at_once: &Scene) -> Result<Vec<Claim>, ReservoError> {
    let house = Facts::of(&demo(), Plan::Pro, Hours::new(4)?);
    let tell = |scene: &Scene| Facts::told(&scene.answer) == house;
    let costs = |scene: &Scene| (scene.model_calls, scene.critical_path);
    Ok(vec![
        Claim::equal("(c) a handoff was not right", handed.verdict.handoff_was_right(), Some(false)),
        Claim::equal("(c) the text called for fan-out", handed.verdict.from_text.pattern, Pattern::FanOut),
        Claim::that("(c) both ways tell the house's prices and its rule", tell(handed) && tell(at_once)),
        Claim::equal("(c) handed on: 4 calls, all in a row", costs(handed), (4, 4)),
        Claim::equal("(c) side by side: 4 calls, 2 in a row", costs(at_once), (4, 2)),
    ])
}

fn of_all(scenes: &[Scene]) -> Vec<Claim> {
    let is_right = |scene: &&Scene| scene.verdict.handoff_was_right() == Some(true);
    let parts: Vec<usize> = scenes.iter().filter(is_right).map(|scene| scene.parts).collect();
    let two = scenes.iter().filter(|scene| scene.parts == 2);
    // Where nothing is booked there is no receipt to tell.
    let unasked = scenes.iter().flat_map(|scene| {
        let is_receipt = scene.name == "on_condition" && scene.booked.is_empty();
        scene
            .unasked
            .iter()
            .filter(move |(agent, turn)| !(is_receipt && agent == "booking_agent" && *turn == 3))
    });
    vec![
        Claim::equal(
            "here no request of two parts was for a handoff, and the one of a single part was",
            (two.filter(is_right).count(), parts),
            (0, vec![1]),
        ),
        Claim::equal(
            "every scripted decision was asked for",
            unasked.collect(),
            Vec::<&(String, usize)>::new(),
        ),
    ]
}
