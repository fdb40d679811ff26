//! `ringtail preflist`: where one key lives.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use ringtail_core::keys::{percent_decode, percent_encode};
use ringtail_core::{KeyHash, KeyPreflist, NVal, NodeId, Ring, UpNodes, hash_key};

use super::checks::{check_n, hex};
use super::remote;
use crate::args::PreflistArgs;
use crate::failure::Failure;
use crate::keytext::shown;
use crate::output::{Output, Style};
use crate::ringfile;
use crate::table::{Align, Table};

pub fn run(args: &PreflistArgs, out: &mut Output) -> Result<(), Failure> {
    let key = key(args)?;
    let Some(source) = &args.ring else { return of_node(args, &key, out) };
    let ring = ringfile::load(source)?;
    let n = args.bucket.n;
    check_n(&ring, n)?;
    let up = up_nodes(&ring, &args.down)?;
    let hash =
        hash_key(&args.bucket.bucket_type.0, &args.bucket.bucket.0, &key, args.bucket.keyfun);
    let preflist = KeyPreflist::of(&ring, &hash, n, &up)
        .map_err(|error| Failure::usage(error.code(), error.to_string()))?;
    match out.style {
        Style::Json => out.json(&preflist),
        Style::Plain => table(&preflist).write_plain(out, None),
        Style::Table => {
            let name = object_name(args, &key);
            write_for_people(
                &name,
                &hash.to_string(),
                &preflist,
                &down_primaries(&ring, &hash, n, &up),
                out,
            )
        }
    }
    .map_err(Failure::output)
}

/// The preflist as a node has it.
fn of_node(args: &PreflistArgs, key: &[u8], out: &mut Output) -> Result<(), Failure> {
    let client = remote::connect(&args.urls, &args.node)?;
    let (bucket_type, bucket) = (&args.bucket.bucket_type.0, &args.bucket.bucket.0);
    // So that a bucket type that does not exist is told as such, and for the hash.
    let properties = client.properties(bucket_type, bucket)?;
    let path = format!(
        "/bucket_types/{}/buckets/{}/keys/{}/preflist",
        percent_encode(bucket_type),
        percent_encode(bucket),
        percent_encode(key)
    );
    let preflist: KeyPreflist =
        serde_json::from_slice(&client.document(&path)?).map_err(|error| {
            Failure::failed("bad_answer", format!("the node's preflist makes no sense: {error}"))
        })?;
    match out.style {
        Style::Json => out.json(&preflist),
        Style::Plain => table(&preflist).write_plain(out, None),
        Style::Table => {
            let hash = match &properties.keyfun {
                Ok(keyfun) => hash_key(bucket_type, bucket, key, *keyfun).to_string(),
                Err(name) => format!("computed by {name}"),
            };
            write_for_people(&object_name(args, key), &hash, &preflist, &[], out)
        }
    }
    .map_err(Failure::output)
}

/// All nodes of the ring but those said to be down. A name that is not in the ring is a slip of the
/// pen that would change the answer silently.
fn up_nodes(ring: &Ring, down: &[String]) -> Result<UpNodes, Failure> {
    let mut up = ring.all_up();
    for name in down {
        let node = node_named(ring, name).ok_or_else(|| {
            let known: Vec<String> =
                ring.nodes().iter().map(|node| shown(node.as_bytes())).collect();
            Failure::usage(
                "unknown_node",
                format!(
                    "--down {}: not a node of this ring; its nodes are {}",
                    shown(name.as_bytes()),
                    known.join(", ")
                ),
            )
        })?;
        up.remove(node);
    }
    Ok(up)
}

/// A node by its name, or by its name as it is shown.
fn node_named(ring: &Ring, name: &str) -> Option<NodeId> {
    let as_shown = || ring.nodes().iter().find(|node| shown(node.as_bytes()) == name);
    ring.node_id(name).or_else(|| ring.node_id(as_shown()?))
}

fn object_name(args: &PreflistArgs, key: &[u8]) -> [(&'static str, String); 3] {
    [
        ("Bucket type", shown(&args.bucket.bucket_type.0)),
        ("Bucket", shown(&args.bucket.bucket.0)),
        ("Key", shown(key)),
    ]
}

/// Names of the primaries that are down, each once.
fn down_primaries(ring: &Ring, hash: &KeyHash, n: NVal, up: &UpNodes) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for primary in
        ring.primaries(hash, n).into_iter().flatten().filter(|primary| !up.contains(primary.node))
    {
        let name = shown(ring.node_name(primary.node).as_bytes());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn table(preflist: &KeyPreflist) -> Table {
    let mut table = Table::new(&[
        ("NODE", Align::Left),
        ("KIND", Align::Left),
        ("POSITION", Align::Right),
        ("INDEX", Align::Right),
    ]);
    for entry in &preflist.preflist {
        table.row(vec![
            shown(entry.node.as_bytes()),
            if entry.primary { "primary" } else { "fallback" }.to_owned(),
            entry.partition.to_string(),
            entry.index.to_string(),
        ]);
    }
    table
}

fn write_for_people(
    name: &[(&'static str, String)],
    hash: &str,
    preflist: &KeyPreflist,
    down: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    for (title, value) in name {
        writeln!(out, "{title:<13}{value}")?;
    }
    writeln!(out, "{:<13}{hash}\n", "Hash")?;
    if preflist.preflist.is_empty() {
        writeln!(out, "No node is up: nothing can serve this key.")?;
    } else {
        table(preflist).write_aligned(out)?;
    }
    if !down.is_empty() {
        writeln!(out, "\nPrimaries that are down: {}", down.join(", "))?;
    }
    Ok(())
}

/// The key of `preflist`. Here and not among clap's parsers, because `--hex` decides how it is
/// read.
fn key(args: &PreflistArgs) -> Result<Vec<u8>, Failure> {
    let text = args.key.as_bytes();
    let key = if args.hex { hex(text) } else { percent_decode(text) };
    key.map_err(|error| Failure::usage(error.code(), format!("--key: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringtail_core::{RingParts, RingSize};

    #[test]
    fn a_node_is_found_by_its_name_as_it_is_shown() {
        let size = RingSize::new(2).unwrap();
        let names = ["odd%\u{1b}@h", "plain@h"].map(str::to_owned);
        let owners = size.positions().map(|at| size.index_of(at)).zip(names).collect();
        let ring = Ring::from_parts(RingParts { owners, ..RingParts::default() }).unwrap();
        let node = ring.node_id("odd%\u{1b}@h");
        assert!(node.is_some());
        assert_eq!(node_named(&ring, "odd%\u{1b}@h"), node);
        assert_eq!(node_named(&ring, "odd%25%1B@h"), node);
        assert_eq!(node_named(&ring, "odd"), None);
    }
}
