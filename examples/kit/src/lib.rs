//! What the example binaries share.
