//! What all threads of a client share: data, each piece with its own methods. Requests are carried
//! out by the [executor](crate::execute), changes of the cluster followed by the
//! [follower](crate::follower).

use crate::config::Config;
use crate::current::CurrentView;
use crate::net::Net;
use crate::news::News;
use crate::pool::Pools;
use crate::properties::PropertyCache;
use crate::stats::Counters;

pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) net: Net,
    pub(crate) view: CurrentView,
    pub(crate) pools: Pools,
    pub(crate) properties: PropertyCache,
    pub(crate) counters: Counters,
    pub(crate) news: News,
}
