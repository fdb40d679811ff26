//! Clients that read and write by a table that may be old.

use ringtail_core::nursery::RoutingTable;

use crate::members::LONGEST;
use crate::model::{KEYS, Object};
use crate::world::{Event, World, number};

/// Clients from here on only read.
const READERS: usize = 3;
const DEADLINE: u64 = 120;

pub struct Client {
    table: RoutingTable,
    /// The request it waits for.
    waits: u64,
}

#[derive(Clone, Copy)]
pub struct Request {
    client: usize,
    number: u64,
    key: usize,
    kind: Kind,
    until: u64,
}

#[derive(Clone, Copy)]
enum Kind {
    Write(Object),
    Read { floor: u32 },
}

impl Client {
    pub fn new(table: RoutingTable) -> Self {
        Self { table, waits: 0 }
    }
}

impl World {
    /// The next request, if the client still waits for this one or for none.
    pub fn start(&mut self, client: usize, waits: u64) {
        if self.clients[client].waits != waits {
            return;
        }
        let writes = client < READERS;
        let mut key = self.chance.below(KEYS.len());
        let kind = if writes {
            key -= key % READERS;
            key += client;
            self.model.departs(key);
            Kind::Write(self.model.write(key, self.chance.percent(25)))
        } else {
            Kind::Read { floor: self.model.floor(key) }
        };
        let number = self.number();
        self.clients[client].waits = number;
        self.send(Request { client, number, key, kind, until: self.now + DEADLINE });
        // Some clients do not wait for long: the answer may come, or not, while the next one runs.
        let patience = if self.chance.percent(30) { self.chance.between(2, 30) } else { DEADLINE };
        self.after(patience, Event::Start { client, waits: number });
    }

    fn send(&mut self, request: Request) {
        let table = &self.clients[request.client].table;
        let cluster = number(&table.clusters()[table.find(KEYS[request.key])]);
        let member = self.chance.below(self.clusters[cluster].members.len());
        match self.travel() {
            Some(delay) => self.after(delay, Event::Arrive { cluster, member, request }),
            None => self.gone(request),
        }
    }

    /// From now on the request can have no effect any more.
    fn gone(&mut self, request: Request) {
        if matches!(request.kind, Kind::Write(_)) {
            self.model.ends(request.key);
        }
    }

    pub fn arrive(&mut self, cluster: usize, member: usize, request: Request) {
        let state = &self.clusters[cluster].members[member];
        if !state.up {
            return self.gone(request);
        }
        let key = KEYS[request.key];
        let admitted = match request.kind {
            Kind::Write(_) => state.intervals.admit_write(key),
            Kind::Read { .. } => state.intervals.admit_read(key),
        };
        if !state.confirmed || admitted.is_err() {
            return self.reply(request, true);
        }
        let (number, life) = self.admit(cluster, member);
        let slow = self.chance.percent(15);
        let delay = self.chance.between(1, if slow { LONGEST - 1 } else { 5 });
        self.after(delay, Event::Run { cluster, number, life, request });
    }

    /// What was admitted runs even if the member that admitted it is gone.
    pub fn run_request(&mut self, cluster: usize, number: u64, life: u32, request: Request) {
        let running = self.clusters[cluster].running.iter().find(|one| one.number == number);
        let member = &self.clusters[cluster].members[running.expect("it runs").member];
        let answers = member.up && member.life == life;
        self.ended(cluster, number);
        let alone = self.model.is_alone(request.key);
        let stored = &mut self.clusters[cluster].objects[request.key];
        match request.kind {
            Kind::Write(object) => {
                if stored.is_none_or(|known| known.write < object.write) {
                    *stored = (!object.deleted || !alone).then_some(object);
                }
            }
            Kind::Read { floor } => {
                let seen = *stored;
                if let Err(lost) = self.model.check(request.key, floor, seen) {
                    self.violated(lost);
                }
            }
        }
        self.gone(request);
        if answers {
            self.reply(request, false);
        }
    }

    fn reply(&mut self, request: Request, refused: bool) {
        match self.travel() {
            Some(delay) => self.after(delay, Event::Answer { request, refused }),
            None if refused => self.gone(request),
            None => {}
        }
    }

    pub fn answer(&mut self, request: Request, refused: bool) {
        if !refused {
            if let Kind::Write(object) = request.kind {
                self.model.acknowledge(request.key, object.write);
                self.seen.acknowledged += 1;
            }
            if self.clients[request.client].waits == request.number {
                self.clients[request.client].waits = 0;
                let delay = self.chance.between(0, 6);
                self.after(delay, Event::Start { client: request.client, waits: 0 });
            }
        } else if self.now < request.until {
            self.clients[request.client].table = self.keeper.table.clone();
            self.send(request);
        } else {
            self.gone(request);
        }
    }
}
