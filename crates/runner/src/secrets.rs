//! What must not be kept: it is taken out before anything sees it, and put back where a tool runs.
//!
//! ```text
//! model ──reply──▶ hide ──▶ core, journal, trace, receiver
//!                                │ call
//! tool ◀──call with values── reveal
//!   └────output──▶ mask ──▶ core, journal, trace, model
//! ```
//!
//! What stands in a value's place is its *handle*. It is made by chance and not of the value, so nobody finds the value by
//! trying. The values are in memory and nowhere else: another process has the handles, and for it the values are gone.

mod json;
mod needle;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;
use sommelier_handoff::{Answer, InputKind};
use sommelier_protocol::{ContentBlock, ModelResponse, RawJson, ToolUse, Words};
use sommelier_runtime::tool::{Declaration, Failure, Members, ToolFailure};
use sommelier_runtime::{Definition, ModelError, ToolOutput};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use crate::{Turn, runner};
use json::Literal;
use needle::Needle;

/// What a driver's user wants taken out of all words: it is given a text and gives it back without.
pub(crate) type Redact<'r> = dyn Fn(&str) -> String + Send + Sync + 'r;

/// What stands where a redactor has failed, or where nothing could be told apart: nothing is kept then.
const WITHHELD: &str = "[withheld]";

/// The secrets of one run and its branches, as long as this process has it. A clone is the same.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Arc<RwLock<Pages>>);

/// The secrets of a run that is being driven, and what is to be taken out of all words.
pub(crate) struct Vault<'r> {
    secrets: Secrets,
    redact: Option<&'r Redact<'r>>,
    is_shown: bool,
}

#[derive(Default)]
struct Pages {
    /// The values by their handles.
    values: BTreeMap<Box<str>, RawJson>,
    /// The handles by their values, each value in one form.
    handles: BTreeMap<String, Box<str>>,
    /// What no text may have in it, the longest first.
    needles: Vec<Needle>,
}

impl<'r> Vault<'r> {
    /// The vault of `secrets`, and what is to be taken out of all words.
    pub(crate) fn new(secrets: Secrets, redact: Option<&'r Redact<'r>>) -> Self {
        Self { secrets, redact, is_shown: false }
    }

    /// Whether what has passed the vault is shown in spans.
    pub(crate) fn shown(self, is_shown: bool) -> Self {
        Self { is_shown, ..self }
    }

    pub(crate) fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// The secrets, to be kept while the run is not driven.
    pub(crate) fn secrets(&self) -> Secrets {
        self.secrets.clone()
    }

    /// A reply as everybody may see it: the secret arguments of its calls are handles, and no secret stands anywhere else in
    /// it. Words, and what a call brings that is no tool's of the agent, such as a package, pass the redactor.
    pub(crate) fn hide(&self, agent: &Definition, mut response: ModelResponse) -> ModelResponse {
        for block in &mut response.content {
            let hidden = block.as_tool_use().and_then(|call| self.hidden(agent, call));
            if let Some(hidden) = hidden {
                *block = hidden;
            }
        }
        if self.has_nothing_to_do() {
            return response;
        }
        let content = response.content.iter().filter_map(|block| match self.cleaned(agent, block) {
            None => Some(block.clone()),
            // It is signed as it was, and would not be taken back with a change.
            Some(_) if matches!(block.kind(), "thinking" | "redacted_thinking") => None,
            Some(cleaned) => Some(cleaned),
        });
        response.content = content.collect();
        response
    }

