//! What was weighed, and how it is told.

use examples_kit::{Claim, Measured, Shown, wrapped};
use serde::Serialize;
use sommelier_handoff::{HandoffPackage, Hop};
use sommelier_protocol::Message;
use sommelier_runtime::{Model, ScriptedModel};
use std::collections::BTreeSet;

/// A handoff and what came of it.
#[derive(Serialize)]
pub(crate) struct Crossing {
    /// Quotes before the one that was asked for.
    more_quotes: usize,
    package: Option<HandoffPackage>,
    package_bytes: usize,
    history_bytes: usize,
    answer: String,
    /// Bytes of the messages in the receiver's first request: the package in its fence, as one message.
    first_request_bytes: usize,
    #[serde(skip)]
    pub(crate) history: Vec<Message>,
    #[serde(skip)]
    unused: usize,
    #[serde(skip)]
    label: String,
}

/// What the whole history would have been instead.
#[derive(Serialize)]
pub(crate) struct Contrast {
    /// Bytes of the history and the question: all that crosses.
    pub(crate) crossing_bytes: usize,
    /// Bytes of the history alone.
    pub(crate) history_bytes: usize,
    /// Bytes of the messages in the receiver's first request.
    pub(crate) first_request_bytes: usize,
    /// The totals among which the receiver has to find the right one.
    pub(crate) totals: usize,
    /// What a package with this history in its context breaks.
    pub(crate) breaches: Vec<String>,
    pub(crate) answer: String,
    #[serde(skip)]
    pub(crate) unused: usize,
}

/// Something that the sender knows, and whether the receiver needs it.
#[derive(Serialize)]
pub(crate) struct Datum {
    name: &'static str,
    /// Bytes of the package without it.
    package_bytes_without: usize,
    answer_without: String,
    is_needed: bool,
}

#[derive(Serialize)]
pub(crate) struct Weighed {
    model: String,
    crossings: Vec<Crossing>,
    whole_history: Vec<Contrast>,
    all_data: Crossing,
    data: Vec<Datum>,
}

impl Crossing {
    pub(crate) fn new(
        more_quotes: usize,
        hop: &Hop,
        history: Vec<Message>,
        answer: &str,
        model: &Measured<ScriptedModel>,
    ) -> Self {
        Self {
            more_quotes,
            package: hop.package.clone(),
            package_bytes: hop.package_bytes,
            history_bytes: hop.history_bytes,
            answer: answer.to_owned(),
            first_request_bytes: first_request(model),
            history,
            unused: model.model().unused().len(),
            label: model.label().unwrap_or_default().to_owned(),
        }
    }
}

impl Datum {
    pub(crate) fn new(name: &'static str, all: &Crossing, without: &Crossing) -> Self {
        Self {
            name,
            package_bytes_without: without.package_bytes,
            answer_without: without.answer.clone(),
            is_needed: without.answer != all.answer,
        }
    }
}

impl Weighed {
    pub(crate) fn new(crossings: Vec<(Crossing, Contrast)>, all_data: Crossing, data: Vec<Datum>) -> Self {
        let (crossings, whole_history) = crossings.into_iter().unzip();
        Self { model: all_data.label.clone(), crossings, whole_history, all_data, data }
    }

    fn pairs(&self) -> impl Iterator<Item = (&Crossing, &Contrast)> {
        self.crossings.iter().zip(&self.whole_history)
    }
}

/// Bytes of the messages in policy_agent's first request.
pub(crate) fn first_request(model: &Measured<ScriptedModel>) -> usize {
    let asked = model.asked().into_iter().find(|asked| asked.agent == "policy_agent");
    asked.map_or(0, |asked| asked.message_bytes)
}

/// How many times `part` goes into `whole`, to one place.
fn times(whole: usize, part: usize) -> String {
    let tenths = (10 * whole + part / 2) / part.max(1);
    format!("{}.{}", tenths / 10, tenths % 10)
}

