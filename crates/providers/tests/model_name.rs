//! What a person names a live model by.

use sommelier_providers::ModelName;

/// S1-20. The name is the server's own, whatever stands in it, and is written back as it was.
#[test]
fn a_name_is_what_the_server_speaks_and_what_it_calls_the_model() {
    let rows = [
        ("anthropic:claude-sonnet-5", "anthropic", "claude-sonnet-5"),
        ("openai:qwen3:4b", "openai", "qwen3:4b"),
        ("openai:meta/llama-4:free", "openai", "meta/llama-4:free"),
        ("openai:anthropic:x", "openai", "anthropic:x"),
    ];
    for (text, provider, model) in rows {
        let name: ModelName = text.parse().unwrap();
        assert_eq!((name.provider(), name.model(), &*name.to_string()), (provider, model, text));
        let live = name.live(Some("http://127.0.0.1:1")).without_key().build().unwrap();
        let told = sommelier_providers::runtime::Model::name(&live).map(str::to_owned);
        assert_eq!(told.as_deref(), Some(model));
    }
}

/// S1-20. Newer models of OpenAI's own service refuse the member that local servers know.
#[test]
fn the_service_itself_is_told_the_limit_of_tokens_by_its_newer_member() {
    let name: ModelName = "openai:gpt-5".parse().unwrap();
    let own = format!("{:?}", name.live(None));
    assert!(own.contains("token_limit: MaxCompletionTokens"), "{own}");
    let elsewhere = format!("{:?}", name.live(Some("http://127.0.0.1:1")));
    assert!(elsewhere.contains("token_limit: MaxTokens"), "{elsewhere}");
}

/// S1-20. What is no name is refused with what would be one.
#[test]
fn what_is_no_name_is_told_what_would_be() {
    let meant = |text: &str, name: &str| {
        (text.to_owned(), format!("`{text}` is no name of a live model; did you mean `{name}`?"))
    };
    let bare = |text: &str| {
        let forms = "it is `anthropic:NAME` for Anthropic's Messages API, and `openai:NAME` for chat completions, as OpenAI, \
                     llama.cpp, Ollama and vLLM have them";
        (text.to_owned(), format!("`{text}` does not say what the model's server speaks: {forms}"))
    };
    let nameless = |text: &str, example: &str| {
        let begin = text.trim();
        (
            text.to_owned(),
            format!("no model is named behind `{begin}`; it is what the server calls it, as in `{example}`"),
        )
    };
    let unfit = |text: &str, model: &str| {
        (
            text.to_owned(),
            format!("`{model}` is no name of a model: white space stands in it, or what cannot be seen"),
        )
    };
    let rows = [
        meant("antropic:claude-sonnet-5", "anthropic:claude-sonnet-5"),
        meant("Anthropic:claude-sonnet-5", "anthropic:claude-sonnet-5"),
        meant("anthropic/claude-sonnet-5", "anthropic:claude-sonnet-5"),
        meant("claude:sonnet", "anthropic:sonnet"),
        meant("ollama:qwen3:4b", "openai:qwen3:4b"),
        meant("open-ai:gpt", "openai:gpt"),
        bare("claude-sonnet-5"),
        bare("qwen3:4b"),
        bare(""),
        bare(":x"),
        bare("ollama:"),
        nameless("anthropic:", "anthropic:claude-sonnet-5"),
        nameless("openai: ", "openai:qwen3:4b"),
        unfit("openai:a b", "a b"),
        unfit("openai:a\n", "a"),
    ];
    for (text, told) in rows {
        assert_eq!(text.parse::<ModelName>().unwrap_err().to_string(), told, "{text:?}");
    }
}
