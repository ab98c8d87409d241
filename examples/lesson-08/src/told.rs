//! The scenes in words and as a table.

use examples_kit::{HopRow, printable, wrapped};
use sommelier_handoff::{HANDOFF_TO_SPECIALIST, HandoffPackage};

use crate::scene::Scene;
use crate::steps::Asked;

impl Scene {
    /// Whether a handoff was right here.
    pub(crate) fn judgement(&self) -> &'static str {
        match self.verdict.handoff_was_right() {
            Some(true) => "YES",
            Some(false) => "NO",
            None => "NO, and none was made",
        }
    }

    /// What was asked, what happened, what it cost, and the verdict.
    pub(crate) fn told(&self, title: &str) -> String {
        let mut lines = vec![title.to_owned(), format!("  asked          {}", self.request)];
        match &self.asked[..] {
            [] => {
                let mut hops = self.hops.iter();
                lines.extend(self.steps.iter().map(|step| match step.calls == HANDOFF_TO_SPECIALIST {
                    true => format!("  {:<14} hands over {}", step.agent, package(hops.next())),
                    false => format!("  {}", step.told()),
                }));
            }
            asked => lines.extend(asked.iter().flat_map(told)),
        }
        lines.extend(self.answer.lines().enumerate().map(|(n, line)| {
            let [who, says] = if n == 0 { [self.last_agent.as_str(), "answers: "] } else { ["", ""] };
            format!("  {who:<14} {says}{line}")
        }));
        lines.push(format!("  hops           {}", self.hops_told()));
        lines.push(format!("  model calls    {}, critical path {}", self.model_calls, self.critical_path));
        lines.push(format!("  new bookings   {}", self.bookings_told()));
        lines.push(format!("  by its text    {}", self.verdict.from_text));
        lines.push(format!("  handoff right? {}", self.judgement()));
        let verdict = self.verdict.to_string();
        let told = verdict.lines().map(|line| line.strip_prefix("in this run: ").unwrap_or(line));
        lines.extend(
            ["by its run", "in this run"].iter().zip(told).map(|(what, told)| format!("  {what:<14} {told}")),
        );
        let lines = lines.iter().flat_map(|line| line.lines());
        lines.map(|line| wrapped(&printable(line), hang(line)) + "\n").collect()
    }

    fn hops_told(&self) -> String {
        let hops = self.hops.iter();
        let hops: Vec<String> =
            hops.map(|hop| format!("{} → {}, {} bytes", hop.from, hop.to, hop.package_bytes)).collect();
        if hops.is_empty() { "none".to_owned() } else { hops.join("; ") }
    }

    fn bookings_told(&self) -> String {
        let each = self.booked.iter();
        let each: Vec<String> = each
            .map(|booking| {
                let (id, room, plan, slot) = (booking.id, booking.room, booking.plan, booking.slot);
                format!("{id}, {room} {plan}, {}, {}", slot.start(), booking.total_cents)
            })
            .collect();
        if each.is_empty() { "none".to_owned() } else { each.join("; ") }
    }
}

/// Under what a line that is too long goes on: the words after the label.
fn hang(line: &str) -> usize {
    let deeper = line.starts_with("    ") && !line.starts_with("     ");
    if deeper { 19 } else { 17 }
}

/// What crossed, and to whom.
fn package(hop: Option<&HopRow>) -> String {
    let crossed = |hop: &HopRow| Some(format!("to {}: {}", hop.to, hop.package.as_ref()?.to_json()));
    hop.and_then(crossed).unwrap_or_default()
}

/// A question to a delegate, and what came of it.
fn told(asked: &Asked) -> Vec<String> {
    let Asked { by, tool, package, package_bytes, steps, model_calls, .. } = asked;
    let package = package.as_ref().map(HandoffPackage::to_json).unwrap_or_default();
    let question = format!("  {by:<14} {tool}, {package_bytes} bytes: {package}");
    let steps = steps.iter().map(|step| format!("    {}", step.told()));
    [question].into_iter().chain(steps).chain([format!("    in {model_calls} model calls")]).collect()
}

/// The scenes side by side.
pub(crate) fn table(scenes: [&Scene; 4]) -> String {
    let mut text = format!(
        "{:<12}  {:>5}  {:<12}  {:<12}  {:<20}  {:>5}  {:>4}  {:>4}\n",
        "scenario", "parts", "by its text", "by its run", "handoff right?", "calls", "path", "hops"
    );
    for scene in scenes {
        text.push_str(&format!(
            "{:<12}  {:>5}  {:<12}  {:<12}  {:<20}  {:>5}  {:>4}  {:>4}\n",
            scene.name,
            scene.parts,
            scene.verdict.from_text.pattern.as_str(),
            scene.verdict.as_met.pattern.as_str(),
            scene.judgement(),
            scene.model_calls,
            scene.critical_path,
            scene.hops.len(),
        ));
    }
    text
}
