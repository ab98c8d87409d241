#![no_main]

sommelier_fuzz::target!("call");
