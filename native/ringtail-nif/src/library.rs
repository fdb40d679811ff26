//! Of the library itself.

use rustler::{Env, Term};

use crate::fault::binary;

#[rustler::nif]
fn version(env: Env) -> Term {
    binary(env, env!("CARGO_PKG_VERSION").as_bytes())
}

/// For the suites: shows that a panic becomes an exception.
#[rustler::nif]
fn provoke_panic() -> bool {
    panic!("a panic was asked for by provoke_panic/0")
}

/// The same on a dirty scheduler.
#[rustler::nif(schedule = "DirtyCpu")]
fn provoke_panic_dirty() -> bool {
    panic!("a panic was asked for by provoke_panic_dirty/0")
}
