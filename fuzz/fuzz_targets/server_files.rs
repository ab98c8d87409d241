#![no_main]

sommelier_fuzz::target!("server_files");
