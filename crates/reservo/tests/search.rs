//! Searching the policy documents.

use reservo::PolicyLibrary;
use reservo::policy::DocId;
use reservo::search::{Hit, MAX_HITS, search_docs};

fn search(query: &str) -> Vec<Hit> {
    search_docs(&PolicyLibrary::standard(), query)
}

#[track_caller]
fn check(expected: DocId, queries: &[&str]) {
    for query in queries {
        let found: Vec<_> = search(query).iter().map(|hit| (hit.doc_id, hit.score)).collect();
        assert_eq!(found.first().map(|(id, _)| *id), Some(expected), "{query:?} found {found:?}");
    }
}

#[test]
fn the_best_document_comes_first() {
    check(
        DocId::NoShow,
        &[
            "What happens if the customer does not show up for the booking?",
            "what happens if I don't show up",
            "no-show",
            "noshow fee",
            "no show charge",
            "I won’t come",
            "we can't make it",
            "what if nobody turns up",
            "I miss my booking",
            "if the guest never appears",
            "Was passiert, wenn ich nicht erscheine?",
            "wenn niemand kommt",
            "ich komme nicht",
            "when is the room released",
        ],
    );
    check(
        DocId::Cancel,
        &[
            "cancellation policy",
            "Can I cancel?",
            "cancelling 3 hours before",
            "what do I get back if I cancel",
            "Stornierung",
            "kann ich stornieren",
            "Stornobedingungen",
        ],
    );
    check(
        DocId::Refund,
        &[
            "refund",
            "when does the refund arrive",
            "how do I get my money back",
            "Rückerstattung",
            "business days",
            "Geld zurück",
        ],
    );
    check(
        DocId::Change,
        &[
            "move my booking to another day",
            "reschedule",
            "change my booking",
            "umbuchen",
            "Termin verschieben",
            "is a free move possible",
        ],
    );
    check(
        DocId::Hours,
        &[
            "opening hours",
            "when are you open",
            "Öffnungszeiten",
            "wann habt ihr geöffnet",
            "when do you close",
        ],
    );
    check(
        DocId::Payment,
        &["when do I pay", "payment", "when am I charged for it", "wann muss ich bezahlen", "credit card"],
    );
}

#[test]
fn nothing_in_common_finds_nothing() {
    for query in ["", "   ", "?!", "the of and", "volcano", "🙂", "what is it"] {
        assert_eq!(search(query), [], "{query:?}");
    }
}

#[test]
fn at_most_three_are_found_best_first_and_equal_scores_by_id() {
    for query in ["booking", "start hours booking refund payment", "charge of the booking before the start"] {
        let hits = search(query);
        assert!((1..=MAX_HITS).contains(&hits.len()), "{query}");
        assert!(
            hits.windows(2).all(|pair| (pair[1].score, pair[0].doc_id) < (pair[0].score, pair[1].doc_id)
                || pair[0].score > pair[1].score),
            "{hits:?}"
        );
    }
    let tied: Vec<_> = search("24").iter().map(|hit| (hit.doc_id, hit.score)).collect();
    assert_eq!(tied, [(DocId::Cancel, 5), (DocId::Change, 5)]);
}

#[test]
fn a_hit_carries_the_document_as_it_is_now() {
    let mut library = PolicyLibrary::standard();
    library.no_show.fee_cents = reservo::Cents(700);
    let hit = search_docs(&library, "no-show").remove(0);
    let document = library.document(DocId::NoShow);
    assert_eq!(
        hit,
        Hit { doc_id: document.doc_id, title: document.title, text: document.text, score: hit.score }
    );
    assert!(hit.text.contains("700 cents"));
    let json = serde_json::to_string(&hit).unwrap();
    assert!(json.starts_with(r#"{"doc_id":"POL-NOSHOW","title":"No-show","text":"If nobody"#), "{json}");
}

#[test]
fn a_repeated_word_adds_nothing_and_a_long_query_is_searched() {
    assert_eq!(search("refund refund refund"), search("refund"));
    assert_eq!(search(&"no-show booking ".repeat(10_000)), search("no-show booking"));
}
