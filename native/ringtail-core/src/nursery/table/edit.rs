//! Edits of a routing table. Each leaves the table as it is and makes another.

use serde::{Deserialize, Serialize};

use super::{RoutingTable, TableError};
use crate::nursery::cluster::{Cluster, ClusterName};
use crate::nursery::interval::Interval;
use crate::nursery::key::Key;

/// Which part of an interval that is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The keys below the separator.
    Lower,
    /// The separator and the keys above it.
    Upper,
}

impl RoutingTable {
    /// A cluster gives a part of its keys to a new cluster, or to the neighbour on that side, whose
    /// seeds become those given here.
    pub fn split(
        &self,
        source: &ClusterName,
        at: &Key,
        part: Part,
        target: Cluster,
    ) -> Result<Self, TableError> {
        let place = self.position(source)?;
        self.check_inside(at, &self.interval(place))?;
        let (mut clusters, mut separators) = self.parts();
        let neighbour = match part {
            Part::Lower => place.checked_sub(1),
            Part::Upper => Some(place + 1),
        };
        match self.position(target.name()) {
            Ok(known) if Some(known) == neighbour => {
                separators[place.min(known)] = at.clone();
                clusters[known] = target;
            }
            Ok(_) => return Err(not_neighbours(source, &target)),
            Err(_) => {
                separators.insert(place, at.clone());
                clusters.insert(place + usize::from(part == Part::Upper), target);
            }
        }
        Self::new(clusters, separators)
    }

    /// Two neighbours are separated elsewhere from now on. Both keep some keys.
    pub fn move_separator(&self, from: &Key, to: Key) -> Result<Self, TableError> {
        let Ok(at) = self.separators.binary_search(from) else {
            return Err(TableError::UnknownSeparator { separator: from.clone() });
        };
        let both = self.interval(at).union(&self.interval(at + 1));
        self.check_inside(&to, &both.expect("neighbours are adjacent"))?;
        let (clusters, mut separators) = self.parts();
        separators[at] = to;
        Self::new(clusters, separators)
    }

    /// Takes a cluster out. A boundary cluster's keys go to its neighbour. Of an inner one's those
    /// below `at` go to the left neighbour and the others to the right one; `at` may be where its
    /// interval begins or ends, and then one of them takes all.
    pub fn remove(&self, name: &ClusterName, at: Option<&Key>) -> Result<Self, TableError> {
        let place = self.position(name)?;
        let name = || name.clone();
        let last = self.clusters.len() - 1;
        if last == 0 {
            return Err(TableError::LastCluster { name: name() });
        }
        let (mut clusters, mut separators) = self.parts();
        clusters.remove(place);
        match at {
            Some(_) if place == 0 || place == last => {
                return Err(TableError::SeparatorNotNeeded { name: name() });
            }
            None if place == 0 => drop(separators.remove(0)),
            None if place == last => drop(separators.pop()),
            None => return Err(TableError::SeparatorNeeded { name: name() }),
            Some(at) => {
                let interval = self.interval(place);
                if !interval.contains(at.as_bytes()) && interval.end() != Some(at) {
                    return Err(TableError::Outside { at: at.clone(), interval });
                }
                separators.remove(place);
                separators[place - 1] = at.clone();
            }
        }
        Self::new(clusters, separators)
    }

    /// What a migration does to the table: the target serves the interval instead of the source. A
    /// source that is left without keys leaves the table. The target is a neighbour, or new.
    pub fn hand_over(
        &self,
        source: &ClusterName,
        target: Cluster,
        interval: &Interval,
    ) -> Result<Self, TableError> {
        let place = self.position(source)?;
        let served = self.interval(place);
        if *interval == served {
            return self.replace(place, target);
        }
        let inside = !interval.is_empty() && served.covers(interval);
        match (interval.begin(), interval.end()) {
            (begin, Some(end)) if inside && begin == served.begin() => {
                self.split(source, end, Part::Lower, target)
            }
            (Some(begin), end) if inside && end == served.end() => {
                self.split(source, begin, Part::Upper, target)
            }
            _ => {
                let (interval, name) = (interval.clone(), source.clone());
                Err(TableError::NotAtEdge { interval, name, served })
            }
        }
    }

    /// The seeds of a cluster become those given.
    pub fn set_seeds(&self, cluster: Cluster) -> Result<Self, TableError> {
        let place = self.position(cluster.name())?;
        let (mut clusters, separators) = self.parts();
        clusters[place] = cluster;
        Self::new(clusters, separators)
    }

    fn replace(&self, place: usize, target: Cluster) -> Result<Self, TableError> {
        let (mut clusters, mut separators) = self.parts();
        match self.position(target.name()) {
            Err(_) => clusters[place] = target,
            Ok(known) if known.abs_diff(place) == 1 => {
                clusters[known] = target;
                clusters.remove(place);
                separators.remove(place.min(known));
            }
            Ok(_) => return Err(not_neighbours(self.clusters[place].name(), &target)),
        }
        Self::new(clusters, separators)
    }

    fn check_inside(&self, at: &Key, interval: &Interval) -> Result<(), TableError> {
        let first = interval.begin() == Some(at) || *at == Key::LEAST;
        if !first && interval.contains(at.as_bytes()) {
            Ok(())
        } else {
            Err(TableError::Outside { at: at.clone(), interval: interval.clone() })
        }
    }

    fn parts(&self) -> (Vec<Cluster>, Vec<Key>) {
        (self.clusters.clone(), self.separators.clone())
    }
}

fn not_neighbours(source: &ClusterName, target: &Cluster) -> TableError {
    let (source_name, target_name) = (source.clone(), target.name().clone());
    TableError::NotNeighbours { source_name, target_name }
}
