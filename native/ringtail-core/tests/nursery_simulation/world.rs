//! Everything at once: two or three clusters, the keeper, clients, migrating clients, a network
//! that loses, delays, doubles and reorders, and a check after each event.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use ringtail_core::nursery::{
    Cluster as Entry, IntervalChange, Intervals, Phase, Record, RoutingTable, SeedUrl,
};

use crate::chance::Chance;
use crate::fault::Fault;
use crate::members::{Cluster, Running, merge};
use crate::migrators::Migrator;
use crate::model::{KEYS, Model, separator};
use crate::requests::{Client, Request};
use crate::work::Order;

/// How long things go wrong, and how long it may take afterwards until all is well.
const UNREST: u64 = 1300;
const REST: u64 = 6000;

pub enum Event {
    Chance,
    Gossip { cluster: usize, member: usize, intervals: Intervals },
    Confirm { cluster: usize, member: usize },
    Start { client: usize, waits: u64 },
    Arrive { cluster: usize, member: usize, request: Request },
    Run { cluster: usize, number: u64, life: u32, request: Request },
    Answer { request: Request, refused: bool },
    Wake { migrator: usize, life: u32 },
    Change { cluster: usize, member: usize, change: IntervalChange },
    Write { record: Box<Record> },
    ArriveWork { member: usize, order: Order },
    RunWork { number: u64, order: Order },
}

struct Timed {
    at: u64,
    number: u64,
    event: Event,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// What a schedule went through, to see that schedules go through everything.
#[derive(Default)]
pub struct Seen {
    pub migrations: usize,
    pub aborts: usize,
    pub acknowledged: usize,
    /// Names of effects that were carried out.
    pub effects: BTreeSet<String>,
    /// The same, and whether the client crashed before or after.
    pub crashes: BTreeSet<(String, &'static str)>,
}

pub struct World {
    pub now: u64,
    pub chance: Chance,
    pub fault: Option<Fault>,
    pub clusters: Vec<Cluster>,
    pub keeper: Record,
    pub model: Model,
    pub clients: Vec<Client>,
    pub migrators: Vec<Migrator>,
    pub seen: Seen,
    queue: BinaryHeap<Reverse<Timed>>,
    events: u64,
    numbers: u64,
    violation: Option<String>,
}

pub fn entry(cluster: usize) -> Entry {
    let seed: SeedUrl = format!("http://c{cluster}:8098").parse().expect("a seed address");
    Entry::new(format!("c{cluster}").parse().expect("a name"), vec![seed]).expect("a cluster")
}

/// The number of the cluster of that name.
pub fn number(entry: &Entry) -> usize {
    entry.name().as_str()[1..].parse().expect("a number")
}

impl World {
    pub fn new(seed: u64, fault: Option<Fault>) -> Self {
        let mut chance = Chance::new(seed);
        let count = 2 + chance.below(2);
        let served = 1 + chance.below(count);
        let mut cuts = BTreeSet::new();
        while cuts.len() + 1 < served {
            cuts.insert(1 + chance.below(KEYS.len() - 1));
        }
        let separators = cuts.into_iter().map(separator).collect();
        let table = RoutingTable::new((0..served).map(entry).collect(), separators);
        let table = table.expect("a table");
        let intervals = |cluster| match cluster {
            new if new >= served => Intervals::serving(ringtail_core::nursery::Interval::EMPTY),
            old => Intervals::serving(table.interval(old)),
        };
        let clusters =
            (0..count).map(|at| Cluster::new(2 + chance.below(2), &intervals(at))).collect();
        let clients = (0..5).map(|_| Client::new(table.clone())).collect();
        let mut world = Self {
            now: 0,
            chance,
            fault,
            clusters,
            keeper: Record::new(table),
            model: Model::default(),
            clients,
            migrators: (0..2).map(Migrator::new).collect(),
            seen: Seen::default(),
            queue: BinaryHeap::new(),
            events: 0,
            numbers: 0,
            violation: None,
        };
        world.after(0, Event::Chance);
        (0..world.clients.len())
            .for_each(|client| world.after(1, Event::Start { client, waits: 0 }));
        (0..2).for_each(|migrator| world.after(2, Event::Wake { migrator, life: 0 }));
        world
    }

