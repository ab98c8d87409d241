//! Which of the handoffs that a reply asks for is taken, if any.

use serde::{Deserialize, Serialize};
use sommelier_protocol::ToolUse;
use sommelier_runtime::turn::Reserved;
use sommelier_runtime::{AgentName, ToolOutput};

use crate::budget::Shared;
use crate::own_guard::Objection;
#[cfg(test)]
use crate::planted::{self, Bug};
use crate::pseudo_tool::Wish;
use crate::relay::Way;
use crate::source::Source;
use crate::transform::{self, Broken};
use crate::{
    Answer, Artifact, Asks, Guard, HandoffPackage, Hop, HopOutcome, Millis, PackageError, Refusal, Relay,
    Route, Run,
};

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
        reserved.calls().map(|(place, call)| look(relay, run, reserved, (place, call), at)).collect();
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
        let mut hop = Hop { package_bytes, history_bytes, ..record(run, place, to, call_id, at) };
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

/// Whether a handoff that was taken is the one that its call asks for, answers included, and no guard would
/// refuse it but that of readiness, which is asked again when it is taken: what is loaded may say otherwise.
pub(crate) fn is_asked_for(
    relay: &Relay,
    run: &Run,
    reserved: &Reserved,
    outputs: &[ToolOutput],
    taken: &Taken,
) -> bool {
    let Taken { to, package, hop } = taken;
    let Some((place, call)) = call_of(reserved, taken) else { return false };
    let Wish { specialist, package: asked } = wish(relay, run, call);
    let written = specialist.as_deref().map(AgentName::normalise).unwrap_or_default();
    let (Ok(asked), Some(way)) = (asked, relay.way(&run.active, to)) else { return false };
    let record = Hop {
        package_bytes: package.bytes(),
        package: Some(package.clone()),
        history_bytes: reserved.history_bytes(),
        ..record(run, place, to.as_str().into(), call.id().into(), hop.at)
    };
    let source = source(run, reserved, place, hop.at);
    written == to.as_str()
        && (crosses(relay, way, source, &asked, taken) || may_be_overtaken(run, package))
        && *hop == record
        && capped(relay, run, to).is_ok()
        && new_pair(relay, run, to).is_ok()
        && own(relay, way, run, to, package).is_ok()
        && were_told(relay, run, hop, reserved, outputs)
}

/// Whether these are what the calls of a reply were told one of which is the handoff `taken`: that it was, and of the others
/// why not, by their refusals in the trail.
pub(crate) fn were_told(
    relay: &Relay,
    run: &Run,
    taken: &Hop,
    reserved: &Reserved,
    outputs: &[ToolOutput],
) -> bool {
    let (Some((reply, _)), Some(to)) = (taken.id.rsplit_once('/'), relay.agent(&taken.to)) else {
        return false;
    };
    let is_told = |id: &str, output: &ToolOutput| {
        let hop = run.trail.hops().iter().rev().find(|hop| *hop.id == *id);
        hop.is_some_and(|hop| match &hop.outcome {
            HopOutcome::Refused { refusal } => *output == refusal.told(relay.receivers(&taken.from)),
            HopOutcome::Taken { .. } => false,
        })
    };
    outputs.len() == reserved.calls().count()
        && reserved.calls().zip(outputs).all(|((place, _), output)| {
            let id = format!("{reply}/{place}");
            if *taken.id == *id { *output == handed_over(to.name()) } else { is_told(&id, output) }
        })
}

