//! A request as bytes.

use std::borrow::Cow;

use sommelier_protocol::{ModelRequest, RawJson, System, ToolChoice, ToolDefinition};

use super::Settings;
use super::settings::is_forced;
use crate::ProviderError;
use crate::members::{Members, OnTheWire as _};

/// The body of a request. The same request and settings give the same bytes; a streamed one differs by the member
/// `stream` alone, which stands last.
///
/// # Errors
/// [`ProviderError::Unwritable`] when something of it has no JSON form, such as instructions that are no list of
/// objects beside a cache breakpoint.
pub fn encode(
    request: &ModelRequest<'_>,
    settings: &Settings,
    is_streamed: bool,
) -> Result<Vec<u8>, ProviderError> {
    let mut rest = request.rest.clone();
    let mut add = |name: &str, value: &dyn Fn() -> serde_json::Result<RawJson>| {
        rest.retain(|(known, _)| **known != *name);
        value().map(|value| rest.push((name.into(), value))).map_err(unwritable)
    };
    if let Some(thinking) = &settings.thinking {
        add("thinking", &|| RawJson::of(thinking))?;
    }
    if !settings.stop_sequences.is_empty() {
        add("stop_sequences", &|| RawJson::of(&settings.stop_sequences))?;
    }
    for (name, value) in &settings.rest {
        add(name, &|| Ok(value.clone()))?;
    }
    rest.retain(|(name, _)| **name != *"stream");
    if is_streamed {
        rest.push(("stream".into(), RawJson::of(&true).map_err(unwritable)?));
    }
    let body = ModelRequest {
        caller: Cow::Borrowed(""),
        run: Cow::Borrowed(""),
        replies: 0,
        time_left: None,
        model: settings.model.as_deref().map_or(Cow::Borrowed(&*request.model), Cow::Borrowed),
        max_tokens: settings.max_tokens.unwrap_or(request.max_tokens),
        system: system(request, settings)?,
        tools: tools(request, settings)?,
        tool_choice: tool_choice(request, settings),
        messages: Cow::Borrowed(&request.messages),
        rest,
    };
    serde_json::to_vec(&body).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> ProviderError {
    ProviderError::Unwritable { detail: error.to_string() }
}

/// The instructions, with a breakpoint at their end where prompts are cached.
fn system<'a>(
    request: &'a ModelRequest<'_>,
    settings: &Settings,
) -> Result<Option<Cow<'a, System>>, ProviderError> {
    let Some(system) = request.system.as_deref() else { return Ok(None) };
    let Some(cache) = settings.cache else { return Ok(Some(Cow::Borrowed(system))) };
    let mut blocks: Vec<Members> = match system {
        System::Text(text) => {
            vec![Members::of([("type", RawJson::string("text")), ("text", RawJson::string(text))])]
        }
        System::Blocks(raw) => raw.read().map_err(unwritable)?,
    };
    if let Some(last) = blocks.last_mut() {
        last.put("cache_control", RawJson::parse(cache.control()).map_err(unwritable)?);
    }
    let blocks = RawJson::of(&blocks).map_err(unwritable)?;
    Ok(Some(Cow::Owned(System::Blocks(blocks))))
}

/// The tools, with a breakpoint at the last one where prompts are cached.
fn tools<'a>(
    request: &'a ModelRequest<'_>,
    settings: &Settings,
) -> Result<Cow<'a, [ToolDefinition]>, ProviderError> {
    let (Some(cache), Some((last, others))) = (settings.cache, request.tools.split_last()) else {
        return Ok(Cow::Borrowed(&request.tools));
    };
    let mut members: Members = RawJson::of(last).and_then(|raw| raw.read()).map_err(unwritable)?;
    members.put("cache_control", RawJson::parse(cache.control()).map_err(unwritable)?);
    let marked = RawJson::of(&members).and_then(|raw| raw.read()).map_err(unwritable)?;
    Ok(Cow::Owned(others.iter().cloned().chain([marked]).collect()))
}

/// The request's own choice, else the settings' as long as it may hold; none without tools.
fn tool_choice(request: &ModelRequest<'_>, settings: &Settings) -> Option<ToolChoice> {
    if request.tools.is_empty() {
        return None;
    }
    let mut choice = match &request.tool_choice {
        Some(own) => Some(own.clone()),
        None => settings.tool_choice.clone().filter(|choice| !is_forced(choice) || !has_results(request)),
    };
    if settings.disable_parallel_tool_use {
        let chosen = choice.get_or_insert(ToolChoice::Auto { disable_parallel_tool_use: None });
        match chosen {
            ToolChoice::Auto { disable_parallel_tool_use }
            | ToolChoice::Any { disable_parallel_tool_use }
            | ToolChoice::Tool { disable_parallel_tool_use, .. } => {
                disable_parallel_tool_use.get_or_insert(true);
            }
            ToolChoice::None => {}
        }
    }
    choice
}

/// Whether the last message brings results: then a call was made, and to force another would never end.
pub(crate) fn has_results(request: &ModelRequest<'_>) -> bool {
    request.messages.last().is_some_and(|message| message.tool_results().next().is_some())
}
