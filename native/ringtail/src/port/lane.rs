//! Workers with a bounded queue before them, for what takes longer than handing it over does.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crossbeam_channel::{Sender, TrySendError, bounded};

/// The requests that are not done, by id, so that they can be cancelled.
#[derive(Clone, Default)]
pub struct Running(Arc<Mutex<HashMap<u64, Cancel>>>);

/// Whether a request is still wanted.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Running {
    /// A new request; none if one of that id is not done.
    pub fn begin(&self, id: u64) -> Option<Cancel> {
        let mut running = self.lock();
        if running.contains_key(&id) {
            return None;
        }
        Some(running.entry(id).or_default().clone())
    }

    pub fn end(&self, id: u64) {
        self.lock().remove(&id);
    }

    /// Requests that are done, or never were, do not matter.
    pub fn cancel(&self, id: u64) {
        if let Some(cancel) = self.lock().get(&id) {
            cancel.0.store(true, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Cancel>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One queue and its workers.
pub struct Lane<J> {
    queue: Sender<(J, usize)>,
    /// Bytes of the jobs that wait or run.
    bytes: Arc<AtomicUsize>,
    most_bytes: usize,
}

impl<J: Send + 'static> Lane<J> {
    /// Starts workers.
    pub fn start(
        name: &str,
        workers: usize,
        most_jobs: usize,
        most_bytes: usize,
        work: impl Fn(J) + Clone + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, jobs) = bounded::<(J, usize)>(most_jobs);
        let bytes = Arc::new(AtomicUsize::new(0));
        for number in 1..=workers {
            let (jobs, bytes, work) = (jobs.clone(), bytes.clone(), work.clone());
            thread::Builder::new().name(format!("{name} {number}")).spawn(move || {
                for (job, size) in jobs {
                    work(job);
                    bytes.fetch_sub(size, Ordering::Relaxed);
                }
            })?;
        }
        Ok(Self { queue, bytes, most_bytes })
    }

    /// Hands a job of that many bytes to a worker, or gives it back if too much waits already.
    /// Never waits.
    pub fn offer(&self, job: J, size: usize) -> Result<(), J> {
        // One that is alone is always taken.
        if self.bytes.fetch_add(size, Ordering::Relaxed) > 0
            && self.bytes.load(Ordering::Relaxed) > self.most_bytes
        {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
            return Err(job);
        }
        self.queue.try_send((job, size)).map_err(|refused| {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
            let (TrySendError::Full((job, _)) | TrySendError::Disconnected((job, _))) = refused;
            job
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::{Receiver, unbounded};

    /// A lane whose worker waits for a permit before each job.
    fn lane(most_jobs: usize, most_bytes: usize) -> (Lane<u32>, Sender<()>, Receiver<u32>) {
        let (permit, permits) = unbounded();
        let (done, results) = unbounded();
        let lane = Lane::start("test", 1, most_jobs, most_bytes, move |job| {
            permits.recv().unwrap();
            done.send(job).unwrap();
        });
        (lane.unwrap(), permit, results)
    }

    #[test]
    fn a_full_queue_gives_the_job_back_and_takes_it_later() {
        let (lane, permit, results) = lane(1, 1000);
        let refused = (0..4)
            .find(|&job| lane.offer(job, 1).is_err())
            .expect("one runs, one waits, no more fit");
        assert!(refused >= 1);
        permit.send(()).unwrap();
        assert_eq!(results.recv(), Ok(0));
        for _ in 0..refused {
            permit.send(()).unwrap();
        }
        assert!((1..refused).all(|job| results.recv() == Ok(job)));
        assert_eq!(lane.offer(9, 1), Ok(()));
    }

    #[test]
    fn bytes_are_bounded_but_a_large_job_alone_is_taken() {
        let (lane, permit, results) = lane(100, 1000);
        assert_eq!(lane.offer(1, 5000), Ok(()));
        assert_eq!(lane.offer(2, 1), Err(2));
        permit.send(()).unwrap();
        assert_eq!(results.recv(), Ok(1));
        while lane.bytes.load(Ordering::Relaxed) > 0 {
            thread::yield_now();
        }
        assert_eq!(lane.offer(2, 1), Ok(()));
    }

    #[test]
    fn an_id_is_taken_until_its_request_is_done() {
        let running = Running::default();
        let first = running.begin(7).unwrap();
        assert!(running.begin(7).is_none());
        running.cancel(7);
        running.cancel(8);
        assert!(first.is_cancelled());
        running.end(7);
        assert!(!running.begin(7).unwrap().is_cancelled());
    }
}
