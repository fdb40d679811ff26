//! Riak rings, hashes and preflists: pure computation, no I/O, no clock.
#![forbid(unsafe_code)]
