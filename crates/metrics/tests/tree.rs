//! The drawn tree, compared as a whole string.
#![expect(clippy::unwrap_used, reason = "a test may; clippy excuses only the test functions themselves")]

mod emit;

use emit::{
    Writes, agent, delegate, delegating_case, handoff, refuse, running_case, tool, unasked, workflow,
};
use sommelier_metrics::TreeLayer;
use sommelier_metrics::tree::MAX_DRAWN_SPANS;
use tracing::{Span, info_span};
use tracing_subscriber::prelude::*;

fn draw(layer: impl FnOnce(Writes) -> TreeLayer<Writes>, run: impl FnOnce()) -> Vec<String> {
    let writes = Writes::default();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer(writes.clone())), run);
    writes.take()
}

fn timeless(writes: Writes) -> TreeLayer<Writes> {
    TreeLayer::new(writes).with_times(false)
}

/// Puts dots in place of a line's nine columns of time.
fn masked(tree: &str) -> String {
    let mask = |line: &str| {
        let (time, rest) = line.split_at(line.char_indices().nth(9).unwrap().0);
        assert!(time.ends_with("µs") || time.ends_with("ms") || time.ends_with(" s"), "{time:?}");
        format!("........ {rest}\n")
    };
    tree.lines().map(mask).collect()
}

#[test]
fn the_running_case_is_one_tree() {
    let drawn = draw(TreeLayer::new, running_case);
    let [tree] = &drawn[..] else { panic!("one write: {drawn:?}") };
    assert_eq!(
        masked(tree),
        "\
........   invoke_workflow · conversation c-17 · answered
........   ├─ agent booking_agent
........   │  ├─ chat scripted · concept (claude-sonnet-5) · 800 tokens in, 40 out · tool_use
........   │  ├─ tool get_quote
........   │  ├─ tool book · error slot_taken
........   │  ├─ chat scripted · concept (claude-sonnet-5) · 900 tokens in, 50 out · tool_use
........   │  ├─ handoff refused by known · booking_agent → nobody 88 B · error handoff_refused
........   │  ├─ chat scripted · concept (claude-sonnet-5) · 950 tokens in, 60 out · tool_use
........   │  └─ handoff 1 · booking_agent → policy_agent 105 B (left behind 433 B)
........   └─ agent policy_agent
........      └─ chat scripted · concept (claude-sonnet-5) · 300 tokens in, 70 out · end_turn
"
    );
}

/// A label such as `concept (claude-sonnet-5)` names the model already, and so does one that is the model's name.
#[test]
fn a_model_is_named_once() {
    for (model, decision, drawn) in [
        ("claude-sonnet-5", "concept (claude-sonnet-5)", "chat concept (claude-sonnet-5)"),
        ("rule", "rule (no model)", "chat rule (no model)"),
        ("offline-rules", "offline-rules", "chat offline-rules"),
        ("scripted", "concept (claude-sonnet-5)", "chat scripted · concept (claude-sonnet-5)"),
    ] {
        let tree = draw(timeless, || {
            let _span = info_span!(
                target: "sommelier",
                "chat",
                gen_ai.request.model = model,
                decision,
            );
        });
        assert_eq!(tree, [format!("{drawn}\n")]);
    }
}

/// Two branches that ran at the same time are drawn each whole, and what they asked and handed over within them.
#[test]
fn branches_are_drawn_each_whole() {
    let drawn = draw(timeless, || delegating_case("c-17")).concat();
    let brief = drawn.replace("scripted · concept (claude-sonnet-5) · ", "");
    assert_eq!(
        brief,
        "\
invoke_workflow · conversation c-17 · answered
└─ agent supervisor
   ├─ chat 4 tokens in, 1 out · tool_use
   ├─ delegate ask_legal refused · supervisor 40 B · error not_yet
   ├─ delegate ask_billing done · supervisor ⇄ billing 40 B · 3 steps
   │  └─ agent billing
   │     ├─ chat 9 tokens in, 2 out · tool_use
   │     ├─ delegate ask_archive done · billing ⇄ archive 40 B · 1 step
   │     │  └─ agent archive
   │     │     ├─ tool find
   │     │     └─ chat 7 tokens in, 1 out · end_turn
   │     └─ chat 4 tokens in, 1 out · end_turn
   ├─ delegate ask_shipping partial · supervisor ⇄ shipping 40 B · 2 steps · error truncated
   │  ├─ agent shipping
   │  │  ├─ chat 3 tokens in, 1 out · tool_use
   │  │  └─ handoff 1 · shipping → customs 105 B (left behind 433 B)
   │  └─ agent customs
   │     └─ chat 2 tokens in, 1 out · max_tokens
   └─ chat 6 tokens in, 1 out · end_turn
"
    );
}

#[test]
fn without_times_a_run_always_draws_the_same() {
    assert_eq!(draw(timeless, running_case), draw(timeless, running_case));
}

