//! Bugs that can be planted, so that the property test can show that it finds them. Tests only.

use std::cell::Cell;

/// A bug that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// One of the outputs for a reply's handoffs is lost.
    OutputDropped,
    /// The outputs for a reply's handoffs change places.
    OutputsSwapped,
    /// A refused handoff counts as a hop.
    RefusedHopCounted,
    /// The cap lets one hop more pass.
    CapOffByOne,
    /// The pair guard looks at the whole conversation.
    PairSinceEver,
    /// The last fit handoff of a reply is taken.
    LastHandoffTaken,
    /// The receiver is not asked a second time whether it is ready.
    ReadyAskedOnce,
    /// The receiver reads what the sender was told, too.
    ReceiverHearsSender,
    /// The receiver's earlier conversation is lost.
    ReceiverForgets,
    /// The sender keeps the turn after a hop.
    SenderStaysActive,
    /// A tool run is not counted.
    ToolRunNotCounted,
    /// The history is measured with the handoff in it.
    HistoryWithHandoff,
    /// Of the package the task alone is measured.
    OnlyTaskMeasured,
    /// A loaded run has forgotten which tools are off.
    SwitchesNotLoaded,
    /// A run that is tried again has its budget left as it was.
    BudgetKeptOnRetry,
    /// A branch reads what the agent was told that asks.
    BranchHearsAsker,
    /// What a branch is given is not taken from the run that asks.
    AllowanceNotTaken,
    /// What a branch leaves over is lost.
    AllowanceNotReturned,
    /// Nothing is kept for the agent that asks.
    NothingKeptForAsker,
    /// A branch does not know which tools are off.
    SwitchesNotInherited,
    /// A delegate that is switched off is asked all the same.
    SwitchedOffAsked,
    /// A delegate is asked together with the one it has to wait for.
    AfterIgnored,
    /// A question that was refused is not on record.
    RefusedQuestionForgotten,
    /// All branches of a reply have one id.
    OneIdForAllBranches,
    /// The findings of a reply's branches change places.
    FindingsSwapped,
    /// A reply with a handoff in it asks no delegate.
    HandoffBeforeBranches,
    /// What a branch leaves over goes to the first one that is still open.
    LeftOverToNextBranch,
    /// Branches that are called off leave nothing on record.
    BranchesLostWhenCalledOff,
}

impl Bug {
    pub(crate) const ALL: [Self; 28] = [
        Self::OutputDropped,
        Self::OutputsSwapped,
        Self::RefusedHopCounted,
        Self::CapOffByOne,
        Self::PairSinceEver,
        Self::LastHandoffTaken,
        Self::ReadyAskedOnce,
        Self::ReceiverHearsSender,
        Self::ReceiverForgets,
        Self::SenderStaysActive,
        Self::ToolRunNotCounted,
        Self::HistoryWithHandoff,
        Self::OnlyTaskMeasured,
        Self::SwitchesNotLoaded,
        Self::BudgetKeptOnRetry,
        Self::BranchHearsAsker,
        Self::AllowanceNotTaken,
        Self::AllowanceNotReturned,
        Self::NothingKeptForAsker,
        Self::SwitchesNotInherited,
        Self::SwitchedOffAsked,
        Self::AfterIgnored,
        Self::RefusedQuestionForgotten,
        Self::OneIdForAllBranches,
        Self::FindingsSwapped,
        Self::HandoffBeforeBranches,
        Self::LeftOverToNextBranch,
        Self::BranchesLostWhenCalledOff,
    ];
}

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// Whether `bug` is planted on this thread.
pub(crate) fn is(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// What is `right`, or what `bug` puts in its place.
pub(crate) fn instead<T>(bug: Bug, right: T, wrong: impl FnOnce() -> T) -> T {
    if is(bug) { wrong() } else { right }
}

/// Loses the last output, or turns them round.
pub(crate) fn spoil<T>(outputs: &mut Vec<T>) {
    if is(Bug::OutputDropped) {
        outputs.pop();
    }
    if is(Bug::OutputsSwapped) {
        outputs.reverse();
    }
}

/// Does `work` with `bug` planted on this thread. The bug is taken out again even if `work` panics.
pub(crate) fn with<T>(bug: Option<Bug>, work: impl FnOnce() -> T) -> T {
    struct TakeOut;

    impl Drop for TakeOut {
        fn drop(&mut self) {
            PLANTED.set(None);
        }
    }

    PLANTED.set(bug);
    let _take_out = TakeOut;
    work()
}