/// The record of the handoff at `place` of the newest reply, as the next to be taken; without its package and sizes.
fn record(run: &Run, place: usize, to: Box<str>, call_id: Box<str>, at: Millis) -> Hop {
    Hop {
        id: run.call_id(place).into(),
        from: run.active.clone(),
        to,
        call_id,
        at,
        package: None,
        package_bytes: 0,
        history_bytes: 0,
        outcome: HopOutcome::Taken { number: run.trail.count().saturating_add(1) },
        end: None,
        account: None,
    }
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

/// Whether code has put an artifact of the package into the run's table, perhaps since the handoff was ruled on: then it is
/// ruled on again when it is taken, whatever is held.
pub(crate) fn may_be_overtaken(run: &Run, package: &HandoffPackage) -> bool {
    let mut kept = run.artifacts().iter().filter(|artifact| artifact.is_kept_by_code());
    kept.any(|artifact| package.artifacts().get(&artifact.name).is_some())
}

/// Whether code has put an artifact into the run's table that a handoff of the reply names: it may not have been there when
/// the reply was ruled on.
pub(crate) fn may_be_ruled_anew(relay: &Relay, run: &Run, reserved: &Reserved) -> bool {
    let mut wishes = reserved.calls().map(|(_, call)| wish(relay, run, call));
    wishes.any(|wish| wish.package.is_ok_and(|package| may_be_overtaken(run, &package)))
}

/// Whether what crosses is still what its call asks for. Without artifacts nothing can have changed.
pub(crate) fn is_current(relay: &Relay, run: &Run, reserved: &Reserved, taken: &Taken) -> bool {
    if taken.package.artifacts().is_empty() {
        return true;
    }
    let (call, way) = (call_of(reserved, taken), relay.way(&run.active, &taken.to));
    let (Some((place, call)), Some(way)) = (call, way) else { return false };
    let Ok(asked) = wish(relay, run, call).package else { return false };
    crosses(relay, way, source(run, reserved, place, taken.hop.at), &asked, taken)
}

/// Whether what its call asks for crosses, as things stand, as the package of the handoff that is taken.
fn crosses(relay: &Relay, way: &Way, source: Source<'_>, asked: &HandoffPackage, taken: &Taken) -> bool {
    fit(relay, (&taken.to, way), source, asked)
        .is_ok_and(|with| with.as_ref().unwrap_or(asked) == &taken.package)
}

/// The call by which a handoff was asked for, with its place in the reply.
fn call_of<'a>(reserved: &'a Reserved, taken: &Taken) -> Option<(usize, &'a ToolUse)> {
    reserved.calls().find(|(_, call)| call.id() == &*taken.hop.call_id)
}

/// Where the call at `place` hands over from. What it brings is what it is since `at`, or since a person was asked about it:
/// it does not change meanwhile.
fn source<'a>(run: &'a Run, reserved: &'a Reserved, place: usize, at: Millis) -> Source<'a> {
    let at = match run.decision_record_at(place).map(|decision| &decision.question) {
        Some(question) if matches!(question.asks, Asks::Handoff { .. }) => question.at,
        _ => at,
    };
    Source { run, reserved, at }
}

/// What the run's table holds anew when a handoff is taken at `at`.
pub(crate) fn added(run: &Run, reserved: &Reserved, taken: &Taken, at: Millis) -> Vec<Artifact> {
    if taken.package.artifacts().is_empty() {
        return Vec::new();
    }
    let Some((place, call)) = call_of(reserved, taken) else { return Vec::new() };
    let Ok(written) = Wish::read(call, crate::law::INPUT_BYTES).package else { return Vec::new() };
    source(run, reserved, place, taken.hop.at).added(&written, &taken.package, at)
}

fn look(
    relay: &Relay,
    run: &Run,
    reserved: &Reserved,
    (place, call): (usize, &ToolUse),
    at: Millis,
) -> Looked {
    let Wish { specialist, mut package } = wish(relay, run, call);
    let written = specialist.as_deref().map(AgentName::normalise).unwrap_or_default();
    let source = source(run, reserved, place, at);
    let verdict = judge(relay, source, specialist.map(|_| written.as_str()), &mut package)
        .and_then(|to| allowed(run, place, to, package.as_ref().ok()));
    // A package that was refused before it was made fit is on record as it would have crossed.
    if verdict.as_ref().is_err_and(|refusal| refusal.guard() <= Guard::Package)
        && let Ok(written_package) = &package
    {
        let to = relay.agent(&written).map(|agent| agent.name());
        let way = to.and_then(|to| relay.way(&run.active, to));
        match changed(relay, way.map(|way| &way.route), written_package) {
            Ok(Some(changed)) => package = Ok(changed),
            Ok(None) => {}
            Err(_) => package = Err(Vec::new()),
        }
    }
    Looked {
        place,
        call_id: call.id().into(),
        to: crate::law::shortened(&written).into(),
        package: package.ok(),
        verdict,
    }
}

