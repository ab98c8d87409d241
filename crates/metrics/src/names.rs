//! The names of spans, fields and values which the layers read; all of them stand here.
//!
//! Dotted names are those of the OpenTelemetry conventions for generative AI; the plain ones are our own.
//!
//! ```
//! use sommelier_metrics::names;
//!
//! let span = tracing::Span::none();
//! span.record(names::END, "answered");
//! ```

/// The target of every span which the layers look at; others are ignored.
pub const TARGET: &str = "sommelier";

/// Span: the whole answer to one user message; the root of a trace.
pub const INVOKE_WORKFLOW: &str = "invoke_workflow";
/// Span: one activation of an agent.
pub const INVOKE_AGENT: &str = "invoke_agent";
/// Span: one model call.
pub const CHAT: &str = "chat";
/// Span: one run of a tool.
pub const EXECUTE_TOOL: &str = "execute_tool";
/// Span: one handoff asked for, taken or refused.
pub const HANDOFF: &str = "handoff";
/// Span: one question to a delegate. The branch that answers it, if one was opened, stands under it.
pub const DELEGATE: &str = "delegate";

/// Field: the span's full name by the conventions, for example `invoke_agent booking_agent`.
pub const OTEL_NAME: &str = "otel.name";
/// Field: the span's kind by the conventions, `internal` or `client`.
pub const OTEL_KIND: &str = "otel.kind";
/// Field: `ERROR` wherever there is an [`ERROR_TYPE`], and nowhere else.
pub const OTEL_STATUS_CODE: &str = "otel.status_code";
/// Field: on a root, the caller's name for the trace in which it is told.
pub const TRACE: &str = "trace";
/// Field: on a root, the caller's name for the trace in which the turn began that is gone on with.
pub const RESUMED_TRACE: &str = "resumed_trace";
/// Field: the conversation which the user message belongs to.
pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
/// Field: the agent in control; on a handoff, the agent that hands off; on a delegation, the one that asks.
pub const AGENT_NAME: &str = "gen_ai.agent.name";
/// Field: the model asked.
pub const REQUEST_MODEL: &str = "gen_ai.request.model";
/// Field: the model that replied.
pub const RESPONSE_MODEL: &str = "gen_ai.response.model";
/// Field: why the model stopped.
pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
/// Field: what the request cost, in tokens.
pub const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
/// Field: what the response cost, in tokens.
pub const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
/// Field: what of the input tokens was written into the prompt cache.
pub const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_write.input_tokens";
/// Field: what the model was asked, where contents are shown.
pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
/// Field: what the model replied, where contents are shown.
pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
/// Field: what a tool was called with, or the package that crossed, where contents are shown.
pub const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
/// Field: what a tool gave back, where contents are shown.
pub const TOOL_RESULT: &str = "gen_ai.tool.call.result";
/// Field: the tool run; on a delegation, the one by which it is asked.
pub const TOOL_NAME: &str = "gen_ai.tool.name";
/// Field: the agent which a handoff is for, or which is asked. A delegation that opens no branch has none; one that does
/// has it from the beginning.
pub const TRANSFER_TARGET: &str = "gen_ai.transfer.target.name";
/// Field: the class of an error, of few distinct values.
pub const ERROR_TYPE: &str = "error.type";

/// Field: how a workflow or a branch ended, for example `answered`, `turn_limit` or `handed_off`.
pub const END: &str = "end";
/// Field: on a root that goes on after a person's answer, what kind of question it answers, such as `tool` or `handoff`.
pub const QUESTION: &str = "question";
/// Field: on such a root, the answer in a word, such as `approve` or `reject`.
pub const ANSWERED: &str = "answered";
/// Field: true on a root of words that the user said while a question was open. They are no answer to it; the agent reads them
/// when there is one.
pub const WORDS_WAIT: &str = "words_wait";
/// Field: on a root that ends as `waiting`, the questions that are open: the kind of each, and the tool or receiver it is about.
pub const WAITS_FOR: &str = "waits_for";
/// Field: on a tool that needs approval: `approved`, `approved_by_person`, `denied` or `denied_by_person`.
pub const APPROVAL: &str = "approval";
/// Field: what was used up, where a workflow or a branch ended as `budget_spent` or a question was refused for it:
/// `model_calls`, `tokens` or `millis`.
pub const MEASURE: &str = "measure";
/// Field: who made a scripted decision, for example `concept (claude-sonnet-5)`.
pub const DECISION: &str = "decision";
/// Field: the number of a hop in its conversation, counted from 1.
pub const HOP: &str = "hop";
/// Field: the number of a hop since the user last spoke, counted from 1.
pub const HOP_OF_MESSAGE: &str = "hop_of_message";
/// Field: true on the first workflow of a conversation, else absent.
pub const BEGINS: &str = "begins";
/// Field: constraints of ended work that a check in code found kept, on a workflow or a delegation.
pub const CONSTRAINTS_KEPT: &str = "constraints_kept";
/// Field: those that a check found broken.
pub const CONSTRAINTS_BROKEN: &str = "constraints_broken";
/// Field: those that no check is there for.
pub const CONSTRAINTS_UNCHECKED: &str = "constraints_unchecked";
/// Field: those whose check failed.
pub const CONSTRAINTS_UNKNOWN: &str = "constraints_unknown";
/// Field: the size of the package that crosses, in bytes.
pub const PACKAGE_BYTES: &str = "package_bytes";
/// Field: the size of the sender's transcript that stays behind, in bytes.
pub const HISTORY_BYTES: &str = "history_bytes";
/// Field: the size of the artifacts that a package has by reference, in bytes; absent where it has none.
pub const REFERENCE_BYTES: &str = "reference_bytes";
/// Field: [`TAKEN`], [`REFUSED`], [`TAKEN_OUT`] or [`FAILED`].
pub const OUTCOME: &str = "outcome";
/// Field: the guard that refused a handoff, or why no branch was opened.
pub const REFUSAL: &str = "refusal";
/// Field: the run which asks, by the name of its conversation.
pub const PARENT_RUN: &str = "parent_run";
/// Field: the branch which answers, by the name of its conversation.
pub const CHILD_RUN: &str = "child_run";
/// Field: what a delegation came to: [`DONE`], [`PARTIAL`], [`FAILED`] or [`REFUSED`].
pub const STATUS: &str = "status";
/// Field: the model calls of a branch, those of its own branches included.
pub const STEPS_USED: &str = "steps_used";

/// Value of [`OUTCOME`]: the receiver took over.
pub const TAKEN: &str = "taken";
/// Value of [`OUTCOME`]: a guard kept the sender in control. Value of [`STATUS`]: no branch was opened.
pub const REFUSED: &str = "refused";
/// Value of [`OUTCOME`]: the handoff was given to whoever drives the sender alone; no receiver took over.
pub const TAKEN_OUT: &str = "taken_out";
/// Value of [`STATUS`]: the branch answered.
pub const DONE: &str = "done";
/// Value of [`STATUS`]: the branch was stopped, and had said something until then.
pub const PARTIAL: &str = "partial";
/// Value of [`STATUS`]: the branch ended with nothing. Value of [`OUTCOME`]: the handoff could not be written down, so it
/// was not taken.
pub const FAILED: &str = "failed";
/// Value of [`ERROR_TYPE`] on a handoff: it could not be written down.
pub const UNWRITTEN: &str = "unwritten";
