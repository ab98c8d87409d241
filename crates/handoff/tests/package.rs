//! What crosses: the package as it is written, and what a policy makes of it.

mod harness;

use harness::{errors, pair, pair_with, read, ruling};
use sommelier_handoff::{HandoffPackage, Json, PackageError, PackagePolicy, Refusal, Section, law};

const QUESTION: &str = "What happens if the customer does not show up for the booking?";

fn over(cap: &str, found: usize, most: usize) -> PackageError {
    PackageError::OverCap { cap: cap.to_owned(), found, most }
}

/// S0-04, R1, and the bytes of 5.4: the minimal package is literally its two members.
#[test]
fn the_minimal_package_is_a_task_and_its_context() {
    let minimal = HandoffPackage::new(QUESTION).context("quoted_cents", &6000).unwrap();
    let json = r#"{"task":"What happens if the customer does not show up for the booking?","context":{"quoted_cents":6000}}"#;
    assert_eq!((minimal.to_json().as_str(), minimal.bytes()), (json, 105));
    assert_eq!(read(json), minimal);
    let fuller = HandoffPackage::new(QUESTION)
        .context("room", "Focus")
        .and_then(|package| package.context("plan", "pro"))
        .and_then(|package| package.context("hours", &3))
        .and_then(|package| package.context("quoted_cents", &6000));
    assert_eq!(fuller.unwrap().bytes(), 143);
}

/// R1: the optional sections stand in their order, and only those that hold something.
#[test]
fn empty_sections_are_left_out() {
    let package = HandoffPackage::new("t")
        .open_item("o")
        .artifact("a", &[1])
        .unwrap()
        .completed_step("done")
        .constraint("c");
    let json = r#"{"task":"t","context":{},"constraints":["c"],"completed_steps":["done"],"open_items":["o"],"artifacts":{"a":[1]}}"#;
    assert_eq!(package.to_json(), json);
    let empty =
        r#"{"artifacts":{},"open_items":[],"completed_steps":[],"constraints":[],"context":{},"task":"t"}"#;
    assert_eq!(read(empty), HandoffPackage::new("t"));
    assert_eq!(read(empty).to_json(), r#"{"task":"t","context":{}}"#);
    assert_eq!(read(json), package);
}

#[test]
fn the_order_of_members_and_the_text_of_numbers_are_kept() {
    let json = r#"{"task":"t","context":{"z":1.10,"a":1e3,"m":{"y":-0.0,"b":100000000000000000}}}"#;
    let package = read(json);
    assert_eq!(package.to_json(), json);
    let keys: Vec<&str> = package.context_fields().iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["z", "a", "m"]);
    let again: HandoffPackage = serde_json::from_str(&serde_json::to_string(&package).unwrap()).unwrap();
    assert_eq!(again, package);
}