/// What a call of the active agent asks for.
fn wish(relay: &Relay, run: &Run, call: &ToolUse) -> Wish {
    let limits = relay.agent(run.active.as_str()).map(|agent| agent.limits().input_bytes);
    Wish::read(call, limits.unwrap_or(crate::law::INPUT_BYTES))
}

/// Asks the guards, in order. Where the route asks for the user's words, the package gets them on the way.
fn judge(
    relay: &Relay,
    source: Source<'_>,
    specialist: Result<&str, PackageError>,
    package: &mut Result<HandoffPackage, Vec<PackageError>>,
) -> Result<AgentName, Refusal> {
    let run = source.run;
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
    let fitted = match package {
        Ok(package) => fit(relay, (to, way), source, package),
        Err(errors) => Err(Refusal::InvalidPackage { errors: errors.clone() }),
    };
    match fitted {
        Ok(None) => {}
        Ok(Some(with)) => *package = Ok(with),
        Err(refusal) => {
            if matches!(refusal, Refusal::TransformFailed { .. }) {
                // What could not be changed is not on record as it was written.
                *package = Err(Vec::new());
            }
            return Err(refusal);
        }
    }
    ready(relay, run, to)?;
    capped(relay, run, to)?;
    new_pair(relay, run, to)?;
    if let Ok(package) = package {
        own(relay, way, run, to, package)?;
    }
    Ok(to.clone())
}

fn new_pair(relay: &Relay, run: &Run, to: &AgentName) -> Result<(), Refusal> {
    let from = &run.active;
    let is_this_pair = |hop: &Hop| hop.from == *from && *hop.to == *to.as_str();
    let has_been = run.trail.since_user().any(is_this_pair);
    #[cfg(test)]
    let has_been = planted::instead(Bug::PairSinceEver, has_been, || run.trail.taken().any(is_this_pair));
    if relay.guards().refuse_repeated_pairs && has_been {
        let chain = run.trail.chain(from, to);
        return Err(Refusal::RepeatedPair { from: from.clone(), to: to.clone(), chain });
    }
    Ok(())
}

/// Asks the guards of the user's own, those on the route and then the receiver's. They see the hops as they were before
/// the reply: a step that was saved has its refusals in the trail already.
fn own(relay: &Relay, way: &Way, run: &Run, to: &AgentName, package: &HandoffPackage) -> Result<(), Refusal> {
    let (on_route, of_receiver) = (&way.route.guards, relay.guards_of(to));
    if on_route.is_empty() && of_receiver.is_empty() {
        return Ok(());
    }
    #[cfg(test)]
    if planted::is(Bug::OwnGuardNotAsked) {
        return Ok(());
    }
    let mut trail = run.trail.clone();
    trail.forget_refusals_of(&run.reply_id());
    let refusal = |objection| match objection {
        Objection::Refused { guard, reason } => Refusal::GuardRefused { guard, to: to.clone(), reason },
        Objection::Failed { guard, causes } => Refusal::GuardFailed { guard, to: to.clone(), causes },
    };
    let mut guards = on_route.iter().chain(of_receiver);
    guards.try_for_each(|guard| guard.judge(package, &trail)).map_err(refusal)
}

