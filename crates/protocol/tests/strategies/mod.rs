//! Random wire texts, hostile ones among them.

use proptest::collection::vec;
use proptest::prelude::*;
use sommelier_protocol::ContentBlock;

/// Any words: blank ones, control characters and all of Unicode among them.
pub(crate) fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,12}",
        "[ \\t\\n\\x{a0}\\x{2003}]{0,3}",
        "[\\x00-\\x1f\"\\\\/\\x7f]{0,6}",
        vec(any::<char>(), 0..8).prop_map(|chars| chars.into_iter().collect()),
    ]
}

/// Any JSON value, in an odd layout at times.
pub(crate) fn json() -> impl Strategy<Value = String> {
    const FIXED: [&str; 9] = [
        "{}",
        r#"{"room":"Focus","hours":3}"#,
        "{ \"b\": 1.50,\n\t\"a\" : 18446744073709551617 }",
        r#"{"INVALID_JSON":"x"}"#,
        r#"{"a":1,"a":2}"#,
        "[1, [2]]",
        "-0.0e+5",
        "null",
        r#""\ud83d\ude00 \u0000""#,
    ];
    prop_oneof![
        prop::sample::select(&FIXED[..]).prop_map(str::to_owned),
        words().prop_map(|text| quote(&text))
    ]
}

fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a text has a JSON form")
}

/// An object with any of the members that may be missing, in any order, with an unknown member at times.
fn object(
    must: Vec<(&'static str, String)>,
    may: Vec<(&'static str, String)>,
) -> impl Strategy<Value = String> {
    let count = may.len();
    (prop::sample::subsequence(may, 0..=count), prop::option::of(json())).prop_flat_map(
        move |(may, extra)| {
            let members: Vec<_> =
                must.iter().cloned().chain(may).chain(extra.map(|value| ("new", value))).collect();
            (
                prop_oneof![Just(members.clone()), Just(members).prop_shuffle()],
                prop::sample::select(vec![("{", ":", ",", "}"), ("{ ", " : ", "\n,", " }")]),
            )
                .prop_map(|(members, (open, colon, comma, close))| {
                    let members: Vec<String> = members
                        .into_iter()
                        .map(|(name, value)| format!("{}{colon}{value}", quote(name)))
                        .collect();
                    format!("{open}{}{close}", members.join(comma))
                })
        },
    )
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof!["tu_[0-3]", "call_[0-4]", Just(String::new()), words()]
}

/// The JSON text of any block.
pub(crate) fn block_text() -> impl Strategy<Value = String> {
    prop_oneof![
        words().prop_flat_map(|text| object(vec![kind("text"), ("text", quote(&text))], vec![])),
        (id(), prop_oneof!["get_quote", words()], json()).prop_flat_map(|(id, name, input)| {
            object(vec![kind("tool_use"), ("id", quote(&id)), ("name", quote(&name))], vec![("input", input)])
        }),
        result_text(),
        (prop::sample::select(&["thinking", "redacted_thinking"][..]), words()).prop_flat_map(
            |(name, text)| {
                let text = quote(&text);
                let may = vec![("thinking", text.clone()), ("signature", text.clone()), ("data", text)];
                object(vec![kind(name)], may)
            }
        ),
        (prop::sample::select(&OTHERS[..]), json())
            .prop_flat_map(|(name, value)| object(vec![kind(name), ("source", value)], vec![])),
    ]
}

/// Blocks that the crate has no words for.
const OTHERS: [&str; 6] =
    ["image", "document", "server_tool_use", "web_search_tool_result", "container_upload", "from_the_future"];

fn kind(name: &str) -> (&'static str, String) {
    ("type", quote(name))
}

/// The JSON text of any result.
pub(crate) fn result_text() -> impl Strategy<Value = String> {
    let list = vec(
        prop_oneof![
            words().prop_map(|text| format!(r#"{{"type":"text","text":{}}}"#, quote(&text))),
            Just(r#"{"type":"image", "source":{}}"#.to_owned()),
        ],
        0..3,
    );
    let content = prop_oneof![
        words().prop_map(|text| quote(&text)),
        list.prop_map(|blocks| format!("[{}]", blocks.join(" , "))),
        Just("null".to_owned()),
        Just("[7]".to_owned()),
    ];
    (id(), content, prop::sample::select(&["true", "false", "null"][..])).prop_flat_map(
        |(id, content, flag)| {
            let may = vec![("content", content), ("is_error", flag.to_owned())];
            object(vec![kind("tool_result"), ("tool_use_id", quote(&id))], may)
        },
    )
}

/// Any block.
pub(crate) fn block() -> impl Strategy<Value = ContentBlock> {
    block_text().prop_map(|text| serde_json::from_str(&text).expect("a block in some layout"))
}
