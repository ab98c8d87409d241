//! The trade that compares prices.

use serde_json::{Map, Value};
use sommelier_handoff::HandoffPackage;

use super::phrase::{
    condition, hours, list, open_plan, open_room, open_slot, room_plan_hours, still_needed, untestable,
};
use super::seen::{Outcome, Seen};
use super::{Call, Price, Progress, Told, Wanted};
use crate::price::PriceRow;
use crate::reader::Compare;
use crate::{Plan, Room};

/// What a part of a text wants compared, or what is unclear about it.
pub(super) fn wanted(compare: &Compare) -> Result<Wanted, String> {
    let unclear = [
        Some(&compare.unclear_room).filter(|room| !room.is_missing()).and_then(open_room),
        Some(&compare.unclear_plan).filter(|plan| !plan.is_missing()).and_then(open_plan),
        Some(&compare.hours)
            .filter(|count| !count.is_missing())
            .and_then(|found| open_slot("number of whole hours", "", found)),
        Some(&compare.people)
            .filter(|count| !count.is_missing())
            .and_then(|found| open_slot("number of people", "", found)),
        untestable(&compare.condition)
            .map(|raw| format!("another condition than {raw}, which I cannot check")),
    ];
    let unclear: Vec<String> = unclear.into_iter().flatten().collect();
    if !unclear.is_empty() {
        return Err(still_needed("For a comparison", &unclear));
    }
    Ok(Wanted {
        hours: compare.hours.given().copied(),
        rooms: compare.rooms.clone(),
        plans: compare.plans.clone(),
        pairs: compare.pairs.clone(),
        min_seats: compare.people.given().copied(),
        exclude: compare.exclude.clone(),
        condition: compare.condition.given().copied(),
    })
}

