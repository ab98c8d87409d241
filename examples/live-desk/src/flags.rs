//! What was asked for on the command line, and the model that it names.

use std::error::Error;
use std::ffi::OsString;

use examples_kit::Misuse;
use lexopt::prelude::*;
use live_desk::{CASES, Case, Tap};
use sommelier_protocol::RawJson;
use sommelier_providers::openai::{JsonMode, OpenObjects};
use sommelier_providers::{Live, LiveBuilder, ModelName, ModelNameError, openai};

pub(crate) const HELP: &str = "\
The support desk on a live model, held to rules that no reply may break.

  cargo xtask example live-desk [FLAGS]

  --model NAME     anthropic:NAME or openai:NAME; without it the rules of the desk stand in
  --base-url URL   where the service is, such as http://127.0.0.1:8080; the provider's own unless said
  --json-mode      for an openai server whose model calls no tools: each reply is one object under a schema, at
                   temperature 0
  --case NAME      this case alone, such as \"a bounce\"; may be repeated
  --json           one JSON document on stdout

A key comes from ANTHROPIC_API_KEY or OPENAI_API_KEY. Exit status: 0 every rule held and a model handed over by its
own call, 1 not so, 2 wrong use";

/// The most tokens of a reply in JSON mode: more than the schema's bounds allow a model to write into one call.
const JSON_TOKENS: u32 = 700;

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) model: Option<ModelName>,
    pub(crate) base_url: Option<String>,
    pub(crate) json_mode: bool,
    /// The cases; all of them when there are none.
    pub(crate) cases: Vec<Case>,
    pub(crate) json: bool,
    pub(crate) help: bool,
}

impl Flags {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// [`Misuse`] for a flag that there is not, and for a value that is missing.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, Misuse> {
        let wrong = |error: lexopt::Error| Misuse::new(error.to_string());
        let mut flags = Self::default();
        let mut parser = lexopt::Parser::from_args(args);
        while let Some(arg) = parser.next().map_err(wrong)? {
            match arg {
                Short('h') | Long("help") => flags.help = true,
                Long("json") => flags.json = true,
                Long("json-mode") => flags.json_mode = true,
                Long("case") => flags.cases.push(case(&text(&mut parser).map_err(wrong)?)?),
                Long("model") => {
                    let name = text(&mut parser).map_err(wrong)?.parse();
                    let name = name.map_err(|error: ModelNameError| Misuse::new(error.to_string()))?;
                    flags.model = Some(name);
                }
                Long("base-url") => flags.base_url = Some(text(&mut parser).map_err(wrong)?),
                other => return Err(wrong(other.unexpected())),
            }
        }
        if flags.model.is_none() && (flags.base_url.is_some() || flags.json_mode) {
            return Err(Misuse::new(
                "--base-url and --json-mode say how a model is reached; --model names it",
            ));
        }
        Ok(flags)
    }

    /// The model that was named, whose replies `tap` gets as they come; `None` when none was.
    ///
    /// # Errors
    /// [`Misuse`] for JSON mode with a model that calls tools; a [`SetupError`](sommelier_providers::SetupError) when the model cannot be
    /// reached like this, such as for want of a key.
    pub(crate) fn live(&self, tap: &Tap) -> Result<Option<Live>, Box<dyn Error>> {
        let Some(name) = &self.model else { return Ok(None) };
        let (live, tap) = (self.builder(name)?, tap.clone());
        Ok(Some(live.raw_to(move |_, bytes| tap.hear(bytes)).build()?))
    }

    fn builder(&self, name: &ModelName) -> Result<LiveBuilder, Misuse> {
        let url = self.base_url.as_deref();
        match (name.provider(), self.json_mode) {
            (_, false) => Ok(name.live(url)),
            ("openai", true) => {
                let live = Live::openai(in_json_mode(name.model()));
                Ok(url.into_iter().fold(live, LiveBuilder::base_url))
            }
            (_, true) => Err(Misuse::new("--json-mode is for openai: models; those of anthropic call tools")),
        }
    }

    /// What decides, for whoever reads of it: the model that was named, or the `label` of what stands in.
    pub(crate) fn model_told(&self, label: Option<&str>) -> String {
        match &self.model {
            Some(model) if self.json_mode => format!("{model}, in JSON mode"),
            Some(model) => model.to_string(),
            None => label.unwrap_or("no model").to_owned(),
        }
    }
}

/// How a very small model is asked.
fn in_json_mode(model: &str) -> openai::Settings {
    // Held to a schema it says the same over and over unless that costs it something.
    let numbers = [("temperature", "0"), ("frequency_penalty", "0.5")].into_iter();
    let numbers = numbers.filter_map(|(name, number)| Some((name.into(), RawJson::parse(number).ok()?)));
    let mode = JsonMode { text_chars: 300, argument_chars: 120, items: 3, open_objects: OpenObjects::Close };
    openai::Settings {
        model: Some(model.to_owned()),
        json_mode: Some(mode),
        max_tokens: Some(JSON_TOKENS),
        rest: numbers.collect(),
        ..openai::Settings::default()
    }
}

fn case(name: &str) -> Result<Case, Misuse> {
    CASES.into_iter().find(|case| case.name == name).ok_or_else(|| {
        let names = CASES.map(|case| format!("{:?}", case.name)).join(", ");
        Misuse::new(format!("--case {name:?} is none; there are {names}"))
    })
}

fn text(parser: &mut lexopt::Parser) -> Result<String, lexopt::Error> {
    parser.value()?.parse()
}
