//! Topologies: tokens, canonical forms, documents and differences. Stateless: what is kept is kept
//! by Erlang, as binaries.

use ringtail_core::question;
use ringtail_core::topology::{Token, TopologyAnswer, node_uuid as uuid_of_node};
use rustler::{Encoder, Env, Term};

use crate::args;
use crate::document::json;
use crate::fault::{Failure, answer, binary};
use crate::terms::Given;
use crate::work::Work;

/// Dirty: grows with the ring. `{ok, {Token, ClusterUuid, Canonical}}`, all binaries.
#[rustler::nif(schedule = "DirtyCpu")]
fn topology<'a>(env: Env<'a>, ring: Term<'a>) -> Term<'a> {
    answer(
        env,
        args::ring(ring).map(|loaded| {
            let [token, cluster, canonical] =
                question::version_of(loaded.ring()).map(|text| binary(env, text.as_bytes()));
            (token, cluster, canonical).encode(env)
        }),
    )
}

/// Dirty: parses a snapshot and writes JSON.
#[rustler::nif(schedule = "DirtyCpu")]
fn topology_document<'a>(
    env: Env<'a>,
    token: Term<'a>,
    canonical: Term<'a>,
    up: Term<'a>,
) -> Term<'a> {
    let made = version(token, canonical).and_then(|(token, canonical)| {
        json(env, &TopologyAnswer::full(token, canonical, &up_names(up)?)?)
    });
    answer(env, made)
}

/// Dirty: parses two snapshots and writes JSON.
#[rustler::nif(schedule = "DirtyCpu")]
fn topology_difference<'a>(
    env: Env<'a>,
    from_token: Term<'a>,
    from_canonical: Term<'a>,
    to_token: Term<'a>,
    to_canonical: Term<'a>,
    up: Term<'a>,
) -> Term<'a> {
    let made = version(from_token, from_canonical).and_then(|from| {
        let to = version(to_token, to_canonical)?;
        json(env, &TopologyAnswer::since(from, to, &up_names(up)?)?)
    });
    answer(env, made)
}

fn version<'a>(token: Term<'a>, canonical: Term<'a>) -> Result<(Token, &'a str), Failure> {
    Ok(question::version(&Given(token), &Given(canonical))?)
}

fn up_names<'a>(up: Term<'a>) -> Result<Vec<&'a str>, Failure> {
    Ok(question::texts(&Given(up), "up nodes")?)
}

/// Normal: one SHA-1 of a node's name.
#[rustler::nif]
fn node_uuid<'a>(env: Env<'a>, cluster: Term<'a>, node: Term<'a>) -> Term<'a> {
    let made = question::cluster(&Given(cluster)).and_then(|cluster| {
        let node = question::text(&Given(node), "node")?;
        Work::hashing(node.len()).account(env);
        Ok(binary(env, uuid_of_node(cluster, node).to_string().as_bytes()))
    });
    answer(env, made.map_err(Failure::from))
}