/// Whether no person has said no. A yes is one to the package that was shown, and to no other.
fn allowed(
    run: &Run,
    place: usize,
    to: AgentName,
    package: Option<&HandoffPackage>,
) -> Result<AgentName, Refusal> {
    let Some(decision) = run.decision_record_at(place) else { return Ok(to) };
    match (&decision.answer, &decision.question.asks) {
        #[cfg(test)]
        _ if planted::is(Bug::RejectedHandoffTaken) => Ok(to),
        (Answer::Reject { reason }, _) => Err(Refusal::NotApproved { to, reason: reason.to_string() }),
        (Answer::Approve, Asks::Handoff { package: shown, .. }) if Some(&**shown) != package => {
            Err(Refusal::Overtaken { to })
        }
        _ => Ok(to),
    }
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
    match cap(relay, run) {
        Some(max) => Err(Refusal::HandoffLimitExceeded { max, chain: run.trail.chain(&run.active, to) }),
        None => Ok(()),
    }
}

/// The limit of hops that is reached, the lowest of them.
pub(crate) fn cap(relay: &Relay, run: &Run) -> Option<u32> {
    let guards = relay.guards();
    let over = (run.trail.count_since_user() >= guards.max_handoffs).then_some(guards.max_handoffs);
    #[cfg(test)]
    let over = planted::instead(Bug::CapOffByOne, over, || {
        (run.trail.count_since_user() > guards.max_handoffs).then_some(guards.max_handoffs)
    });
    let over_all = guards.max_handoffs_per_conversation.filter(|most| run.trail.count() >= *most);
    let of_budget = run.purse().and_then(|purse| purse.share(Shared::Hops)).filter(|share| share.left() == 0);
    let of_budget = of_budget.map(|share| u32::try_from(share.given()).unwrap_or(u32::MAX));
    over.or(over_all).into_iter().chain(of_budget).min()
}

/// The artifacts that code writes where a route asks for the user's words.
pub(crate) const USER_WORDS: &str = "user_words";
pub(crate) const USER_WORDS_LEFT_OUT: &str = "user_words_left_out";

/// The package as it crosses on a route, `None` when it crosses as it is, or why it does not. It was read under the
/// law, so the policy is all that is left to ask, and whether it leaves to code what is code's to write. What code
/// writes comes first and what code changes after it, so that the policy is asked of what crosses.
fn fit(
    relay: &Relay,
    (to, way): (&AgentName, &Way),
    source: Source<'_>,
    written: &HandoffPackage,
) -> Result<Option<HandoffPackage>, Refusal> {
    let run = source.run;
    let carried = run.carry(relay, written);
    let carried = carry_on(run, to, way, carried.as_ref().unwrap_or(written)).or(carried);
    let package = carried.as_ref().unwrap_or(written);
    let (resolved, mut errors) = match source.resolve(relay, &way.route, package) {
        Ok(resolved) => (resolved, Vec::new()),
        Err(errors) => (None, errors),
    };
    let package = resolved.as_ref().unwrap_or(package);
    let changed = if errors.is_empty() { changed(relay, Some(&way.route), package)? } else { None };
    errors.extend(way.route.policy.check(changed.as_ref().unwrap_or(package)));
    if way.route.with_user_words {
        let forged = [USER_WORDS, USER_WORDS_LEFT_OUT].into_iter();
        let forged = forged.filter(|name| package.artifacts().get(name).is_some());
        errors.extend(forged.map(|name| PackageError::WrittenByCode { path: format!("artifacts.{name}") }));
    }
    let crossing = match run.user_words() {
        _ if !errors.is_empty() => return Err(Refusal::InvalidPackage { errors }),
        Some(words) if way.route.with_user_words => {
            let with = with_user_words(relay, way, words, package)?;
            Some(with.map_err(|error| Refusal::InvalidPackage { errors: vec![error] })?)
        }
        _ => changed.or(resolved).or(carried),
    };
    match source.check_room(written, crossing.as_ref().unwrap_or(written)) {
        Some(error) => Err(Refusal::InvalidPackage { errors: vec![error] }),
        None => Ok(crossing),
    }
}

