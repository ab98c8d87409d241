//! Which of the handoffs that a reply asks for is taken, if any.

use serde::{Deserialize, Serialize};
use sommelier_protocol::ToolUse;
use sommelier_runtime::turn::Reserved;
use sommelier_runtime::{AgentName, ToolOutput};

#[cfg(test)]
use crate::planted::{self, Bug};
use crate::pseudo_tool::Wish;
use crate::{HandoffPackage, Hop, HopOutcome, Millis, PackageError, Refusal, Relay, Run};

/// What the arbiter makes of the handoffs of one reply: an output for each, in call order; the hop that is
/// taken; and, when none is, the refusals.
pub(crate) struct Ruling {
    pub(crate) outputs: Vec<ToolOutput>,
    pub(crate) taken: Option<Taken>,
    pub(crate) refused: Vec<Hop>,
}

/// The handoff that is taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Taken {
    pub(crate) to: AgentName,
    pub(crate) package: HandoffPackage,
    pub(crate) hop: Hop,
}

/// A handoff that was asked for and has been looked at.
struct Looked {
    place: usize,
    call_id: Box<str>,
    to: Box<str>,
    package: Option<HandoffPackage>,
    verdict: Result<AgentName, Refusal>,
}

/// Rules on the handoffs of one reply: the first that no guard refuses is taken, an equal one after it is its
/// duplicate, and every other is refused.
pub(crate) fn rule(relay: &Relay, run: &Run, reserved: &Reserved, at: Millis) -> Ruling {
    let mut looked: Vec<Looked> =
        reserved.calls().map(|(place, call)| look(relay, run, place, call)).collect();
    let winner = looked.iter().position(|handoff| handoff.verdict.is_ok());
    #[cfg(test)]
    let winner = planted::instead(Bug::LastHandoffTaken, winner, || {
        looked.iter().rposition(|handoff| handoff.verdict.is_ok())
    });
    if let Some(winner) = winner {
        refuse_the_rest(&mut looked, winner);
    }
    let history_bytes = reserved.history_bytes();
    #[cfg(test)]
    let history_bytes = planted::instead(Bug::HistoryWithHandoff, history_bytes, || {
        history_bytes + reserved.messages().last().map_or(0, |reply| reply.wire_len())
    });
    let mut ruling = Ruling { outputs: Vec::with_capacity(looked.len()), taken: None, refused: Vec::new() };
    for handoff in looked {
        let Looked { place, call_id, to, package, verdict } = handoff;
        let package_bytes = package.as_ref().map_or(0, HandoffPackage::bytes);
        #[cfg(test)]
        let package_bytes = planted::instead(Bug::OnlyTaskMeasured, package_bytes, || {
            package.as_ref().map_or(0, |package| package.task().len())
        });
        let mut hop = Hop {
            id: format!("{}/{place}", run.reply_id()).into(),
            from: run.active.clone(),
            to,
            call_id,
            at,
            package_bytes,
            package: None,
            history_bytes,
            outcome: HopOutcome::Taken { number: run.trail.count() + 1 },
        };
        match (verdict, package) {
            (Ok(to), Some(package)) => {
                ruling.outputs.push(handed_over(&to));
                hop.package = Some(package.clone());
                ruling.taken = Some(Taken { to, package, hop });
            }
            (verdict, package) => {
                // A handoff without a package is never allowed, so the verdict is a refusal.
                let refusal = verdict.err().unwrap_or_else(|| Refusal::InvalidPackage { errors: Vec::new() });
                ruling.outputs.push(refusal.told(relay.receivers(&run.active)));
                hop.package = package;
                hop.outcome = HopOutcome::Refused { refusal: Box::new(refusal) };
                ruling.refused.push(hop);
            }
        }
    }
    #[cfg(test)]
    planted::spoil(&mut ruling.outputs);
    ruling
}

