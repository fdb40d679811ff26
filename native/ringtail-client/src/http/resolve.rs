//! Addresses of names. The system's resolver knows no deadline, so names are looked up in threads
//! of their own, which are left behind when it takes too long; there are few of them, and a name is
//! looked up once at a time however many ask.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use super::deadline::Deadline;

/// Threads at a time. A name server that does not answer holds one for each of its names, for half
/// a minute or so.
const MOST_THREADS: usize = 16;
/// Names that wait for a thread.
const MOST_WAITING: usize = 1024;

/// The resolver of this process: threads that hang outlive the client that wanted them.
pub(super) static RESOLVER: LazyLock<Resolver> = LazyLock::new(|| {
    Resolver::new(MOST_THREADS, |host| (host, 0).to_socket_addrs().map(Iterator::collect))
});

type Found = Result<Vec<SocketAddr>, (io::ErrorKind, String)>;

pub(super) struct Resolver(Arc<Desk>);

type LookUp = dyn Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync;

struct Desk {
    look_up: Box<LookUp>,
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Every name that is being looked up or waits for it.
    open: HashMap<String, Arc<Lookup>>,
    waiting: VecDeque<Arc<Lookup>>,
    threads: usize,
}

struct Lookup {
    host: String,
    found: Mutex<Option<Found>>,
    done: Condvar,
}

impl Resolver {
    fn new(
        most: usize,
        look_up: impl Fn(&str) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Desk { look_up: Box::new(look_up), most, state: Mutex::default() }))
    }

    /// The addresses of a host, with that port.
    pub(super) fn addresses(
        &self,
        host: &str,
        port: u16,
        deadline: Deadline,
    ) -> io::Result<Vec<SocketAddr>> {
        let lookup = self.0.open(host)?;
        let mut found = lock(&lookup.found);
        loop {
            match &*found {
                Some(Ok(addresses)) => {
                    let mut addresses = addresses.clone();
                    addresses.iter_mut().for_each(|address| address.set_port(port));
                    return Ok(addresses);
                }
                Some(Err((kind, text))) => return Err(io::Error::new(*kind, text.clone())),
                None => {
                    let left = deadline.left().ok_or_else(Deadline::timed_out)?;
                    let waited = lookup.done.wait_timeout(found, left);
                    found = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }
}

impl Desk {
    /// The lookup of that name, begun if it was not.
    fn open(self: &Arc<Self>, host: &str) -> io::Result<Arc<Lookup>> {
        let mut state = lock(&self.state);
        if let Some(lookup) = state.open.get(host) {
            return Ok(Arc::clone(lookup));
        }
        if state.waiting.len() >= MOST_WAITING {
            return Err(io::Error::other("too many names are being looked up already"));
        }
        if state.threads < self.most {
            let desk = Arc::clone(self);
            let hired = std::thread::Builder::new().name("ringtail-resolve".into());
            match hired.spawn(move || desk.work()) {
                Ok(_) => state.threads += 1,
                Err(error) if state.threads == 0 => return Err(error),
                // Those there are will come to it.
                Err(_) => {}
            }
        }
        let lookup = Arc::new(Lookup {
            host: host.to_owned(),
            found: Mutex::default(),
            done: Condvar::new(),
        });
        state.open.insert(host.to_owned(), Arc::clone(&lookup));
        state.waiting.push_back(Arc::clone(&lookup));
        Ok(lookup)
    }

    fn work(&self) {
        while let Some(lookup) = self.next() {
            let found = (self.look_up)(&lookup.host);
            lock(&self.state).open.remove(&lookup.host);
            *lock(&lookup.found) = Some(found.map_err(|error| (error.kind(), error.to_string())));
            lookup.done.notify_all();
        }
    }

    /// The next name that somebody still waits for; without one this thread ends.
    fn next(&self) -> Option<Arc<Lookup>> {
        let mut state = lock(&self.state);
        while let Some(lookup) = state.waiting.pop_front() {
            // Held by `open` and by us: whoever asked has gone.
            if Arc::strong_count(&lookup) > 2 {
                return Some(lookup);
            }
            state.open.remove(&lookup.host);
        }
        state.threads -= 1;
        None
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    fn soon() -> Deadline {
        Deadline::after(Duration::from_millis(20))
    }

    fn late() -> Deadline {
        Deadline::after(Duration::from_secs(60))
    }

    #[test]
    fn lookups_that_hang_do_not_pile_up_threads() {
        let (release, released) = crossbeam_channel::unbounded::<()>();
        let begun = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&begun);
        let resolver = Resolver::new(2, move |host| {
            counted.fetch_add(1, Ordering::SeqCst);
            if host.starts_with("hangs") {
                let _ = released.recv();
            }
            Ok(vec![([127, 0, 0, 1], 0).into()])
        });
        // Until both threads hang: a name whose asker has gone before a thread began is not looked
        // up.
        while begun.load(Ordering::SeqCst) < 2 {
            for name in ["hangs-1", "hangs-2"] {
                resolver.addresses(name, 1, soon()).unwrap_err();
            }
        }
        for _ in 0..3 {
            for name in ["hangs-1", "hangs-2", "hangs-3", "hangs-4"] {
                let error = resolver.addresses(name, 1, soon()).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{name}");
            }
        }
        let state = || lock(&resolver.0.state);
        assert_eq!(state().threads, 2);
        assert!(begun.load(Ordering::SeqCst) <= 2, "each name once, however often it is asked for");
        assert!(state().open.len() <= 4);
        // Every lookup that nobody waits for any more is passed over.
        drop(release);
        let found = resolver.addresses("works", 7, late()).unwrap();
        assert_eq!(found, [([127, 0, 0, 1], 7).into()]);
        assert!(begun.load(Ordering::SeqCst) <= 3);
    }

    #[test]
    fn a_name_that_is_none_says_so_and_is_looked_up_again() {
        let resolver = Resolver::new(1, |_| Err(io::Error::other("no such name")));
        for _ in 0..2 {
            let error = resolver.addresses("x", 1, late()).unwrap_err();
            assert_eq!(error.to_string(), "no such name");
        }
    }
}
