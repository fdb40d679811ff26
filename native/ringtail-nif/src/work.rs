//! What a call on a normal scheduler has cost, told to the scheduler.
//!
//! The VM lets a process run for some 4,000 reductions, about a millisecond of Erlang, and counts a
//! NIF call as one of them whatever it does: a loop over keys of 32 KiB kept its neighbours waiting
//! for several milliseconds. So a call that is worth more says so. The usual one, a short key with
//! three owners, is worth about what is counted anyway, and says nothing: that would be a good part
//! of it.
//!
//! Costs are kept in bytes hashed, at the speed of SHA-1 without help from the processor, 300 in a
//! microsecond. Where the processor helps, a process that asks for large keys is taken off its
//! scheduler sooner than need be, and loses nothing but that.

use ringtail_core::NVal;
use rustler::Env;
use rustler::schedule::consume_timeslice;

/// A hundredth of a time slice, which is the least that can be told: ten microseconds.
const HUNDREDTH: usize = 3072;
/// A call up to this is worth what is counted anyway: a microsecond.
const UNTOLD: usize = 300;
/// To name the owner of a partition.
const NAMING: usize = 20;
/// So many partitions can be passed by while one byte is hashed.
const PASSED_BY: usize = 2;

#[derive(Clone, Copy)]
pub struct Work(usize);

impl Work {
    #[inline(always)]
    pub fn none() -> Self {
        Self(0)
    }

    #[inline(always)]
    pub fn hashing(bytes: usize) -> Self {
        Self(bytes)
    }

    /// And so many entries of an answer.
    #[inline(always)]
    pub fn naming(self, n: NVal) -> Self {
        Self(self.0.saturating_add((n.get() as usize).saturating_mul(NAMING)))
    }

    /// And a look for stand-ins among so many partitions.
    pub fn passing_by(self, partitions: u32) -> Self {
        Self(self.0.saturating_add(partitions as usize / PASSED_BY))
    }

    /// Counts it as time of the calling process.
    #[inline(always)]
    pub fn account(self, env: Env) {
        if self.0 > UNTOLD {
            self.tell(env);
        }
    }

    #[cold]
    fn tell(self, env: Env) {
        // What is left to the slice is not asked: the call is over, and the VM looks before the
        // next.
        let hundredths = self.0.div_ceil(HUNDREDTH).clamp(1, 100) as i32;
        consume_timeslice(env, hundredths);
    }
}