    /// A call with its values in the place of their handles, as its tool takes it; nobody else gets to see it.
    ///
    /// # Errors
    /// An output that names the argument whose value is not here any more, or never was.
    pub(crate) fn reveal<'c>(
        &self,
        agent: &Definition,
        call: &'c ToolUse,
    ) -> Result<Cow<'c, ToolUse>, ToolOutput> {
        let Some(declared) = secretive(agent, call.name(), Declaration::secrets) else {
            return Ok(Cow::Borrowed(call));
        };
        let (mut input, schema) = (call.input().clone(), schema_of(agent, call.name()));
        // What was hidden last is around what was hidden before.
        for path in declared.secrets().iter().rev() {
            let mut gone = false;
            let mut open = |value: &RawJson| {
                let handle = value.read::<String>().ok().filter(|text| needle::is_handle(text))?;
                let value = self.pages(|pages| pages.values.get(&*handle).cloned());
                gone |= value.is_none();
                value
            };
            if let Some(opened) = json::at_path(&input, &split(path), &schema, &mut open) {
                input = opened;
            }
            if gone {
                let detail =
                    "the value is kept nowhere and is not known any more; ask for it and give it again";
                return Err(ToolOutput::failed(&Gone { error: "secret_gone", argument: path, detail }));
            }
        }
        Ok(Cow::Owned(ToolUse::scripted(call.id(), call.name(), input.get())))
    }

    /// What a tool gave back as everybody may see it, within the bounds of its agent. A secret is taken out of all of it before
    /// anything is cut off: a half of one would not be known again.
    pub(crate) fn told(&self, agent: &Definition, tool: &str, output: ToolOutput) -> ToolOutput {
        self.mask(agent, tool, output).at_most(agent.limits().result_bytes)
    }

    /// What a tool gave back as everybody may see it: the secret members of the result are handles, and no secret stands
    /// anywhere else in it, as in the words of an error. All of it passes the redactor.
    pub(crate) fn mask(&self, agent: &Definition, tool: &str, output: ToolOutput) -> ToolOutput {
        let declared = secretive(agent, tool, Declaration::secret_results);
        if declared.is_none() && self.has_nothing_to_do() {
            return output;
        }
        self.masked_output(declared, output)
    }

    fn masked_output(&self, declared: Option<&Declaration>, output: ToolOutput) -> ToolOutput {
        let is_in_doubt = output.is_in_doubt();
        let masked = self.cleaned_output(declared, output);
        // What is taken out of its words does not make the effect known.
        match is_in_doubt && !masked.is_in_doubt() {
            true => ToolOutput::failed(&Failure::in_doubt(WITHHELD)),
            false => masked,
        }
    }

    fn cleaned_output(&self, declared: Option<&Declaration>, output: ToolOutput) -> ToolOutput {
        let error = output.error.map(|code| self.text(&code).map_or(code, Into::into));
        let Ok(result) = RawJson::parse(&output.content) else {
            return ToolOutput { content: self.words(&output.content).into(), error };
        };
        let hidden =
            declared.and_then(|declared| self.handled(&result, declared.secret_results(), &Value::Null));
        let result = hidden.as_ref().map_or(&*output.content, RawJson::get);
        let cleaned = json::rewrite(result, |literal, text| self.literal(literal, text, true));
        ToolOutput { content: cleaned.map_or_else(|| result.into(), Into::into), error }
    }

    /// Words as everybody may see them: those of a user, of a person who was asked, or of an error.
    pub(crate) fn words(&self, text: &str) -> String {
        self.text(text).unwrap_or_else(|| text.to_owned())
    }

    /// Words as a span tells them.
    pub(crate) fn shown_words<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.text(text).map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// JSON as a span tells it: all texts in it are words, and it stays JSON.
    pub(crate) fn shown_json<'t>(&self, json: &'t RawJson) -> Cow<'t, RawJson> {
        self.shown_texts(json.get()).map_or(Cow::Borrowed(json), |cleaned| {
            Cow::Owned(RawJson::parse(&cleaned).unwrap_or_else(|_| RawJson::string(WITHHELD)))
        })
    }

    /// What a tool has said as a span tells it: words, or the texts of its JSON.
    pub(crate) fn shown_output<'t>(&self, output: &'t str) -> Cow<'t, str> {
        let has_texts = output.trim_start().starts_with(['{', '[', '"']);
        if self.has_nothing_to_do() || !has_texts || RawJson::parse(output).is_err() {
            return self.shown_words(output);
        }
        self.shown_texts(output).map_or(Cow::Borrowed(output), Cow::Owned)
    }

    fn shown_texts(&self, json: &str) -> Option<String> {
        if self.has_nothing_to_do() {
            return None;
        }
        json::rewrite(json, |literal, text| self.any_literal(literal, text))
    }

    /// As [`words`](Self::words), where there must be some.
    pub(crate) fn said(&self, words: Words) -> Words {
        self.text(words.as_str()).map_or(words, Words::or_dash)
    }

    /// What a person has answered, as everybody may see it.
    pub(crate) fn answer(&self, mut answer: Answer) -> Answer {
        match &mut answer {
            Answer::Reject { reason: text }
            | Answer::Say { text }
            | Answer::TakeOver { note: text }
            | Answer::Happened { result: text } => {
                if let Some(cleaned) = self.text(text) {
                    *text = cleaned.into();
                }
            }
            Answer::Approve | Answer::DidNotHappen | Answer::Undone => {}
        }
        answer
    }

    /// A turn with a clean trace; its words are clean.
    pub(crate) fn clean_turn(&self, mut turn: Turn) -> Turn {
        turn.trace = turn.trace.map(|trace| self.words(&trace));
        turn
    }

    /// Whether the key of a turn has in it what must not be kept. Keys are identities, and two that came to the same would be one
    /// turn, so nothing is taken out of one. What is short may stand in one by chance, as the number of a message.
    pub(crate) fn refuses_key(&self, key: &str) -> bool {
        self.redacted(key).is_some() || self.masked(key, Needle::is_long).is_some()
    }

    /// Whether these words, sent again, are those on record, which were clean by what was known then. Where a handle stands whose
    /// value is gone, nobody knows what was said, so anything may have been.
    pub(crate) fn is_on_record(&self, recorded: &str, words: &Words) -> bool {
        let is_gone = |handle: &str| self.pages(|pages| !pages.values.contains_key(handle));
        let by_now = self.masked(recorded, |_| true);
        let by_now = by_now.as_deref().unwrap_or(recorded);
        // A redactor may take out itself what was a secret only before, or only since.
        let redacted = || self.redacted(words.as_str()).map(Words::or_dash);
        let is_of_redactor = || redacted().is_some_and(|now| needle::fits(recorded, now.as_str(), |_| true));
        needle::fits(by_now, self.said(words.clone()).as_str(), is_gone) || is_of_redactor()
    }

    /// An input that somebody gives from outside, as everybody may see it; `agent` is who has the turn. `None` where it has a key
    /// that is [refused](Self::refuses_key).
    pub(crate) fn input(&self, agent: Option<&Definition>, mut what: InputKind) -> Option<InputKind> {
        let text = |text: &mut Box<str>| {
            if let Some(cleaned) = self.text(text) {
                *text = cleaned.into();
            }
        };
        match &mut what {
            InputKind::TurnReceived { key, text: words, trace, .. } => {
                if key.as_deref().is_some_and(|key| self.refuses_key(key)) {
                    return None;
                }
                text(words);
                trace.iter_mut().for_each(text);
            }
            InputKind::HumanAnswered { answer, by, .. } => {
                *answer = self.answer(answer.clone());
                by.iter_mut().for_each(text);
            }
            InputKind::Cancelled { reason, .. } => text(reason),
            InputKind::ApprovalAsked { calls } => {
                calls.iter_mut().filter_map(|call| call.repeats.as_mut()).for_each(text);
            }
            InputKind::ArtifactPut { value, .. } => {
                if let Some(cleaned) = json::rewrite(value.get(), |of, text| self.any_literal(of, text)) {
                    *value = RawJson::parse(&cleaned).unwrap_or_else(|_| RawJson::string(WITHHELD));
                }
            }
            InputKind::ToolCompleted { output, .. } | InputKind::ToolFailed { output, .. } => {
                *output = self.masked_output(None, output.clone());
            }
            InputKind::ModelResponded { response } => {
                if let Some(agent) = agent {
                    **response = self.hide(agent, (**response).clone());
                }
            }
            InputKind::ModelFailed { error } => *error = self.error(error.clone()),
            InputKind::Opened { .. }
            | InputKind::ToolInDoubt { .. }
            | InputKind::ToolsSkipped
            | InputKind::Joined
            | InputKind::HandoffCommitted { .. }
            | InputKind::HandoffReconsidered
            | InputKind::Deadline { .. }
            | InputKind::ToolsSwitched { .. }
            | InputKind::MoreGiven { .. }
            | InputKind::Retried => {}
        }
        Some(what)
    }

    /// What is to stand in the place of a literal where names are words too.
    fn any_literal(&self, literal: Literal, text: &str) -> Option<String> {
        match literal {
            Literal::Name => self.text(text),
            literal => self.literal(literal, text, true),
        }
    }

    /// Why a model did not reply, as everybody may see it.
    pub(crate) fn error(&self, mut error: ModelError) -> ModelError {
        match &mut error {
            ModelError::Unreachable { detail }
            | ModelError::Service { detail, .. }
            | ModelError::Malformed { detail }
            | ModelError::TimedOut { detail }
            | ModelError::OffRecord { detail } => *detail = self.words(detail),
            ModelError::Charged { error, .. } => **error = self.error((**error).clone()),
            _ => {}
        }
        error
    }

    /// A call whose secret arguments are handles; `None` where there are none. Of arguments that cannot be read nobody knows
    /// which are secret, so nothing of them is kept.
    fn hidden(&self, agent: &Definition, call: &ToolUse) -> Option<ContentBlock> {
        let declared = secretive(agent, call.name(), Declaration::secrets)?;
        let input = match call.broken_input() {
            Some(_) => RawJson::of(&BTreeMap::from([(ToolUse::BROKEN, WITHHELD)])).ok()?,
            None => self.hidden_input(agent, call, declared)?,
        };
        let mut block: Members = RawJson::of(call).ok()?.read().ok()?;
        block.set("input", input);
        RawJson::of(&block).ok()?.read().ok()
    }

    /// The arguments of a call with handles in the place of its secrets. What its tool does not take is not kept at all: under a
    /// name that is misspelt stands what was meant for another one.
    fn hidden_input(&self, agent: &Definition, call: &ToolUse, declared: &Declaration) -> Option<RawJson> {
        let schema = schema_of(agent, call.name());
        let handled = self.handled(call.input(), declared.secrets(), &schema);
        let input = handled.as_ref().unwrap_or(call.input());
        let mut withhold = |name: &str, value: &RawJson| {
            let is_handle = value.read::<String>().is_ok_and(|text| needle::is_handle(&text));
            let is_kept = is_handle || declared.key_argument() == Some(name);
            (!is_kept).then(|| RawJson::string(WITHHELD))
        };
        json::astray(input, &schema, &mut withhold).or(handled)
    }

    /// A value with handles in the place of what stands at `paths`; `None` where nothing stands there.
    fn handled(&self, json: &RawJson, paths: &[Box<str>], schema: &Value) -> Option<RawJson> {
        let mut hidden = None;
        for path in paths {
            let now = json::at_path(hidden.as_ref().unwrap_or(json), &split(path), schema, &mut |value| {
                self.lock_up(value)
            });
            hidden = now.or(hidden);
        }
        hidden
    }

    /// The handle of a value, which is remembered; `None` for what is none, or is a handle already.
    fn lock_up(&self, value: &RawJson) -> Option<RawJson> {
        let text = value.read::<String>().ok();
        if matches!(value.get(), "null" | r#""""#) || text.as_deref().is_some_and(needle::is_handle) {
            return None;
        }
        let one_form =
            text.map_or_else(|| value.get().to_owned(), |text| RawJson::string(&text).get().to_owned());
        let mut pages = self.secrets.0.write().unwrap_or_else(PoisonError::into_inner);
        let handle = pages.handles.get(&one_form).cloned().unwrap_or_else(|| pages.add(one_form, value));
        Some(RawJson::string(&handle))
    }

    /// A block without what must not be in it; `None` where nothing has changed. Words pass the redactor. A tool takes its
    /// arguments as they are; what is called and is no tool of the agent is answered by words.
    fn cleaned(&self, agent: &Definition, block: &ContentBlock) -> Option<ContentBlock> {
        let words = match block {
            ContentBlock::ToolUse(call) if agent.table().has(call.name()) => "",
            ContentBlock::ToolUse(_) => "input",
            ContentBlock::Text(_) | ContentBlock::ToolResult(_) | ContentBlock::Other(_) => block.kind(),
        };
        let mut members: Members = RawJson::of(block).ok()?.read().ok()?;
        let mut is_changed = false;
        for (name, value) in members.0.iter_mut().filter(|(name, _)| &**name != "type") {
            let is_words = **name == *words;
            let cleaned = json::rewrite(value.get(), |literal, text| self.literal(literal, text, is_words));
            if let Some(cleaned) = cleaned {
                *value = RawJson::parse(&cleaned).unwrap_or_else(|_| RawJson::string(WITHHELD));
                is_changed = true;
            }
        }
        let read = || RawJson::of(&members).and_then(|json| json.read());
        is_changed.then(|| read().unwrap_or_else(|_| ContentBlock::text(WITHHELD)))
    }

    /// What is to stand in the place of a literal. Numbers are no words.
    fn literal(&self, literal: Literal, text: &str, is_words: bool) -> Option<String> {
        match literal {
            Literal::Number => self.masked(text, Needle::is_long_number),
            Literal::Text if is_words => self.text(text),
            Literal::Text | Literal::Name => self.masked(text, |_| true),
        }
    }

    /// What is to stand in the place of words.
    fn text(&self, text: &str) -> Option<String> {
        let masked = self.masked(text, |_| true);
        let redacted = self.redacted(masked.as_deref().unwrap_or(text));
        redacted.or(masked).filter(|cleaned| cleaned != text)
    }

    /// What is to stand in the place of words by the redactor alone.
    fn redacted(&self, text: &str) -> Option<String> {
        let redacted = catch_unwind(AssertUnwindSafe(|| self.redact.map(|redact| redact(text))));
        // A redactor that fails has let nothing pass.
        let redacted = redacted.unwrap_or_else(|_| Some(WITHHELD.to_owned()))?;
        (redacted != text).then_some(redacted)
    }

    /// Whether no text has to be looked at.
    fn has_nothing_to_do(&self) -> bool {
        self.redact.is_none() && self.pages(|pages| pages.needles.is_empty())
    }

    fn masked(&self, text: &str, which: impl Fn(&Needle) -> bool) -> Option<String> {
        self.pages(|pages| needle::masked(text, pages.needles.iter().filter(|needle| which(needle))))
    }

    fn pages<R>(&self, read: impl FnOnce(&Pages) -> R) -> R {
        read(&self.secrets.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Pages {
    fn add(&mut self, one_form: String, value: &RawJson) -> Box<str> {
        let handle = needle::handle(by_chance());
        // Each text and each number of a value is a secret, and not only the whole of it.
        let mut parts = Vec::new();
        let _ = json::rewrite(value.get(), |literal, text| {
            if literal != Literal::Name {
                parts.push(text.to_owned());
                // As it stands in JSON that is a text itself.
                parts.push(RawJson::string(text).get().trim_matches('"').to_owned());
            }
            None
        });
        parts.dedup();
        let needles = parts.iter().flat_map(|part| Needle::all_of(part, &handle));
        self.needles.extend(needles);
        self.needles.sort_by_key(|needle| Reverse(needle.len()));
        self.values.insert(handle.clone(), value.clone());
        self.handles.insert(one_form, handle.clone());
        handle
    }
}

impl fmt::Debug for Secrets {
    /// None of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl fmt::Debug for Vault<'_> {
    /// How many there are, and none of them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vault")
            .field("secrets", &self.pages(|pages| pages.values.len()))
            .finish_non_exhaustive()
    }
}

/// What a tool declares, where some of it is secret.
fn secretive<'a>(
    agent: &'a Definition,
    tool: &str,
    which: fn(&Declaration) -> &[Box<str>],
) -> Option<&'a Declaration> {
    agent.table().declaration(tool).filter(|declared| !which(declared).is_empty())
}

/// The schema of a tool's arguments, as its models are told of it.
fn schema_of(agent: &Definition, tool: &str) -> Value {
    let definition = agent.definitions().iter().find(|of| of.name.as_str() == tool);
    definition.and_then(|of| of.input_schema.read().ok()).unwrap_or_default()
}

fn split(path: &str) -> Vec<&str> {
    path.split('.').collect()
}

/// A number by chance that is too long to be tried.
fn by_chance() -> u128 {
    let chance = || u128::from(runner::by_chance());
    chance() << 64 | chance()
}

/// What a model is told whose call has a handle without a value.
#[derive(Serialize)]
struct Gone<'a> {
    error: &'static str,
    argument: &'a str,
    detail: &'static str,
}

impl ToolFailure for Gone<'_> {
    fn code(&self) -> &str {
        self.error
    }
}
