//! A house whose routes take references, and what its agents write.

use super::{Nothing, Session, Turn, agent, calls};
use sommelier_handoff::{Agent, Artifact, ArtifactValue, READ_ARTIFACT, Relay, Route};
use sommelier_protocol::RawJson;
use sommelier_runtime::Tool;
use sommelier_runtime::tool::{CallContext, Failure};

/// A tool that brings this JSON.
pub(crate) fn brings(name: &str, json: impl Into<String>) -> Tool {
    let json = json.into();
    Tool::new(name, "Brings it.", move |_: Nothing, _: &CallContext<'_>| {
        Ok::<_, Failure>(RawJson::parse(&json).unwrap())
    })
}

/// A report of more bytes than stand inline, with a word that is nowhere else.
pub(crate) fn report() -> String {
    format!(r#"{{"marker":"xyzzy","lines":"{}"}}"#, "x".repeat(600))
}

/// What stands in a package for the [`report`].
pub(crate) const REFERENCE: &str = r#"{"$artifact":"report","version":1,"at":1002,"bytes":629}"#;

pub(crate) fn clerk() -> Agent {
    let message = r#"[{"role":"user","content":"hello"}]"#;
    let lure = r#"{"$artifact":"secret"}"#;
    let tools = [
        ("get_order", r#"{"id":"A-7","cents":6000}"#.to_owned()),
        ("get_report", report()),
        ("get_messages", message.to_owned()),
        ("get_lure", lure.to_owned()),
        ("get_text", format!(r#""{}\u0007""#, "y".repeat(600))),
        ("get_huge", format!(r#""{}""#, "z".repeat(250 * 1024))),
    ];
    agent("clerk").tools(tools.map(|(name, json)| brings(name, json)))
}

/// Clerk hands to desk, desk to boss, boss to clerk; all take references.
pub(crate) fn routed(change: impl Fn(Route) -> Route) -> Relay {
    let builder = Relay::builder().agent(clerk()).agent(agent("desk")).agent(agent("boss")).entry("clerk");
    let routes = [("clerk", "desk"), ("desk", "boss"), ("boss", "clerk")];
    let routes = routes.map(|(from, to)| change(Route::new(from, to).references()));
    routes.into_iter().fold(builder, |builder, route| builder.route_with(route)).build().unwrap()
}

pub(crate) fn house() -> Relay {
    routed(|route| route)
}

/// A handoff to `to` with these artifacts.
pub(crate) fn with(to: &str, artifacts: &str) -> (&'static str, String) {
    let arguments =
        format!(r#"{{"specialist":"{to}","task":"Go on.","context":{{}},"artifacts":{artifacts}}}"#);
    ("handoff_to_specialist", arguments)
}

pub(crate) fn reads(arguments: &str) -> Turn {
    calls([(READ_ARTIFACT, arguments.to_owned())])
}

pub(crate) fn of(tool: &str) -> String {
    format!(r#"{{"$result_of":"{tool}"}}"#)
}

/// The artifacts of the nth package that was handed over.
#[track_caller]
pub(crate) fn crossed(session: &Session<'_>, n: usize) -> String {
    let package = session.run().trail().taken().nth(n).unwrap().package.as_ref().unwrap();
    serde_json::to_string(package.artifacts()).unwrap()
}

pub(crate) fn entry(name: &str, version: u32, at: u64, by: Option<&str>, value: &str) -> Artifact {
    let value = serde_json::from_str(value).unwrap();
    let by = by.map(super::name);
    Artifact { name: name.into(), version, at, by, value: ArtifactValue::Json(value) }
}