/// C169.
#[test]
fn nested_data_crosses_unchanged() {
    let context = r#"{"a":{"b":{"c":{"d":{"e":[],"f":{},"g":null,"h":[[1,"x",true,false]]}}}}}"#;
    let json = format!(r#"{{"task":"t","context":{context}}}"#);
    assert_eq!(read(&json).to_json(), json);
    let arguments = json.replacen('{', r#"{"specialist":"policy_agent","#, 1);
    let relay = pair();
    assert_eq!(ruling(&relay, &arguments), None);
    let built = HandoffPackage::new("t").context("a", &read(&json).context_value("a").cloned()).unwrap();
    assert_eq!(built.to_json(), json);
}

/// C170: text goes as it is, and its bytes are counted as they are.
#[test]
fn text_of_any_script_crosses_as_it_is() {
    let text = "预订退款 🛋️ حجز הזמנה Stühle ".repeat(200);
    let value = &text[..text.char_indices().nth(5000).map_or(text.len(), |(at, _)| at)];
    let context: Vec<String> =
        ["a", "b", "c", "d", "e"].iter().map(|key| format!(r#""{key}":"{value}""#)).collect();
    let json = format!(r#"{{"task":"答えて","context":{{{}}}}}"#, context.join(","));
    assert!((40_000..law::PACKAGE_BYTES).contains(&json.len()), "{}", json.len());
    let package = read(&json);
    assert_eq!((package.to_json(), package.bytes()), (json.clone(), json.len()));

    let arguments = json.replacen('{', r#"{"specialist":"policy_agent","#, 1);
    let allows = |most| pair_with(|route| route.policy(PackagePolicy::minimal().package_bytes(most)));
    assert_eq!(ruling(&allows(json.len()), &arguments), None);
    // One byte over the cap: refused as it is, never cut.
    let errors = vec![over("bytes of the package", json.len(), json.len() - 1)];
    assert_eq!(ruling(&allows(json.len() - 1), &arguments), Some(Refusal::InvalidPackage { errors }));
    let errors = vec![over("bytes of the package", json.len(), 2048)];
    assert_eq!(ruling(&pair(), &arguments), Some(Refusal::InvalidPackage { errors }));
}

/// C170: what the receiver is sent is not escaped either.
#[test]
fn the_receiver_is_sent_raw_text() {
    let relay = pair();
    let model = harness::script([
        ("booking_agent", harness::hands(harness::to("policy_agent", "退款吗？ 🛋️"))),
        ("policy_agent", harness::says("Ja.")),
    ]);
    let session = harness::Session::new(&relay, &model).say("hello");
    assert!(session.request("policy_agent", 0).json.contains("退款吗？ 🛋️"));
}

/// S1-11 as the strict policy: nothing blank, something open.
#[test]
fn the_strict_policy_wants_something_open() {
    let strict = PackagePolicy::strict();
    let blank = PackageError::Blank { field: "task".to_owned() };
    let missing = |field: &str| PackageError::Missing { field: field.to_owned() };
    assert_eq!(HandoffPackage::new(" \n").validate(&strict), [blank.clone(), missing("open_items")]);
    assert_eq!(HandoffPackage::new("t").open_item("tell the fee").validate(&strict), []);
    let all = [
        Section::Context,
        Section::Constraints,
        Section::CompletedSteps,
        Section::OpenItems,
        Section::Artifacts,
    ];
    let demanding = all.into_iter().fold(PackagePolicy::minimal(), PackagePolicy::require);
    let names = ["context", "constraints", "completed_steps", "open_items", "artifacts"];
    assert_eq!(HandoffPackage::new("t").validate(&demanding), names.map(missing));
    assert_eq!(HandoffPackage::new("").validate(&PackagePolicy::minimal()), [blank]);
}

/// 5.4-L04: each cap of the minimal policy, just inside and one over, with the cap and the size named.
#[test]
fn each_cap_is_told_with_the_size_found() {
    let task = |n: usize| format!(r#"{{"task":"{}","context":{{}}}}"#, "ä".repeat(n / 2));
    assert_eq!(errors(&task(500)), []);
    assert_eq!(errors(&task(502)), [over("bytes of the task", 502, 500)]);

    let keys = |n: usize| {
        let members: Vec<String> = (0..n).map(|n| format!(r#""k{n}":{n}"#)).collect();
        format!(r#"{{"task":"t","context":{{{}}}}}"#, members.join(","))
    };
    assert_eq!(errors(&keys(16)), []);
    assert_eq!(errors(&keys(17)), [over("values of the context", 17, 16)]);

    let bytes = |n: usize| format!(r#"{{"task":"t","context":{{"x":"{}"}}}}"#, "x".repeat(n - 31));
    assert_eq!((bytes(2048).len(), errors(&bytes(2048))), (2048, vec![]));
    assert_eq!(errors(&bytes(2049)), [over("bytes of the package", 2049, 2048)]);

    let deep =
        |n: usize| format!(r#"{{"task":"t","context":{{"x":{}{}}}}}"#, "[".repeat(n - 2), "]".repeat(n - 2));
    assert_eq!(errors(&deep(8)), []);
    assert_eq!(errors(&deep(9)), [over("depth of the package", 9, 8)]);

    assert_eq!(over("bytes of the task", 502, 500).to_string(), "bytes of the task: 502, at most 500");
    let all = format!(
        r#"{{"task":"{}","context":{{"x":{}{},"y":"{}"}}}}"#,
        "t".repeat(501),
        "[".repeat(7),
        "]".repeat(7),
        "y".repeat(2000)
    );
    let told = errors(&all);
    assert_eq!(
        told,
        [
            over("bytes of the task", 501, 500),
            over("bytes of the package", all.len(), 2048),
            over("depth of the package", 9, 8)
        ]
    );
}

#[test]
fn bytes_are_those_of_compact_json() {
    let spaced = "{ \"task\" : \"t\" ,\n \"context\" : { \"x\" : [ 1 , 2 ] } }";
    assert_eq!(read(spaced).to_json(), r#"{"task":"t","context":{"x":[1,2]}}"#);
    assert_eq!(read(spaced).bytes(), 34);
    assert_eq!(read(r#"{"task":"\u00e4\/","context":{}}"#).to_json(), r#"{"task":"ä/","context":{}}"#);
}

#[test]
fn values_are_read_by_their_kind() {
    let package = read(r#"{"task":"t","context":{"n":6000,"s":"Focus","f":1.5,"o":{"k":1}}}"#);
    let number = |key| package.context_value(key).and_then(Json::as_i64);
    let text = |key| package.context_value(key).and_then(Json::as_str);
    assert_eq!((number("n"), number("f"), number("s"), number("gone")), (Some(6000), None, None, None));
    assert_eq!((text("s"), text("n"), text("o")), (Some("Focus"), None, None));
}
