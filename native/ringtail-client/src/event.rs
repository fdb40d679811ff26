//! What a client does, told to whoever wants to know (`ringtail -v`, logs, tests).

use std::fmt;
use std::sync::Arc;

use ringtail_core::topology::Token;

use crate::error::{IdentityMismatch, NodeError};
use crate::stats::{Counters, count};

/// Something that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A node was chosen for a request.
    Chosen {
        /// Its node name.
        node: String,
        /// Where it was reached, as a URL.
        address: String,
        /// Why it.
        why: Why,
        /// By which topology.
        token: Token,
    },
    /// A node could not be reached, or the connection to it failed.
    Failed {
        /// Node name or address.
        node: String,
        /// What happened.
        why: String,
    },
    /// A node said that it is no primary of the key.
    Misdirected {
        /// Its node name.
        node: String,
        /// The topology by which it refused.
        token: Option<Token>,
    },
    /// A node said that it cannot serve the request now.
    Unavailable {
        /// Its node name.
        node: String,
        /// What it said.
        why: String,
    },
    /// Another node than expected was at an address. It was not used.
    Identity(IdentityMismatch),
    /// A topology was taken over.
    Topology {
        /// Who told it, as a URL.
        address: String,
        /// The one before.
        from: Option<Token>,
        /// The one from now on.
        token: Token,
    },
    /// A topology was not taken over: it is older than the one at hand.
    Older {
        /// Who told it, as a URL.
        address: String,
        /// Its version.
        token: Token,
        /// The version at hand.
        ours: Token,
    },
    /// A topology was taken over though its ordinal is lower: all nodes and seeds that answer have
    /// told it time and again, and none tells the one at hand. A ring was restored, or the one at
    /// hand never was theirs.
    Agreed {
        /// Who told it last, as a URL.
        address: String,
        /// The one before.
        from: Token,
        /// The one from now on.
        token: Token,
    },
    /// A request that was passed on bore an `Authorization`, which was taken out: its node is
    /// reached by http.
    Withheld {
        /// Its node name.
        node: String,
        /// Where it was reached, as a URL.
        address: String,
    },
    /// No node of the topology could be asked; the client starts again from its seeds.
    Reseeding,
}

/// Why a node was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It owns a partition of the key.
    Primary {
        /// Distinct primaries of the key.
        primaries: usize,
        /// How many of them were up and could be chosen.
        up: usize,
    },
    /// The bucket's chash_keyfun is the cluster's own: any node, which finds the primary itself.
    CustomKeyfun {
        /// `Module:Function`
        name: String,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primary { primaries: 1, .. } => f.write_str("the only primary of the key"),
            Self::Primary { primaries, up } => {
                write!(f, "one of {primaries} primaries of the key, {up} of them up")
            }
            Self::CustomKeyfun { name } => {
                write!(f, "any node: only nodes can compute the bucket's chash_keyfun {name}")
            }
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen { node, address, why, token } => {
                write!(f, "chose {node} at {address}: {why} (topology {token})")
            }
            Self::Failed { node, why } => write!(f, "{node} failed: {why}"),
            Self::Misdirected { node, token: Some(token) } => {
                write!(f, "{node} is no primary of the key by topology {token}")
            }
            Self::Misdirected { node, token: None } => write!(f, "{node} is no primary of the key"),
            Self::Unavailable { node, why } => {
                write!(f, "{node} cannot serve the request now: {why}")
            }
            Self::Identity(mismatch) => mismatch.fmt(f),
            Self::Topology { address, from: Some(from), token } => {
                write!(f, "topology {token} from {address}, before it {from}")
            }
            Self::Topology { address, from: None, token } => {
                write!(f, "topology {token} from {address}")
            }
            Self::Older { address, token, ours } => {
                write!(f, "{address} has the older topology {token}; ours is {ours}")
            }
            Self::Agreed { address, from, token } => write!(
                f,
                "all nodes agree on topology {token}, the last of them {address}: taken in place \
                 of {from}, which none of them has"
            ),
            Self::Withheld { node, address } => {
                write!(
                    f,
                    "{node} at {address} is sent no Authorization: secrets go over https only"
                )
            }
            Self::Reseeding => f.write_str("no known node answers: starting again from the seeds"),
        }
    }
}

/// Who is told. Called from whatever thread something happens in; keep it short.
#[derive(Clone, Default)]
pub(crate) struct Observer(pub(crate) Option<Arc<Callback>>);

type Callback = dyn Fn(&Event) + Send + Sync;

impl Observer {
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(observer) = &self.0 {
            observer(&event());
        }
    }

    /// Tells that a node could not be used; that another one is there is counted, too.
    pub(crate) fn failed(&self, node: &str, error: &NodeError, counters: &Counters) {
        match error {
            NodeError::Identity(mismatch) => {
                count(&counters.identity_mismatches);
                self.tell(|| Event::Identity(IdentityMismatch::clone(mismatch)));
            }
            NodeError::NoAnswer(_) | NodeError::Topology(_) => {
                self.tell(|| Event::Failed { node: node.to_owned(), why: error.to_string() });
            }
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Observer(..)" } else { "Observer(none)" })
    }
}