    pub fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    pub fn is_restless(&self) -> bool {
        self.now < UNREST
    }

    pub fn violated(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    pub fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub fn after(&mut self, delay: u64, event: Event) {
        self.events += 1;
        let timed = Timed { at: self.now + delay, number: self.events, event };
        self.queue.push(Reverse(timed));
    }

    /// How long a message travels; nothing where it is lost.
    pub fn travel(&mut self) -> Option<u64> {
        if !self.is_restless() {
            return Some(self.chance.between(1, 3));
        }
        match self.chance.below(100) {
            0..=5 => None,
            6..=9 => Some(self.chance.between(30, 250)),
            _ => Some(self.chance.between(1, 8)),
        }
    }

    /// Runs until all is well again, and checks that it is.
    pub fn run(mut self) -> Result<Seen, String> {
        while let Some(Reverse(Timed { at, event, .. })) = self.queue.pop() {
            self.now = at;
            self.handle(event);
            if let Some(violation) = self.violation.take() {
                return Err(format!("at {at}: {violation}"));
            }
            if at > UNREST + 300 && self.keeper.running().is_none() {
                break;
            }
            if at > UNREST + REST {
                let phase = self.keeper.running().map(|plan| plan.phase);
                return Err(format!("the migration has not ended: {phase:?}"));
            }
        }
        self.check_end()?;
        Ok(self.seen)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Chance => self.mishaps(),
            Event::Gossip { cluster, member, intervals } => {
                let peer = &mut self.clusters[cluster].members[member];
                if peer.up && merge(&mut peer.intervals, &intervals) {
                    self.gossip(cluster, member);
                }
            }
            Event::Confirm { cluster, member } => {
                self.clusters[cluster].confirm(member);
                self.check_serving();
                let peer = &self.clusters[cluster].members[member];
                if peer.up && !peer.confirmed {
                    self.after(5, Event::Confirm { cluster, member });
                }
            }
            Event::Start { client, waits } => self.start(client, waits),
            Event::Arrive { cluster, member, request } => self.arrive(cluster, member, request),
            Event::Run { cluster, number, life, request } => {
                self.run_request(cluster, number, life, request);
            }
            Event::Answer { request, refused } => self.answer(request, refused),
            Event::Wake { migrator, life } => self.wake(migrator, life),
            Event::Change { cluster, member, change } => self.change(cluster, member, change),
            Event::Write { record } => self.write(*record),
            Event::ArriveWork { member, order } => self.arrive_work(member, order),
            Event::RunWork { number, order } => self.run_work(number, order),
        }
    }

    /// Members crash and come back, and repeat what they know.
    fn mishaps(&mut self) {
        for cluster in 0..self.clusters.len() {
            for member in 0..self.clusters[cluster].members.len() {
                let state = &self.clusters[cluster].members[member];
                let (up, waived) = (state.up, state.waived);
                let may_return = !waived || self.keeper.running().is_none();
                if up && self.is_restless() && self.chance.percent(2) {
                    let others = self.clusters[cluster].others_serve(member);
                    let migrating = self.keeper.running().is_some();
                    let waived = others && migrating && self.chance.percent(30);
                    self.clusters[cluster].crash(member, self.now, waived);
                } else if !up && may_return && (self.chance.percent(30) || !self.is_restless()) {
                    self.clusters[cluster].restart(member, self.now);
                    let at_once = self.has(Fault::ServesBeforeConfirmed);
                    self.clusters[cluster].members[member].confirmed = at_once;
                    let delay = self.chance.between(1, 20);
                    self.after(delay, Event::Confirm { cluster, member });
                } else if up && self.chance.percent(20) {
                    self.gossip(cluster, member);
                } else if up && self.chance.percent(20) {
                    let state = &mut self.clusters[cluster].members[member];
                    state.disk = state.intervals.clone();
                }
            }
        }
        self.check_serving();
        self.after(10, Event::Chance);
    }

