//! The operations on rings, hashes and topologies: what the NIF offers, answered alike.

use ringtail_core::question;
use ringtail_core::term::Term;
use ringtail_core::topology::{TopologyAnswer, node_uuid};
use ringtail_core::{Index, KeyHash, NVal, NodeId, Position, PreflistKind, Ring, UpNodes};
use ringtail_port_codec::answer::Writer;
use serde::Serialize;
use std::sync::Arc;

use super::fault::Fault;
use super::rings::{Handle, Rings};

type Done = Result<(), Fault>;

/// Above these a request does not hold up those behind it: it is handed to a worker.
const QUICK_BYTES: usize = 32 * 1024;
const QUICK_N: u64 = 256;

macro_rules! operations {
    ($($name:literal => $operation:ident,)*) => {
        /// What can be asked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Operation {
            $(#[doc = $name] $operation,)*
        }

        impl Operation {
            /// The operation of that name.
            pub fn named(name: &str) -> Option<Operation> {
                match name {
                    $($name => Some(Operation::$operation),)*
                    _ => None,
                }
            }
        }
    };
}

operations! {
    "version" => Version,
    "ring_load" => RingLoad,
    "ring_drop" => RingDrop,
    "ring_size" => RingSize,
    "ring_info" => RingInfo,
    "owners" => Owners,
    "document" => Document,
    "key_document" => KeyDocument,
    "chash" => Chash,
    "primaries" => Primaries,
    "preflist" => Preflist,
    "primaries_many" => PrimariesMany,
    "preflist_many" => PreflistMany,
    "primaries_of_hash" => PrimariesOfHash,
    "preflist_of_hash" => PreflistOfHash,
    "topology" => Topology,
    "topology_document" => TopologyDocument,
    "topology_difference" => TopologyDifference,
    "node_uuid" => NodeUuid,
}

impl Operation {
    /// Whether the request is done in about the time it would take to hand it to a worker. Only its
    /// shape is looked at.
    pub fn is_quick(self, arguments: &[Term], frame_bytes: usize) -> bool {
        let n = match self {
            Operation::Primaries | Operation::Preflist => arguments.get(5),
            Operation::PrimariesOfHash | Operation::PreflistOfHash => arguments.get(2),
            Operation::Chash
            | Operation::RingSize
            | Operation::RingDrop
            | Operation::NodeUuid
            | Operation::Version => None,
            _ => return false,
        };
        frame_bytes <= QUICK_BYTES && n.and_then(Term::u64).is_none_or(|n| n <= QUICK_N)
    }
}

/// Performs an operation and writes what it answers.
pub fn perform(rings: &Rings, operation: Operation, arguments: &[Term], out: &mut Writer) -> Done {
    match (operation, arguments) {
        (Operation::Version, []) => {
            out.binary(env!("CARGO_PKG_VERSION").as_bytes());
            Ok(())
        }
        (Operation::RingLoad, [handle, bytes]) => {
            let loaded = Ring::decode(question::bytes(bytes, "ring")?)?;
            out.u64(u64::from(loaded.size()));
            rings.insert(handle_of(handle)?, loaded);
            Ok(())
        }
        (Operation::RingDrop, [handle]) => {
            rings.remove(&handle_of(handle)?);
            out.atom("dropped");
            Ok(())
        }
        (Operation::RingSize, [handle]) => {
            out.u64(u64::from(ring(rings, handle)?.size()));
            Ok(())
        }
        (Operation::RingInfo, [handle]) => ring_info(&*ring(rings, handle)?, out),
        (Operation::Owners, [handle]) => {
            let ring = ring(rings, handle)?;
            out.list((0..ring.size()).map(Position), |out, position| {
                pair(out, &ring, position, ring.owner(position));
                Ok(())
            })
        }
        (Operation::Document, [handle, kind]) => {
            json(out, &question::ring_document(kind, &*ring(rings, handle)?)?)
        }
        (Operation::KeyDocument, [handle, kind, bucket_type, bucket, key, keyfun, n, up]) => {
            let ring = ring(rings, handle)?;
            let n = question::n_val(n)?;
            let hash = question::key_hash([bucket_type, bucket, key], keyfun)?;
            let up = up_nodes(&ring, up)?;
            json(out, &question::key_document(kind, &ring, &hash, n, &up)?)
        }
        (Operation::Chash, [bucket_type, bucket, key, keyfun]) => {
            out.binary(question::key_hash([bucket_type, bucket, key], keyfun)?.as_bytes());
            Ok(())
        }
        (Operation::Primaries, [handle, bucket_type, bucket, key, keyfun, n]) => {
            let ring = ring(rings, handle)?;
            let n = question::n_val(n)?;
            primaries(out, &ring, &question::key_hash([bucket_type, bucket, key], keyfun)?, n)
        }
        (Operation::Preflist, [handle, bucket_type, bucket, key, keyfun, n, up]) => {
            let ring = ring(rings, handle)?;
            let n = question::n_val(n)?;
            let hash = question::key_hash([bucket_type, bucket, key], keyfun)?;
            preflist(out, &ring, &hash, n, &up_nodes(&ring, up)?)
        }
        (Operation::PrimariesMany, [handle, keys, keyfun, n]) => {
            let ring = ring(rings, handle)?;
            let n = question::n_val(n)?;
            out.list(question::key_hashes(keys, keyfun)?, |out, hash: Result<_, Fault>| {
                primaries(out, &ring, &hash?, n)
            })
        }
        (Operation::PreflistMany, [handle, keys, keyfun, n, up]) => {
            let ring = ring(rings, handle)?;
            let n = question::n_val(n)?;
            let up = up_nodes(&ring, up)?;
            out.list(question::key_hashes(keys, keyfun)?, |out, hash: Result<_, Fault>| {
                preflist(out, &ring, &hash?, n, &up)
            })
        }
        (Operation::PrimariesOfHash, [handle, hash, n]) => {
            primaries(out, &*ring(rings, handle)?, &question::hash(hash)?, question::n_val(n)?)
        }
        (Operation::PreflistOfHash, [handle, hash, n, up]) => {
            let ring = ring(rings, handle)?;
            preflist(out, &ring, &question::hash(hash)?, question::n_val(n)?, &up_nodes(&ring, up)?)
        }
        (Operation::Topology, [handle]) => topology(&*ring(rings, handle)?, out),
        (Operation::TopologyDocument, [token, canonical, up]) => {
            let (token, canonical) = question::version(token, canonical)?;
            json(out, &TopologyAnswer::full(token, canonical, &question::texts(up, "up nodes")?)?)
        }
        (
            Operation::TopologyDifference,
            [from_token, from_canonical, to_token, to_canonical, up],
        ) => {
            let from = question::version(from_token, from_canonical)?;
            let to = question::version(to_token, to_canonical)?;
            json(out, &TopologyAnswer::since(from, to, &question::texts(up, "up nodes")?)?)
        }
        (Operation::NodeUuid, [cluster, node]) => {
            let cluster = question::cluster(cluster)?;
            let uuid = node_uuid(cluster, question::text(node, "node")?);
            out.binary(uuid.to_string().as_bytes());
            Ok(())
        }
        (_, arguments) => Err(Fault::Arity(arguments.len())),
    }
}

