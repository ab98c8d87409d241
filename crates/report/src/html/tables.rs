//! What was used, and the matrix of ways.

use crate::markup::Markup;
use crate::shown::{counted, duration};
use crate::story::{Kind, Matrix, Passes, Spent, Way};
use crate::text::{gone, share, since};
use crate::used::{self, ToolUse};
use crate::who::Cast;

/// Branches that lie deeper are indented no further.
const DEEPEST: usize = 12;

/// A matrix of more agents than this is a list.
const MOST_AGENTS: usize = 16;

pub(super) fn budget(story: &Cast<'_>, out: &mut Markup) {
    if !story.budget.is_empty() {
        out.raw("<table class=\"budget\"><caption>Used ").raw(since(story.source));
        out.raw("</caption><thead><tr>");
        out.raw("<th scope=\"col\">Of</th><th scope=\"col\" class=\"num\">Used</th><th scope=\"col\" class=\"num\">Of</th>");
        out.raw("<th scope=\"col\" class=\"wide\">Share</th></tr></thead><tbody>");
        story.budget.iter().for_each(|spent| row(spent, out));
        out.raw("</tbody></table>\n");
    }
    branches(story, out);
    out.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What each has used\"><table class=\"stack\"><caption>By whom</caption>");
    out.raw("<thead><tr><th scope=\"col\">Who</th><th scope=\"col\" class=\"num\">Model calls</th>");
    out.raw("<th scope=\"col\" class=\"num\">Tool runs</th><th scope=\"col\" class=\"num\">Tokens read</th>");
    out.raw("<th scope=\"col\" class=\"num\">Tokens written</th></tr></thead><tbody>");
    for place in story.in_order() {
        let Some(part) = story.parts.get(place) else { continue };
        if !matches!(part.kind, Kind::Agent | Kind::Delegate) {
            continue;
        }
        out.raw("<tr><th scope=\"row\">");
        story.named(place, out);
        out.raw("</th>");
        let figures = [
            ("Model calls", part.model_calls),
            ("Tool runs", part.tool_calls),
            ("Tokens read", part.input_tokens),
            ("Tokens written", part.output_tokens),
        ];
        for (of, figure) in figures {
            out.raw("<td class=\"num\" data-of=\"").raw(of).raw("\">").own(figure).raw("</td>");
        }
        out.raw("</tr>");
    }
    out.raw("</tbody></table></div>\n");
    tools(story, out);
}

/// What each branch has used of what it was given, below the one that asked it.
fn branches(story: &Cast<'_>, out: &mut Markup) {
    let budget = |run: usize| story.runs.get(run).map(|run| &*run.budget).unwrap_or_default();
    let told: Vec<_> = story.branches().filter(|(_, run)| !budget(*run).is_empty()).collect();
    let mut measures: Vec<&str> = Vec::new();
    for spent in told.iter().flat_map(|(_, run)| budget(*run)) {
        if !measures.contains(&&*spent.measure) {
            measures.push(&spent.measure);
        }
    }
    if measures.is_empty() {
        return;
    }
    out.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What each branch has used\"><table class=\"branches\">");
    out.raw("<caption>By which branch, its own branches included</caption><thead><tr><th scope=\"col\">Branch</th>");
    for measure in &measures {
        out.raw("<th scope=\"col\" class=\"num\">").value(measure).raw("</th>");
    }
    out.raw("</tr></thead><tbody>");
    for (question, run) in told {
        out.raw("<tr><th scope=\"row\">");
        for _ in 1..story.depth(run).min(DEEPEST) {
            out.raw("<span class=\"in\"></span>");
        }
        if let Some(to) = question.to {
            story.named(to, out);
        }
        out.raw(" <span class=\"arrow\">by</span> ").code(&question.tool).raw("</th>");
        for measure in &measures {
            out.raw("<td class=\"num\">");
            match budget(run).iter().find(|spent| spent.measure == *measure) {
                Some(spent) => out.own(share(spent)),
                None => out.raw("–"),
            };
            out.raw("</td>");
        }
        out.raw("</tr>");
    }
    out.raw("</tbody></table></div>\n");
}

/// What the tools did, by name.
fn tools(story: &Cast<'_>, out: &mut Markup) {
    let tools = used::tools(story);
    if tools.is_empty() {
        return;
    }
    out.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Tools\"><table class=\"stack\"><caption>With which tools</caption>");
    out.raw("<thead><tr><th scope=\"col\">Tool</th><th scope=\"col\" class=\"num\">Runs</th>");
    out.raw("<th scope=\"col\" class=\"num\">Failed</th><th scope=\"col\" class=\"num\">Took</th></tr></thead><tbody>");
    for (tool, ToolUse { runs, failed, took_us }) in tools {
        out.raw("<tr><th scope=\"row\">")
            .code(tool)
            .raw("</th><td class=\"num\" data-of=\"Runs\">")
            .own(runs)
            .raw("</td><td class=\"num\" data-of=\"Failed\">");
        out.own(failed)
            .raw("</td><td class=\"num\" data-of=\"Took\">")
            .own(duration(took_us))
            .raw("</td></tr>");
    }
    out.raw("</tbody></table></div>\n");
}

