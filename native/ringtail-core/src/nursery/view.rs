//! What a migrating client sees of a cluster.

use super::intervals::Intervals;

/// What one member says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The intervals by which it admits, safe on its disk.
    pub intervals: Intervals,
    /// Whether nothing runs any more that was admitted under an older epoch, be it a read, a write
    /// or the work of a migrating client: neither in a request, nor in a mailbox of a vnode, where
    /// it may sit after its request gave up. So a command has come back from each vnode since. A
    /// member that has started since counts only when the longest time that a request may take has
    /// passed as well.
    pub drained: bool,
}

/// What is known of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It answered.
    Reported(Box<Report>),
    /// It did not answer.
    Silent,
    /// It did not answer, and the operator gave word that it is down and stays down until the
    /// migration has ended. Word may be given only while every other member of the cluster serves:
    /// one that has missed a plan must not be the only one to say which intervals are right.
    Waived {
        /// Whether the longest time that a request may take has passed since: until then its
        /// requests may still run on other members.
        rested: bool,
    },
}

/// All members of a cluster, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Name and state of each.
    pub members: Vec<(String, MemberState)>,
}

impl View {
    /// The newest intervals that a member reports; nothing where none answers.
    pub fn newest(&self) -> Option<&Intervals> {
        let mut newest: Option<&Intervals> = None;
        for report in self.reports() {
            if newest.is_none_or(|known| report.intervals.is_newer_than(known)) {
                newest = Some(&report.intervals);
            }
        }
        newest
    }

    /// The members that have not confirmed the newest intervals. While there are any, these are
    /// not in force.
    pub fn unconfirmed(&self) -> Vec<String> {
        let newest = self.newest();
        self.names_where(|state| match state {
            MemberState::Reported(report) => Some(&report.intervals) != newest,
            MemberState::Silent => true,
            MemberState::Waived { .. } => newest.is_none(),
        })
    }

    /// The members where something may still run that was admitted under an older epoch.
    pub fn undrained(&self) -> Vec<String> {
        self.names_where(|state| match state {
            MemberState::Reported(report) => !report.drained,
            MemberState::Silent => true,
            MemberState::Waived { rested } => !rested,
        })
    }

    fn reports(&self) -> impl Iterator<Item = &Report> {
        self.members.iter().filter_map(|(_, state)| match state {
            MemberState::Reported(report) => Some(&**report),
            MemberState::Silent | MemberState::Waived { .. } => None,
        })
    }

    fn names_where(&self, is_wanted: impl Fn(&MemberState) -> bool) -> Vec<String> {
        let wanted = self.members.iter().filter(|(_, state)| is_wanted(state));
        wanted.map(|(name, _)| name.clone()).collect()
    }
}