    fn gossip(&mut self, cluster: usize, member: usize) {
        for peer in 0..self.clusters[cluster].members.len() {
            if peer == member {
                continue;
            }
            if let Some(delay) = self.travel() {
                let intervals = self.clusters[cluster].members[member].intervals.clone();
                self.after(delay, Event::Gossip { cluster, member: peer, intervals });
            }
        }
        self.check_serving();
    }

    fn change(&mut self, cluster: usize, member: usize, mut change: IntervalChange) {
        let state = &self.clusters[cluster].members[member];
        if !state.up || !state.confirmed {
            return;
        }
        if self.has(Fault::StaleChangesApply) {
            change.epoch = state.intervals.epoch();
            if change.fence.number <= state.intervals.fence().number {
                change.fence = state.intervals.fence();
            }
        }
        if let Ok(changed) = change.apply(&state.intervals) {
            self.check_fence(cluster, change.fence.number, change.change.name());
            self.clusters[cluster].members[member].intervals = changed;
            self.gossip(cluster, member);
        }
    }

    fn write(&mut self, record: Record) {
        if record.version == self.keeper.version + 1 || self.has(Fault::KeeperOverwrites) {
            let ended = record.plan.as_ref().filter(|plan| plan.phase.is_over());
            if let (Some(plan), true) = (ended, self.keeper.running().is_some()) {
                self.seen.migrations += usize::from(plan.phase == Phase::Done);
                self.seen.aborts += usize::from(plan.phase == Phase::Aborted);
            }
            self.keeper = record;
        }
    }

    /// Something was admitted that is to run for a while.
    pub fn admit(&mut self, cluster: usize, member: usize) -> (u64, u32) {
        let number = self.number();
        let state = &self.clusters[cluster].members[member];
        let (life, epoch) = (state.life, state.intervals.epoch());
        self.clusters[cluster].running.push(Running { number, member, life, epoch });
        (number, life)
    }

    pub fn ended(&mut self, cluster: usize, number: u64) {
        self.clusters[cluster].running.retain(|running| running.number != number);
    }

    pub fn check_fence(&mut self, cluster: usize, number: u64, what: &str) {
        let in_force = self.clusters[cluster].fence_in_force;
        if number < in_force {
            self.violated(format!("{what} of plan {number} where {in_force} is in force"));
        }
    }

    fn check_serving(&mut self) {
        for key in 0..KEYS.len() {
            if self.clusters.iter().filter(|cluster| cluster.serves(key)).count() > 1 {
                self.violated(format!("key {key} is served by two clusters"));
            }
        }
    }

    fn check_end(&mut self) -> Result<(), String> {
        let table = self.keeper.table.clone();
        for at in 0..self.clusters.len() {
            let place = table.position(entry(at).name()).ok();
            let due =
                place.map_or(ringtail_core::nursery::Interval::EMPTY, |at| table.interval(at));
            let cluster = &self.clusters[at];
            for member in cluster.members.iter().filter(|member| member.up && member.confirmed) {
                let known = &member.intervals;
                let quiet = known.frozen().is_empty() && known.importing().is_empty();
                if *known.public() != due || *known.private() != due || !quiet {
                    return Err(format!("c{at} ends with {known:?} where {due} is due"));
                }
            }
            for (key, name) in KEYS.iter().enumerate() {
                let object = cluster.objects[key];
                if due.contains(name) {
                    if !cluster.serves(key) {
                        return Err(format!("key {key} is served by nobody"));
                    }
                    self.model.check(key, self.model.floor(key), object)?;
                } else if object.is_some() {
                    return Err(format!("{object:?} of key {key} is left in c{at}"));
                }
            }
        }
        Ok(())
    }
}
