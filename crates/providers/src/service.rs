//! Which service a model is at, and what that decides.

use std::time::SystemTime;

use sommelier_protocol::{ModelRequest, ModelResponse, Usage};

use crate::observer::Tell;
use crate::{Head, ProviderError, ReplyLimits, ServiceError, anthropic, openai};

/// The service, with what its requests say.
#[derive(Clone, Debug)]
pub(crate) enum Service {
    Anthropic(anthropic::Settings),
    OpenAi(openai::Settings),
}

impl Service {
    pub(crate) fn provider(&self) -> &'static str {
        match self {
            Self::Anthropic(_) => "anthropic",
            Self::OpenAi(_) => "openai",
        }
    }

    pub(crate) fn model(&self) -> Option<&str> {
        match self {
            Self::Anthropic(settings) => settings.model.as_deref(),
            Self::OpenAi(settings) => settings.model.as_deref(),
        }
    }

    pub(crate) fn default_base(&self) -> &'static str {
        match self {
            Self::Anthropic(_) => anthropic::BASE_URL,
            Self::OpenAi(_) => openai::BASE_URL,
        }
    }

    pub(crate) fn key_variable(&self) -> &'static str {
        match self {
            Self::Anthropic(_) => anthropic::KEY_VARIABLE,
            Self::OpenAi(_) => openai::KEY_VARIABLE,
        }
    }

    /// Where requests go. Bases are written with `/v1` and without it.
    pub(crate) fn endpoint(&self, base: &str) -> String {
        let base = base.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        match self {
            Self::Anthropic(_) => format!("{base}/v1/messages"),
            // A base with a path of its own may have another version in it.
            Self::OpenAi(_) if has_path(base) => format!("{base}/chat/completions"),
            Self::OpenAi(_) => format!("{base}/v1/chat/completions"),
        }
    }

    pub(crate) fn encode(
        &self,
        request: &ModelRequest<'_>,
        is_streamed: bool,
    ) -> Result<Vec<u8>, ProviderError> {
        match self {
            Self::Anthropic(settings) => anthropic::encode(request, settings, is_streamed),
            Self::OpenAi(settings) => openai::encode(request, settings, is_streamed),
        }
    }

    pub(crate) fn decode(&self, body: &[u8]) -> Result<ModelResponse, ProviderError> {
        match self {
            Self::Anthropic(_) => anthropic::decode(body),
            Self::OpenAi(settings) => openai::decode(body, settings.json_mode),
        }
    }

    /// Refuses a plain reply that has more in it than a streamed one may have.
    pub(crate) fn check(&self, reply: &ModelResponse, limits: ReplyLimits) -> Result<(), ProviderError> {
        let calls = || reply.content.iter().filter(|block| block.as_tool_use().is_some()).count();
        let (count, unit) = match self {
            Self::Anthropic(_) => (reply.content.len(), "blocks"),
            Self::OpenAi(_) => (calls(), "calls"),
        };
        match count > limits.blocks {
            true => Err(ProviderError::TooLarge { what: "the reply", most: limits.blocks, unit }),
            false => Ok(()),
        }
    }

    pub(crate) fn decode_error(&self, head: &Head, body: &[u8], now: SystemTime) -> ServiceError {
        match self {
            Self::Anthropic(_) => anthropic::decode_error(head, body, now),
            Self::OpenAi(_) => openai::decode_error(head, body, now),
        }
    }

    pub(crate) fn stream(&self, head: &Head, limits: ReplyLimits) -> Stream {
        match self {
            Self::Anthropic(_) => {
                Stream::Anthropic(anthropic::Stream::new(limits).request_id(head.request_id()))
            }
            Self::OpenAi(settings) => Stream::OpenAi(openai::Stream::new(limits, settings.json_mode)),
        }
    }
}

fn has_path(base: &str) -> bool {
    base.split_once("://").is_some_and(|(_, rest)| rest.contains('/'))
}

/// A stream of either form.
pub(crate) enum Stream {
    Anthropic(anthropic::Stream),
    OpenAi(openai::Stream),
}

impl Stream {
    pub(crate) fn push(&mut self, bytes: &[u8], tell: Tell<'_>) -> Result<(), ProviderError> {
        match self {
            Self::Anthropic(stream) => stream.push(bytes, tell),
            Self::OpenAi(stream) => stream.push(bytes, tell),
        }
    }

    /// What the service has counted so far.
    pub(crate) fn used(&self) -> Usage {
        match self {
            Self::Anthropic(stream) => stream.used(),
            Self::OpenAi(stream) => stream.used(),
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Anthropic(stream) => stream.is_over(),
            Self::OpenAi(stream) => stream.is_over(),
        }
    }

    pub(crate) fn finish(self) -> Result<ModelResponse, ProviderError> {
        match self {
            Self::Anthropic(stream) => stream.finish(),
            Self::OpenAi(stream) => stream.finish(),
        }
    }
}
