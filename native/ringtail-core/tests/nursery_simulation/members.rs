//! A cluster: members whose intervals reach each other one by one, and the objects they share.

use ringtail_core::nursery::{Intervals, MemberState, Report};

use crate::model::{KEYS, Object};

/// The longest time that an admitted request may run.
pub const LONGEST: u64 = 100;

pub struct Member {
    pub up: bool,
    /// Whether it may serve: since it started, a peer has confirmed its intervals.
    pub confirmed: bool,
    /// How often it has started.
    pub life: u32,
    pub started: Option<u64>,
    pub stopped: u64,
    /// The operator's word that it stays down while the migration lasts.
    pub waived: bool,
    pub intervals: Intervals,
    pub disk: Intervals,
}

/// Something admitted that has not ended.
pub struct Running {
    pub number: u64,
    pub member: usize,
    pub life: u32,
    pub epoch: u64,
}

pub struct Cluster {
    pub members: Vec<Member>,
    pub objects: [Option<Object>; KEYS.len()],
    pub running: Vec<Running>,
    /// The number of a plan whose client has seen it in force here.
    pub fence_in_force: u64,
}

impl Cluster {
    pub fn new(members: usize, intervals: &Intervals) -> Self {
        let member = |_| Member {
            up: true,
            confirmed: true,
            life: 0,
            started: None,
            stopped: 0,
            waived: false,
            intervals: intervals.clone(),
            disk: intervals.clone(),
        };
        let members = (0..members).map(member).collect();
        Self { members, objects: [None; KEYS.len()], running: Vec::new(), fence_in_force: 0 }
    }

    pub fn serves(&self, key: usize) -> bool {
        let serving = |member: &Member| member.up && member.confirmed;
        self.members
            .iter()
            .any(|member| serving(member) && member.intervals.public().contains(KEYS[key]))
    }

    /// What a member answers to a migrating client. What it says is on its disk.
    pub fn look_at(&mut self, at: usize, now: u64) -> MemberState {
        let running = &self.running;
        let member = &mut self.members[at];
        if member.up && member.confirmed {
            member.disk = member.intervals.clone();
            let epoch = member.intervals.epoch();
            let older = |request: &Running| {
                request.member == at && request.life == member.life && request.epoch < epoch
            };
            let rested = member.started.is_none_or(|started| now - started >= LONGEST);
            let drained = rested && !running.iter().any(older);
            MemberState::Reported(Box::new(Report { intervals: member.intervals.clone(), drained }))
        } else if !member.up && member.waived {
            MemberState::Waived { rested: now - member.stopped >= LONGEST }
        } else {
            MemberState::Silent
        }
    }

    /// Only then a member may be given up: one that has missed a plan must not be the one to say
    /// what is right.
    pub fn others_serve(&self, at: usize) -> bool {
        let mut others = self.members.iter().enumerate().filter(|(member, _)| *member != at);
        others.all(|(_, member)| member.up && member.confirmed)
    }

    pub fn crash(&mut self, at: usize, now: u64, waived: bool) {
        let member = &mut self.members[at];
        (member.up, member.confirmed, member.waived, member.stopped) = (false, false, waived, now);
    }

    pub fn restart(&mut self, at: usize, now: u64) {
        let member = &mut self.members[at];
        (member.up, member.waived, member.started) = (true, false, Some(now));
        member.life += 1;
        member.intervals = member.disk.clone();
    }

    /// A peer that may serve tells a member its intervals. Where none may, because all have just
    /// started or are given up for now, the newest of all are right.
    pub fn confirm(&mut self, at: usize) {
        let serving = self.members.iter().find(|member| member.up && member.confirmed);
        let told = match serving {
            Some(peer) => peer.intervals.clone(),
            None if self.members.iter().all(|member| member.up || member.waived) => {
                let mut newest = self.members[at].intervals.clone();
                for peer in self.members.iter().filter(|peer| peer.up) {
                    merge(&mut newest, &peer.intervals);
                }
                newest
            }
            None => return,
        };
        let member = &mut self.members[at];
        if member.up && !member.confirmed {
            merge(&mut member.intervals, &told);
            // Before it serves: if it crashes now and all others are gone, its disk is asked.
            member.disk = member.intervals.clone();
            member.confirmed = true;
        }
    }
}

pub fn merge(known: &mut Intervals, told: &Intervals) -> bool {
    let newer = told.is_newer_than(known);
    if newer {
        *known = told.clone();
    }
    newer
}
