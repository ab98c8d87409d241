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
    /// A question that has been answered stays open.
    AnsweredQuestionStaysOpen,
    /// An answer that comes twice is taken without a word.
    SecondAnswerTaken,
    /// An answer is taken that the question does not have.
    NoChoiceTaken,
    /// A loaded run has forgotten what people answered.
    AnswersNotLoaded,
    /// What a person answered is not told.
    AnswerNotTold,
    /// A tool runs that a person has rejected.
    RejectedToolRuns,
    /// A handoff is taken that a person has rejected.
    RejectedHandoffTaken,
    /// Nobody is asked about a handoff that needs approval.
    ApprovalNotAsked,
    /// An approval is good for every later handoff.
    ApprovalOfAnother,
    /// A guard that escalates tells the sender's model alone.
    EscalationNotAsked,
    /// A run that a person has taken over goes on.
    TakenOverGoesOn,
    /// A branch that has waited asks its model again.
    WaitingBranchAsksAgain,
    /// Words that came in mid-run are read twice.
    WordsReadTwice,
    /// Words that came in mid-run are counted and not read.
    WordsLost,
    /// A run that ends leaves what came meanwhile unread.
    WordsLeftAtEnd,
    /// Words that came in mid-run do not renew the budget.
    WordsRenewNothing,
    /// Branches hear the user.
    BranchHearsUser,
    /// What an earlier package bound is left out.
    ConstraintDropped,
    /// The guards of the house's own are not asked.
    OwnGuardNotAsked,
    /// The turn comes back to the one that has waited longest.
    ReturnToTheFirst,
    /// Those that wait for the turn to come back are told that it will not, when the run ends.
    ReturnForgottenAtEnd,
    /// Work that came back is left open.
    ReturnLeftOpen,
    /// Work that was handed over is left open when the run ends.
    HopLeftOpen,
    /// What ran in a branch and cannot be undone is not told.
    EffectsNotTold,
    /// Work that failed is left open when the turn begins anew.
    LeftOpenAnew,
    /// A question that was saved is judged by the tools that are off now.
    QuestionJudgedByNow,
    /// An agent that gets its turn back loses the items of its own work.
    ItemsLostOnReturn,
    /// An answer is all that was wanted, whatever was to be done.
    AnswerIsAll,
    /// The constraints of the house are not carried on.
    HouseNotBinding,
    /// A hop renews the budget.
    HopRenewsBudget,
    /// The end of work that was handed over is not told.
    ClosingNotTold,
    /// A plan is told again whatever comes.
    PlanToldAgain,
    /// What ends with the run that asked is not told of its branches.
    EndOfBranchNotTold,
    /// It is not told that the receiver has taken the work up.
    TakingUpNotTold,
    /// An input goes to the first branch that is open.
    InputToAnotherBranch,
    /// A run that is called off leaves no call in doubt when its records are played again.
    CalledOffAsUnbegun,
    /// Words of the user go into a request that is out.
    WordsInRequestThatIsOut,
    /// An output that comes alone is counted twice.
    OutputCountedTwice,
}

impl Bug {
    pub(crate) const ALL: [Self; 66] = [
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
        Self::AnsweredQuestionStaysOpen,
        Self::SecondAnswerTaken,
        Self::NoChoiceTaken,
        Self::AnswersNotLoaded,
        Self::AnswerNotTold,
        Self::RejectedToolRuns,
        Self::RejectedHandoffTaken,
        Self::ApprovalNotAsked,
        Self::ApprovalOfAnother,
        Self::EscalationNotAsked,
        Self::TakenOverGoesOn,
        Self::WaitingBranchAsksAgain,
        Self::WordsReadTwice,
        Self::WordsLost,
        Self::WordsLeftAtEnd,
        Self::WordsRenewNothing,
        Self::BranchHearsUser,
        Self::ConstraintDropped,
        Self::OwnGuardNotAsked,
        Self::ReturnToTheFirst,
        Self::ReturnForgottenAtEnd,
        Self::ReturnLeftOpen,
        Self::HopLeftOpen,
        Self::EffectsNotTold,
        Self::LeftOpenAnew,
        Self::QuestionJudgedByNow,
        Self::ItemsLostOnReturn,
        Self::AnswerIsAll,
        Self::HouseNotBinding,
        Self::HopRenewsBudget,
        Self::ClosingNotTold,
        Self::PlanToldAgain,
        Self::EndOfBranchNotTold,
        Self::TakingUpNotTold,
        Self::InputToAnotherBranch,
        Self::CalledOffAsUnbegun,
        Self::WordsInRequestThatIsOut,
        Self::OutputCountedTwice,
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
