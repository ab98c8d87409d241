//! The traces as Phoenix is to have them.

/// Lesson 05.
pub(crate) const LESSON: &str = "\
invoke_workflow booking_agent [CHAIN] answered
  invoke_agent booking_agent [AGENT]
    chat claude-sonnet-5 [LLM] 120 in, 7 out; cache 40 read, 20 written
    execute_tool get_quote [TOOL]
    chat claude-sonnet-5 [LLM] 130 in, 7 out; cache 40 read, 20 written
    execute_tool handoff_to_specialist policy_agent [TOOL] pass_control booking_agent → policy_agent, 105 B crossed, 402 B left behind · hop 1 · taken
  invoke_agent policy_agent [AGENT] after booking_agent
    chat claude-sonnet-5 [LLM] 120 in, 7 out; cache 40 read, 20 written
    execute_tool search_docs [TOOL]
    chat claude-sonnet-5 [LLM] 130 in, 7 out; cache 40 read, 20 written
";

/// Two branches under their questions, in one a hop of its own; a tool that fails; a handoff that is refused.
pub(crate) const DESKS: &str = "\
invoke_workflow supervisor [CHAIN] answered
  invoke_agent supervisor [AGENT]
    chat claude-sonnet-5 [LLM] 120 in, 7 out; cache 40 read, 20 written
    execute_tool ask_billing billing [TOOL] return_to_caller supervisor → billing, 47 B crossed · 2 steps · done · answered
      invoke_agent billing [AGENT] after supervisor
        chat claude-sonnet-5 [LLM] 120 in, 7 out; cache 40 read, 20 written
        execute_tool find_invoice [TOOL] ERROR no_such_invoice
        chat claude-sonnet-5 [LLM] 130 in, 7 out; cache 40 read, 20 written
    execute_tool ask_shipping shipping [TOOL] return_to_caller supervisor → shipping, 37 B crossed · 2 steps · done · answered
      invoke_agent shipping [AGENT] after supervisor
        chat claude-sonnet-5 [LLM] 120 in, 7 out; cache 40 read, 20 written
        execute_tool handoff_to_specialist customs [TOOL] pass_control shipping → customs, 53 B crossed, 287 B left behind · hop 1 · taken
      invoke_agent customs [AGENT] after shipping
        chat claude-sonnet-5 [LLM] 120 in, 7 out; cache 40 read, 20 written
    chat claude-sonnet-5 [LLM] 130 in, 7 out; cache 40 read, 20 written
    execute_tool handoff_to_specialist _other [TOOL] pass_control supervisor → _other, 41 B crossed, 599 B left behind · refused · ERROR unknown_specialist
    chat claude-sonnet-5 [LLM] 140 in, 7 out; cache 40 read, 20 written
";

/// A process under the root of the one that has started it.
pub(crate) const CELLAR: &str = "\
invoke_workflow waiter [CHAIN] answered
  invoke_agent waiter [AGENT]
    chat claude-sonnet-5 [LLM] 120 in, 7 out; cache 40 read, 20 written
    execute_tool ring_cellar [TOOL]
    chat claude-sonnet-5 [LLM] 130 in, 7 out; cache 40 read, 20 written
  invoke_workflow cellar [CHAIN] answered
    invoke_agent cellar [AGENT]
      chat claude-sonnet-5 [LLM] 120 in, 7 out; cache 40 read, 20 written
";

/// A turn until somebody is asked.
pub(crate) const WAITING: &str = "\
invoke_workflow clerk [CHAIN] waiting
  invoke_agent clerk [AGENT]
    chat claude-sonnet-5 [LLM] 120 in, 7 out; cache 40 read, 20 written
";

/// The same turn from there, in another process.
pub(crate) const ANSWERED: &str = "\
invoke_workflow clerk [CHAIN] answered
  invoke_agent clerk [AGENT]
    execute_tool pay [TOOL] approved_by_person
    chat claude-sonnet-5 [LLM] 130 in, 7 out; cache 40 read, 20 written
";