fn handle_of(term: &Term) -> Result<Handle, Fault> {
    let digest = term.binary().and_then(|bytes| bytes.try_into().ok());
    digest.ok_or(Fault::argument("ring handle", "a binary of 20 bytes"))
}

fn ring(rings: &Rings, handle: &Term) -> Result<Arc<Ring>, Fault> {
    rings.get(&handle_of(handle)?).ok_or(Fault::NoSuchRing)
}

/// `{Index, NodeName}`
fn pair(out: &mut Writer, ring: &Ring, position: Position, node: NodeId) {
    out.tuple(2);
    index(out, &ring.index(position));
    out.binary(ring.node_name(node).as_bytes());
}

fn index(out: &mut Writer, index: &Index) {
    out.integer(index.as_bytes());
}

/// `[{Index, NodeName}]`, owners whether up or not.
fn primaries(out: &mut Writer, ring: &Ring, hash: &KeyHash, n: NVal) -> Done {
    out.list(ring.primaries(hash, n)?, |out, primary| {
        pair(out, ring, primary.position, primary.node);
        Ok(())
    })
}

/// `[{{Index, NodeName}, primary | fallback}]`
fn preflist(out: &mut Writer, ring: &Ring, hash: &KeyHash, n: NVal, up: &UpNodes) -> Done {
    out.list(ring.preflist(hash, n, up)?.into_iter(), |out, entry| {
        out.tuple(2);
        pair(out, ring, entry.position, entry.node);
        out.atom(match entry.kind {
            PreflistKind::Primary => "primary",
            PreflistKind::Fallback => "fallback",
        });
        Ok(())
    })
}

/// The values alone, in the order in which the Erlang side names them.
fn ring_info(ring: &Ring, out: &mut Writer) -> Done {
    out.tuple(9);
    out.u64(u64::from(ring.size()));
    for text in [ring.cluster_name(), ring.nodename(), ring.claimant()] {
        match text {
            Some(text) => out.binary(text.as_bytes()),
            None => out.atom("undefined"),
        }
    }
    out.list(ring.members().iter(), |out, member| {
        out.tuple(2);
        out.binary(ring.node_name(member.node).as_bytes());
        out.atom(member.status.as_str());
        Ok::<(), Fault>(())
    })?;
    out.u64(ring.pending().len() as u64);
    out.u64(ring.rvsn_sum());
    out.u64(ring.vclock_sum());
    out.atom(if ring.resizing() { "true" } else { "false" });
    Ok(())
}

fn json(out: &mut Writer, document: &impl Serialize) -> Done {
    out.binary(&serde_json::to_vec(document)?);
    Ok(())
}

/// `{Token, ClusterUuid, Canonical}`
fn topology(ring: &Ring, out: &mut Writer) -> Done {
    out.tuple(3);
    for text in question::version_of(ring) {
        out.binary(text.as_bytes());
    }
    Ok(())
}

fn up_nodes(ring: &Ring, term: &Term) -> Result<UpNodes, Fault> {
    Ok(question::up_nodes(term, ring, |name| Some(ring.node_id(&name.atom()?)))?)
}
