//! Whether a topology that was told is taken over. Pure: time is an argument.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ringtail_core::topology::{ApplyError, Token, TopologyAnswer};

use crate::error::AnswerFault;
use crate::identity::Identity;
use crate::view::View;

/// How long a topology that was left behind is refused, where its ordinal does not tell that it is
/// the older. Rings spread within a second.
const SETTLING: Duration = Duration::from_secs(3);

/// Topologies that were left behind a short while ago.
#[derive(Debug, Default)]
pub(super) struct Past(VecDeque<(Token, Instant)>);

impl Past {
    pub(super) fn leave(&mut self, token: Token, now: Instant) {
        self.0.push_back((token, now));
        if self.0.len() > 64 {
            self.0.pop_front();
        }
    }

    pub(super) fn holds(&self, token: Token, now: Instant) -> bool {
        self.0.iter().any(|&(known, left)| known == token && now.duration_since(left) < SETTLING)
    }
}

/// What to do with a topology.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is the one at hand; nodes may have gone up or down.
    Same(View),
    /// Take it over.
    Newer(View),
    /// Keep the one at hand, unless all agree on this one.
    Older(View),
    /// It is sound, and of another cluster.
    OtherCluster(View),
    /// The difference does not fit: ask for the whole.
    NeedWhole,
    /// It contradicts itself.
    Bad(AnswerFault),
}

/// Judges what a node told against the view at hand.
pub(super) fn judge(
    current: Option<&View>,
    past: &Past,
    by: Identity,
    answer: &TopologyAnswer,
    now: Instant,
) -> Verdict {
    let cluster = match answer {
        TopologyAnswer::Full(topology) => topology.cluster.uuid,
        TopologyAnswer::Difference(difference) => difference.cluster.uuid,
    };
    if cluster != by.cluster {
        let fault = AnswerFault::OtherCluster { teller: by.cluster, told: cluster };
        return Verdict::Bad(fault);
    }
    let token = answer.token();
    let current = match current {
        Some(view) if view.snapshot().cluster().uuid == cluster => view,
        other => {
            return match answer {
                TopologyAnswer::Difference(_) => Verdict::NeedWhole,
                TopologyAnswer::Full(topology) => match topology.snapshot() {
                    Err(error) => Verdict::Bad(AnswerFault::Contradiction(error)),
                    Ok(snapshot) => {
                        let view = View::new(Arc::new(snapshot), token, &topology.up);
                        if other.is_none() {
                            Verdict::Newer(view)
                        } else {
                            Verdict::OtherCluster(view)
                        }
                    }
                },
            };
        }
    };
    if token == current.token() {
        let up = match answer {
            TopologyAnswer::Full(topology) => &topology.up,
            TopologyAnswer::Difference(difference) => &difference.up,
        };
        return Verdict::Same(View::new(current.shared_snapshot(), token, up));
    }
    let is_older = token.ordinal < current.token().ordinal
        || (token.ordinal == current.token().ordinal && past.holds(token, now));
    let view = match answer {
        TopologyAnswer::Full(topology) => match topology.snapshot() {
            Ok(snapshot) => View::new(Arc::new(snapshot), token, &topology.up),
            Err(error) => return Verdict::Bad(AnswerFault::Contradiction(error)),
        },
        TopologyAnswer::Difference(difference) => match current.snapshot().apply(difference) {
            Ok(snapshot) => View::new(Arc::new(snapshot), token, &difference.up),
            Err(
                ApplyError::OtherStart { .. } | ApplyError::Misfit(_) | ApplyError::OtherEnd { .. },
            ) => return Verdict::NeedWhole,
        },
    };
    if is_older { Verdict::Older(view) } else { Verdict::Newer(view) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringtail_core::topology::{Snapshot, Topology, cluster_uuid, node_uuid};

    fn told(cluster: &str, ordinal: u64, port: u16) -> (Identity, Topology) {
        let uuid = cluster_uuid(cluster);
        let node = node_uuid(uuid, "n");
        let text = format!(
            "ringtail-topology 1\ncluster {uuid} {cluster}\nring 2 settled\n\
             member {node} valid n http h {port}\nowners 0 0\n"
        );
        let snapshot = Snapshot::parse(&text).unwrap();
        let topology = Topology::of(&snapshot, snapshot.token(ordinal), vec![node]);
        (Identity { cluster: uuid, node }, topology)
    }

    fn verdict(
        current: Option<&View>,
        past: &Past,
        (by, topology): (Identity, Topology),
    ) -> Verdict {
        judge(current, past, by, &TopologyAnswer::Full(topology), Instant::now())
    }

    fn taken((by, topology): (Identity, Topology)) -> View {
        let verdict = verdict(None, &Past::default(), (by, topology));
        let Verdict::Newer(view) = verdict else { panic!("{verdict:?}") };
        view
    }

    #[test]
    fn never_back_to_an_older_ordinal_of_the_same_cluster() {
        let view = taken(told("c", 5, 1));
        let past = Past::default();
        assert!(matches!(verdict(Some(&view), &past, told("c", 4, 2)), Verdict::Older(_)));
        assert!(matches!(verdict(Some(&view), &past, told("c", 5, 2)), Verdict::Newer(_)));
        assert!(matches!(verdict(Some(&view), &past, told("c", 6, 1)), Verdict::Newer(_)));
        assert!(matches!(verdict(Some(&view), &past, told("c", 5, 1)), Verdict::Same(_)));
    }

    #[test]
    fn a_lagging_node_with_an_equal_ordinal_is_refused_while_rings_spread() {
        let (old, new) = (taken(told("c", 5, 1)), taken(told("c", 5, 2)));
        let mut past = Past::default();
        let now = Instant::now();
        past.leave(old.token(), now);
        let (by, topology) = told("c", 5, 1);
        let answer = TopologyAnswer::Full(topology);
        assert!(matches!(judge(Some(&new), &past, by, &answer, now), Verdict::Older(_)));
        assert!(
            matches!(judge(Some(&new), &past, by, &answer, now + SETTLING), Verdict::Newer(_)),
            "a change that was taken back stays"
        );
    }

    #[test]
    fn another_cluster_is_told_apart_whatever_its_ordinal() {
        let view = taken(told("c", 5, 1));
        assert!(matches!(
            verdict(Some(&view), &Past::default(), told("d", 1, 1)),
            Verdict::OtherCluster(_)
        ));
        let (_, topology) = told("d", 9, 1);
        let (by, _) = told("c", 9, 1);
        assert!(matches!(verdict(Some(&view), &Past::default(), (by, topology)), Verdict::Bad(_)));
    }
}
