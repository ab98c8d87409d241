//! The file: what is written can be read and is the same again, and what is no cassette is told by its place.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod harness;

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use harness::{desk, recorder, run};
use proptest::prelude::*;
use reservo::case::{REQUEST, decisions};
use serde_json::{Value, json};
use sommelier_cassette::{Cassette, CassetteError, MAX_BYTES, Player, Recorder, Redactor};
use sommelier_protocol::{ContentBlock, Message, ModelRequest, ModelResponse, StopReason, ToolUse};
use sommelier_runtime::{Model, ModelError, ScriptedModel, script};

/// A cassette of one exchange, with a change.
fn changed(change: impl FnOnce(&mut Value)) -> String {
    let mut whole = json!({
        "cassette": 1,
        "exchanges": [{
            "run": "1",
            "caller": "clerk",
            "turn": 1,
            "request": {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hello"}]},
            "reply": {"model": "m", "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"},
        }],
    });
    change(&mut whole);
    whole.to_string()
}

/// A person's mistake is told by its place, with what would be right there.
#[test]
fn what_is_no_cassette_is_told_by_its_place() {
    let check = |change: &dyn Fn(&mut Value), expected: &str| {
        let error = Cassette::from_json(&changed(change)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    assert_eq!(Cassette::from_json(&changed(|_| {})).unwrap().exchanges().len(), 1);
    check(&|of| *of = json!([]), "the cassette has a list at `.`, where an object belongs");
    check(&|of| *of = json!({}), "the cassette has nothing at `cassette`, where a member belongs");
    check(
        &|of| of["cassette"] = json!("1"),
        "the cassette has \"1\" at `cassette`, where the version 1 belongs",
    );
    check(
        &|of| of["cassette"] = json!(2),
        "the cassette has version 2, and this release reads version 1; record it anew, or read it with the release \
         that wrote it",
    );
    check(
        &|of| of["exchange"] = json!([]),
        "the cassette has a member of another name at `exchange`, where one of cassette, recorded_from, exchanges belongs",
    );
    check(
        &|of| of["exchanges"] = json!({}),
        "the cassette has an object at `exchanges`, where a list belongs",
    );
    check(
        &|of| of["exchanges"][0] = json!(7),
        "the cassette has 7 at `exchanges[0]`, where an object belongs",
    );
    check(
        &|of| of["recorded_from"] = json!({"provider": 1}),
        "the cassette has 1 at `recorded_from.provider`, where a text belongs",
    );
    check(
        &|of| of["exchanges"][0]["run"] = json!("1/2"),
        "the cassette has \"1/2\" at `exchanges[0].run`, where the number of a conversation and the path of a branch, such as \
         \"1\" or \"1/1/3/0\" belongs",
    );
    check(
        &|of| of["exchanges"][0]["turn"] = json!(0),
        "the cassette has 0 at `exchanges[0].turn`, where a number from 1 on belongs",
    );
    check(
        &|of| of["exchanges"][0]["keeps"] = json!(1),
        "the cassette has 1 at `exchanges[0].keeps`, where how many of the 0 message(s) so far the request keeps belongs",
    );
    check(
        &|of| of["exchanges"][0]["request"] = json!("hello"),
        "the cassette has \"hello\" at `exchanges[0].request`, where an object of what is new in the request belongs",
    );
    check(
        &|of| of["exchanges"][0]["request"]["messages"] = json!("hello"),
        "the cassette has \"hello\" at `exchanges[0].request.messages`, where a list belongs",
    );
    check(
        &|of| of["exchanges"][0]["error"] = json!("Panicked"),
        "the cassette has \"Panicked\" at `exchanges[0].error`, where no `error` beside a `reply` belongs",
    );
    check(
        &|of| drop(of["exchanges"][0].as_object_mut().unwrap().remove("reply")),
        "the cassette has an object at `exchanges[0]`, where an exchange with either a `reply` or an `error` belongs",
    );
    check(
        &|of| of["exchanges"][0]["reply"]["content"] = json!("Hi."),
        "the cassette has an object that is none (invalid type: string \"Hi.\", expected a sequence) at `exchanges[0].reply`, \
         where a reply as the Messages API sends it belongs",
    );
    check(
        &|of| {
            of["exchanges"][0].as_object_mut().unwrap().remove("reply");
            of["exchanges"][0]["error"] = json!({"Service": {"detail": "?"}});
        },
        "the cassette has an object that is none (missing field `status`) at `exchanges[0].error`, where an error of a model \
         belongs",
    );
}

/// A text that is no JSON, is cut, names a member twice, is nested too deeply or is too large.
#[test]
fn what_is_no_json_is_told() {
    let told = |json: &str| Cassette::from_json(json).unwrap_err().to_string();
    assert_eq!(told(""), "the cassette is no JSON: EOF while parsing a value at line 1 column 0");
    assert_eq!(
        told("{\n\"cassette\": 1"),
        "the cassette is no JSON: EOF while parsing an object at line 2 column 13"
    );
    assert_eq!(
        told(r#"{"cassette":1,"exchanges":[],"exchanges":[]}"#),
        "the cassette has a second one at `exchanges`, where one member of this name belongs"
    );
    let deep = format!(r#"{{"cassette":1,"exchanges":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(told(&deep), "the cassette is no JSON: it is nested more than 208 deep");
    assert_eq!(
        told(&" ".repeat(MAX_BYTES + 1)),
        "the cassette has more than 67108864 bytes; record fewer runs in one"
    );
    // A short file whose requests together would be without end.
    let more = r#"{"run":"1","caller":"a","turn":1,"request":{"messages":[1,1,1,1]},"error":"Panicked"}"#;
    let long = format!(r#"{{"cassette":1,"exchanges":[{}]}}"#, vec![more; 2000].join(","));
    assert_eq!(
        told(&long),
        "the requests of the cassette have more than 4194304 messages and settings together; record fewer turns in one"
    );
}

/// A folder of its own, which is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("cassette-{name}-{}", std::process::id()));
        // A process of this number may have been killed here before.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let names =
            fs::read_dir(&self.0).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        names.collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// After each exchange the file is a whole cassette of all exchanges so far, and nothing stands beside it.
#[test]
fn the_file_is_whole_after_each_exchange() {
    let folder = Folder::new("whole");
    let file = folder.0.join("run.json");
    let seen = Mutex::new(Vec::new());
    /// Looks at the file before it answers.
    struct Looks<'a>(ScriptedModel, &'a PathBuf, &'a Mutex<Vec<usize>>);
    impl Model for Looks<'_> {
        fn complete(&self, request: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
            let there = Cassette::read(self.1).map_or(0, |cassette| cassette.exchanges().len());
            self.2.lock().unwrap().push(there);
            self.0.complete(request)
        }
    }
    let relay = desk();
    let recorder = recorder(Looks(decisions(), &file, &seen), &relay).file(&file);
    run(&recorder, &relay, "c", REQUEST);
    assert_eq!(*seen.lock().unwrap(), [0, 1, 2, 3]);
    assert_eq!(Cassette::read(&file).unwrap(), recorder.cassette());
    assert_eq!(folder.names(), ["run.json"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

/// A recording without a reply, as where a key is refused, takes the place of none; where there is none it is kept.
#[test]
fn a_recording_stays_until_a_model_has_replied() {
    struct Refuses;
    impl Model for Refuses {
        fn complete(&self, _: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
            Err(ModelError::Unreachable { detail: "no route to host".to_owned() })
        }
    }
    let (folder, relay) = (Folder::new("stays"), desk());
    let file = folder.0.join("run.json");
    let refused = || {
        let recorder = recorder(Refuses, &relay).file(&file);
        for conversation in ["c", "d"] {
            drop(run(&recorder, &relay, conversation, REQUEST));
        }
        recorder.finish().unwrap()
    };
    let first = refused();
    assert_eq!((first.exchanges().len(), Cassette::read(&file).unwrap()), (2, first));
    let replied = recorder(decisions(), &relay).file(&file);
    drop(run(&replied, &relay, "c", REQUEST));
    assert_eq!(Cassette::read(&file).unwrap(), replied.cassette());
    refused();
    assert_eq!(Cassette::read(&file).unwrap(), replied.cassette());
}

/// A file that cannot be written costs the record and not the run, and is told.
#[test]
fn a_file_that_cannot_be_written_is_told_at_the_end() {
    let folder = Folder::new("unwritten");
    let file = folder.0.join("not there").join("run.json");
    let relay = desk();
    let recorder = recorder(decisions(), &relay).file(&file);
    assert!(run(&recorder, &relay, "c", REQUEST).answer().starts_with("The quote is 6000 cents."));
    let told = format!("the cassette {} could not be written: ", file.display());
    assert!(recorder.unwritten().unwrap().starts_with(&told));
    assert!(recorder.finish().unwrap_err().to_string().starts_with(&told));

    fs::create_dir_all(file.parent().unwrap()).unwrap();
    assert_eq!(
        Cassette::read(&file).unwrap_err().to_string().split(" could").next(),
        told.split(" could").next()
    );
    assert_eq!(recorder.finish().unwrap(), Cassette::read(&file).unwrap());
    assert_eq!(recorder.unwritten(), None);
    fs::write(&file, [b'{', 0xff]).unwrap();
    assert_eq!(
        Cassette::read(&file).unwrap_err().to_string(),
        "the cassette is no JSON: it is no UTF-8 from byte 1 on"
    );
}

/// What stays of a conversation need not be all of it, and settings that are gone are said to be.
#[test]
fn a_request_says_what_it_keeps_and_what_is_gone() {
    let model = ScriptedModel::new().turn("a", |_| script::say("One.")).turn("a", |_| script::say("Two."));
    let recorder = Recorder::new(model, Redactor::new());
    let first =
        [Message::user("hello"), Message::assistant(vec![ContentBlock::text("?")]), Message::user("well")];
    let ask = |messages: &[Message], replies: u32, tools: bool| {
        let mut request = ModelRequest { caller: "a".into(), replies, ..ModelRequest::new("m", 1, messages) };
        if tools {
            request.rest.push(("top_k".into(), sommelier_protocol::RawJson::parse("5").unwrap()));
        }
        recorder.complete(request).unwrap();
    };
    ask(&first, 0, true);
    ask(&[first[0].clone(), Message::user("so")], 1, false);
    let json = recorder.cassette().to_json().unwrap();
    let second = r#"      "turn": 2,
      "keeps": 1,
      "request": {"top_k": null, "messages": [{"role": "user", "content": "so"}]},"#;
    assert!(json.contains(second), "{json}");
    assert_eq!(
        Cassette::from_json(&json).unwrap().exchanges()[1].request(),
        r#"{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hello"},{"role":"user","content":"so"}]}"#
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "cassette",
        "exchanges",
        "run",
        "caller",
        "turn",
        "keeps",
        "request",
        "reply",
        "error",
        "messages",
        "content",
        "1",
        "1/1/1/0",
        "type",
        "text",
        "tool_use",
        "id",
        "input",
        "model",
        "Panicked",
        "recorded_from",
        "usage",
        "stop_reason",
    ]);
    let text = prop_oneof![words.prop_map(str::to_owned), ".{0,8}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..5).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((text.clone(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// One place of a value, by a number.
fn place_of(value: &mut Value, number: usize) -> &mut Value {
    let count = match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    };
    // Now and then the value itself.
    if count == 0 || number % (count + 1) == count {
        return value;
    }
    let inner = match value {
        Value::Array(items) => &mut items[number % (count + 1)],
        Value::Object(members) => members.values_mut().nth(number % (count + 1)).unwrap(),
        _ => unreachable!(),
    };
    place_of(inner, number / (count + 1))
}

/// What is read is a cassette that is written and read again as the same, and that plays or says why not; or it is an error.
fn holds(json: &str) {
    match Cassette::from_json(json) {
        Ok(cassette) => {
            let written = cassette.to_json().unwrap();
            assert_eq!(Cassette::from_json(&written).unwrap().to_json().unwrap(), written);
            let messages = [Message::user("hello")];
            let player = Player::new(cassette, Redactor::new());
            let _ = player
                .complete(ModelRequest { caller: "clerk".into(), ..ModelRequest::new("m", 1, &messages) });
            let _ = player.finish();
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Exchanges of two agents in a run and its branches: words, calls with any arguments, and errors.
fn any_exchanges() -> impl Strategy<Value = Vec<(usize, usize, Vec<Value>, Option<Value>)>> {
    let one = (0..4_usize, 0..2_usize, prop::collection::vec(any_json(), 0..4), prop::option::of(any_json()));
    prop::collection::vec(one, 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_makes_a_panic(text in ".{0,200}", json in any_json()) {
        holds(&text);
        holds(&json.to_string());
    }

    /// A cassette in which anything stands anywhere.
    #[test]
    fn no_change_of_a_cassette_makes_a_panic(number in any::<usize>(), json in any_json()) {
        holds(&changed(|whole| *place_of(whole, number) = json));
    }

    /// What is recorded is written and read as the same.
    #[test]
    fn what_is_recorded_is_read_as_the_same(exchanges in any_exchanges()) {
        let replies = Mutex::new(Vec::new());
        struct Says<'a>(&'a Mutex<Vec<Option<Value>>>);
        impl Model for Says<'_> {
            fn complete(&self, _: ModelRequest<'_>) -> Result<ModelResponse, ModelError> {
                match self.0.lock().unwrap().pop().flatten() {
                    None => Err(ModelError::Unreachable { detail: "\u{7}".to_owned() }),
                    Some(json) => {
                        let call = ToolUse::scripted("call_a1b2c3d4", "look", &json.to_string());
                        let text = ContentBlock::text(json.to_string());
                        Ok(ModelResponse::new("m", vec![text, call.into()], StopReason::ToolUse))
                    }
                }
            }
        }
        let recorder = Recorder::new(Says(&replies), Redactor::new());
        for (run, caller, said, reply) in exchanges {
            replies.lock().unwrap().push(reply);
            let messages: Vec<Message> = said.iter().map(|json| Message::user(json.to_string())).collect();
            let run = ["c", "c/1/1/0", "c/1/1/1", "d"][run];
            let caller = ["a", "b"][caller];
            let request = ModelRequest { caller: caller.into(), run: run.into(), ..ModelRequest::new("m", 1, &messages) };
            let _ = recorder.complete(request);
        }
        let cassette = recorder.cassette();
        let written = cassette.to_json().unwrap();
        prop_assert!(written.ends_with('\n') && !written.contains('\r'), "line ends");
        let read = Cassette::from_json(&written).unwrap();
        prop_assert_eq!(read.to_json().unwrap(), written);
        prop_assert_eq!(read, cassette);
    }
}

/// Each kind of error is told from the others.
#[test]
fn errors_have_kinds() {
    assert!(matches!(Cassette::from_json(""), Err(CassetteError::Json { .. })));
    assert!(matches!(Cassette::from_json("[]"), Err(CassetteError::Shape { .. })));
    assert!(matches!(Cassette::read("/nowhere/at all"), Err(CassetteError::File { act: "read", .. })));
}

/// A link is followed, a device takes what it is given, and neither is replaced; what cannot be written leaves what was there.
#[cfg(unix)]
#[test]
fn a_link_and_a_device_stay_what_they_are() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new("links");
    let [file, link, gone] = ["run.json", "link.json", "gone.json"].map(|name| folder.0.join(name));
    fs::write(&file, "before").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&file, &link).unwrap();
    symlink(folder.0.join("nowhere"), &gone).unwrap();

    sommelier_cassette::can_be_replaced(&link).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "before");
    Cassette::default().write(&link).unwrap();
    assert_eq!(Cassette::read(&file).unwrap(), Cassette::default());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());

    let device = folder.0.join("device");
    symlink("/dev/null", &device).unwrap();
    Cassette::default().write(&device).unwrap();
    assert!(
        !fs::metadata("/dev/null").unwrap().is_file() && fs::symlink_metadata(&device).unwrap().is_symlink()
    );
    assert!(Cassette::default().write(&gone).unwrap_err().to_string().contains("it is a link"));
    let mut names = folder.names();
    names.sort();
    assert_eq!(names, ["device", "gone.json", "link.json", "run.json"]);
}

/// What a model writes is read again whatever it is: arguments that are nested without end, or are mostly white space. What was there
/// is not lost to it.
#[test]
fn what_is_recorded_is_read_again_however_deep_it_is() {
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let folder = Folder::new("deep");
    let file = folder.0.join("run.json");
    let model = ScriptedModel::new()
        .turn("a", move |_| script::call("tu_1", "look", &deep))
        .turn("a", |_| script::say("Never mind."));
    let relay = sommelier_handoff::Relay::builder().agent(harness::agent("a")).entry("a").build().unwrap();
    let recorder = recorder(model, &relay).file(&file);
    assert_eq!(run(&recorder, &relay, "c", "Look.").answer(), "Never mind.");
    assert_eq!(recorder.unwritten(), None);
    let player = harness::player(&Cassette::read(&file).unwrap(), &relay);
    assert_eq!(run(&player, &relay, "c", "Look.").answer(), "Never mind.");
    assert_eq!(player.finish(), Ok(()));
}

/// The work of reading is that of the text: settings that stay are not there again for each request, and many members are not
/// compared each with each.
#[test]
fn a_cassette_costs_what_its_text_does() {
    let exchange = |request: &str| {
        format!(
            r#"{{"run":"1","caller":"a","turn":1,"keeps":0,"request":{request},"error":{{"Service":{{"status":529,"detail":""}}}}}}"#
        )
    };
    let of = |exchanges: Vec<String>| {
        Cassette::from_json(&format!(r#"{{"cassette":1,"exchanges":[{}]}}"#, exchanges.join(","))).unwrap()
    };
    // As copies these would be 20 gigabytes.
    let mut all = vec![exchange(&format!(r#"{{"system":"{}"}}"#, "x".repeat(1 << 20)))];
    all.extend((0..20_000).map(|k| exchange(if k % 2 == 0 { "{}" } else { r#"{"top_k":1,"messages":[]}"# })));
    let shared = of(all);
    assert!(shared.exchanges()[20_000].request().starts_with(r#"{"system":"xxx"#));

    let many: Vec<String> = (0..200_000).map(|k| format!(r#""m{k}":{k}"#)).collect();
    let many = of(vec![exchange(&format!("{{{}}}", many.join(","))), exchange(r#"{"m7":null}"#)]);
    assert!(!many.exchanges()[1].request().contains(r#""m7":"#));
    assert_eq!(Cassette::from_json(&many.to_json().unwrap()).unwrap(), many);
}
