//! The NIF library: converts terms and calls `ringtail-core`, nothing else.
//!
//! # Schedulers
//!
//! A normal scheduler must get its thread back within a millisecond, so every function here says
//! where it runs and why:
//!
//! * `chash`, `*_places`, `ring_size`, `node_uuid`, `version`: normal. About a microsecond for the
//!   keys of real life. What can be large (key bytes, n, the list of up nodes, a ring of unusual
//!   size) has a twin `*_dirty`; the Erlang wrapper
//!   `ringtail_engine` knows the sizes without touching the data and chooses.
//!   What it does on a normal scheduler counts as time of the caller ([`work`]).
//! * `ring_load`, `ring_info`, `owners`, `document`, `key_document`, `topology*`, and the batches
//!   `*_many`: dirty CPU, always. Their work grows with the ring or the batch. The wrapper cuts
//!   batches into slices, so that no call holds a dirty scheduler for long.
//!
//! # Failure
//!
//! Every expected failure is a [`fault::Fault`] and leaves as `{error, {Code, Detail}}`. A panic is
//! caught by rustler and raised as the Erlang exception `error:nif_panicked`; `provoke_panic/0` and
//! its dirty twin exist so that the suites can show this of the very library that ships. They do
//! nothing else.

mod args;
mod document;
mod fault;
mod grid;
mod library;
mod loaded;
mod lookup;
mod owners;
mod terms;
mod topology;
mod work;

rustler::init!("ringtail_nif");
