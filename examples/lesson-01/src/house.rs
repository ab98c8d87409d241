//! What the house's code says of itself.

use reservo::{Hours, Plan, Reservo, ReservoError, Room, SPECIALISTS, Specialist, facts, policy::DocId};
use serde::{Deserialize, Serialize};
use sommelier_handoff::{HANDOFF_TO_SPECIALIST, Relay};
use std::collections::BTreeMap;

/// A specialist, as its definition in the relay says.
#[derive(Serialize)]
pub(crate) struct Desk {
    pub(crate) name: &'static str,
    pub(crate) purpose: &'static str,
    /// Its own tools.
    pub(crate) tools: Vec<String>,
    /// Where its routes lead.
    pub(crate) routes: Vec<String>,
    /// Whom its model may name in a handoff: the enum of the pseudo-tool.
    pub(crate) may_name: Vec<String>,
}

/// The arguments of the pseudo-tool.
#[derive(Deserialize, Serialize)]
pub(crate) struct Schema {
    pub(crate) properties: BTreeMap<String, Property>,
    pub(crate) required: Vec<String>,
    #[serde(rename = "additionalProperties")]
    pub(crate) takes_more: bool,
}

/// One of them.
#[derive(Deserialize, Serialize)]
pub(crate) struct Property {
    #[serde(rename = "enum", default, skip_serializing_if = "Vec::is_empty")]
    legal: Vec<String>,
}

/// What an agent's model is told of handing over.
pub(crate) fn schema(relay: &Relay, agent: &str) -> Result<Schema, String> {
    let definition = relay.agent(agent).ok_or_else(|| format!("there is no {agent}"))?;
    let pseudo = definition.definitions().iter().find(|tool| tool.name.as_str() == HANDOFF_TO_SPECIALIST);
    let pseudo = pseudo.ok_or_else(|| format!("{agent} has nobody to hand over to"))?;
    serde_json::from_str(pseudo.input_schema.get()).map_err(|error| error.to_string())
}

/// The specialists as they are in the relay.
pub(crate) fn desks(relay: &Relay) -> Result<Vec<Desk>, String> {
    let desk = |&Specialist { name, purpose, .. }: &Specialist| {
        let definition = relay.agent(name).ok_or_else(|| format!("there is no {name}"))?;
        let routes = relay.routes().filter(|route| route.from() == name);
        let mut handoff = schema(relay, name)?;
        Ok(Desk {
            name,
            purpose,
            tools: definition.table().names().map(ToString::to_string).collect(),
            routes: routes.map(|route| route.to().to_owned()).collect(),
            may_name: handoff.properties.remove("specialist").map(|who| who.legal).unwrap_or_default(),
        })
    };
    SPECIALISTS.iter().map(desk).collect()
}

/// A quote for Focus for three hours, and what a no-show then costs by the document, for each plan.
pub(crate) fn no_shows(house: &Reservo) -> Result<Vec<(i64, i64)>, ReservoError> {
    let charge = facts::no_show(&house.library.document(DocId::NoShow).text);
    let three = Hours::new(3)?;
    let quotes = Plan::ALL.into_iter().map(|plan| house.quote(Room::Focus, plan, three).total_cents);
    Ok(quotes.filter_map(|quote| Some((quote.0, charge?.of(quote)?.0))).collect())
}
