//! The decisions that models would make, each a function of what the agent has before it.

use reservo::reader::{Intent, Request, read};
use reservo::{Cents, DEMO_NOW, Entry, Room};
use serde_json::{Value, json};
use sommelier_handoff::HANDOFF_TO_SPECIALIST;
use sommelier_protocol::{ModelRequest, ModelResponse, System};
use sommelier_runtime::{ScriptedModel, script};

/// The room is booked; if it is taken, somebody who compares prices is asked for another.
pub(crate) fn book_or_ask_for_another() -> ScriptedModel {
    ScriptedModel::new()
        .turn("booking_agent", |request| book(request, &order(request)))
        .turn("booking_agent", |request| match result(request)["error"].as_str() {
            Some("slot_taken") => ask_for_another(request),
            _ => receipt(request),
        })
        .turn("pricing_agent", compare_what_was_handed)
        .turn("pricing_agent", recommend)
}

/// The room is quoted, and booked if the quote meets the condition.
pub(crate) fn book_on_condition() -> ScriptedModel {
    ScriptedModel::new()
        .turn("booking_agent", |request| {
            let Request { room, plan, hours, .. } = order(request);
            let wanted = json!({ "room": room.given(), "plan": plan.given(), "hours": hours.given() });
            call(request, "get_quote", &wanted)
        })
        .turn("booking_agent", |request| {
            let (order, quote) = (order(request), result(request));
            let total = Cents(quote["total_cents"].as_i64().unwrap_or_default());
            if order.condition.given().is_some_and(|condition| condition.holds(total)) {
                return book(request, &order);
            }
            let [room, plan] = ["room", "plan"].map(|name| text(&quote[name]));
            script::say(format!(
                "{room} {plan} costs {total}. That is not what you set, so nothing was booked."
            ))
        })
        .turn("booking_agent", receipt)
}

/// The prices are compared, and whoever knows the rules gets the turn for the other half.
pub(crate) fn compare_and_hand_over() -> ScriptedModel {
    ScriptedModel::new()
        .turn("pricing_agent", compare)
        .turn("pricing_agent", |request| {
            let package = json!({
                "specialist": "policy_agent",
                "task": part(script::first_words(request), Entry::Policy),
                "context": { "prices": prices(&result(request)) },
            });
            call(request, HANDOFF_TO_SPECIALIST, &package)
        })
        .turn("policy_agent", search)
        .turn("policy_agent", |request| {
            let prices = &package(request)["context"]["prices"];
            script::say(format!("{}\n{}", text(prices), rule(&result(request))))
        })
}

/// Each of the two answers what it was asked.
pub(crate) fn side_by_side() -> ScriptedModel {
    ScriptedModel::new()
        .turn("pricing_agent", compare)
        .turn("pricing_agent", |request| script::say(prices(&result(request))))
        .turn("policy_agent", search)
        .turn("policy_agent", |request| script::say(rule(&result(request))))
}

/// The part of a text that is a desk's, in the user's words.
pub(crate) fn part(words: &str, desk: Entry) -> String {
    let parts = read(words, DEMO_NOW).parts;
    let found = parts.iter().find(|part| part.intent.desk() == Some(desk));
    let found = found.map_or(words, |part| part.span.of(words));
    found.strip_prefix("and ").unwrap_or(found).to_owned()
}

/// Books what the text says.
fn book(request: &ModelRequest<'_>, order: &Request) -> ModelResponse {
    let wanted = json!({
        "room": order.room.given(),
        "plan": order.plan.given(),
        "date": order.date.given(),
        "start_hour": order.start_hour.given(),
        "hours": order.hours.given(),
    });
    call(request, "book", &wanted)
}

fn receipt(request: &ModelRequest<'_>) -> ModelResponse {
    let receipt = result(request);
    script::say(match receipt["booking_id"].as_str() {
        Some(id) => format!("Booked as {id}, for {} cents.", receipt["total_cents"]),
        None => format!("Nothing was booked: {}.", text(&receipt["error"])),
    })
}

