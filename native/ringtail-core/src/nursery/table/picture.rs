//! A routing table as people look at it.

use std::fmt;

use super::RoutingTable;

/// One line for each separator and one for each cluster, in the order of the keys:
///
/// ```text
/// (open) +--
///        |  alpha  http://10.0.0.1:8098
/// k%00   +--
///        |  beta   http://10.1.0.1:8098, http://10.1.0.2:8098
/// (open) +--
/// ```
impl fmt::Display for RoutingTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const OPEN: &str = "(open)";
        let separators: Vec<String> = self.separators.iter().map(ToString::to_string).collect();
        let width = separators.iter().map(String::len).max().unwrap_or(0).max(OPEN.len());
        let names = self.clusters.iter().map(|cluster| cluster.name().as_str().len());
        let name_width = names.max().unwrap_or(0);
        writeln!(f, "{OPEN:width$} +--")?;
        for (place, cluster) in self.clusters.iter().enumerate() {
            let seeds: Vec<&str> = cluster.seeds().iter().map(|seed| seed.as_str()).collect();
            let (name, seeds) = (cluster.name(), seeds.join(", "));
            writeln!(f, "{:width$} |  {name:name_width$}  {seeds}", "")?;
            let end = separators.get(place).map_or(OPEN, String::as_str);
            writeln!(f, "{end:width$} +--")?;
        }
        Ok(())
    }
}
