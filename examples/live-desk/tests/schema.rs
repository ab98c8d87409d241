//! The second opinion on arguments.

use live_desk::schema::misfits;
use serde_json::{Value, json};

#[track_caller]
fn check(schema: Value, value: Value, expected: &[&str]) {
    assert_eq!(misfits(&schema, &value), expected, "{schema} {value}");
}

#[test]
fn each_word_of_a_schema_is_looked_at() {
    check(json!({"type": "integer"}), json!(3), &[]);
    check(json!({"type": "integer"}), json!(3.5), &["$: not of type \"integer\""]);
    check(json!({"type": ["string", "null"]}), json!(null), &[]);
    check(json!({"type": ["string", "null"]}), json!(true), &["$: not of type [\"string\",\"null\"]"]);
    check(json!({"const": "a"}), json!("b"), &["$: not \"a\""]);
    check(json!({"enum": ["a", 1]}), json!(1), &[]);
    check(json!({"enum": ["a", 1]}), json!(2), &["$: not one of [\"a\",1]"]);
    check(json!({"type": "string", "minLength": 2, "maxLength": 3}), json!("äöü"), &[]);
    check(json!({"type": "string", "maxLength": 2}), json!("äöü"), &["$: maxLength is 2, found 3"]);
    check(json!({"minItems": 1, "type": "array"}), json!([]), &["$: minItems is 1, found 0"]);
    check(json!({"maxItems": 1}), json!([1, 2]), &["$: maxItems is 1, found 2"]);
    check(json!({"minProperties": 1}), json!({}), &["$: minProperties is 1, found 0"]);
    check(json!({"minimum": 0, "maximum": 9}), json!(9), &[]);
    check(json!({"minimum": 0}), json!(-1), &["$: minimum is 0, found -1"]);
    check(json!({"minimum": 0}), json!("a word"), &[]);
    check(json!({"items": {"type": "string"}}), json!(["a", 7]), &["$.1: not of type \"string\""]);
    check(json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}), json!(7), &[]);
    check(json!({"anyOf": [{"type": "string"}]}), json!(7), &["$: fits no alternative"]);
    check(json!({"required": ["a", "b"]}), json!({"b": 1}), &["$.a: missing"]);
}

#[test]
fn members_are_looked_at_wherever_they_stand() {
    let schema = json!({
        "type": "object", "description": "All.",
        "properties": {"at": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
        "additionalProperties": {"type": "string"},
    });
    check(schema.clone(), json!({"at": {"n": 1, "more": []}, "note": "x"}), &[]);
    check(schema, json!({"at": {}, "note": 7}), &["$.at.n: missing", "$.note: not of type \"string\""]);
}

/// What is not understood is not passed for checked.
#[test]
fn an_unknown_word_is_told() {
    check(json!({"pattern": "^a"}), json!("a"), &["$: the word \"pattern\" of the schema is not known here"]);
    check(json!({"properties": {"a": 7}}), json!({"a": 1}), &["$.a: 7 is no schema that is known here"]);
    check(json!(true), json!("anything"), &[]);
    check(json!(false), json!(1), &["$: false is no schema that is known here"]);
}
