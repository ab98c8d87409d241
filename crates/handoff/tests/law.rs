//! The law beneath every policy: each of its rows just inside and just outside, and what a stranger sends.

mod harness;

use harness::{errors, hands, pair, pair_with, read, ruling, says, script, to};
use sommelier_handoff::{HandoffPackage, PackageError, PackagePolicy, Refusal, law};
use sommelier_protocol::RawJson;

/// A package whose context holds one value, as JSON text.
fn with(value: &str) -> String {
    format!(r#"{{"task":"t","context":{{"x":{value}}}}}"#)
}

#[track_caller]
fn check(package: &str, expected: PackageError) {
    assert_eq!(HandoffPackage::read(package), Err(vec![expected]));
}

#[track_caller]
fn check_kept(package: &str) {
    assert_eq!(read(package).to_json(), package);
}

fn at(path: &str) -> String {
    path.to_owned()
}

/// Durability T50.
#[test]
fn a_huge_input_is_refused_unread() {
    let huge = with(&format!("\"{}\"", "x".repeat(10_000_000)));
    let error = PackageError::InputTooLarge { bytes: 10_000_031, most: 262_144 };
    assert_eq!(error.to_string(), "10000031 bytes of input, at most 262144 are read");
    check(&huge, error);
    // Unread: what is no JSON at all is told by its size alone, and one byte less is read.
    let text = "{".repeat(law::INPUT_BYTES + 1);
    check(&text, PackageError::InputTooLarge { bytes: 262_145, most: 262_144 });
    let within = HandoffPackage::read(&text[1..]).unwrap_err();
    assert!(matches!(&within[..], [PackageError::NotJson { .. }]), "{within:?}");
}

/// Durability T50: in a handoff the model is told in a few words, and the arguments are kept nowhere.
#[test]
fn a_huge_handoff_is_told_in_a_few_words_and_not_kept() {
    let relay = pair();
    let huge = to("policy_agent", &"x".repeat(10_000_000));
    let bytes = huge.len();
    let model = script([
        ("booking_agent", hands(huge)),
        ("booking_agent", says("Sorry.")),
        ("policy_agent", says("-")),
    ]);
    let session = harness::Session::new(&relay, &model).say("hello");
    let errors = vec![PackageError::InputTooLarge { bytes, most: 262_144 }];
    assert_eq!(session.refusals(), [Refusal::InvalidPackage { errors }]);
    assert!(session.done().run().idle("booking_agent").unwrap().history_bytes() < 1000);
}

/// The package as a whole: 64 KiB of compact JSON.
#[test]
fn a_package_has_at_most_64_kib() {
    let of = |bytes: usize| {
        // Four strings of 13 KiB, and one that fills the package up.
        let four: Vec<String> = (0..4).map(|n| format!(r#""k{n}":"{}""#, "x".repeat(13_312))).collect();
        let most = format!(r#"{{"task":"t","context":{{{},"z":""}}}}"#, four.join(","));
        most.replace(r#""z":"""#, &format!(r#""z":"{}""#, "z".repeat(bytes - most.len())))
    };
    let (inside, outside) = (of(law::PACKAGE_BYTES), of(law::PACKAGE_BYTES + 1));
    check_kept(&inside);
    let cap = "bytes of the package".to_owned();
    let error = PackageError::OverCap { cap, found: 65_537, most: 65_536 };
    assert_eq!(HandoffPackage::read(&outside), Err(vec![error.clone()]));
    // As a handoff it is refused by the law, and the run that remembers it can be saved.
    let arguments = outside.replacen('{', r#"{"specialist":"policy_agent","#, 1);
    assert_eq!(ruling(&pair(), &arguments), Some(Refusal::InvalidPackage { errors: vec![error] }));
}

/// Durability T51.
#[test]
fn nesting_is_bounded_and_no_stack_overflows() {
    // The package and its context are two; fourteen lists make sixteen.
    let lists = |n: usize| with(&format!("{}{}", "[".repeat(n), "]".repeat(n)));
    check_kept(&lists(14));
    let path = format!("context.x{}", ".0".repeat(14));
    check(&lists(15), PackageError::TooDeep { path: path.clone(), most: 16 });
    check(&lists(100_000), PackageError::TooDeep { path, most: 16 });
    let objects = |n: usize| with(&format!("{}1{}", r#"{"a":"#.repeat(n), "}".repeat(n)));
    check_kept(&objects(14));
    let path = format!("context.x{}", ".a".repeat(14));
    check(&objects(30_000), PackageError::TooDeep { path, most: 16 });
    let quoted = with(&format!("\"{}\"", "[".repeat(16_000)));
    check_kept(&quoted);
    assert_eq!(read(&quoted).validate(&PackagePolicy::minimal().package_bytes(65_536)), []);
}

#[test]
fn an_object_has_at_most_256_members() {
    let of = |n: usize| {
        let members: Vec<String> = (0..n).map(|n| format!(r#""k{n}":{n}"#)).collect();
        with(&format!("{{{}}}", members.join(",")))
    };
    check_kept(&of(256));
    check(&of(257), PackageError::TooManyKeys { path: at("context.x"), found: 257, most: 256 });
}

#[test]
fn a_package_has_at_most_1024_values() {
    // The package, its task, its context and the list are four.
    let of = |n: usize| with(&format!("[{}]", vec!["1"; n].join(",")));
    check_kept(&of(1020));
    check(&of(1021), PackageError::TooManyValues { most: 1024 });
    let many = HandoffPackage::read(&of(100_000)).unwrap_err();
    assert!(matches!(&many[..], [PackageError::NotJson { path, .. }] if path == "context.x"), "{many:?}");
}

#[test]
fn a_string_has_at_most_16_kib() {
    let of = |n: usize| with(&format!("\"{}\"", "ä".repeat(n)));
    check_kept(&of(8192));
    check(&of(8193), PackageError::StringTooLong { path: at("context.x"), bytes: 16_386, most: 16_384 });
}

#[test]
fn a_key_is_an_ascii_identifier() {
    let of = |key: &str| format!(r#"{{"task":"t","context":{{"a":{{"{key}":1}}}}}}"#);
    for key in ["a", "_", "Total_2", "min-seats", &"k".repeat(128)] {
        check_kept(&of(key));
    }
    let long = "k".repeat(129);
    let told = format!("{}... (129 bytes)", "k".repeat(64));
    for (key, found) in [
        ("", ""),
        ("2a", "2a"),
        ("a b", "a b"),
        ("a.b", "a.b"),
        ("ключ", "ключ"),
        ("-a", "-a"),
        (&long, &told),
    ] {
        check(&of(key), PackageError::IllegalKey { path: at("context.a"), found: at(found) });
    }
}

/// Durability T55: a number means the same to whoever reads it, and keeps its text; or it is refused.
#[test]
fn numbers_are_exact_or_refused() {
    let exact = [
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "0.1",
        "1.10",
        "1e3",
        "1E-7",
        "-0.0",
        "1.5e300",
    ];
    for number in exact {
        check_kept(&with(number));
    }
    let changed = [
        "-0",
        "9223372036854775808",
        "18446744073709551617",
        "1e400",
        "-1e400",
        "1e-400",
        "0.1000000000000000055",
        "123456789012345678.5",
        "1e99999999999999999999",
    ];
    for number in changed {
        check(&with(number), PackageError::InexactNumber { path: at("context.x"), found: at(number) });
    }
    for word in ["NaN", "Infinity", "01", "+1", "1."] {
        let errors = HandoffPackage::read(&with(word)).unwrap_err();
        assert!(matches!(&errors[..], [PackageError::NotJson { .. }]), "{word}: {errors:?}");
    }
}

/// Durability T52.
#[test]
fn a_key_that_stands_twice_is_refused_at_every_level() {
    for (package, path) in [
        (r#"{"task":"a","task":"b","context":{}}"#, "task"),
        (r#"{"task":"a","context":{"x":1,"x":1}}"#, "context.x"),
        (r#"{"task":"a","context":{"x":[{"y":{"z":1,"\u007a":2}}]}}"#, "context.x.0.y.z"),
    ] {
        check(package, PackageError::DuplicateKey { path: at(path) });
    }
}

/// Durability T53: each with its place.
#[test]
fn characters_that_deceive_are_refused() {
    for (text, found) in [
        (r"\u0000", "U+0000"),
        (r"\u0007", "U+0007"),
        (r"\r", "U+000D"),
        ("\u{7f}", "U+007F"),
        ("\u{85}", "U+0085"),
        ("\u{202e}", "U+202E"),
        ("\u{2066}", "U+2066"),
        ("\u{200f}", "U+200F"),
        ("\u{61c}", "U+061C"),
        ("\u{e0041}", "U+E0041"),
        ("\u{e0080}", "U+E0080"),
        ("\u{e0100}", "U+E0100"),
        ("\u{e01ef}", "U+E01EF"),
        ("\u{2028}", "U+2028"),
        ("\u{2029}", "U+2029"),
        (r"\udb40\udc41", "U+E0041"),
    ] {
        let package = with(&format!(r#"["fine","a{text}b"]"#));
        check(&package, PackageError::ForbiddenCharacter { path: at("context.x.1"), found: at(found) });
    }
    check_kept(&with(r#""a line\nand\ta tab""#));
}

/// Durability T53: half a surrogate is no character, and a raw control byte no JSON.
#[test]
fn half_characters_and_raw_control_bytes_are_no_json() {
    let [PackageError::NotJson { path, detail }] =
        &HandoffPackage::read(&with(r#""a\ud800b""#)).unwrap_err()[..]
    else {
        panic!("no JSON")
    };
    assert_eq!(
        (path.as_str(), detail.as_str()),
        ("context.x", "unexpected end of hex escape at line 1 column 9")
    );
    let [PackageError::NotJson { path, detail }] =
        &HandoffPackage::read(&with("\"a\u{1}b\"")).unwrap_err()[..]
    else {
        panic!("no JSON")
    };
    let place = "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 29";
    assert_eq!((path.as_str(), detail.as_str()), ("", place));
}

/// What cannot be seen and has a use, as in emoji of several parts, is kept and marked, wherever it came from.
#[test]
fn zero_width_characters_are_marked_not_refused() {
    let json =
        "{\"task\":\"a\u{200b}b\",\"context\":{\"who\":[\"👩\u{200d}🚀\"]},\"open_items\":[\"x\u{feff}\"]}";
    let package = read(json);
    assert_eq!(package.to_json(), json);
    assert_eq!(package.invisible(), ["task: U+200B", "context.who.0: U+200D", "open_items.0: U+FEFF"]);
    let built =
        HandoffPackage::new("a\u{200b}b").context("who", &["👩\u{200d}🚀"]).unwrap().open_item("x\u{feff}");
    assert_eq!(built, package);
    assert_eq!(ruling(&pair(), &json.replacen('{', r#"{"specialist":"policy_agent","#, 1)), None);
}

/// Every character that a reader may show as nothing is marked, wherever it hides.
#[test]
fn whatever_cannot_be_seen_is_marked() {
    let marked = "\u{ad}\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}\u{180e}\u{180f}\u{200b}\u{200d}\u{2060}\u{2061}\
        \u{2064}\u{206a}\u{206f}\u{2800}\u{3164}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{fff9}\u{fffb}\u{1d173}";
    for c in marked.chars() {
        let package = read(&with(&format!("\"a{c}b\"")));
        assert_eq!(package.invisible(), [format!("context.x: U+{:04X}", u32::from(c))]);
    }
    assert_eq!(read(&with("\"ab ä 字 🚀\"")).invisible(), [""; 0]);
}

/// A task of which nothing can be seen is none.
#[test]
fn a_task_that_cannot_be_seen_is_blank() {
    for task in ["", " \n\t", "\u{200b}", " \u{2060} \u{3164}\n", "\u{fe0f}\u{ad}\u{a0}"] {
        let blank = PackageError::Blank { field: "task".to_owned() };
        assert_eq!(HandoffPackage::new(task).validate(&PackagePolicy::minimal()), [blank], "{task:?}");
    }
    assert_eq!(HandoffPackage::new("\u{200b}a").validate(&PackagePolicy::minimal()), []);
}

/// Durability T56.
#[test]
fn an_unknown_member_is_refused() {
    let legal = "task, context, constraints, completed_steps, open_items, artifacts".to_owned();
    let unknown = |field: &str| PackageError::UnknownField { field: at(field), legal: legal.clone() };
    let package = r#"{"task":"t","context":{},"admin":true,"messages":[]}"#;
    assert_eq!(HandoffPackage::read(package), Err(vec![unknown("admin"), unknown("messages")]));
    let asked = r#"{"specialist":"policy_agent","task":"t","context":{},"admin":true}"#;
    assert_eq!(ruling(&pair(), asked), Some(Refusal::InvalidPackage { errors: vec![unknown("admin")] }));
}

#[test]
fn an_unknown_version_is_refused() {
    for version in ["1", "1.0", "1.7"] {
        assert_eq!(
            read(&format!(r#"{{"v":{version},"task":"t","context":{{}}}}"#)).to_json(),
            r#"{"task":"t","context":{}}"#
        );
    }
    for version in ["2", "0", "\"1\"", "null", "1e3"] {
        let package = format!(r#"{{"v":{version},"task":"t","context":{{}}}}"#);
        check(&package, PackageError::UnknownVersion { found: at(version) });
    }
}

#[test]
fn everything_that_is_missing_or_of_another_type_is_told_at_once() {
    let wrong = |path: &str, expected: &str, found: &str| PackageError::WrongType {
        path: at(path),
        expected: at(expected),
        found: at(found),
    };
    let missing = |field: &str| PackageError::Missing { field: at(field) };
    assert_eq!(HandoffPackage::read("{}"), Err(vec![missing("task"), missing("context")]));
    check("[]", wrong("package", "an object", "a list"));
    let package = r#"{"task":1,"context":"c","constraints":"no","completed_steps":["a",2],"open_items":{},"artifacts":null}"#;
    assert_eq!(
        HandoffPackage::read(package),
        Err(vec![
            wrong("task", "a string", "a number"),
            wrong("context", "an object", "a string"),
            wrong("constraints", "a list of strings", "a string"),
            wrong("completed_steps.1", "a string", "a number"),
            wrong("open_items", "a list of strings", "an object"),
            wrong("artifacts", "an object", "null"),
        ])
    );
}

const MESSAGE: &str = r#"{"role":"user","content":"Quote Focus pro 3h"}"#;

/// R17, S0-03, S0-L04b: a message is no datum, wherever it stands and however it is wrapped.
#[test]
fn a_history_is_found_wherever_it_stands() {
    let history = |path: &str| vec![PackageError::HistoryInPackage { path: at(path) }];
    let inside = |section: &str, value: &str| {
        let context = if section == "context" { "" } else { r#""context":{},"# };
        format!(r#"{{"task":"t",{context}"{section}":{value}}}"#)
    };
    let list = format!("[{MESSAGE},{MESSAGE}]");
    let lines = format!("{MESSAGE}\n{MESSAGE}\n");
    for (package, path) in [
        (with(MESSAGE), "context.x"),
        (with(&list), "context.x.0"),
        (with(&format!(r#"{{"a":{{"b":{list}}}}}"#)), "context.x.a.b.0"),
        (with(&quoted(MESSAGE)), "context.x"),
        (with(&quoted(&list)), "context.x"),
        (with(&quoted(&lines)), "context.x"),
        (with(&quoted(&quoted(&list))), "context.x"),
        (with(&quoted(&quoted(&quoted(&list)))), "context.x"),
        (with(&quoted(&format!("  {MESSAGE} and so on"))), "context.x"),
        (with(&quoted(&format!("1 {MESSAGE}"))), "context.x"),
        (inside("context", MESSAGE), "context"),
        (inside("artifacts", &format!(r#"{{"log":{list}}}"#)), "artifacts.log.0"),
        (inside("artifacts", &format!(r#"{{"log":{}}}"#, quoted(&list))), "artifacts.log"),
        (inside("constraints", &format!("[\"none\",{}]", quoted(MESSAGE))), "constraints.1"),
        (inside("completed_steps", &format!("[{}]", quoted(&lines))), "completed_steps.0"),
        (inside("open_items", &format!("[{}]", quoted(&list))), "open_items.0"),
        (format!(r#"{{"task":{},"context":{{}}}}"#, quoted(&list)), "task"),
    ] {
        assert_eq!(errors(&package), history(path), "{package}");
    }
}

/// What a reader under the law would refuse hides no message in a string.
#[test]
fn nothing_in_a_string_hides_a_history() {
    for hidden in [
        r#"{"role":"user","role":"user","content":"x"}"#.to_owned(),
        r#"{"role":"user","content":"x","a key with blanks":1}"#.to_owned(),
        r#"{"role":"user","content":"x","n":1e400}"#.to_owned(),
        r#"{"r\u006fle":"user","content":"\ud800"}"#.to_owned(),
        format!("{}{MESSAGE}{}", "[".repeat(5000), "]".repeat(5000)),
        format!(r#"{{"a":[{{"b":{{"c":"}}\"]"}}}},{MESSAGE}]}}"#),
        format!(r#"{{"content":{{"role":1}},"then":{MESSAGE}}}"#),
    ] {
        let package = with(&serde_json::to_string(&hidden).unwrap());
        let policy = PackagePolicy::minimal().package_bytes(law::PACKAGE_BYTES);
        let found = read(&package).validate(&policy);
        assert_eq!(found, [PackageError::HistoryInPackage { path: at("context.x") }], "{hidden:.80}");
    }
}

fn quoted(text: &str) -> String {
    RawJson::string(text).get().to_owned()
}

#[track_caller]
fn check_history(text: &str) {
    let policy = PackagePolicy::minimal().package_bytes(law::PACKAGE_BYTES);
    let found = read(&with(&quoted(text))).validate(&policy);
    assert_eq!(found, [PackageError::HistoryInPackage { path: at("context.x") }], "{text:.120}");
}

#[track_caller]
fn check_no_history(text: &str) {
    let policy = PackagePolicy::minimal().package_bytes(law::PACKAGE_BYTES);
    assert_eq!(read(&with(&quoted(text))).validate(&policy), [], "{text:.120}");
}

/// What stands around a message in a string, odd quotes and open brackets included, hides it as little.
#[test]
fn words_around_a_history_do_not_hide_it() {
    let list = format!("[{MESSAGE},{MESSAGE}]");
    for before in [
        "Here: ",
        "```json\n",
        "\u{feff}",
        "data: ",
        "event: x\ndata: ",
        "// ",
        "5\" ",
        "a \"b\" c\" ",
        "{",
        "{{ { [[",
        "{\"a\": [1, ",
        "{\"open\": \"",
        "{\"a\\",
        "\\\" {\"",
        "} ] } ",
        "it's {'a': ",
        "<log>",
        "\"\\\"{\\\" ",
    ] {
        for history in [MESSAGE, &list, &quoted(MESSAGE), &quoted(&list)] {
            for after in ["", "\n```", "\"", " [DONE]", "}}"] {
                check_history(&format!("{before}{history}{after}"));
            }
        }
    }
}

/// A list that ends in the middle holds the messages that it holds.
#[test]
fn a_history_that_was_cut_is_found() {
    for cut in [
        format!("[{MESSAGE},{{\"ro"),
        r#"[{"role":"user","content":"Quo"#.to_owned(),
        r#"[{"role":"user","content":[{"te"#.to_owned(),
        format!("{{\"messages\":[{}", &MESSAGE[..MESSAGE.len() - 1]),
    ] {
        check_history(&cut);
    }
}

/// Services write messages in more than one form.
#[test]
fn a_history_in_another_form_is_found() {
    for message in [
        r#"{"Role":"user","CONTENT":"x"}"#,
        r#"{"role":"user","parts":[{"text":"x"}]}"#,
        r#"{"role":"assistant","tool_calls":[]}"#,
        r#"{"text":"x","role":"user"}"#,
        r#"{"type":"tool_use","id":"tu_1","name":"get_quote","input":{}}"#,
        r#"{"tool_use_id":"tu_1","type":"tool_result"}"#,
        r#"{"Type":"TOOL_RESULT","x":1}"#,
        r#"{"type":"function_call_output","output":"6000"}"#,
    ] {
        let history = |path: &str| vec![PackageError::HistoryInPackage { path: at(path) }];
        assert_eq!(errors(&with(message)), history("context.x"), "{message}");
        assert_eq!(errors(&with(&format!("[{message}]"))), history("context.x.0"), "{message}");
        check_history(message);
        check_history(&format!("They said: [{message}"));
    }
    check_history("[{'role': 'user', 'content': \"it's late\"}]");
    check_history(r#"{ "role" : "user", "content" : "x" }"#);
    check_history(r#"{\"role\":\"user\",\"content\":\"x\"}"#);
}

/// However often a message is quoted, and however its quotes and braces are written.
#[test]
fn a_history_is_found_however_deep_it_is_quoted() {
    let mut text = MESSAGE.to_owned();
    for _ in 0..8 {
        check_history(&text);
        text = quoted(&text);
    }
    let mut inside = MESSAGE.to_owned();
    for _ in 0..8 {
        check_history(&inside);
        inside = format!("{{\"note\":{}}}", quoted(&format!("see {inside}")));
    }
    check_history(&format!(r#""{}""#, MESSAGE.replace('"', r"\u0022").replace('{', r"\u007b")));
    check_history(&format!("\"{}\"", MESSAGE.replace('"', r#"\""#).replace(',', ",\n")));
    check_history(&format!(r#""\ud800 {}""#, MESSAGE.replace('"', r#"\""#)));
}

/// A search takes no longer than a few readings of the text, whatever it holds.
#[test]
fn no_text_makes_the_search_long() {
    let began = std::time::Instant::now();
    let parts = [
        "{",
        "\"",
        "\\",
        "\"{",
        "\\\"",
        "{\"a\":",
        "\"\" ",
        "''  ",
        "{\"role\":1},",
        "\\\\\"{",
        "\"{\\\\\\\"",
    ];
    for part in parts {
        for other in parts {
            let text = format!("{part}{other}").repeat(16_000 / (part.len() + other.len()));
            let _ = HandoffPackage::new(text).validate(&PackagePolicy::minimal());
        }
    }
    assert!(began.elapsed().as_secs() < 900, "{:?} for {} texts", began.elapsed(), parts.len().pow(2));
}

#[test]
fn prose_and_data_with_braces_are_no_history() {
    for text in [
        "Use {role} and {content} in the template.",
        "The object {\"role\": \"admin\"} and, apart from it, {\"text\": \"hi\"}.",
        "role: user, content: none",
        "\"role\": \"user\", \"content\": \"x\"",
        "fn main() { let role = \"content\"; if role == \"text\" { return; } }",
        "It's the guest's {'role': 'speaker'}, isn't it?",
        r#"{"type":"tool","name":"tool_use"}"#,
        r#"{"kind":"tool_use","type":["tool_use"]}"#,
        r#"{"type":"text","text":"6000"}"#,
        r#"{"type":"message","content":"x"}"#,
        r#"{"rooms":[{"name":"Focus","text":"small"}],"role":"guest"}"#,
        r#"{"a":"{\"b\":\"{\\\"c\\\":1}\"}"}"#,
        r#"5" by 3" {"role":"frame"} and 7" {"content":"wood"}"#,
        "{\"role\":\"content\"}{\"content\":\"role\"}",
    ] {
        check_no_history(text);
    }
}

#[test]
fn what_only_looks_like_a_history_is_none() {
    for value in [
        r#"{"role":"speaker"}"#,
        r#"{"content":"wood"}"#,
        r#"[{"role":"user"},{"content":"x"}]"#,
        r#"{"role":{"content":"x"}}"#,
        r#"{"content":{"role":"x"}}"#,
        r#""the members role and content""#,
        r#""{\"role\":\"user\"} {\"content\":\"x\"}""#,
        r#""[\"role\",\"content\"]""#,
        r#""{\"role\":\"content\",\"x\":[]}""#,
        r#""{\"role\":\"user\", \"content""#,
    ] {
        assert_eq!(errors(&with(value)), [], "{value}");
    }
}

/// S0-L04b: the list of messages itself, where a question belongs.
#[test]
fn a_history_of_the_wrong_type_is_told_as_a_history_too() {
    let list = format!("[{MESSAGE}]");
    let wrong = |path: &str, expected: &str| PackageError::WrongType {
        path: at(path),
        expected: at(expected),
        found: at("a list"),
    };
    let history = |path: &str| PackageError::HistoryInPackage { path: at(path) };
    let arguments = format!(r#"{{"specialist":"policy_agent","task":{list},"context":{list}}}"#);
    let errors = vec![
        wrong("task", "a string"),
        history("task.0"),
        wrong("context", "an object"),
        history("context.0"),
    ];
    assert_eq!(ruling(&pair(), &arguments), Some(Refusal::InvalidPackage { errors }));
}

/// The law holds for what code builds as for what a model writes, with the place.
#[test]
fn code_cannot_build_what_breaks_the_law() {
    let package = || HandoffPackage::new("t");
    let forbidden = |path: &str| PackageError::ForbiddenCharacter { path: at(path), found: at("U+0000") };
    assert_eq!(package().context("x", "\0"), Err(forbidden("context.x")));
    assert_eq!(package().artifact("y", &["a", "\0"]), Err(forbidden("artifacts.y.1")));
    let key = PackageError::IllegalKey { path: at("context"), found: at("a b") };
    assert_eq!(package().context("a b", &1), Err(key));
    let deep =
        serde_json::from_str::<serde_json::Value>(&format!("{}{}", "[".repeat(15), "]".repeat(15))).unwrap();
    let path = format!("context.x{}", ".0".repeat(14));
    assert_eq!(package().context("x", &deep), Err(PackageError::TooDeep { path, most: 16 }));
    let minimal = PackagePolicy::minimal();
    assert_eq!(HandoffPackage::new("\0").validate(&minimal), [forbidden("task")]);
    assert_eq!(package().open_item("a\0").validate(&minimal), [forbidden("open_items.0")]);
}

/// An edge that raises its caps still stands on the law.
#[test]
fn an_edge_cannot_raise_a_cap_beyond_the_law() {
    let mut policy = PackagePolicy::minimal().package_bytes(law::PACKAGE_BYTES);
    (policy.task_bytes, policy.context_keys, policy.depth) = (law::STRING_BYTES, law::KEYS, law::DEPTH);
    let relay = pair_with(|route| route.policy(policy));
    let lists = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let arguments =
        |n| format!(r#"{{"specialist":"policy_agent","task":"t","context":{{"x":{}}}}}"#, lists(n));
    assert_eq!(ruling(&relay, &arguments(14)), None);
    let path = format!("context.x{}", ".0".repeat(14));
    let errors = vec![PackageError::TooDeep { path, most: 16 }];
    assert_eq!(ruling(&relay, &arguments(15)), Some(Refusal::InvalidPackage { errors }));
}
