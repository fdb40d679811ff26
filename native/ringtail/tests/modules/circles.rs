//! Circles in what needs what.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What each module needs, and by which name it says so.
pub type Needs = BTreeMap<String, BTreeMap<String, String>>;

/// Modules each of which needs, directly or not, all of the others.
pub struct Circle {
    /// Sorted.
    pub modules: Vec<String>,
    ties: Vec<String>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.modules.join(", "))?;
        self.ties.iter().try_for_each(|tie| write!(f, "\n  {tie}"))
    }
}

/// Every circle once.
pub fn circles(needs: &Needs) -> Vec<Circle> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        needs.keys().map(|module| (module.as_str(), reach(needs, module))).collect();
    let mut circles: Vec<Circle> = Vec::new();
    for (module, reach) in &reached {
        if !reach.contains(module) || circles.iter().any(|circle| circle.has(module)) {
            continue;
        }
        let around = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(module));
        let modules: Vec<String> = reach.iter().filter(around).map(|&m| m.to_owned()).collect();
        let mut circle = Circle { modules, ties: Vec::new() };
        circle.ties = circle.ties(needs);
        circles.push(circle);
    }
    circles
}

impl Circle {
    fn has(&self, module: &str) -> bool {
        self.modules.iter().any(|known| known == module)
    }

    /// What would have to be cut.
    fn ties(&self, needs: &Needs) -> Vec<String> {
        let of = |module: &String| {
            let needed = needs[module].iter().filter(|(other, _)| self.has(other));
            let tie = |(other, name): (&String, &String)| format!("{module} needs {other}: {name}");
            needed.map(tie).collect::<Vec<_>>()
        };
        self.modules.iter().flat_map(of).collect()
    }
}

/// Everything that a module needs, directly or not.
fn reach<'n>(needs: &'n Needs, module: &str) -> BTreeSet<&'n str> {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<&str> = needs[module].keys().map(String::as_str).collect();
    while let Some(next) = waiting.pop() {
        if reached.insert(next) {
            waiting
                .extend(needs.get(next).into_iter().flat_map(BTreeMap::keys).map(String::as_str));
        }
    }
    reached
}
