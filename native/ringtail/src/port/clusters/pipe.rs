//! A streamed request between the reader of stdin and the worker that carries it out: pieces of its
//! body one way, leave to send pieces of the answer the other way. Neither holds more than a window
//! of pieces, and the reader never waits.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Pieces under way in either direction.
pub const WINDOW: usize = 4;
/// The largest piece, in bytes.
pub const PIECE: usize = 256 * 1024;

/// What is waited for, on either side of a stream.
#[derive(Debug)]
pub struct Pipe {
    state: Mutex<State>,
    changed: Condvar,
    deadline: Instant,
    /// How long the other side may let a piece, or leave for one, wait.
    idle: Duration,
}

#[derive(Debug, Default)]
struct State {
    /// Pieces of the body that came and were not taken.
    pieces: VecDeque<Vec<u8>>,
    /// Pieces that were asked for and have not come.
    wanted: usize,
    ended: bool,
    /// Pieces of the answer that may be sent.
    leave: usize,
    broken: Option<Broken>,
}

/// Why nothing more goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// Nobody wants the answer.
    Cancelled,
    /// More came than was asked for.
    Overrun,
    /// Time is up.
    TimedOut,
    /// The other side did nothing for too long.
    Stalled,
}

impl Broken {
    /// As what goes wrong with reading or writing.
    pub fn error(self) -> io::Error {
        match self {
            Self::Cancelled => io::Error::other("the request was cancelled"),
            Self::Overrun => io::Error::other("more pieces of the body came than were asked for"),
            Self::TimedOut => io::Error::new(io::ErrorKind::TimedOut, "time was up before its end"),
            Self::Stalled => {
                io::Error::new(io::ErrorKind::TimedOut, "the client paused for too long")
            }
        }
    }
}

impl Pipe {
    /// Nobody waits longer than until the deadline, nor for one piece longer than `idle`.
    pub fn new(deadline: Instant, idle: Duration) -> Self {
        let state = State { leave: WINDOW, ..State::default() };
        Self { state: Mutex::new(state), changed: Condvar::new(), deadline, idle }
    }

    // ---- The reader's side ----

    /// A piece of the body.
    pub fn data(&self, bytes: &[u8]) {
        self.change(|state| match state.wanted.checked_sub(1) {
            Some(wanted) if bytes.len() <= PIECE => {
                state.wanted = wanted;
                state.pieces.push_back(bytes.to_vec());
            }
            _ => {
                state.broken.get_or_insert(Broken::Overrun);
            }
        });
    }

    /// The body has no more pieces.
    pub fn eof(&self) {
        self.change(|state| state.ended = true);
    }

    /// So many pieces of the answer were taken.
    pub fn taken(&self, count: u64) {
        let count = usize::try_from(count).unwrap_or(WINDOW);
        self.change(|state| state.leave = state.leave.saturating_add(count).min(WINDOW));
    }

    /// Nobody wants the answer any more.
    pub fn cancel(&self) {
        self.change(|state| {
            state.broken.get_or_insert(Broken::Cancelled);
        });
    }

    // ---- The worker's side ----

    /// Whether a piece of the answer may be sent now.
    pub fn leave(&self) -> Result<bool, Broken> {
        let mut state = self.lock();
        if let Some(broken) = state.broken {
            return Err(broken);
        }
        let left = state.leave.checked_sub(1);
        state.leave = left.unwrap_or(0);
        Ok(left.is_some())
    }

    /// Waits until a piece of the answer may be sent.
    pub fn await_leave(&self) -> Result<(), Broken> {
        self.wait(|state| {
            state.leave = state.leave.checked_sub(1)?;
            Some(())
        })
    }

