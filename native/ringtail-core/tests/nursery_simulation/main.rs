//! Schedules of a nursery, each from a seed: clients read and write while clients migrate, crash
//! and oversleep, members crash and start again, and messages come late, twice, or never.
//!
//! `SEEDS=100000` says how many schedules are run, `SEED=n` runs that one alone.

mod chance;
mod fault;
mod members;
mod migrators;
mod model;
mod requests;
mod work;
mod world;

use std::collections::BTreeSet;
use std::env;

use fault::{FAULTS, Fault};
use world::{Seen, World};

const SCHEDULES: u64 = 5000;
/// Within how many schedules a broken rule must show.
const PATIENCE: u64 = 20_000;

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Seeds next to each other give schedules that have nothing in common.
fn run(seed: u64, fault: Option<Fault>) -> Result<Seen, String> {
    World::new(seed.wrapping_mul(0xd134_2543_de82_ef95), fault).run()
}

#[test]
fn no_key_is_lost_or_served_twice_whatever_happens() {
    let seeds = match number("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SEEDS").unwrap_or(SCHEDULES),
    };
    let schedules = seeds.end - seeds.start;
    let mut all = Seen::default();
    for seed in seeds {
        match run(seed, None) {
            Ok(seen) => {
                all.migrations += seen.migrations;
                all.aborts += seen.aborts;
                all.acknowledged += seen.acknowledged;
                all.effects.extend(seen.effects);
                all.crashes.extend(seen.crashes);
            }
            Err(violation) => panic!("{violation}; again with SEED={seed}"),
        }
    }
    println!(
        "{} migrations, {} aborts, {} writes acknowledged",
        all.migrations, all.aborts, all.acknowledged
    );
    if schedules < SCHEDULES {
        return; // asked for, and too few to go through everything
    }
    assert!(all.aborts > 0 && all.acknowledged > 0, "nothing was undone, or nothing written");
    let missing: Vec<_> = all
        .effects
        .iter()
        .flat_map(|name| ["before", "after"].map(|when| (name.clone(), when)))
        .filter(|point| !all.crashes.contains(point))
        .collect();
    assert!(missing.is_empty(), "no client crashed {missing:?}");
}

#[test]
fn each_broken_rule_is_found() {
    let mut unfound = BTreeSet::new();
    for fault in FAULTS {
        match (0..PATIENCE).find_map(|seed| run(seed, Some(fault)).err().map(|why| (seed, why))) {
            Some((seed, violation)) => {
                println!("{fault:?}: schedule {seed}: {violation}");
                assert!(run(seed, None).is_ok(), "schedule {seed} fails without {fault:?} too");
            }
            None => drop(unfound.insert(format!("{fault:?}"))),
        }
    }
    assert!(unfound.is_empty(), "not found in {PATIENCE} schedules each: {unfound:?}");
}