pub(super) fn compare(wanted: &Wanted, seen: &Seen<'_>) -> Progress {
    let told = |text: String| Progress::Told(Told::say(text));
    let rooms: Vec<Room> = Room::ALL
        .into_iter()
        .filter(|room| wanted.rooms.is_empty() || wanted.rooms.contains(room))
        .filter(|room| !wanted.exclude.contains(room))
        .collect();
    if rooms.is_empty() {
        return told("No room is left to compare.".to_owned());
    }
    // The rows carry the rate of an hour, so without a length that is what is compared.
    let count = wanted.hours.unwrap_or(1);
    let mut arguments = format!(r#"{{"hours":{count}"#);
    if rooms.len() < Room::ALL.len() {
        arguments.push_str(&format!(r#","rooms":[{}]"#, names(&rooms)));
    }
    if !wanted.plans.is_empty() {
        arguments.push_str(&format!(r#","plans":[{}]"#, names(&wanted.plans)));
    }
    if let Some(seats) = wanted.min_seats {
        arguments.push_str(&format!(r#","min_seats":{seats}"#));
    }
    arguments.push('}');
    match seen.outcome::<Vec<PriceRow>>("compare_prices", &arguments) {
        None => Progress::Call(Call::look("compare_prices", arguments)),
        Some(Outcome::Worked(mut rows)) => {
            rows.retain(|row| wanted.pairs.is_empty() || wanted.pairs.contains(&(row.room, row.plan)));
            let found = cheapest(wanted, &rows);
            Progress::Told(Told { text: recommend(wanted, &rows), found, ..Told::default() })
        }
        Some(Outcome::Failed(failure)) if failure.code() == "hours_out_of_range" => {
            let number =
                |member: &str| failure.number(member).map(|number| number.to_string()).unwrap_or_default();
            told(format!(
                "I cannot compare prices for {}: {} to {} are possible.",
                hours(number("value")),
                number("min"),
                hours(number("max"))
            ))
        }
        Some(Outcome::Failed(failure)) => told(format!("I cannot compare: {}.", failure.message())),
    }
}

/// Whether a row may be recommended.
fn fits(wanted: &Wanted, row: &PriceRow) -> bool {
    wanted.condition.is_none_or(|wanted| wanted.holds(row.total_cents))
}

/// The price of what is cheapest, if it is one and its length is known.
fn cheapest(wanted: &Wanted, rows: &[PriceRow]) -> Option<Price> {
    let count = wanted.hours?;
    let mut fitting = rows.iter().filter(|row| fits(wanted, row));
    let first = fitting.next()?;
    let is_alone = fitting.all(|row| row.total_cents > first.total_cents);
    let of = room_plan_hours(first.room, first.plan, count);
    is_alone.then_some(Price { of, total_cents: first.total_cents })
}

fn recommend(wanted: &Wanted, rows: &[PriceRow]) -> String {
    let for_people = wanted.min_seats.map(|seats| format!(" for {seats} people")).unwrap_or_default();
    if rows.is_empty() {
        let other = match &wanted.exclude[..] {
            [] => String::new(),
            excluded => format!(" other than {}", list(excluded, "and")),
        };
        return format!("No room{other} is large enough{for_people}.");
    }
    let amount = |row: &PriceRow| {
        if wanted.hours.is_some() {
            format!("{}", row.total_cents)
        } else {
            format!("{} per hour", row.rate_cents_per_hour)
        }
    };
    let how_long = wanted.hours.map(|count| format!(" for {}", hours(count))).unwrap_or_default();
    let fitting: Vec<&PriceRow> = rows.iter().filter(|row| fits(wanted, row)).collect();
    let (Some(cheapest), Some(overall)) = (fitting.first(), rows.first()) else {
        let limit = wanted.condition.map(condition).unwrap_or_default();
        let least = rows
            .first()
            .map(|row| format!("; the cheapest is {} {} with {}", row.room, row.plan, amount(row)));
        return format!("Nothing{for_people}{how_long} is {limit}{}.", least.unwrap_or_default());
    };
    let mut text = String::new();
    if fitting.len() > 1 {
        let all: Vec<String> =
            fitting.iter().map(|row| format!("{} {} {}", row.room, row.plan, amount(row))).collect();
        let limit = wanted.condition.map(|wanted| format!(", {}", condition(wanted))).unwrap_or_default();
        text.push_str(&format!("Prices{for_people}{how_long}{limit}: {}. ", list(&all, "and")));
    }
    let same: Vec<String> = fitting
        .iter()
        .filter(|row| row.total_cents == cheapest.total_cents)
        .map(|row| format!("{} {}", row.room, row.plan))
        .collect();
    let what =
        if overall.total_cents == cheapest.total_cents { "the cheapest" } else { "the cheapest that fits" };
    text.push_str(&format!(
        "I recommend {}{} with {}, {what}; nothing is booked by that.",
        list(&same, "or"),
        if fitting.len() > 1 { String::new() } else { format!("{for_people}{how_long}") },
        amount(cheapest),
    ));
    text
}

fn names(items: &[impl std::fmt::Display]) -> String {
    items.iter().map(|item| format!("\"{item}\"")).collect::<Vec<_>>().join(",")
}

impl Wanted {
    /// The comparison as an order, complete in itself.
    pub(super) fn task(&self) -> String {
        let one_plan = self.plans.len() == 1;
        let plans =
            if self.plans.is_empty() { String::new() } else { format!(" {}", list(&self.plans, "and")) };
        let rooms =
            if self.rooms.is_empty() { String::new() } else { format!(" of {}", list(&self.rooms, "and")) };
        let length = self.hours.map(|count| format!(" for {}", hours(count))).unwrap_or_default();
        let people = self.min_seats.map(|seats| format!(" for {seats} people")).unwrap_or_default();
        let except: String = self.exclude.iter().map(|room| format!(" except {room}")).collect();
        let limit = self.condition.map(|wanted| format!(", {}", condition(wanted))).unwrap_or_default();
        if !self.pairs.is_empty() {
            let pairs: Vec<String> = self.pairs.iter().map(|(room, plan)| format!("{room} {plan}")).collect();
            return format!("Compare prices of {}{length}{people}{limit}.", list(&pairs, "and"));
        }
        if self.rooms.is_empty() && self.min_seats.is_some() && one_plan {
            return format!("Which{plans} room is cheapest{length}{people}{except}{limit}?");
        }
        format!("Compare{plans} prices{rooms}{length}{people}{except}{limit}.")
    }

    /// The values of the comparison, for the context of a package.
    pub(super) fn context(&self) -> Map<String, Value> {
        let mut context = Map::new();
        let mut set = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                context.insert(key.to_owned(), value);
            }
        };
        set("hours", self.hours.map(Value::from));
        set("min_seats", self.min_seats.map(Value::from));
        // Pairs of a room and a plan stand in the task alone.
        if self.pairs.is_empty() {
            set("plan", several(&self.plans));
            set("room", several(&self.rooms));
        }
        set("exclude", several(&self.exclude));
        context
    }

    /// Puts the values of a package's context in the place of what was read from its task.
    pub(super) fn settle(&mut self, package: &HandoffPackage) {
        let value = |key: &str| -> Option<Value> {
            package.context_value(key).and_then(|value| serde_json::from_str(&value.to_string()).ok())
        };
        if let Some(count) = value("hours").as_ref().and_then(Value::as_i64) {
            self.hours = Some(count);
        }
        if let Some(seats) = value("min_seats").as_ref().and_then(Value::as_u64) {
            self.min_seats = u32::try_from(seats).ok();
        }
        if let Some(plans) = value("plan").map(texts) {
            self.plans = plans.iter().filter_map(|name| name.parse::<Plan>().ok()).collect();
        }
        if let Some(rooms) = value("room").map(texts) {
            self.rooms = rooms.iter().filter_map(|name| name.parse::<Room>().ok()).collect();
        }
        if let Some(rooms) = value("exclude").map(texts) {
            self.exclude = rooms.iter().filter_map(|name| name.parse::<Room>().ok()).collect();
        }
    }
}

/// One name as a text, several as a list.
fn several(items: &[impl std::fmt::Display]) -> Option<Value> {
    match items {
        [] => None,
        [one] => Some(one.to_string().into()),
        many => Some(many.iter().map(ToString::to_string).collect::<Vec<_>>().into()),
    }
}

fn texts(value: Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => {
            items.into_iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}
