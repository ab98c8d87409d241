//! What a declaration of arguments comes to: the schema as the model reads it, and what is read.

use sommelier_runtime::{ToolArgs, tool_args};

tool_args! {
    /// One of each.
    struct Each {
        text: String,
        flag: bool,
        whole: i64,
        small: u32,
        count: u64,
        number: f64,
        maybe: Option<bool>,
        list: Vec<u32>,
        lists: Vec<Vec<f64>>,
        maybe_list: Option<Vec<String>>,
    }
}

tool_args! {
    /// Values to choose from.
    struct Choice {
        one: String => ["a", "b"],
        maybe: Option<String> => ["say \"c\""],
        some: Vec<String> => ["d", "e",],
        /// Nested.
        nested: Vec<Vec<String>> => ["f"],
    }
}

tool_args! {
    struct Described {
        /// One line.
        one: i64,
        /// Two lines, the first "quoted",
        /// the second with a \ in it.
        two: i64,
        ///
        blank: i64,
        none: i64,
    }
}

tool_args! {
    /// Nothing is asked for.
    struct Nothing {}
}

tool_args! {
    /// A word of Rust as a name.
    struct Raw {
        /// Which kind.
        r#type: String => ["room"],
        r#in: Option<i64>,
    }
}

#[track_caller]
fn check_schema<A: ToolArgs>(properties: &str, required: &str) {
    let expected = format!(
        r#"{{"type":"object","properties":{{{properties}}},"required":[{required}],"additionalProperties":false}}"#
    );
    assert_eq!(A::schema().get(), expected);
}

#[test]
fn each_type_has_its_schema() {
    let properties = [
        r#""text":{"type":"string"}"#,
        r#""flag":{"type":"boolean"}"#,
        r#""whole":{"type":"integer"}"#,
        r#""small":{"type":"integer","minimum":0}"#,
        r#""count":{"type":"integer","minimum":0}"#,
        r#""number":{"type":"number"}"#,
        r#""maybe":{"type":"boolean"}"#,
        r#""list":{"type":"array","items":{"type":"integer","minimum":0}}"#,
        r#""lists":{"type":"array","items":{"type":"array","items":{"type":"number"}}}"#,
        r#""maybe_list":{"type":"array","items":{"type":"string"}}"#,
    ];
    let required = r#""text","flag","whole","small","count","number","list","lists""#;
    check_schema::<Each>(&properties.join(","), required);
}

#[test]
fn values_are_those_of_the_field_or_of_the_items_of_a_list() {
    let properties = [
        r#""one":{"type":"string","enum":["a","b"]}"#,
        r#""maybe":{"type":"string","enum":["say \"c\""]}"#,
        r#""some":{"type":"array","items":{"type":"string","enum":["d","e"]}}"#,
        r#""nested":{"type":"array","items":{"type":"array","items":{"type":"string","enum":["f"]}},"description":"Nested."}"#,
    ];
    check_schema::<Choice>(&properties.join(","), r#""one","some","nested""#);
}

#[test]
fn docs_become_descriptions() {
    let properties = [
        r#""one":{"type":"integer","description":"One line."}"#,
        r#""two":{"type":"integer","description":"Two lines, the first \"quoted\", the second with a \\ in it."}"#,
        r#""blank":{"type":"integer"}"#,
        r#""none":{"type":"integer"}"#,
    ];
    check_schema::<Described>(&properties.join(","), r#""one","two","blank","none""#);
}

#[test]
fn a_struct_without_fields_takes_an_empty_object_only() {
    check_schema::<Nothing>("", "");
    assert_eq!(serde_json::from_str::<Nothing>("{}").unwrap(), Nothing {});
    assert!(serde_json::from_str::<Nothing>(r#"{"a":1}"#).is_err());
    assert!(serde_json::from_str::<Nothing>("null").is_err());
}

#[test]
fn a_raw_name_is_written_without_its_mark() {
    let properties =
        r#""type":{"type":"string","description":"Which kind.","enum":["room"]},"in":{"type":"integer"}"#;
    check_schema::<Raw>(properties, r#""type""#);
    let read: Raw = serde_json::from_str(r#"{"type":"room","in":3}"#).unwrap();
    assert_eq!(read, Raw { r#type: "room".to_owned(), r#in: Some(3) });
}

/// Numbers that the type cannot hold are refused, never bent into it (T55).
#[test]
fn numbers_are_exact_or_refused() {
    tool_args! {
        struct Numbers {
            i: Option<i64>,
            u: Option<u64>,
            s: Option<u32>,
            f: Option<f64>,
        }
    }
    let refused = [
        r#"{"i":9223372036854775808}"#,
        r#"{"i":1.0}"#,
        r#"{"i":-0}"#,
        r#"{"i":"1"}"#,
        r#"{"u":18446744073709551616}"#,
        r#"{"u":-1}"#,
        r#"{"s":4294967296}"#,
        r#"{"s":1e3}"#,
        r#"{"f":1e400}"#,
        r#"{"f":NaN}"#,
    ];
    for json in refused {
        assert!(serde_json::from_str::<Numbers>(json).is_err(), "{json}");
    }
    let most = r#"{"i":-9223372036854775808,"u":18446744073709551615,"s":4294967295,"f":0.1}"#;
    let read: Numbers = serde_json::from_str(most).unwrap();
    assert_eq!(read, Numbers { i: Some(i64::MIN), u: Some(u64::MAX), s: Some(u32::MAX), f: Some(0.1) });
}
