//! Connecting, bare and under TLS.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::connection::Connection;
use super::deadline::Deadline;
use super::resolve::RESOLVER;
use super::session::Session;
use super::stream::Stream;
use crate::error::DialError;

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
            return Ok(Connection::new(Stream::plain(tcp)));
        };
        let name = ServerName::try_from(self.host.to_owned())
            .map_err(|error| DialError::Tls(io::Error::new(io::ErrorKind::InvalidInput, error)))?;
        let session = Session::new(config, name, tcp)
            .map_err(|error| DialError::Tls(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        let mut stream = Stream::tls(session);
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
