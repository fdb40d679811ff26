//! Threads for what waits for other machines: started when there is work, ended when there has been
//! none for a while. Each cluster has a crew of its own, so that one that does not answer holds up
//! nobody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// A bounded number of threads with a bounded queue before them.
pub struct Crew {
    queue: Sender<Job>,
    shared: Arc<Hands>,
}

struct Hands {
    name: &'static str,
    jobs: Receiver<Job>,
    most: usize,
    /// Threads, and how many of them wait for a job.
    threads: AtomicUsize,
    idle: AtomicUsize,
}

impl Crew {
    /// At most so many jobs at a time, and as many as `queue` that wait.
    pub fn new(name: &'static str, most: usize, queue: usize) -> Self {
        let (queue, jobs) = bounded(queue);
        let hands =
            Hands { name, jobs, most, threads: AtomicUsize::new(0), idle: AtomicUsize::new(0) };
        Self { queue, shared: Arc::new(hands) }
    }

    /// Hands over a job. Never waits: where too much waits already, or no thread can be had, false.
    pub fn offer(&self, job: impl FnOnce() + Send + 'static) -> bool {
        match self.queue.try_send(Box::new(job)) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => return false,
        }
        // One more than wait is harmless; one less would leave the job lying.
        if self.queue.len() > self.shared.idle.load(Ordering::SeqCst)
            || self.shared.threads.load(Ordering::SeqCst) == 0
        {
            self.shared.hire();
        }
        true
    }
}

impl Hands {
    fn hire(self: &Arc<Self>) {
        let room = self.threads.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |threads| {
            (threads < self.most).then_some(threads + 1)
        });
        if room.is_err() {
            return;
        }
        let hands = Arc::clone(self);
        let hired = thread::Builder::new().name(self.name.into()).spawn(move || hands.work());
        if hired.is_err() {
            // Those there are, or the next that can be had, will take the job.
            self.threads.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn work(self: Arc<Self>) {
        loop {
            self.idle.fetch_add(1, Ordering::SeqCst);
            let job = self.jobs.recv_timeout(IDLE);
            self.idle.fetch_sub(1, Ordering::SeqCst);
            match job {
                Ok(job) => job(),
                Err(_) => break,
            }
        }
        self.threads.fetch_sub(1, Ordering::SeqCst);
        // A job that was left to this thread while it was ending.
        if !self.jobs.is_empty() {
            self.hire();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::unbounded;

    #[test]
    fn as_many_work_at_once_as_may_and_the_rest_waits_or_is_refused() {
        let crew = Crew::new("test", 8, 4);
        let (begun, begins) = unbounded();
        let (permit, permits) = unbounded::<()>();
        let job = || {
            let (begun, permits) = (begun.clone(), permits.clone());
            move || {
                begun.send(()).unwrap();
                permits.recv().unwrap();
            }
        };
        for _ in 0..8 {
            assert!(crew.offer(job()));
            begins.recv_timeout(Duration::from_secs(10)).expect("each gets a thread of its own");
        }
        assert_eq!((0..10).filter(|_| crew.offer(job())).count(), 4);
        (0..12).for_each(|_| permit.send(()).unwrap());
        (0..4).for_each(|_| {
            begins.recv_timeout(Duration::from_secs(10)).expect("what waited is done, too")
        });
        assert_eq!(crew.shared.threads.load(Ordering::SeqCst), 8);
    }

    #[test]
    fn a_thread_that_is_idle_is_used_again() {
        let crew = Crew::new("test", 64, 4);
        let (done, dones) = unbounded();
        for _ in 0..100 {
            let done = done.clone();
            assert!(crew.offer(move || done.send(()).unwrap()));
            dones.recv_timeout(Duration::from_secs(10)).unwrap();
            while crew.shared.idle.load(Ordering::SeqCst) == 0 {
                thread::yield_now();
            }
        }
        assert_eq!(crew.shared.threads.load(Ordering::SeqCst), 1);
    }
}