/// Whether a handoff that was taken is the one that its call asks for: what is loaded may say otherwise.
pub(crate) fn is_asked_for(relay: &Relay, run: &Run, reserved: &Reserved, taken: &Taken) -> bool {
    let Some((_, call)) = reserved.calls().find(|(_, call)| call.id() == &*taken.hop.call_id) else {
        return false;
    };
    let Wish { specialist, package } = Wish::read(call);
    let written = specialist.as_deref().map(AgentName::normalise).unwrap_or_default();
    let package = package.map(|package| with_user_words(relay, run, &written, package));
    let Some(way) = relay.way(&run.active, &taken.to) else { return false };
    let hop = &taken.hop;
    package.as_ref() == Ok(&taken.package)
        && written == taken.to.as_str()
        && (&hop.from, &*hop.to, hop.package.as_ref()) == (&run.active, &*written, Some(&taken.package))
        && way.route.policy.check(&taken.package).is_empty()
}

fn refuse_the_rest(looked: &mut [Looked], winner: usize) {
    let (before, after) = looked.split_at_mut(winner + 1);
    let Some(Looked { call_id: taken, package: Some(package), verdict: Ok(to), .. }) = before.last() else {
        return;
    };
    for other in after {
        let (Ok(wanted), Some(differing)) = (&other.verdict, &other.package) else { continue };
        let mut differs = package.differs(differing);
        if wanted != to {
            differs.insert(0, "specialist".to_owned());
        }
        other.verdict = Err(if differs.is_empty() {
            Refusal::Duplicate { of: taken.to_string() }
        } else {
            Refusal::OnePerTurn { taken: taken.to_string(), to: to.clone(), differs }
        });
    }
}

fn look(relay: &Relay, run: &Run, place: usize, call: &ToolUse) -> Looked {
    let Wish { specialist, package } = Wish::read(call);
    let written = specialist.as_deref().map(AgentName::normalise).unwrap_or_default();
    let mut package = package.map(|package| with_user_words(relay, run, &written, package));
    let verdict = judge(relay, run, specialist.map(|_| written.as_str()), &mut package);
    Looked {
        place,
        call_id: call.id().into(),
        to: crate::law::shortened(&written).into(),
        package: package.ok(),
        verdict,
    }
}

/// Asks the guards, in order.
fn judge(
    relay: &Relay,
    run: &Run,
    specialist: Result<&str, PackageError>,
    package: &mut Result<HandoffPackage, Vec<PackageError>>,
) -> Result<AgentName, Refusal> {
    let from = &run.active;
    let name = match specialist {
        Ok(name) => name,
        Err(error) => {
            // Without a receiver nothing else can be asked; the package's own errors are told with it.
            let mut errors = vec![error];
            if let Err(others) = package {
                errors.extend(
                    others.iter().filter(|other| !errors.contains(other)).cloned().collect::<Vec<_>>(),
                );
            }
            return Err(Refusal::InvalidPackage { errors });
        }
    };
    let to = known(relay, from, name)?;
    if to == from {
        return Err(Refusal::SelfHandoff { agent: from.clone() });
    }
    let Some(way) = relay.way(from, to) else {
        let legal = relay.receivers(from).cloned().collect();
        return Err(Refusal::NoRoute { from: from.clone(), to: to.clone(), legal });
    };
    let errors = match package {
        // It was read under the law, so the policy is all that is left to ask.
        Ok(package) => way.route.policy.check(package),
        Err(errors) => errors.clone(),
    };
    if !errors.is_empty() {
        return Err(Refusal::InvalidPackage { errors });
    }
    ready(relay, run, to)?;
    capped(relay, run, to)?;
    let is_this_pair = |hop: &Hop| hop.from == *from && *hop.to == *to.as_str();
    let has_been = run.trail.since_user().any(is_this_pair);
    #[cfg(test)]
    let has_been = planted::instead(Bug::PairSinceEver, has_been, || run.trail.taken().any(is_this_pair));
    if relay.guards().refuse_repeated_pairs && has_been {
        let chain = run.trail.chain(from, to);
        return Err(Refusal::RepeatedPair { from: from.clone(), to: to.clone(), chain });
    }
    Ok(to.clone())
}

