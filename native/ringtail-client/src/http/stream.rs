//! Sockets, bare and under TLS, with deadlines.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::net::RecvFlags;

use super::deadline::Deadline;
use super::session::Session;

/// A connected socket.
pub(crate) struct Stream {
    kind: Kind,
    /// What the socket's timeouts are set to.
    patience: Option<Duration>,
}

enum Kind {
    Plain(TcpStream),
    Tls(Box<Session>),
}

/// Waiting is done in pieces of this length at most, so that the socket's timeouts have to be set
/// only once as long as a deadline is further away.
const PIECE: Duration = Duration::from_secs(1);

impl Stream {
    pub(super) fn plain(tcp: TcpStream) -> Self {
        Self { kind: Kind::Plain(tcp), patience: None }
    }

    pub(super) fn tls(session: Session) -> Self {
        Self { kind: Kind::Tls(Box::new(session)), patience: None }
    }

    fn tcp(&self) -> &TcpStream {
        match &self.kind {
            Kind::Plain(tcp) => tcp,
            Kind::Tls(session) => &session.tcp,
        }
    }

    fn be_patient(&mut self, deadline: Deadline) -> io::Result<()> {
        let left = deadline.left().ok_or_else(Deadline::timed_out)?.min(PIECE);
        if self.patience != Some(left) {
            self.patience = None;
            self.tcp().set_read_timeout(Some(left))?;
            self.tcp().set_write_timeout(Some(left))?;
            self.patience = Some(left);
        }
        Ok(())
    }

    /// Does `step` until it gets somewhere, or time is up.
    fn until(
        &mut self,
        deadline: Deadline,
        mut step: impl FnMut(&mut Kind) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            self.be_patient(deadline)?;
            match step(&mut self.kind) {
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted
                            | io::ErrorKind::WouldBlock
                            | io::ErrorKind::TimedOut
                    ) => {}
                result => return result,
            }
        }
    }

    pub(super) fn shake_hands(&mut self, deadline: Deadline) -> io::Result<()> {
        let shaken = self.until(deadline, |kind| match kind {
            Kind::Plain(_) => Ok(0),
            Kind::Tls(session) => session.shake_hands(),
        });
        shaken.map(|_| ())
    }

    pub(super) fn read(&mut self, output: &mut [u8], deadline: Deadline) -> io::Result<usize> {
        self.until(deadline, |kind| match kind {
            Kind::Plain(tcp) => tcp.read(output),
            Kind::Tls(session) => session.read(output),
        })
    }

    pub(super) fn write_all(&mut self, mut bytes: &[u8], deadline: Deadline) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = self.until(deadline, |kind| match kind {
                Kind::Plain(tcp) => tcp.write(bytes),
                Kind::Tls(session) => session.write(bytes),
            })?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            bytes = &bytes[written..];
        }
        if matches!(self.kind, Kind::Tls(_)) {
            self.until(deadline, |kind| match kind {
                Kind::Plain(_) => Ok(0),
                Kind::Tls(session) => session.flush(),
            })?;
        }
        Ok(())
    }

    /// Whether the peer has neither closed the connection nor said anything unasked.
    pub(super) fn is_quiet(&self) -> bool {
        let seen = rustix::net::recv(self.tcp(), &mut [0], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        seen == Err(rustix::io::Errno::WOULDBLOCK)
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Plain(_) => "Plain",
            Kind::Tls(_) => "Tls",
        };
        f.debug_tuple(kind).field(&self.tcp().peer_addr().ok()).finish()
    }
}