/// The room is taken, which nobody knew before: the turn goes to whoever can find another.
fn ask_for_another(request: &ModelRequest<'_>) -> ModelResponse {
    let (taken, order) = (result(request), order(request));
    let (hours, room) = (&taken["hours"], text(&taken["room"]));
    let (Some(plan), Some(people)) = (order.plan.given(), order.people.given()) else {
        return receipt(request);
    };
    let [from, until] = ["taken_from", "taken_to"].map(|name| text(&taken[name]).replace('T', " "));
    let package = json!({
        "specialist": "pricing_agent",
        "task": format!(
            "Which {plan} room is the cheapest for {hours} hours, for {people} people, other than {room}?"
        ),
        "context": { "hours": hours, "plan": plan, "min_seats": people, "exclude": room },
        "completed_steps": [format!("{room} is taken from {from} to {until}; nothing is booked.")],
    });
    call(request, HANDOFF_TO_SPECIALIST, &package)
}

fn compare_what_was_handed(request: &ModelRequest<'_>) -> ModelResponse {
    let context = &package(request)["context"];
    let rooms: Vec<Room> =
        Room::ALL.into_iter().filter(|room| room.name() != text(&context["exclude"])).collect();
    let wanted = json!({
        "hours": context["hours"],
        "rooms": rooms,
        "plans": [context["plan"]],
        "min_seats": context["min_seats"],
    });
    call(request, "compare_prices", &wanted)
}

fn recommend(request: &ModelRequest<'_>) -> ModelResponse {
    let (package, rows) = (package(request), result(request));
    let (found, cheapest) = (text(&package["completed_steps"][0]), &rows[0]);
    let [room, plan] = ["room", "plan"].map(|name| text(&cheapest[name]));
    let (hours, cents) = (&cheapest["hours"], &cheapest["total_cents"]);
    script::say(format!("{found} I recommend {room} {plan}: {cents} cents for {hours} hours."))
}

fn compare(request: &ModelRequest<'_>) -> ModelResponse {
    let parts = read(&task(request), DEMO_NOW).parts;
    let found = parts.into_iter().find_map(|part| match part.intent {
        Intent::Compare(wanted) => Some(wanted),
        _ => None,
    });
    let wanted = found.unwrap_or_default();
    call(request, "compare_prices", &json!({ "hours": wanted.hours.given(), "plans": wanted.plans }))
}

fn search(request: &ModelRequest<'_>) -> ModelResponse {
    call(request, "search_docs", &json!({ "query": task(request) }))
}

/// The rows of a comparison in a sentence.
fn prices(rows: &Value) -> String {
    let (hours, plan) = (&rows[0]["hours"], text(&rows[0]["plan"]));
    let each = rows.as_array().into_iter().flatten();
    let each: Vec<String> =
        each.map(|row| format!("{} {} cents", text(&row["room"]), row["total_cents"])).collect();
    format!("On {plan} for {hours} hours: {}.", each.join(", "))
}

/// The best document of a search, with its id.
fn rule(hits: &Value) -> String {
    format!("{} [{}]", text(&hits[0]["text"]), text(&hits[0]["doc_id"]))
}

/// What the text orders, with "tomorrow" counted from the day that the instructions tell.
fn order(request: &ModelRequest<'_>) -> Request {
    let instructions = match request.system.as_deref() {
        Some(System::Text(text)) => text,
        _ => "",
    };
    let now = instructions.rsplit_once("Now: ").and_then(|(_, now)| now.trim().parse().ok());
    let parts = read(script::first_words(request), now.unwrap_or(DEMO_NOW)).parts;
    let found = parts.into_iter().find_map(|part| match part.intent {
        Intent::Book(order) => Some(order),
        _ => None,
    });
    found.unwrap_or_default()
}

/// What is to be done: the task of the package if there is one, or else the user's words.
fn task(request: &ModelRequest<'_>) -> String {
    package(request)["task"].as_str().unwrap_or(script::first_words(request)).to_owned()
}

/// The package that the agent was handed; null when there is none.
fn package(request: &ModelRequest<'_>) -> Value {
    let line = script::first_words(request).lines().find(|line| line.starts_with('{'));
    line.and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default()
}

fn result(request: &ModelRequest<'_>) -> Value {
    serde_json::from_str(&script::last_result(request)).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn call(request: &ModelRequest<'_>, tool: &str, arguments: &Value) -> ModelResponse {
    script::call(&format!("tu_{}", request.replies + 1), tool, &arguments.to_string())
}
