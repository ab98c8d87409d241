//! What a person names a live model by.

use std::fmt;
use std::str::FromStr;

use crate::error::clip;
use crate::openai::TokenLimit;
use crate::{Live, LiveBuilder, anthropic, openai};

/// What a person names a live model by: what its server speaks, and what the server calls the model. It is written
/// `anthropic:NAME` or `openai:NAME`; the name is the server's own, colons and slashes included.
///
/// ```
/// use sommelier_providers::ModelName;
///
/// let name: ModelName = "openai:qwen3:4b".parse()?;
/// assert_eq!((name.provider(), name.model(), name.to_string()), ("openai", "qwen3:4b", "openai:qwen3:4b".into()));
///
/// let error = "ollama:qwen3:4b".parse::<ModelName>().unwrap_err();
/// assert_eq!(error.to_string(), "`ollama:qwen3:4b` is no name of a live model; did you mean `openai:qwen3:4b`?");
/// # Ok::<(), sommelier_providers::ModelNameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    speaks: Speaks,
    model: String,
}

impl ModelName {
    /// What the server speaks, as [`Model::provider`](sommelier_runtime::Model::provider) tells it: `anthropic` or
    /// `openai`.
    pub fn provider(&self) -> &'static str {
        self.speaks.word()
    }

    /// What the server calls the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The model behind the server at this address, or at the provider's own service, to be set up further. Nothing is sent yet.
    ///
    /// OpenAI's own service is told the most tokens of a reply by the member that its newer models ask for, and every other
    /// server by the one that all of them know.
    ///
    /// ```
    /// use sommelier_providers::ModelName;
    ///
    /// let name: ModelName = "openai:qwen3:4b".parse()?;
    /// let model = name.live(Some("http://127.0.0.1:11434")).without_key().build()?;
    /// assert_eq!(model.endpoint(), "http://127.0.0.1:11434/v1/chat/completions");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn live(&self, base_url: Option<&str>) -> LiveBuilder {
        let model = Some(self.model.clone());
        let builder = match self.speaks {
            Speaks::Anthropic => Live::anthropic(anthropic::Settings { model, ..Default::default() }),
            Speaks::OpenAi => {
                let token_limit = match base_url {
                    Some(_) => TokenLimit::MaxTokens,
                    None => TokenLimit::MaxCompletionTokens,
                };
                Live::openai(openai::Settings { model, token_limit, ..Default::default() })
            }
        };
        base_url.into_iter().fold(builder, LiveBuilder::base_url)
    }

    fn new(speaks: Speaks, model: &str) -> Result<Self, ModelNameError> {
        if model.trim().is_empty() {
            return Err(ModelNameError::Nameless { provider: speaks.word() });
        }
        if model.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(ModelNameError::Unfit { given: clip(model) });
        }
        Ok(Self { speaks, model: model.to_owned() })
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.speaks.word(), self.model)
    }
}

impl FromStr for ModelName {
    type Err = ModelNameError;

    fn from_str(text: &str) -> Result<Self, ModelNameError> {
        if let Some((word, model)) = text.split_once(':')
            && let Some(speaks) = Speaks::ALL.into_iter().find(|speaks| speaks.word() == word)
        {
            return Self::new(speaks, model);
        }
        let near = text.split_once([':', '/']);
        let meant = near.and_then(|(word, model)| Self::new(Speaks::near(word)?, model).ok());
        Err(match meant {
            Some(meant) => ModelNameError::Misspelt { given: clip(text), meant: Box::new(meant) },
            None => ModelNameError::Bare { given: clip(text) },
        })
    }
}

/// Why a text names no live model: the caller's to mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelNameError {
    /// What stands before the name is near to what would be right.
    #[error("`{given}` is no name of a live model; did you mean `{meant}`?")]
    Misspelt {
        /// What was written.
        given: String,
        /// What was meant, as it seems.
        meant: Box<ModelName>,
    },
    /// Nothing says what the server speaks.
    #[error(
        "`{given}` does not say what the model's server speaks: it is `anthropic:NAME` for Anthropic's Messages API, and \
         `openai:NAME` for chat completions, as OpenAI, llama.cpp, Ollama and vLLM have them"
    )]
    Bare {
        /// What was written.
        given: String,
    },
    /// The model's own name is missing.
    #[error("no model is named behind `{provider}:`; it is what the server calls it, as in {}", example(.provider))]
    Nameless {
        /// What stands before it.
        provider: &'static str,
    },
    /// No server calls a model like this.
    #[error("`{given}` is no name of a model: white space stands in it, or what cannot be seen")]
    Unfit {
        /// The name.
        given: String,
    },
}

fn example(provider: &str) -> &'static str {
    if provider == Speaks::OpenAi.word() { "`openai:qwen3:4b`" } else { "`anthropic:claude-sonnet-5`" }
}

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speaks {
    Anthropic,
    OpenAi,
}

impl Speaks {
    const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAi];

    fn word(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }

    /// What is meant by a word that is none of ours: one that begins like it, or a server that speaks it.
    fn near(word: &str) -> Option<Self> {
        const LIKE: usize = 3;
        let word = word.to_lowercase();
        let begins_like =
            |speaks: &Self| word.get(..LIKE).is_some_and(|begin| speaks.word().starts_with(begin));
        match &*word {
            "claude" => Some(Self::Anthropic),
            "gpt" | "llama" | "llama.cpp" | "llamacpp" | "lmstudio" | "ollama" | "vllm" => Some(Self::OpenAi),
            _ => Self::ALL.into_iter().find(begins_like),
        }
    }
}