pub(crate) fn shown(weighed: Weighed) -> Shown<Weighed> {
    let Weighed { model, crossings, all_data, data, .. } = &weighed;
    let package = crossings.first().and_then(|first| first.package.as_ref()).map(HandoffPackage::to_json);
    let mut text = format!(
        "Decisions: {model}. Everything else is executed.\nSizes are bytes of compact JSON in UTF-8.\n\n\
         1. The package, whatever was done before it, and the history that stays behind\n{}\n\n   \
         more quotes   package   history   times the package\n",
        wrapped(&format!("   {}", package.unwrap_or_default()), 5),
    );
    for Crossing { more_quotes, package_bytes, history_bytes, .. } in crossings {
        let times = times(*history_bytes, *package_bytes);
        text.push_str(&format!("   {more_quotes:>11} {package_bytes:>9} {history_bytes:>9} {times:>19}\n"));
    }
    text.push_str(&format!(
        "\n2. Which data does policy_agent need? All four make a package of {} bytes. Each left out in turn:\n   \
         without        package   policy_agent answers\n",
        all_data.package_bytes
    ));
    for Datum { name, package_bytes_without, answer_without, is_needed } in data {
        let answer = if *is_needed { answer_without } else { "the same, so it can stay behind" };
        let line = format!("   {name:<12} {package_bytes_without:>9}   {answer}");
        text.push_str(&format!("{}\n", wrapped(&line, 28)));
    }
    text.push_str(
        "\n3. The anti-pattern, for contrast: policy_agent is given the whole history and the question\n   \
         more quotes   crosses   times the package   first request   with the package   totals in it\n",
    );
    for (crossing, contrast) in weighed.pairs() {
        text.push_str(&format!(
            "   {:>11} {:>9} {:>19} {:>15} {:>18} {:>14}\n",
            crossing.more_quotes,
            contrast.crossing_bytes,
            times(contrast.crossing_bytes, crossing.package_bytes),
            contrast.first_request_bytes,
            crossing.first_request_bytes,
            contrast.totals,
        ));
    }
    let answers: BTreeSet<&str> = weighed.whole_history.iter().map(|contrast| &*contrast.answer).collect();
    for answer in answers {
        text.push_str(&format!("{}\n", wrapped(&format!("   It answers: {answer}"), 5)));
    }
    let breach = weighed.whole_history.iter().flat_map(|contrast| &contrast.breaches).next();
    let breach = format!("   No package may hold that: {}", breach.map_or("", |breach| breach));
    text.push_str(&format!("{}\n", wrapped(&breach, 5)));
    let claims = claims(&weighed);
    Shown { text, json: weighed, claims }
}

fn claims(weighed: &Weighed) -> Vec<Claim> {
    let Weighed { crossings, whole_history, all_data, data, .. } = weighed;
    let first = &crossings[0];
    let sizes: Vec<usize> = crossings.iter().map(|crossing| crossing.package_bytes).collect();
    let answers = crossings.iter().map(|crossing| &crossing.answer);
    let other_answers = whole_history.iter().map(|contrast| &contrast.answer);
    let needed: Vec<&str> = data.iter().filter(|datum| datum.is_needed).map(|datum| datum.name).collect();
    let unused: usize = weighed.pairs().map(|(crossing, contrast)| crossing.unused + contrast.unused).sum();
    vec![
        Claim::equal("the package is 105 bytes each time", sizes, vec![105; crossings.len()]),
        Claim::that(
            "the history is 3.8 times that or more, and longer with each quote",
            10 * first.history_bytes >= 38 * first.package_bytes
                && crossings.windows(2).all(|pair| pair[0].history_bytes < pair[1].history_bytes),
        ),
        Claim::equal(
            "of the four data the answer needs the quoted price alone",
            needed,
            vec!["quoted_cents"],
        ),
        Claim::that(
            "all four make a larger package and no other answer",
            all_data.package_bytes > first.package_bytes && all_data.answer == first.answer,
        ),
        Claim::that(
            "the history told in the contrast is the one that was measured",
            weighed.pairs().all(|(crossing, contrast)| crossing.history_bytes == contrast.history_bytes),
        ),
        Claim::that(
            "with the whole history four times as much crosses, or more, and more with each quote",
            weighed.pairs().all(|(crossing, contrast)| contrast.crossing_bytes >= 4 * crossing.package_bytes)
                && whole_history.windows(2).all(|pair| pair[0].crossing_bytes < pair[1].crossing_bytes),
        ),
        Claim::that(
            "and no package may hold it",
            whole_history
                .iter()
                .all(|contrast| contrast.breaches.iter().any(|breach| breach.contains("a message"))),
        ),
        Claim::that(
            "the answer is the same with the package and with the history, at every length",
            answers.chain(other_answers).all(|answer| *answer == first.answer)
                && first.answer.contains("6500"),
        ),
        Claim::equal("every scripted decision was asked for", unused, 0),
    ]
}