/// The package after the transforms of the route and of the relay, `None` when there are none. Without a route those of
/// the relay are left.
fn changed(
    relay: &Relay,
    route: Option<&Route>,
    package: &HandoffPackage,
) -> Result<Option<HandoffPackage>, Refusal> {
    let mut transforms =
        route.into_iter().flat_map(|route| &route.transforms).chain(relay.transforms()).peekable();
    if transforms.peek().is_none() {
        return Ok(None);
    }
    // With what was carried it may be beyond the law already, and then no transform is to blame.
    HandoffPackage::read(&package.to_json()).map_err(|errors| Refusal::InvalidPackage { errors })?;
    let failed = |Broken { transform, causes }| Refusal::TransformFailed { transform, causes };
    transform::through(transforms, package).map_err(failed)
}

/// The package with the open items of all whose work this handoff ends as handed on: what is open then is the receiver's.
/// Those are left out that the package says to be done, and one that it has made its task. `None` when it lacks none. As of
/// what binds, a model may add to it and leave nothing out unsaid.
fn carry_on(run: &Run, to: &AgentName, way: &Way, package: &HandoffPackage) -> Option<HandoffPackage> {
    let ending = ending(run, to, way);
    let left = ending.into_iter().filter_map(|agent| run.trail.held(agent)).flat_map(Hop::left);
    let left: Vec<&str> = left.collect();
    #[cfg(test)]
    let left = planted::instead(Bug::ItemsLostOnReturn, left, Vec::new);
    let is_in = |texts: &[Box<str>], item: &str| texts.iter().any(|text| text.trim() == item);
    left.into_iter().fold(None, |with: Option<HandoffPackage>, item| {
        let package = with.as_ref().unwrap_or(package);
        let is_named = package.task().trim() == item
            || is_in(package.open_items(), item)
            || is_in(package.completed_steps(), item);
        if is_named {
            return with;
        }
        Some(package.clone().open_item(item))
    })
}

/// The agents whose work a handoff to `to` ends as handed on. Who waits for it to come back keeps its own.
fn ending<'a>(run: &'a Run, to: &AgentName, way: &Way) -> Vec<&'a AgentName> {
    let awaiting = &run.extra().awaiting;
    match awaiting.iter().position(|waits| waits.agent == *to) {
        // It gives the turn back, past those that wait in between.
        Some(place) => awaiting[place..].iter().map(|waits| &waits.agent).chain([&run.active]).collect(),
        None if way.route.returns => Vec::new(),
        None => vec![&run.active],
    }
}

/// The package with the user's last words.
///
/// Words that no package of this route may hold are not the model's to mend, so they do not stop the handoff:
/// a note says that they were left out, and why. A package that has no room for the note either is refused: its
/// receiver would not know that there were words.
///
/// # Errors
/// A transform that fails is an error of its own: there is nothing to be left out.
fn with_user_words(
    relay: &Relay,
    way: &Way,
    words: &str,
    package: &HandoffPackage,
) -> Result<Result<HandoffPackage, PackageError>, Refusal> {
    let read = |name: &str, text: &str| {
        let with = package.clone().artifact(name, text)?;
        // With the words it may be more than a package may be, and could not be read again.
        HandoffPackage::read(&with.to_json()).map_err(|mut errors| errors.remove(0))
    };
    let with = |name: &str, text: &str| {
        let read = match read(name, text) {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        };
        let with = changed(relay, Some(&way.route), &read)?.unwrap_or(read);
        Ok(way.route.policy.check(&with).into_iter().next().map_or(Ok(with), Err))
    };
    match with(USER_WORDS, words)? {
        Ok(with) => Ok(Ok(with)),
        Err(why) => with(USER_WORDS_LEFT_OUT, &why.to_string()),
    }
}

fn handed_over(to: &AgentName) -> ToolOutput {
    ToolOutput::ok([r#"{"status":"handed_over","to":""#, to.as_str(), r#""}"#].concat())
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