fn known<'a>(relay: &'a Relay, from: &AgentName, name: &str) -> Result<&'a AgentName, Refusal> {
    if let Some(agent) = relay.agent(name) {
        return Ok(agent.name());
    }
    let known: Vec<AgentName> = relay.receivers(from).cloned().collect();
    let nearest = known.iter().map(|legal| (distance(legal.as_str(), name), legal)).min();
    // A name that shares too little with any legal one is near to none.
    let nearest_name = nearest.filter(|(distance, legal)| distance * 2 <= legal.as_str().len());
    Err(Refusal::UnknownSpecialist {
        name: crate::law::shortened(name),
        nearest_name: nearest_name.map(|(_, legal)| legal.clone()),
        known,
    })
}

/// Whether the receiver has, right now, the tools that the route requires.
pub(crate) fn ready(relay: &Relay, run: &Run, to: &AgentName) -> Result<(), Refusal> {
    let required = relay.way(&run.active, to).map(|way| way.requires.as_slice()).unwrap_or_default();
    let missing_tools: Vec<_> =
        required.iter().filter(|tool| run.is_switched_off(to, tool.as_str())).cloned().collect();
    if missing_tools.is_empty() {
        Ok(())
    } else {
        Err(Refusal::TargetNotReady { to: to.clone(), missing_tools })
    }
}

fn capped(relay: &Relay, run: &Run, to: &AgentName) -> Result<(), Refusal> {
    let guards = relay.guards();
    let over = (run.trail.count_since_user() >= guards.max_handoffs).then_some(guards.max_handoffs);
    #[cfg(test)]
    let over = planted::instead(Bug::CapOffByOne, over, || {
        (run.trail.count_since_user() > guards.max_handoffs).then_some(guards.max_handoffs)
    });
    let over_all = guards.max_handoffs_per_conversation.filter(|most| run.trail.count() >= *most);
    match over.or(over_all) {
        Some(max) => Err(Refusal::HandoffLimitExceeded { max, chain: run.trail.chain(&run.active, to) }),
        None => Ok(()),
    }
}

/// The package with the user's last words, where the route asks for them.
///
/// Words that no package of this route may hold are not the model's to mend, so they do not stop the handoff:
/// a note says that they were left out, and why.
fn with_user_words(relay: &Relay, run: &Run, to: &str, package: HandoffPackage) -> HandoffPackage {
    let way = AgentName::new(to).ok().and_then(|to| relay.way(&run.active, &to));
    let (Some(way), Some(words)) = (way.filter(|way| way.route.with_user_words), &run.user_words) else {
        return package;
    };
    let policy = &way.route.policy;
    // What is wrong with the package without the words is told as ever.
    let before = policy.check(&package);
    let with = |name: &str, text: &str| {
        let with = package.clone().artifact(name, text)?;
        // With the words it may be more than a package may be, and could not be read again.
        let read = HandoffPackage::read(&with.to_json()).map_err(|mut errors| errors.remove(0))?;
        let new = policy.check(&read).into_iter().find(|error| !before.contains(error));
        new.map_or(Ok(read), Err)
    };
    match with("user_words", words) {
        Ok(with) => with,
        Err(why) => with("user_words_left_out", &why.to_string()).unwrap_or_else(|_| package.clone()),
    }
}

fn handed_over(to: &AgentName) -> ToolOutput {
    ToolOutput::ok(format!(r#"{{"status":"handed_over","to":"{to}"}}"#))
}

/// The edits that make one text of the other; long texts are compared by their first 128 bytes.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (&a.as_bytes()[..a.len().min(128)], &b.as_bytes()[..b.len().min(128)]);
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = replaced.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
