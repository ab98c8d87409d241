//! A request as bytes.

use serde::Serialize;
use sommelier_protocol::openai::{ChatContent, ChatMessage, ChatRole, ChatTool, to_chat, tools_to_chat};
use sommelier_protocol::{ModelRequest, RawJson, ToolChoice};

use super::Settings;
use crate::ProviderError;
use crate::anthropic::{has_results, is_forced};
use crate::members::{Members, OnTheWire as _};

/// The body of a request. The same request and settings give the same bytes; a streamed one differs by the members
/// `stream` and `stream_options` alone, which stand last.
///
/// What the request brings in its own `rest` is of another form, and is left out.
///
/// # Errors
/// [`ProviderError::Unwritable`] when something of it has no JSON form.
pub fn encode(
    request: &ModelRequest<'_>,
    settings: &Settings,
    is_streamed: bool,
) -> Result<Vec<u8>, ProviderError> {
    let choice = choice(request, settings);
    let tools = offered(request, choice);
    let mut body = Body(Members::default());
    body.set("model", settings.model.as_deref().unwrap_or(&request.model))?;
    match settings.json_mode {
        Some(mode) => {
            body.set("messages", &mode.messages(request, &tools))?;
            body.set("response_format", &mode.response_format(&tools, choice)?)?;
        }
        None => {
            body.set("messages", &messages(request))?;
            body.add_tools(&tools, choice, settings)?;
        }
    }
    body.set(settings.token_limit.member(), &settings.max_tokens.unwrap_or(request.max_tokens))?;
    if !settings.stop_sequences.is_empty() {
        body.set("stop", &settings.stop_sequences)?;
    }
    for (name, value) in settings.rest.iter().filter(|(name, _)| **name != *"stream") {
        body.set(name, value)?;
    }
    if is_streamed {
        body.set("stream", &true)?;
        body.set(
            "stream_options",
            &Members::of([("include_usage", RawJson::of(&true).map_err(unwritable)?)]),
        )?;
    }
    serde_json::to_vec(&body.0).map_err(unwritable)
}

pub(super) fn unwritable(error: serde_json::Error) -> ProviderError {
    ProviderError::Unwritable { detail: error.to_string() }
}

struct Body(Members);

impl Body {
    fn set(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), ProviderError> {
        self.0.put(name, RawJson::of(value).map_err(unwritable)?);
        Ok(())
    }

    fn add_tools(
        &mut self,
        tools: &[ChatTool],
        choice: Option<&ToolChoice>,
        settings: &Settings,
    ) -> Result<(), ProviderError> {
        if tools.is_empty() {
            return Ok(());
        }
        self.set("tools", tools)?;
        match choice {
            Some(choice) if is_forced(choice) => self.set("tool_choice", "required")?,
            Some(_) => self.set("tool_choice", "auto")?,
            None => {}
        }
        if settings.disable_parallel_tool_use || choice.is_some_and(forbids_parallel) {
            self.set("parallel_tool_calls", &false)?;
        }
        Ok(())
    }
}

fn forbids_parallel(choice: &ToolChoice) -> bool {
    match choice {
        ToolChoice::Auto { disable_parallel_tool_use }
        | ToolChoice::Any { disable_parallel_tool_use }
        | ToolChoice::Tool { disable_parallel_tool_use, .. } => *disable_parallel_tool_use == Some(true),
        ToolChoice::None => false,
    }
}

/// The request's own choice, else the settings' as long as it may hold.
fn choice<'a>(request: &'a ModelRequest<'_>, settings: &'a Settings) -> Option<&'a ToolChoice> {
    let of_settings =
        settings.tool_choice.as_ref().filter(|choice| !is_forced(choice) || !has_results(request));
    request.tool_choice.as_ref().or(of_settings)
}

/// The tools that may be called: none, or the one that must be, where the choice says so.
fn offered(request: &ModelRequest<'_>, choice: Option<&ToolChoice>) -> Vec<ChatTool> {
    let mut tools = tools_to_chat(&request.tools);
    match choice {
        Some(ToolChoice::None) => tools.clear(),
        Some(ToolChoice::Tool { name, .. }) => tools.retain(|tool| tool.function.name == *name),
        Some(ToolChoice::Auto { .. } | ToolChoice::Any { .. }) | None => {}
    }
    tools
}

/// The conversation, without instructions that say nothing.
fn messages(request: &ModelRequest<'_>) -> Vec<ChatMessage> {
    let mut chat = to_chat(request);
    chat.retain(|message| message.role != ChatRole::System || !is_blank(message.content.as_ref()));
    chat
}

fn is_blank(content: Option<&ChatContent>) -> bool {
    match content {
        None => true,
        Some(ChatContent::Text(text)) => text.trim().is_empty(),
        Some(ChatContent::Parts(raw)) => raw.get() == "[]",
    }
}
