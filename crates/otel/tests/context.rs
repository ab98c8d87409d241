//! Names of traces.

use proptest::prelude::*;
use sommelier_otel::TraceContext;

/// What is not as the standard has it is no trace, and is told so; nothing panics.
#[test]
fn only_what_the_standard_allows_is_read() {
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let taken = [
        (format!("00-{trace}-00f067aa0ba902b7-01"), format!("00-{trace}-00f067aa0ba902b7-01")),
        // Flags that are not known are not passed on.
        (format!("00-{trace}-00f067aa0ba902b7-ff"), format!("00-{trace}-00f067aa0ba902b7-01")),
        (format!("00-{trace}-00f067aa0ba902b7-00"), format!("00-{trace}-00f067aa0ba902b7-00")),
        // A later version begins as this one does.
        (
            format!("cc-{trace}-00f067aa0ba902b7-01-what-the-future-brings"),
            format!("00-{trace}-00f067aa0ba902b7-01"),
        ),
        (trace.to_owned(), trace.to_owned()),
    ];
    for (text, read) in taken {
        assert_eq!(text.parse::<TraceContext>().map(|context| context.to_string()), Ok(read), "{text}");
    }
    let refused = [
        String::new(),
        "0".repeat(32),
        trace.to_uppercase(),
        format!("00-{trace}-0000000000000000-01"),
        format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
        format!("00-{trace}-00f067aa0ba902b7-01-more"),
        format!("ff-{trace}-00f067aa0ba902b7-01"),
        format!("00-{trace}-00f067aa0ba902b7"),
        format!("00-{trace}-00f067aa0ba902b-01"),
        format!("00-{trace}-+0f067aa0ba902b7-01"),
        format!("00-{trace}-00f067aa0ba902b7-1"),
    ];
    for text in refused {
        let why = text.parse::<TraceContext>().unwrap_err().to_string();
        assert!(why.starts_with("neither a W3C traceparent"), "{text}: {why}");
    }
}

/// Traces of our own differ, and are read back.
#[test]
fn a_trace_of_our_own_is_read_back() {
    let (first, second) = (TraceContext::begin(), TraceContext::begin());
    assert_ne!(first, second);
    assert_eq!(first.to_string().parse(), Ok(first));
    assert!(first.traceparent().parse::<TraceContext>().is_ok());
}

proptest! {
    /// Whatever the environment holds.
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}|[0-9a-f-]{0,80}") {
        if let Ok(context) = text.parse::<TraceContext>() {
            prop_assert_eq!(context.to_string().parse(), Ok(context));
        }
    }
}
