#![no_main]

sommelier_fuzz::target!("openai_reply");
