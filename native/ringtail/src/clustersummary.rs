//! What `ringtail ring URL` shows: the ring of a running cluster, as far as a topology tells it.

use std::io::{self, Write};

use ringtail_client::View;
use ringtail_core::Index;
use ringtail_core::topology::{ClusterRef, Endpoint, Token};
use serde::Serialize;
use uuid::Uuid;

use crate::keytext::shown;
use crate::table::{Align, Table};

/// The ring of a cluster.
#[derive(Debug, Serialize)]
pub struct ClusterSummary {
    cluster: ClusterRef,
    token: Token,
    ring_size: u32,
    resizing: bool,
    members: Vec<Member>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owners: Option<Vec<Owner>>,
}

#[derive(Debug, Serialize)]
struct Member {
    node: String,
    uuid: Uuid,
    status: String,
    up: bool,
    partitions: u32,
    share: f64,
    endpoints: Vec<Endpoint>,
}

#[derive(Debug, Serialize)]
struct Owner {
    index: Index,
    node: String,
}

impl ClusterSummary {
    /// The summary of a view.
    pub fn of(view: &View, with_owners: bool) -> Self {
        let snapshot = view.snapshot();
        let size = snapshot.ring_size();
        let mut partitions = vec![0u32; snapshot.members().len()];
        for (_, owner) in snapshot.owners() {
            if let Some(place) =
                snapshot.members().iter().position(|member| member.uuid == owner.uuid)
            {
                partitions[place] += 1;
            }
        }
        let members = snapshot.members().iter().enumerate().map(|(place, member)| Member {
            node: member.name.clone(),
            uuid: member.uuid,
            status: member.status.to_string(),
            up: view.is_up(place),
            partitions: partitions[place],
            share: (f64::from(partitions[place]) * 10_000.0 / f64::from(size)).round() / 100.0,
            endpoints: member.endpoints.clone(),
        });
        let owners =
            || snapshot.owners().map(|(index, owner)| Owner { index, node: owner.name.clone() });
        Self {
            cluster: snapshot.cluster().clone(),
            token: view.token(),
            ring_size: size,
            resizing: snapshot.resizing(),
            members: members.collect(),
            owners: with_owners.then(|| owners().collect()),
        }
    }

    fn facts(&self) -> [(&'static str, &'static str, String); 5] {
        [
            ("cluster_name", "Cluster", shown(self.cluster.name.as_bytes())),
            ("cluster_uuid", "Cluster UUID", self.cluster.uuid.to_string()),
            ("token", "Token", self.token.to_string()),
            ("ring_size", "Ring size", self.ring_size.to_string()),
            ("resizing", "Resizing", if self.resizing { "yes" } else { "no" }.to_owned()),
        ]
    }

    fn members(&self) -> Table {
        let mut table = Table::new(&[
            ("MEMBER", Align::Left),
            ("STATUS", Align::Left),
            ("UP", Align::Left),
            ("PARTITIONS", Align::Right),
            ("SHARE %", Align::Right),
            ("ENDPOINTS", Align::Left),
        ]);
        for member in &self.members {
            table.row(vec![
                shown(member.node.as_bytes()),
                member.status.clone(),
                if member.up { "up" } else { "down" }.to_owned(),
                member.partitions.to_string(),
                format!("{:.2}", member.share),
                endpoints(&member.endpoints),
            ]);
        }
        table
    }

    fn owners(&self) -> Option<Table> {
        let mut table = Table::new(&[("INDEX", Align::Right), ("OWNER", Align::Left)]);
        for owner in self.owners.as_ref()? {
            table.row(vec![owner.index.to_string(), shown(owner.node.as_bytes())]);
        }
        Some(table)
    }

    /// One record a line.
    pub fn write_plain(&self, out: &mut dyn Write) -> io::Result<()> {
        for (name, _, value) in self.facts() {
            writeln!(out, "{name}\t{value}")?;
        }
        self.members().write_plain(out, Some("member"))?;
        self.owners().map_or(Ok(()), |table| table.write_plain(out, Some("owner")))
    }

    /// For people.
    pub fn write_tables(&self, out: &mut dyn Write) -> io::Result<()> {
        for (_, title, value) in self.facts() {
            writeln!(out, "{title:<14}{value}")?;
        }
        writeln!(out)?;
        self.members().write_aligned(out)?;
        self.owners().map_or(Ok(()), |table| {
            writeln!(out)?;
            table.write_aligned(out)
        })
    }
}

/// The URLs of endpoints, separated by commas; `-` for none.
pub fn endpoints(endpoints: &[Endpoint]) -> String {
    if endpoints.is_empty() {
        return "-".to_owned();
    }
    let urls = endpoints.iter();
    let urls = urls.map(|endpoint| {
        shown(format!("{}://{}", endpoint.protocol, endpoint.authority()).as_bytes())
    });
    urls.collect::<Vec<_>>().join(",")
}
