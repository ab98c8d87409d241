//! reservo
