//! The companion executable.

fn main() {}
