//! `ringtail topology`: who is in the cluster, where, and what changes.

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;

use ringtail_client::{Client, View};
use ringtail_core::topology::{Difference, MemberEntry, Topology, TopologyAnswer};
use uuid::Uuid;

use super::remote;
use crate::args::TopologyArgs;
use crate::clustersummary::endpoints;
use crate::failure::Failure;
use crate::keytext::shown;
use crate::output::{Output, Style};
use crate::table::{Align, Table};

/// How often a watcher asks where nothing else brings news.
const WATCH: Duration = Duration::from_secs(1);

pub fn run(args: &TopologyArgs, out: &mut Output) -> Result<(), Failure> {
    let config = remote::config(&args.urls, &args.node)?.poll_interval(WATCH);
    let client = Client::connect(config)?;
    let seen = client.view();
    let answer = match args.from {
        None => TopologyAnswer::Full(document(&seen)),
        Some(token) => {
            let text = client.document(&format!("/topology?from={token}"))?;
            serde_json::from_slice(&text).map_err(|error| {
                Failure::failed(
                    "bad_answer",
                    format!("the node's topology makes no sense: {error}"),
                )
            })?
        }
    };
    write(&answer, out).map_err(Failure::output)?;
    if args.watch { watch(&client, &seen, out) } else { Ok(()) }
}

fn document(view: &View) -> Topology {
    let members = view.snapshot().members().iter().enumerate();
    let up =
        members.filter(|(place, _)| view.is_up(*place)).map(|(_, member)| member.uuid).collect();
    Topology::of(view.snapshot(), view.token(), up)
}

/// Until the reader goes away or the user has had enough.
fn watch(client: &Client, seen: &View, out: &mut Output) -> Result<(), Failure> {
    let mut seen = seen.clone();
    loop {
        out.flush().map_err(Failure::output)?;
        std::thread::sleep(Duration::from_millis(100));
        let now = client.view();
        if now.token() == seen.token() {
            continue;
        }
        let whole = document(&now);
        let difference =
            seen.snapshot().difference(seen.token(), now.snapshot(), now.token(), whole.up.clone());
        let answer = difference.map_or(TopologyAnswer::Full(whole), TopologyAnswer::Difference);
        write(&answer, out).map_err(Failure::output)?;
        seen = View::clone(&now);
    }
}

fn write(answer: &TopologyAnswer, out: &mut Output) -> io::Result<()> {
    match (out.style, answer) {
        (Style::Json, answer) => out.json(answer),
        (Style::Plain, TopologyAnswer::Full(topology)) => {
            for (name, _, value) in facts(topology) {
                writeln!(out, "{name}\t{value}")?;
            }
            members(&topology.members, Some(&topology.owners.0), &topology.up)
                .write_plain(out, Some("member"))
        }
        (Style::Table, TopologyAnswer::Full(topology)) => {
            for (_, title, value) in facts(topology) {
                writeln!(out, "{title:<14}{value}")?;
            }
            writeln!(out)?;
            members(&topology.members, Some(&topology.owners.0), &topology.up).write_aligned(out)
        }
        (Style::Plain, TopologyAnswer::Difference(difference)) => write_changes(difference, out),
        (Style::Table, TopologyAnswer::Difference(difference)) => write_for_people(difference, out),
    }
}

fn facts(topology: &Topology) -> [(&'static str, &'static str, String); 5] {
    [
        ("token", "Token", topology.token.to_string()),
        ("cluster", "Cluster", shown(topology.cluster.name.as_bytes())),
        ("cluster_uuid", "Cluster UUID", topology.cluster.uuid.to_string()),
        ("ring_size", "Ring size", topology.ring_size.to_string()),
        ("resizing", "Resizing", if topology.resizing { "yes" } else { "no" }.to_owned()),
    ]
}

fn members<I>(members: &[MemberEntry], owners: Option<&[(I, Uuid)]>, up: &[Uuid]) -> Table {
    let mut counts: HashMap<Uuid, u32> = HashMap::new();
    for (_, owner) in owners.unwrap_or_default() {
        *counts.entry(*owner).or_default() += 1;
    }
    let mut table = Table::new(&[
        ("NODE", Align::Left),
        ("UUID", Align::Left),
        ("STATUS", Align::Left),
        ("UP", Align::Left),
        ("PARTITIONS", Align::Right),
        ("ENDPOINTS", Align::Left),
    ]);
    for member in members {
        let partitions = counts.get(&member.uuid).copied().unwrap_or(0);
        table.row(vec![
            shown(member.name.as_bytes()),
            member.uuid.to_string(),
            member.status.to_string(),
            if up.contains(&member.uuid) { "up" } else { "down" }.to_owned(),
            // A difference does not tell how many there are.
            owners.map_or_else(|| "-".to_owned(), |_| partitions.to_string()),
            endpoints(&member.endpoints),
        ]);
    }
    table
}

fn changed(entries: &[MemberEntry], up: &[Uuid]) -> Table {
    members::<()>(entries, None, up)
}

fn write_changes(difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "token\t{}", difference.token)?;
    changed(&difference.joined, &difference.up).write_plain(out, Some("joined"))?;
    difference.left.iter().try_for_each(|uuid| writeln!(out, "left\t{uuid}"))?;
    changed(&difference.changed, &difference.up).write_plain(out, Some("changed"))?;
    difference
        .owners
        .0
        .iter()
        .try_for_each(|(index, owner)| writeln!(out, "owner\t{index}\t{owner}"))
}

fn write_for_people(difference: &Difference, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Token         {} (before: {})", difference.token, difference.from)?;
    for (title, entries) in [("Joined", &difference.joined), ("Changed", &difference.changed)] {
        if !entries.is_empty() {
            writeln!(out, "\n{title}:")?;
            changed(entries, &difference.up).write_aligned(out)?;
        }
    }
    if !difference.left.is_empty() {
        let left: Vec<String> = difference.left.iter().map(Uuid::to_string).collect();
        writeln!(out, "\nLeft: {}", left.join(", "))?;
    }
    let moved = difference.owners.0.len();
    let nothing =
        moved + difference.joined.len() + difference.changed.len() + difference.left.len() == 0;
    if nothing {
        return writeln!(out, "Nothing has changed.");
    }
    writeln!(out, "Partitions with another owner: {moved} of {}\n", difference.ring_size)
}
