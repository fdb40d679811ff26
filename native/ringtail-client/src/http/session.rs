//! A TLS session over a socket, one step at a time. rustls' own stream goes on until it has a whole
//! record: a peer that sends one byte a second, or takes one, would hold whoever waits far beyond
//! its deadline.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

/// Every step takes or gives something once; `WouldBlock` says that there is more to do.
pub(super) struct Session {
    tls: ClientConnection,
    pub(super) tcp: TcpStream,
}

impl Session {
    /// Nothing is sent yet.
    pub(super) fn new(
        config: &Arc<ClientConfig>,
        name: ServerName<'static>,
        tcp: TcpStream,
    ) -> Result<Self, rustls::Error> {
        Ok(Self { tls: ClientConnection::new(Arc::clone(config), name)?, tcp })
    }

    /// Goes on with the handshake.
    pub(super) fn shake_hands(&mut self) -> io::Result<usize> {
        self.flush()?;
        if self.tls.is_handshaking() {
            self.take()?;
            self.flush()?;
        }
        if self.tls.is_handshaking() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(0) }
    }

    pub(super) fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        match self.tls.reader().read(output) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.flush()?;
                self.take()?;
                Err(error)
            }
            result => result,
        }
    }

    /// What was written before goes out first; of `bytes` as much as there is room for.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.flush()?;
        self.tls.writer().write(bytes)
    }

    pub(super) fn flush(&mut self) -> io::Result<usize> {
        if self.tls.wants_write() {
            self.tls.write_tls(&mut self.tcp)?;
        }
        if self.tls.wants_write() { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(0) }
    }

    fn take(&mut self) -> io::Result<()> {
        // The end of the stream shows when it is read, and in a handshake below.
        let is_end = self.tls.read_tls(&mut self.tcp)? == 0;
        if let Err(error) = self.tls.process_new_packets() {
            // The peer is told why, where it still listens.
            let _ = self.tls.write_tls(&mut self.tcp);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        if is_end && self.tls.is_handshaking() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}
