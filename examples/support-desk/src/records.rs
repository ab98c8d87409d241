//! What the desk can look up: one account's charges and the known issues, both made up, and the tools for them.

use serde::Serialize;
use sommelier_runtime::tool::{CallContext, Failure};
use sommelier_runtime::{Tool, tool_args};

/// A charge of the account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Charge {
    /// Its id.
    pub charge: &'static str,
    /// The day, as `2026-11-28`.
    pub day: &'static str,
    /// What for.
    pub what: &'static str,
    /// How much, in cents.
    pub cents: i64,
}

/// The account's charges, newest first. The first two are the same one, taken twice.
pub const CHARGES: [Charge; 3] = [
    Charge { charge: "CH-1042", day: "2026-11-28", what: "pro plan, December", cents: 2900 },
    Charge { charge: "CH-1041", day: "2026-11-28", what: "pro plan, December", cents: 2900 },
    Charge { charge: "CH-0977", day: "2026-10-28", what: "pro plan, November", cents: 2900 },
];

/// An issue that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Issue {
    /// Its id.
    pub issue: &'static str,
    /// What happens.
    pub title: &'static str,
    /// What helps.
    pub fix: &'static str,
}

const ISSUES: [Issue; 2] = [
    Issue { issue: "KB-7", title: "Crash at login with Google", fix: "Update the app to 4.2.1." },
    Issue { issue: "KB-9", title: "Exports stop with error 500", fix: "Export one month at a time." },
];

tool_args! {
    /// Nothing: the account is the customer's.
    pub struct FindCharges {}
}

tool_args! {
    /// What is to be given back.
    pub struct RefundCharge {
        /// The id of the charge.
        pub charge: String,
    }
}

tool_args! {
    /// What to look for.
    pub struct SearchIssues {
        /// What happens, in the customer's words.
        pub query: String,
    }
}

/// What a refund comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Refund {
    refund: String,
    cents: i64,
}

/// The tools of the billing desk. A refund needs approval.
pub fn billing_tools() -> Vec<Tool> {
    vec![
        Tool::new("find_charges", "Lists the charges of the account, newest first.", find_charges),
        Tool::new("refund_charge", "Gives one charge back, by its id.", refund).needs_approval(),
    ]
}

/// The tool of the technical desk.
pub fn technical_tools() -> Vec<Tool> {
    vec![Tool::new("search_issues", "Finds known issues, best first.", search)]
}

fn find_charges(_: FindCharges, _: &CallContext<'_>) -> Result<Vec<Charge>, Failure> {
    Ok(CHARGES.to_vec())
}

fn refund(asked: RefundCharge, _: &CallContext<'_>) -> Result<Refund, Failure> {
    let charge = CHARGES.iter().find(|charge| charge.charge == asked.charge);
    let unknown = || Failure::new("unknown_charge", format!("there is no charge {:?}", asked.charge));
    let charge = charge.ok_or_else(unknown)?;
    Ok(Refund { refund: charge.charge.replace("CH", "RF"), cents: charge.cents })
}

/// Issues whose titles share two words or more with the query, the most first.
fn search(asked: SearchIssues, _: &CallContext<'_>) -> Result<Vec<Issue>, Failure> {
    let query = asked.query.to_lowercase();
    let words: Vec<&str> = query.split(|c: char| !c.is_alphanumeric()).collect();
    let shared = |issue: &Issue| {
        let title = issue.title.to_lowercase();
        title
            .split(' ')
            .filter(|word| word.len() > 2 && words.iter().any(|said| said.starts_with(word)))
            .count()
    };
    let mut found: Vec<(usize, Issue)> = ISSUES.iter().map(|issue| (shared(issue), issue.clone())).collect();
    found.retain(|(shared, _)| *shared >= 2);
    found.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    Ok(found.into_iter().map(|(_, issue)| issue).collect())
}
