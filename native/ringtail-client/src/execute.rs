//! Carrying out a request: choose a node, send, look at what came, and by the retry policy once
//! more.
//!
//! The [`Executor`] does the rounds. Which nodes may answer says its [`Goal`]: [`AnyNode`], or the
//! [primaries of an object](PrimaryOf), which need the [properties of its bucket](properties_of),
//! which any node tells. One round is an attempt; what came back is weighed; what went wrong is
//! kept for the error in the end.

mod attempt;
mod bucket;
mod call;
mod executor;
mod goal;
mod primary;
mod trouble;
mod weigh;

pub(crate) use bucket::properties_of;
pub(crate) use call::{Answer, Call};
pub(crate) use executor::Executor;
pub(crate) use goal::{AnyNode, Goal};
pub(crate) use primary::PrimaryOf;
