//! handoff
