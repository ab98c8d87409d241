//! How a scenario is drawn: every kind of reply, the odd ones oftener than a model would write them.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use sommelier_protocol::StopReason;
use sommelier_runtime::{Limits, ModelError};

use super::person::*;
use super::scenario::*;
use super::team::*;
use crate::{EntryPolicy, Guard, Guards, OnRefusal};

pub(super) fn scenario() -> impl Strategy<Value = Scenario> {
    let setting = (
        guards(),
        prop_oneof![Just(EntryPolicy::Active), Just(EntryPolicy::Entry)],
        limits(),
        prop_oneof![1 => 1..6_u32, 3 => 6..20_u32],
        (vec(way(), ROUTES.len()), vec(prop::bool::weighted(0.6), AGENTS.len()), prop::bool::weighted(0.2)),
    );
    let models = (vec(root_reply(), 0..20), vec(branch_reply(), 0..10));
    let moves = vec(prop_oneof![2 => speech().prop_map(Move::Hear), 1 => Just(Move::Retry)], 0..6);
    let user = (speech(), moves, vec(option::weighted(0.08, speech()), 0..40));
    let tree = (vec(0..6_usize, 0..12), option::weighted(0.35, call_off()));
    let tools = (vec(option::weighted(0.4, switch()), 0..40), vec(prop::bool::weighted(0.4), 0..12));
    let people = (
        vec(prop::sample::select(&[Saying::Yes, Saying::Yes, Saying::No, Saying::TakeOver][..]), 0..6),
        vec(prop::sample::select(&[Gate::Run, Gate::Deny, Gate::Ask, Gate::Ask, Gate::AskOne][..]), 0..6),
        vec(prop::bool::weighted(0.3), 0..4),
    );
    (setting, models, user, tree, tools, people).prop_map(|(setting, models, user, tree, tools, people)| {
        let (guards, entry_policy, limits, max_model_calls, (ways, may_ask, binds)) = setting;
        let (replies, branch_replies) = models;
        let (opening, moves, remarks) = user;
        let (sayings, gates, slips) = people;
        let (order, call_off) = tree;
        let (switches, losses) = tools;
        Scenario {
            guards,
            entry_policy,
            limits,
            max_model_calls,
            ways,
            may_ask,
            binds,
            replies,
            branch_replies,
            order,
            call_off,
            opening,
            moves,
            remarks,
            sayings,
            gates,
            slips,
            switches,
            losses,
        }
    })
}

fn way() -> impl Strategy<Value = Way> {
    let [returns, is_gated, is_guarded] = [0.4, 0.2, 0.3].map(prop::bool::weighted);
    (returns, is_gated, is_guarded).prop_map(|(returns, is_gated, is_guarded)| Way {
        returns,
        is_gated,
        is_guarded,
    })
}

fn call_off() -> impl Strategy<Value = CallOff> {
    let branches = prop_oneof![1 => Just(0), 2 => 1..5_usize];
    let whole = prop::bool::weighted(0.7);
    let moment = prop_oneof![
        4 => Just(Moment::AfterSteps),
        2 => Just(Moment::Waiting),
        1 => Just(Moment::Rejected),
    ];
    (0..6_usize, branches, whole, moment).prop_map(|(root, branches, whole, moment)| CallOff {
        root,
        branches,
        whole,
        moment,
    })
}

fn guards() -> impl Strategy<Value = Guards> {
    let then =
        prop_oneof![4 => Just(OnRefusal::Tell), 1 => Just(OnRefusal::Stop), 2 => Just(OnRefusal::Escalate)];
    let after = vec((prop::sample::select(&Guard::ALL[..]), then), 0..6);
    (
        prop_oneof![1 => 0..2_u32, 3 => 2..6_u32],
        option::weighted(0.3, 0..8_u32),
        prop::bool::weighted(0.6),
        after,
    )
        .prop_map(|(max, per_conversation, refuse_repeated_pairs, after)| {
            let mut guards = Guards::default().max_handoffs(max);
            guards.max_handoffs_per_conversation = per_conversation;
            guards.refuse_repeated_pairs = refuse_repeated_pairs;
            after.into_iter().fold(guards, |guards, (guard, then)| guards.on_refusal(guard, then))
        })
}

fn limits() -> impl Strategy<Value = Limits> {
    (prop_oneof![1 => 1..4_u32, 2 => 4..12_u32], 1..4_u32, 0..3_u32, 2..5_u32, 1..8_usize).prop_map(
        |(max_steps, empty_replies, pauses, repeats, calls_per_reply)| Limits {
            max_steps,
            empty_replies,
            pauses,
            repeats,
            calls_per_reply,
            input_bytes: HUGE - 1,
            result_bytes: 512,
        },
    )
}

