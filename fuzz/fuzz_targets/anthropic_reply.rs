#![no_main]

sommelier_fuzz::target!("anthropic_reply");