#[test]
fn colour_adds_escapes_and_nothing_else() {
    let coloured = draw(|writes| timeless(writes).with_ansi(true), running_case).concat();
    let mut plain = coloured.clone();
    for code in ["\u{1b}[0m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[36m", "\u{1b}[90m"] {
        assert!(plain.contains(code), "{code:?}");
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, draw(timeless, running_case).concat());
}

#[test]
fn children_stand_in_the_order_of_opening_and_roots_apart() {
    let drawn = draw(timeless, || {
        let (first, second) = (workflow(), workflow());
        let agent = agent(&first, "booking_agent");
        let (one, two) = (tool(&agent, "one"), tool(&agent, "two"));
        let between = info_span!(target: "hyper", parent: &two, "request");
        drop(tool(&between, "within_two"));
        drop(between);
        drop(two);
        drop(tool(&agent, "three"));
        drop(one);
        drop(second);
        first.record("end", "answered");
    });
    assert_eq!(
        drawn,
        [
            "invoke_workflow · conversation c-17\n",
            "\
invoke_workflow · conversation c-17 · answered
└─ agent booking_agent
   ├─ tool one
   ├─ tool two
   │  └─ tool within_two
   └─ tool three
"
        ]
    );
}

/// Words for an open question are no answer to it, and a root of them does not look as if the agent had gone on by itself.
#[test]
fn words_for_an_open_question_are_told() {
    let drawn = draw(timeless, || {
        info_span!(target: "sommelier", "invoke_workflow", gen_ai.conversation.id = "c-17", words_wait = true, end = "waiting",
            waits_for = "tool pay");
    });
    let told =
        "invoke_workflow · conversation c-17 · words for an open question wait · waiting · for tool pay\n";
    assert_eq!(drawn, [told]);
}

#[test]
fn hostile_values_are_escaped() {
    let drawn = draw(timeless, || {
        let workflow = workflow();
        drop(tool(&workflow, "x\u{1b}[2J\n└─ tool y\u{7}\u{202e}"));
        drop(tool(&workflow, &"é".repeat(5_000)));
        refuse(&handoff(&workflow, "a\r\nb"), "known\u{1b}]0;title\u{7}");
        unasked(&delegate("supervisor", &workflow, "ask\u{1b}[2J", Some("x\n└─ y"), "c"), "not\u{7}_yet");
        info_span!(target: "sommelier", parent: &workflow, "unheard_of", otel.name = "a\tb");
    });
    assert_eq!(
        drawn,
        [format!(
            "\
invoke_workflow · conversation c-17
├─ tool x\\u{{1b}}[2J\\n└─ tool y\\u{{7}}\\u{{202e}}
├─ tool {}…
├─ handoff refused by known\\u{{1b}}]0;title\\u{{7}} · booking_agent → a\\r\\nb 88 B · error handoff_refused
├─ delegate ask\\u{{1b}}[2J refused · supervisor ⇄ x\\n└─ y 40 B · error not\\u{{7}}_yet
└─ unheard_of · a\\tb
",
            "é".repeat(120)
        )]
    );
}

#[test]
fn bare_spans_are_drawn_too() {
    let drawn = draw(timeless, || {
        let agent = info_span!(target: "sommelier", "invoke_agent");
        info_span!(target: "sommelier", parent: &agent, "chat");
        info_span!(target: "sommelier", parent: &agent, "execute_tool");
        info_span!(target: "sommelier", parent: &agent, "handoff");
        info_span!(target: "sommelier", parent: &agent, "delegate");
    });
    assert_eq!(drawn, ["agent ?\n├─ chat ?\n├─ tool ?\n├─ handoff · ? → ?\n└─ delegate ? · ?\n"]);
}

/// What a scripted decision costs is not told: nothing.
#[test]
fn no_tokens_are_not_told() {
    let drawn = draw(timeless, || {
        for (read, written) in [(0, 0), (7, 0), (0, 3)] {
            info_span!(
                target: "sommelier",
                "chat",
                gen_ai.request.model = "m",
                gen_ai.usage.input_tokens = read,
                gen_ai.usage.output_tokens = written,
            );
        }
    });
    assert_eq!(drawn, ["chat m\n", "chat m · 7 tokens in, 0 out\n", "chat m · 0 tokens in, 3 out\n"]);
}

#[test]
fn a_tree_is_bounded() {
    let drawn = draw(timeless, || {
        let workflow = workflow();
        for _ in 0..MAX_DRAWN_SPANS + 2 {
            let agent = agent(&workflow, "booking_agent");
            drop(tool(&agent, "get_quote"));
        }
    })
    .concat();
    assert_eq!(drawn.lines().count(), MAX_DRAWN_SPANS + 1);
    assert_eq!(drawn.lines().last(), Some("(10005 more spans)"));
}

#[test]
fn a_deep_tree_stops_at_the_right_margin() {
    let drawn = draw(timeless, || {
        let mut spans: Vec<Span> = vec![workflow()];
        for _ in 0..200 {
            spans.push(agent(&spans[spans.len() - 1], "booking_agent"));
        }
    })
    .concat();
    assert_eq!(drawn.lines().count(), 201);
    assert!(drawn.lines().all(|line| line.chars().count() < 250));
}