fn speech() -> impl Strategy<Value = Speech> {
    prop_oneof![
        24 => Just(Speech::Plain),
        1 => Just(Speech::Long),
        1 => Just(Speech::LikeMessage),
        1 => Just(Speech::Forbidden),
    ]
}

fn switch() -> impl Strategy<Value = Switch> {
    let required = (Just((POLICY, REQUIRED)), prop::bool::weighted(0.7));
    // Half of them in branches, where a switch has farther to go.
    let agent = prop_oneof![prop::sample::select(&AGENTS[..]), prop::sample::select(&ASKED[..])];
    let other = ((agent, Just("echo")), prop::bool::weighted(0.25));
    let deputy = prop::sample::select(&DEPUTIES[..]).prop_map(|deputy| (deputy.asker, deputy.tool));
    let deputy = (deputy, prop::bool::weighted(0.25));
    let gated = ((prop::sample::select(&AGENTS[..]), Just(GATED)), prop::bool::weighted(0.25));
    prop_oneof![3 => required, 3 => other, 2 => deputy, 2 => gated]
        .prop_map(|((agent, tool), is_on)| Switch { agent, tool, is_on })
}

/// A reply in the run that hears the user.
fn root_reply() -> impl Strategy<Value = Reply> {
    reply([12, 4, 10, 4, 2])
}

/// A reply in a branch: words oftener, or few would ever find anything.
fn branch_reply() -> impl Strategy<Value = Reply> {
    reply([5, 8, 7, 12, 9])
}

/// A reply: so often handoffs, tools, questions to delegates and to people, and words.
fn reply([handing, running, asking, waiting, saying]: [u32; 5]) -> impl Strategy<Value = Reply> {
    let handoffs = vec(prop_oneof![5 => handoff().boxed(), 1 => block().boxed()], 1..4);
    let asks = vec(prop_oneof![6 => ask().boxed(), 1 => handoff().boxed(), 1 => block().boxed()], 1..4);
    let asks = prop_oneof![3 => asks, 1 => two_asked()];
    let call = (id(), own()).prop_map(|(id, own)| Block::Call(id, own));
    let calls = vec(prop_oneof![2 => call.boxed(), 1 => gated().boxed()], 1..4);
    let people = vec(prop_oneof![3 => person().boxed(), 2 => gated().boxed(), 1 => block().boxed()], 1..4);
    let says = |blocks: BoxedStrategy<Vec<Block>>, stop: BoxedStrategy<Option<StopReason>>| {
        (blocks, stop).prop_map(|(blocks, stop)| Reply::Says { blocks, stop })
    };
    let sound = || prop_oneof![Just(StopReason::ToolUse), Just(StopReason::EndTurn)].prop_map(Some).boxed();
    let paused =
        vec(prop::sample::select(&[Block::Other(Other::ServiceTool), Block::Text(Text::Plain)][..]), 1..3);
    prop_oneof![
        handing => says(handoffs.boxed(), sound()),
        asking => says(asks.boxed(), sound()),
        running => says(calls.boxed(), sound()),
        waiting => says(people.boxed(), sound()),
        4 => says(vec(block(), 0..8).boxed(), option::weighted(0.95, stop()).boxed()),
        saying => says(vec(text(), 1..3).boxed(), sound()),
        1 => says(paused.boxed(), Just(Some(StopReason::PauseTurn)).boxed()),
        1 => says(Just(vec![]).boxed(), sound()),
        1 => error().prop_map(Reply::Fails),
    ]
}

fn block() -> impl Strategy<Value = Block> {
    const OTHERS: [Other; 6] = [
        Other::Thinking,
        Other::ThinkingUnsigned,
        Other::ServiceTool,
        Other::Unknown,
        Other::Result,
        Other::Image,
    ];
    prop_oneof![
        2 => text(),
        3 => (id(), own()).prop_map(|(id, own)| Block::Call(id, own)),
        3 => handoff(),
        2 => ask(),
        1 => person(),
        1 => gated(),
        2 => prop::sample::select(&OTHERS[..]).prop_map(Block::Other),
    ]
}

fn person() -> impl Strategy<Value = Block> {
    const ODD: [Inquiry; 3] = [Inquiry::Blank, Inquiry::OddMember, Inquiry::BrokenJson];
    let inquiry = prop_oneof![
        4 => (0..2_u8).prop_map(Inquiry::Free),
        3 => Just(Inquiry::Choices),
        1 => prop::sample::select(&ODD[..]),
    ];
    (id(), inquiry).prop_map(|(id, inquiry)| Block::Person(id, inquiry))
}

fn gated() -> impl Strategy<Value = Block> {
    id().prop_map(|id| Block::Call(id, Own::Gated))
}

fn text() -> impl Strategy<Value = Block> {
    prop::sample::select(&[Text::Plain, Text::Blank, Text::Announces][..]).prop_map(Block::Text)
}

