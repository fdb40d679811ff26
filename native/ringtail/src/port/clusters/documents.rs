//! What is known of a cluster: its topology, and where a key is.

use std::time::Instant;

use ringtail_client::{ObjectName, View};
use ringtail_core::topology::{MemberEntry, Snapshot};
use ringtail_core::{ClusterPreflist, NVal, Position, RingSize, hash_key};
use ringtail_port_codec::answer::Writer;

use super::super::fault::Fault;
use super::session::{PATIENCE, Session};

type Done = Result<(), Fault>;

/// Asks a node now. Where the token is the known one, only who is up can be new.
pub fn topology(session: &Session, known: &str, deadline: Instant, out: &mut Writer) -> Done {
    let client = session.client(deadline)?;
    let (view, teller) = client.check(deadline.saturating_duration_since(Instant::now()))?;
    let snapshot = view.snapshot();
    let token = view.token().to_string();
    out.tuple(5);
    out.binary(token.as_bytes());
    out.binary(snapshot.cluster().uuid.to_string().as_bytes());
    out.binary(teller.to_string().as_bytes());
    let up: Vec<&str> =
        members(snapshot).filter(|(place, _)| view.is_up(*place)).map(|(_, m)| &*m.name).collect();
    out.list(up.into_iter(), |out, name| {
        out.binary(name.as_bytes());
        Ok::<(), Fault>(())
    })?;
    if token == known {
        out.atom("same");
        return Ok(());
    }
    out.tuple(6);
    out.binary(snapshot.cluster().name.as_bytes());
    out.u64(u64::from(snapshot.ring_size()));
    boolean(out, snapshot.resizing());
    out.binary(snapshot.canonical().as_bytes());
    let owners =
        snapshot.owners().map(|(index, owner)| (index, owner.name.as_str().into())).collect();
    out.binary(&serde_json::to_vec(&ClusterPreflist { owners })?);
    out.list(snapshot.members().iter(), member)
}

fn members(snapshot: &Snapshot) -> impl Iterator<Item = (usize, &MemberEntry)> {
    snapshot.members().iter().enumerate()
}

/// The primaries of a key, up or not, in preflist order; every node where the keyfun is the
/// cluster's own.
pub fn locate(session: &Session, name: &ObjectName, deadline: Instant, out: &mut Writer) -> Done {
    let client = session.client(deadline)?;
    let time = deadline.saturating_duration_since(Instant::now());
    let properties = client.properties_within(name.bucket_type(), name.bucket(), time, PATIENCE)?;
    let view = client.view();
    let snapshot = view.snapshot();
    out.tuple(2);
    let Ok(keyfun) = properties.keyfun else {
        out.atom("any");
        return out
            .list(0..snapshot.members().len(), |out, place| located(out, &view, place, None));
    };
    let hash = hash_key(name.bucket_type(), name.bucket(), name.key(), keyfun);
    let size =
        RingSize::new(snapshot.ring_size()).map_err(|error| Fault::Internal(error.to_string()))?;
    // A bucket may want more replicas than there are partitions; Riak makes as many as there are.
    let n = NVal::new(properties.n_val.get().min(snapshot.ring_size()))?;
    let first = size.position_of(&hash).0;
    out.atom("primaries");
    out.list(snapshot.primaries(&hash, n)?.enumerate(), |out, (at, place)| {
        let position = Position((first + u32::try_from(at).unwrap_or(0)) % snapshot.ring_size());
        located(out, &view, place, Some(size.index_of(position).as_bytes()))
    })
}

/// `{Index | undefined, Member, Up}`
fn located(out: &mut Writer, view: &View, place: usize, index: Option<&[u8; 20]>) -> Done {
    out.tuple(3);
    match index {
        Some(index) => out.integer(index),
        None => out.atom("undefined"),
    }
    member(out, view.member(place))?;
    boolean(out, view.is_up(place));
    Ok(())
}

/// `{Name, Uuid, Status, [{Protocol, Host, Port}]}`
fn member(out: &mut Writer, member: &MemberEntry) -> Done {
    out.tuple(4);
    out.binary(member.name.as_bytes());
    out.binary(member.uuid.to_string().as_bytes());
    out.binary(member.status.as_str().as_bytes());
    out.list(member.endpoints.iter(), |out, endpoint| {
        out.tuple(3);
        out.atom(endpoint.protocol.name());
        out.binary(endpoint.host.as_bytes());
        out.u64(u64::from(endpoint.port));
        Ok(())
    })
}

fn boolean(out: &mut Writer, value: bool) {
    out.atom(if value { "true" } else { "false" });
}