    /// The body, which `ask` asks for: so many more pieces each time.
    pub fn body<A: FnMut(usize)>(&self, ask: A) -> Body<'_, A> {
        Body { pipe: self, ask, piece: Vec::new(), at: 0, begun: false }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> Result<T, Broken> {
        let mut state = self.lock();
        let begun = Instant::now();
        loop {
            if let Some(broken) = state.broken {
                return Err(broken);
            }
            if let Some(value) = ready(&mut state) {
                return Ok(value);
            }
            let to_the_end = self.deadline.saturating_duration_since(Instant::now());
            let left = self.idle.saturating_sub(begun.elapsed()).min(to_the_end);
            if left.is_zero() {
                let why = if to_the_end.is_zero() { Broken::TimedOut } else { Broken::Stalled };
                return Err(*state.broken.insert(why));
            }
            state =
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the body of a streamed request. Nothing is asked for before the first read: until then the
/// request can be sent to another node, or answered without the body.
pub struct Body<'p, A> {
    pipe: &'p Pipe,
    ask: A,
    piece: Vec<u8>,
    at: usize,
    begun: bool,
}

impl<A: FnMut(usize)> Body<'_, A> {
    fn want(&mut self, count: usize) {
        self.pipe.change(|state| state.wanted += count);
        (self.ask)(count);
    }
}

impl<A: FnMut(usize)> Read for Body<'_, A> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        if !self.begun {
            self.begun = true;
            self.want(WINDOW);
        }
        while self.at == self.piece.len() {
            let next = self.pipe.wait(|state| match state.pieces.pop_front() {
                Some(piece) => Some(Some((piece, state.ended))),
                None if state.ended => Some(None),
                None => None,
            });
            let Some((piece, ended)) = next.map_err(Broken::error)? else { return Ok(0) };
            (self.piece, self.at) = (piece, 0);
            if !ended {
                self.want(1);
            }
        }
        let length = output.len().min(self.piece.len() - self.at);
        output[..length].copy_from_slice(&self.piece[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    const LONG: Duration = Duration::from_secs(60);

    fn pipe() -> Pipe {
        Pipe::new(Instant::now() + LONG, LONG)
    }

    #[test]
    fn a_body_comes_in_the_pieces_that_were_asked_for() {
        let pipe = pipe();
        let (asked, asks) = crossbeam_channel::unbounded();
        let sent: Vec<u8> = (0..1_000_000u32).map(|number| number as u8).collect();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut pieces = sent.chunks(1000);
                let mut under_way = 0;
                for count in asks {
                    for _ in 0..count {
                        match pieces.next() {
                            Some(piece) => pipe.data(piece),
                            None => return pipe.eof(),
                        }
                        under_way += 1;
                    }
                    assert!(under_way <= 1000 + WINDOW);
                    assert!(pipe.lock().pieces.len() <= WINDOW);
                }
            });
            let mut got = Vec::new();
            pipe.body(|count| asked.send(count).unwrap()).read_to_end(&mut got).unwrap();
            assert_eq!(got, sent);
            drop(asked);
        });
    }

    #[test]
    fn nothing_is_asked_for_before_it_is_read() {
        let pipe = pipe();
        drop(pipe.body(|_| panic!("nobody wanted it")));
    }

    #[test]
    fn more_than_was_asked_for_breaks_the_stream_and_costs_no_memory() {
        let pipe = pipe();
        let mut body = pipe.body(|_| {});
        body.want(1);
        (0..1000).for_each(|_| pipe.data(b"x"));
        let state = pipe.lock();
        assert_eq!((state.broken, state.pieces.len()), (Some(Broken::Overrun), 1));
        drop(state);
        assert!(body.read(&mut [0]).is_err());
    }

    #[test]
    fn pieces_of_the_answer_wait_for_leave() {
        let pipe = pipe();
        (0..WINDOW).for_each(|_| pipe.await_leave().unwrap());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| pipe.await_leave());
            thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            pipe.taken(1);
            assert_eq!(waiting.join().unwrap(), Ok(()));
        });
        pipe.taken(u64::MAX);
        assert_eq!(pipe.lock().leave, WINDOW, "leave is never for more than the window");
    }

    #[test]
    fn whoever_waits_is_told_of_a_cancellation_and_of_the_deadline() {
        let pipe = pipe();
        thread::scope(|scope| {
            let reading = scope.spawn(|| pipe.body(|_| {}).read(&mut [0]));
            thread::sleep(Duration::from_millis(20));
            pipe.cancel();
            assert!(reading.join().unwrap().is_err());
        });
        assert_eq!(pipe.await_leave(), Err(Broken::Cancelled));
        let late = Pipe::new(Instant::now(), LONG);
        assert_eq!(late.body(|_| {}).read(&mut [0]).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(late.await_leave_of_a_whole_window(), Err(Broken::TimedOut));
    }

    #[test]
    fn a_client_that_pauses_for_too_long_is_not_waited_for_until_the_deadline() {
        let stalled = || Pipe::new(Instant::now() + LONG, Duration::from_millis(20));
        let sending = stalled();
        let error = sending.body(|_| {}).read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(sending.lock().broken, Some(Broken::Stalled));
        assert_eq!(stalled().await_leave_of_a_whole_window(), Err(Broken::Stalled));
    }

    #[test]
    fn whether_leave_must_be_waited_for_is_known_without_waiting() {
        let pipe = pipe();
        (0..WINDOW).for_each(|_| assert_eq!(pipe.leave(), Ok(true)));
        assert_eq!((pipe.leave(), pipe.leave()), (Ok(false), Ok(false)));
        pipe.taken(1);
        assert_eq!((pipe.leave(), pipe.leave()), (Ok(true), Ok(false)));
        pipe.cancel();
        assert_eq!(pipe.leave(), Err(Broken::Cancelled));
    }

    impl Pipe {
        fn await_leave_of_a_whole_window(&self) -> Result<(), Broken> {
            (0..=WINDOW).try_for_each(|_| self.await_leave())
        }
    }
}