fn id() -> impl Strategy<Value = Id> {
    prop_oneof![4 => Just(Id::Fresh), 1 => prop::sample::select(&[Id::Taken, Id::Illegal, Id::Empty][..])]
}

fn own() -> impl Strategy<Value = Own> {
    const ODD: [Own; 6] =
        [Own::Fails, Own::LongResult, Own::Unknown, Own::IllegalName, Own::BrokenJson, Own::WrongType];
    prop_oneof![30 => Just(Own::Fine), 30 => prop::sample::select(&ODD[..]), 1 => Just(Own::Huge)]
}

fn handoff() -> impl Strategy<Value = Block> {
    const ODD: [Parcel; 20] = [
        Parcel::NoTask,
        Parcel::BlankTask,
        Parcel::HiddenMessage,
        Parcel::Forged,
        Parcel::Full,
        Parcel::NoContext,
        Parcel::LongTask,
        Parcel::ManyKeys,
        Parcel::Large,
        Parcel::Deep,
        Parcel::ManyValues,
        Parcel::Message,
        Parcel::QuotedMessage,
        Parcel::OddMember,
        Parcel::OddVersion,
        Parcel::DuplicateKey,
        Parcel::TooDeep,
        Parcel::ForbiddenCharacter,
        Parcel::BrokenJson,
        Parcel::List,
    ];
    let lost = prop_oneof![
        Just(To::Unknown),
        (0..2_usize).prop_map(To::Misspelt),
        (0..2_usize).prop_map(To::Invisible),
        Just(To::Myself),
        Just(To::NoRoute),
        Just(To::Absent),
        Just(To::NoText),
    ];
    let to = prop_oneof![
        // The booking agent has two, and the way through the second is the more eventful.
        3 => Just(To::Legal(0)),
        6 => Just(To::Legal(1)),
        1 => (0..2_usize).prop_map(To::Adorned),
        2 => lost,
    ];
    let n = || prop_oneof![5 => 0..2_u8, 1 => 2..4_u8];
    let parcel = prop_oneof![
        50 => n().prop_map(Parcel::Fine),
        100 => n().prop_map(Parcel::WithOpenItem),
        30 => n().prop_map(Parcel::Binding),
        20 => Just(Parcel::Invisible),
        40 => prop::sample::select(&ODD[..]),
        // Slow, so rare.
        1 => Just(Parcel::BeyondLaw),
        1 => Just(Parcel::Huge),
    ];
    (id(), to, parcel).prop_map(|(id, to, parcel)| Block::HandOff(id, HandOff { to, parcel }))
}

fn ask() -> impl Strategy<Value = Block> {
    const ODD: [Question; 9] = [
        Question::Missing,
        Question::Blank,
        Question::Long,
        Question::Message,
        Question::QuotedMessage,
        Question::OddMember,
        Question::ForbiddenCharacter,
        Question::BrokenJson,
        Question::List,
    ];
    let question = prop_oneof![
        60 => (0..2_u8).prop_map(Question::Fine),
        30 => (0..2_u8).prop_map(Question::WithContext),
        12 => prop::sample::select(&ODD[..]),
        // Slow, so rare.
        1 => Just(Question::Huge),
    ];
    // The last one of the desk has a delegate of its own.
    let whom = prop_oneof![2 => 0..4_usize, 1 => Just(3)];
    (id(), whom, question).prop_map(|(id, whom, question)| Block::Ask(id, Ask { whom, question }))
}

/// Questions of two that have to do with each other: one waits for the other, or both are one.
fn two_asked() -> impl Strategy<Value = Vec<Block>> {
    let asked = |whom| Block::Ask(Id::Fresh, Ask { whom, question: Question::Fine(0) });
    prop_oneof![Just([0, 1]), Just([1, 0]), Just([2, 2])].prop_map(move |two| two.map(asked).to_vec())
}

fn stop() -> impl Strategy<Value = StopReason> {
    prop_oneof![
        3 => prop_oneof![
            Just(StopReason::EndTurn),
            Just(StopReason::ToolUse),
            Just(StopReason::StopSequence),
            Just(StopReason::PauseTurn),
        ],
        2 => prop_oneof![
            Just(StopReason::MaxTokens),
            Just(StopReason::ContextWindowExceeded),
            Just(StopReason::Refusal),
            Just(StopReason::Other("tired".into())),
        ],
    ]
}

fn error() -> impl Strategy<Value = ModelError> {
    let detail = || "random".to_owned();
    prop_oneof![
        Just(ModelError::Unreachable { detail: detail() }),
        Just(ModelError::Service { status: 529, detail: detail() }),
        Just(ModelError::Malformed { detail: detail() }),
        Just(ModelError::NoScript { agent: DESK.to_owned(), turn: 1, known: 0 }),
    ]
}
