//! `ringtail ring`: what a ring says of its cluster.

use std::io::{self, Write};

use ringtail_core::RingSummary;

use super::remote;
use crate::args::{RingArgs, RingSource};
use crate::clustersummary::ClusterSummary;
use crate::failure::Failure;
use crate::keytext::shown;
use crate::output::{Output, Style};
use crate::ringfile;
use crate::table::{Align, Table};

pub fn run(args: &RingArgs, out: &mut Output) -> Result<(), Failure> {
    let source = match &args.ring[..] {
        [source @ (RingSource::File(_) | RingSource::Stdin)] => source,
        sources => return of_nodes(args, &urls(sources)?, out),
    };
    let ring = ringfile::load(source)?;
    let summary = RingSummary::of(&ring, args.owners);
    match out.style {
        Style::Json => out.json(&summary),
        Style::Plain => write_plain(&summary, out),
        Style::Table => write_tables(&summary, out),
    }
    .map_err(Failure::output)
}

fn urls(sources: &[RingSource]) -> Result<Vec<String>, Failure> {
    let urls = sources.iter().map(|source| match source {
        RingSource::Node(url) => Ok(url.clone()),
        RingSource::File(_) | RingSource::Stdin => Err(Failure::usage(
            "one_ring_wanted",
            "give one ring file, or URLs of nodes of one cluster",
        )),
    });
    urls.collect()
}

/// The ring of a cluster as its nodes tell it.
fn of_nodes(args: &RingArgs, urls: &[String], out: &mut Output) -> Result<(), Failure> {
    let client = remote::connect(urls, &args.node)?;
    let summary = ClusterSummary::of(&client.view(), args.owners);
    match out.style {
        Style::Json => out.json(&summary),
        Style::Plain => summary.write_plain(out),
        Style::Table => summary.write_tables(out),
    }
    .map_err(Failure::output)
}

fn or_dash(value: Option<&str>) -> String {
    value.map_or_else(|| "-".to_owned(), |text| shown(text.as_bytes()))
}

fn facts(summary: &RingSummary) -> [(&'static str, &'static str, String); 7] {
    [
        ("cluster_name", "Cluster", or_dash(summary.cluster_name.as_deref())),
        ("claimant", "Claimant", or_dash(summary.claimant.as_deref())),
        ("nodename", "Ring of node", or_dash(summary.nodename.as_deref())),
        ("ring_size", "Ring size", summary.ring_size.to_string()),
        ("resizing", "Resizing", if summary.resizing { "yes" } else { "no" }.to_owned()),
        ("rvsn_sum", "Ring version", summary.rvsn_sum.to_string()),
        ("vclock_sum", "Vclock sum", summary.vclock_sum.to_string()),
    ]
}

/// Members; `with_future`: also what they will own after the transfers.
fn members(summary: &RingSummary, with_future: bool) -> Table {
    let columns = [
        ("MEMBER", Align::Left),
        ("STATUS", Align::Left),
        ("PARTITIONS", Align::Right),
        ("SHARE %", Align::Right),
        ("AFTER TRANSFERS %", Align::Right),
    ];
    let shown_columns = if with_future { 5 } else { 4 };
    let mut table = Table::new(&columns[..shown_columns]);
    for member in &summary.members {
        let mut cells = vec![
            shown(member.node.as_bytes()),
            member.status.to_string(),
            member.partitions.to_string(),
            format!("{:.2}", member.share),
            member.pending.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}")),
        ];
        cells.truncate(shown_columns);
        table.row(cells);
    }
    table
}

fn pending(summary: &RingSummary) -> Table {
    let mut table = Table::new(&[
        ("INDEX", Align::Right),
        ("OWNER", Align::Left),
        ("NEXT OWNER", Align::Left),
        ("STATUS", Align::Left),
    ]);
    for transfer in &summary.pending {
        table.row(vec![
            transfer.index.to_string(),
            shown(transfer.owner.as_bytes()),
            shown(transfer.next_owner.as_bytes()),
            transfer.status.to_string(),
        ]);
    }
    table
}

fn owners(summary: &RingSummary) -> Option<Table> {
    let owners = summary.owners.as_ref()?;
    let mut table = Table::new(&[("INDEX", Align::Right), ("OWNER", Align::Left)]);
    for owner in owners {
        table.row(vec![owner.index.to_string(), shown(owner.node.as_bytes())]);
    }
    Some(table)
}

fn write_plain(summary: &RingSummary, out: &mut dyn Write) -> io::Result<()> {
    for (name, _, value) in facts(summary) {
        writeln!(out, "{name}\t{value}")?;
    }
    members(summary, true).write_plain(out, Some("member"))?;
    pending(summary).write_plain(out, Some("pending"))?;
    owners(summary).map_or(Ok(()), |table| table.write_plain(out, Some("owner")))
}

fn write_tables(summary: &RingSummary, out: &mut dyn Write) -> io::Result<()> {
    for (_, title, value) in facts(summary) {
        writeln!(out, "{title:<14}{value}")?;
    }
    writeln!(out)?;
    let with_future = summary.members.iter().any(|member| member.pending.is_some());
    members(summary, with_future).write_aligned(out)?;
    if summary.pending.is_empty() {
        writeln!(out, "\nNo pending transfers.")?;
    } else {
        writeln!(out, "\nPending transfers: {}", summary.pending.len())?;
        pending(summary).write_aligned(out)?;
    }
    if let Some(table) = owners(summary) {
        writeln!(out)?;
        table.write_aligned(out)?;
    }
    Ok(())
}
