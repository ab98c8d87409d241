//! Only the house: quote, book, cancel and look a rule up, without any agent or model.
//!
//! Run it with `cargo run -p reservo --example alone`.

use reservo::booking::{BookingRequest, Customer};
use reservo::{Cents, Hours, Plan, Room, demo, facts};
use std::error::Error;

#[cfg_attr(test, test)]
fn main() -> Result<(), Box<dyn Error>> {
    let house = demo();
    println!("It is {}.", house.now);

    let quote = house.quote(Room::Focus, Plan::Pro, Hours::new(3)?);
    println!("Focus on pro for 3 hours costs {} cents.", quote.total_cents.0);

    let request = BookingRequest {
        room: Room::Focus,
        plan: Plan::Pro,
        date: "2026-12-01".parse()?,
        start_hour: 9,
        hours: Hours::new(3)?,
        customer: Customer::new("Ada")?,
    };
    let booking = house.book(request, &"first".into())?;
    let receipt = house.cancel(booking.id, &"second".into())?;
    println!("{} was booked and cancelled; {} cents are refunded.", booking.id, receipt.refund_cents.0);

    let hits = house.search_docs("what if the customer does not show up");
    let hit = hits.first().ok_or("there is a document on no-shows")?;
    let charge = facts::no_show(&hit.text).and_then(|charge| charge.of(quote.total_cents));
    println!("{}: {}", hit.doc_id, hit.text);

    assert_eq!(
        (quote.total_cents, receipt.refund_cents, charge),
        (Cents(6000), Cents(3000), Some(Cents(6500)))
    );
    Ok(())
}