fn row(spent: &Spent, out: &mut Markup) {
    out.raw("<tr><th scope=\"row\">").value(&spent.measure).raw("</th><td class=\"num\">").own(spent.used);
    out.raw("</td><td class=\"num\">");
    match spent.allowed {
        Some(allowed) => out.own(allowed),
        None => out.raw("–"),
    };
    out.raw("</td><td class=\"wide\">");
    if let Some(allowed) = spent.allowed {
        let share = u128::from(spent.used.min(allowed)) * 1000 / u128::from(allowed.max(1));
        let share = u32::try_from(share).unwrap_or_default();
        let class = if spent.used >= allowed { "part full" } else { "part" };
        out.raw(
            "<svg class=\"ratio\" aria-hidden=\"true\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\">",
        );
        out.raw("<rect class=\"rest\" width=\"1000\" height=\"10\"/><rect class=\"")
            .raw(class)
            .raw("\" width=\"")
            .number(share);
        out.raw("\" height=\"10\"/></svg>");
    }
    out.raw("</td></tr>");
}

pub(super) fn routes(story: &Cast<'_>, out: &mut Markup) {
    for relay in story.relays.iter().filter(|relay| !relay.ways.is_empty()) {
        if !relay.place.is_empty() {
            out.raw("<h3>Behind ").code(&relay.place).raw("</h3>");
        }
        if !relay.is_whole {
            out.raw(
                "<p class=\"muted\">The source tells of the ways that were tried, and not of the others.</p>",
            );
        }
        let turns = relay.ways.iter().any(|way| way.passes == Passes::Turn);
        if turns && relay.agents.len() <= MOST_AGENTS {
            matrix(relay, out);
        }
        list(relay, turns && relay.agents.len() <= MOST_AGENTS, out);
    }
}

fn matrix(relay: &Matrix, out: &mut Markup) {
    out.raw("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Routing matrix\"><table class=\"matrix\">");
    out.raw("<caption>Who may hand the turn to whom</caption><thead><tr><th scope=\"col\">from \\ to</th>");
    for to in &relay.agents {
        out.raw("<th scope=\"col\">").name(to).raw("</th>");
    }
    out.raw("</tr></thead><tbody>");
    for from in &relay.agents {
        out.raw("<tr><th scope=\"row\">").name(from).raw("</th>");
        for to in &relay.agents {
            let is_it = |way: &&Way| way.passes == Passes::Turn && way.from == *from && way.to == *to;
            cell(relay.ways.iter().find(is_it), relay.is_whole, out);
        }
        out.raw("</tr>");
    }
    out.raw("</tbody></table></div>\n");
}

fn cell(way: Option<&Way>, is_whole: bool, out: &mut Markup) {
    let Some(way) = way else {
        if !is_whole {
            out.raw("<td class=\"none\"><span aria-hidden=\"true\">?</span><span class=\"sr\">not tried</span></td>");
            return;
        }
        out.raw(
            "<td class=\"none\"><span aria-hidden=\"true\">·</span><span class=\"sr\">no route</span></td>",
        );
        return;
    };
    let (class, sign) = match (way.taken, way.refused) {
        (0, 0) => ("untaken", "○"),
        (0, _) => ("refused", "✕"),
        _ => ("taken", "●"),
    };
    out.raw("<td class=\"")
        .raw(class)
        .raw("\"><span aria-hidden=\"true\">")
        .raw(sign)
        .raw("</span> ")
        .own(gone(way))
        .raw("</td>");
}

/// The ways that a matrix has no place for, and what is special about the others.
fn list(relay: &Matrix, has_matrix: bool, out: &mut Markup) {
    let is_in_matrix = |way: &&Way| {
        has_matrix && way.passes == Passes::Turn && way.notes.is_empty() && relay.agents.contains(&way.to)
    };
    let ways: Vec<&Way> = relay.ways.iter().filter(|way| !is_in_matrix(way)).collect();
    if ways.is_empty() {
        return;
    }
    out.raw("<ul class=\"ways\">");
    for way in ways {
        let what = if way.passes == Passes::Turn { " ⇒ " } else { " asks by " };
        out.raw("<li>").name(&way.from).raw(what).name(&way.to);
        if !(has_matrix && way.passes == Passes::Turn && relay.agents.contains(&way.to)) {
            out.raw(": ").own(gone(way));
        }
        for note in &way.notes {
            out.raw(" <span class=\"chip\">").value(note).raw("</span>");
        }
        out.raw("</li>");
    }
    let questions = relay.ways.iter().filter(|way| way.passes == Passes::Question).count();
    out.raw("</ul>");
    if questions > 0 {
        let count = counted(questions as u64, "way", "ways");
        out.raw("<p class=\"muted\">A question leaves the turn where it is: ")
            .own(count)
            .raw(" of this kind.</p>");
    }
}
