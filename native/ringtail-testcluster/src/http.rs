//! Requests read and responses written, one connection a thread.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use ringtail_core::keys::percent_decode;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Anything that is written to and read from.
pub(crate) trait Duplex: Read + Write + Send {}

impl<T: Read + Write + Send> Duplex for T {}

pub(crate) fn duplex(
    tcp: TcpStream,
    tls: Option<&Arc<ServerConfig>>,
) -> io::Result<Box<dyn Duplex>> {
    tcp.set_nodelay(true)?;
    Ok(match tls {
        None => Box::new(tcp),
        Some(config) => {
            let session = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
            Box::new(StreamOwned::new(session, tcp))
        }
    })
}

/// A request, its body read only if it is wanted.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// The path's segments, decoded as Riak decodes them.
    pub(crate) fn path(&self) -> Vec<Vec<u8>> {
        let path = self.target.split('?').next().unwrap_or_default();
        path.split('/').skip(1).map(|segment| decode(&segment.replace('+', " "))).collect()
    }

    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let query = self.target.split_once('?')?.1;
        let pair = query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .find(|(known, _)| *known == name)?;
        String::from_utf8(decode(pair.1)).ok()
    }

    /// Whether the client waits to be told that its body is wanted.
    pub(crate) fn waits(&self) -> bool {
        self.header("Expect").is_some()
    }
}

fn decode(text: &str) -> Vec<u8> {
    percent_decode(text.as_bytes()).unwrap_or_else(|_| text.as_bytes().to_vec())
}

/// A response.
#[derive(Default)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status, body: body.into(), ..Self::default() }.with("Content-Type", content_type)
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// The server's half of a connection.
pub(crate) struct Peer {
    stream: Box<dyn Duplex>,
    buffer: Vec<u8>,
}

impl Peer {
    pub(crate) fn new(stream: Box<dyn Duplex>) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    fn fill(&mut self) -> io::Result<usize> {
        let mut piece = [0; 16 * 1024];
        let read = self.stream.read(&mut piece)?;
        self.buffer.extend_from_slice(&piece[..read]);
        Ok(read)
    }

    /// The head of the next request; nothing where the client has closed.
    pub(crate) fn request(&mut self) -> io::Result<Option<Request>> {
        loop {
            let mut fields = vec![httparse::EMPTY_HEADER; 2048];
            let mut parsed = httparse::Request::new(&mut fields);
            let status = parsed.parse(&self.buffer).map_err(io::Error::other)?;
            if let httparse::Status::Complete(length) = status {
                let request = Request {
                    method: parsed.method.unwrap_or_default().to_owned(),
                    target: parsed.path.unwrap_or_default().to_owned(),
                    headers: parsed
                        .headers
                        .iter()
                        .map(|f| (f.name.to_owned(), f.value.to_vec()))
                        .collect(),
                    body: Vec::new(),
                };
                self.buffer.drain(..length);
                return Ok(Some(request));
            }
            if self.fill()? == 0 {
                return if self.buffer.is_empty() {
                    Ok(None)
                } else {
                    Err(io::ErrorKind::UnexpectedEof.into())
                };
            }
        }
    }

    /// Reads the body, `limit` bytes of it at most.
    pub(crate) fn read_body(&mut self, request: &mut Request, limit: usize) -> io::Result<()> {
        if request.waits() {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            self.stream.flush()?;
        }
        if let Some(length) =
            request.header("Content-Length").and_then(|text| text.parse::<usize>().ok())
        {
            let wanted = length.min(limit);
            while self.buffer.len() < wanted {
                if self.fill()? == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            request.body = self.buffer.drain(..wanted).collect();
        } else if request.header("Transfer-Encoding").is_some() {
            loop {
                let line = self.line()?;
                let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
                while self.buffer.len() < size + 2 {
                    if self.fill()? == 0 {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                request.body.extend(self.buffer.drain(..size));
                self.buffer.drain(..2);
                if size == 0 {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line = self.buffer.drain(..end + 2).take(end).collect();
                return String::from_utf8(line).map_err(io::Error::other);
            }
            if self.fill()? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub(crate) fn respond(&mut self, request: &Request, response: &Response) -> io::Result<()> {
        let mut bytes = format!("HTTP/1.1 {} Told\r\n", response.status).into_bytes();
        for (name, value) in &response.headers {
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value);
            bytes.extend_from_slice(b"\r\n");
        }
        if !matches!(response.status, 204 | 304) {
            bytes.extend_from_slice(
                format!("Content-Length: {}\r\n", response.body.len()).as_bytes(),
            );
        }
        bytes.extend_from_slice(b"\r\n");
        if request.method != "HEAD" && !matches!(response.status, 204 | 304) {
            bytes.extend_from_slice(&response.body);
        }
        self.write(&bytes)
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)?;
        self.stream.flush()
    }
}

/// Something that is no node: whoever connects and asks is sent these bytes, then the connection
/// closes. Its port is returned; it listens until the process ends.
pub fn serve_bytes(bytes: Vec<u8>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
    let port = listener.local_addr().expect("a bound listener has an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let bytes = bytes.clone();
            std::thread::spawn(move || {
                let mut peer = Peer::new(Box::new(stream));
                if peer.request().is_ok() {
                    // A client that has seen enough closes early.
                    let _ = peer.write(&bytes);
                }
            });
        }
    });
    port
}
