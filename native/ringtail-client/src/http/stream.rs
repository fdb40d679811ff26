//! Sockets, bare and under TLS, with deadlines.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustix::net::RecvFlags;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::resolve::RESOLVER;
use super::session::Session;
use super::{Connection, Deadline};

/// An address to connect to.
#[derive(Clone)]
pub(crate) struct Dial<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    /// Present for https.
    pub(crate) tls: Option<&'a Arc<ClientConfig>>,
    /// How long connecting may take.
    pub(crate) timeout: Duration,
}

/// Why no connection stands. Nothing was sent in any case.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error("cannot find the address of {host}: {cause}")]
    Resolve { host: String, cause: io::Error },
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("no TLS: {}", tls_hint(.0))]
    Tls(io::Error),
}

fn tls_hint(error: &io::Error) -> String {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(
            rustls::CertificateError::UnknownIssuer | rustls::CertificateError::BadSignature,
        )) => {
            format!(
                "{error}; give the CA that issued the node's certificate (--cacert, Config::ca)"
            )
        }
        Some(rustls::Error::InvalidCertificate(
            rustls::CertificateError::NotValidForName
            | rustls::CertificateError::NotValidForNameContext { .. },
        )) => {
            format!("{error}; the certificate is another host's: connect by a name that it bears")
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            format!("{error}; is that an http listener? Then write http://")
        }
        _ => error.to_string(),
    }
}

impl Dial<'_> {
    /// Connects to one of the addresses.
    pub(crate) fn connect(
        &self,
        address: SocketAddr,
        deadline: Deadline,
    ) -> Result<Connection, DialError> {
        let left = deadline.left().ok_or_else(|| DialError::Connect(Deadline::timed_out()))?;
        let tcp = TcpStream::connect_timeout(&address, left.min(self.timeout))
            .map_err(DialError::Connect)?;
        self.secure(tcp, deadline.or_after(self.timeout))
    }

    fn secure(&self, tcp: TcpStream, deadline: Deadline) -> Result<Connection, DialError> {
        tcp.set_nodelay(true).map_err(DialError::Connect)?;
        let Some(config) = self.tls else {
            return Ok(Connection::new(Stream::new(Kind::Plain(tcp))));
        };
        let name = ServerName::try_from(self.host.to_owned())
            .map_err(|error| DialError::Tls(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        let session = Session::new(config, name, tcp)
            .map_err(|error| DialError::Tls(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        let mut stream = Stream::new(Kind::Tls(Box::new(session)));
        stream.shake_hands(deadline).map_err(DialError::Tls)?;
        Ok(Connection::new(stream))
    }

    /// The addresses behind the host.
    pub(crate) fn addresses(&self, deadline: Deadline) -> Result<Vec<SocketAddr>, DialError> {
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, self.port)]);
        }
        RESOLVER
            .addresses(self.host, self.port, deadline)
            .map_err(|cause| DialError::Resolve { host: self.host.to_owned(), cause })
    }
}

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
    fn new(kind: Kind) -> Self {
        Self { kind, patience: None }
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

    fn shake_hands(&mut self, deadline: Deadline) -> io::Result<()> {
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
