//! Where a body ends.

/// How the end of a body is told, and how far it has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes are to come.
    Length(u64),
    /// In chunks.
    Chunked(Chunk),
    /// All until the connection closes.
    UntilClose,
}

/// Where in a chunked body we are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Chunk {
    /// In the line that says the length; what of it was read.
    Size(Vec<u8>),
    /// In the chunk; bytes to come.
    Data(u64),
    /// In the line end after the chunk; bytes to come.
    DataEnd(u8),
    /// In the lines after the last chunk; length of the line so far, and how much there may still
    /// be of all of them.
    Trailer(usize, usize),
    /// After it all.
    Done,
}

const LINE_LIMIT: usize = 4096;
const TRAILER_LIMIT: usize = 64 * 1024;

impl Framing {
    pub(crate) fn chunked() -> Self {
        Self::Chunked(Chunk::Size(Vec::new()))
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunk::Done))
    }

    /// Takes from `input` what belongs to the body: how many bytes were consumed, and how many
    /// bytes of content those were, copied to `output`.
    pub(crate) fn take(
        &mut self,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(usize, usize), &'static str> {
        let copy = |input: &[u8], output: &mut [u8], limit: u64| {
            let length =
                input.len().min(output.len()).min(usize::try_from(limit).unwrap_or(usize::MAX));
            output[..length].copy_from_slice(&input[..length]);
            length
        };
        match self {
            Self::UntilClose => {
                let length = copy(input, output, u64::MAX);
                Ok((length, length))
            }
            Self::Length(left) => {
                let length = copy(input, output, *left);
                *left -= length as u64;
                Ok((length, length))
            }
            Self::Chunked(chunk) => {
                let mut consumed = 0;
                while consumed < input.len() {
                    if let Chunk::Data(left) = chunk {
                        let length = copy(&input[consumed..], output, *left);
                        *left -= length as u64;
                        if *left == 0 {
                            *chunk = Chunk::DataEnd(2);
                        }
                        return Ok((consumed + length, length));
                    }
                    if *chunk == Chunk::Done {
                        break;
                    }
                    chunk.byte(input[consumed])?;
                    consumed += 1;
                }
                Ok((consumed, 0))
            }
        }
    }
}

impl Chunk {
    fn byte(&mut self, byte: u8) -> Result<(), &'static str> {
        match self {
            Self::Size(line) if byte == b'\n' => {
                let digits = line.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
                let size = std::str::from_utf8(digits)
                    .ok()
                    .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
                    .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                    .ok_or("a chunk without a length")?;
                *self = if size == 0 { Self::Trailer(0, TRAILER_LIMIT) } else { Self::Data(size) };
            }
            Self::Size(line) if line.len() < LINE_LIMIT => line.push(byte),
            Self::Size(_) => return Err("a chunk without a length"),
            Self::DataEnd(2) if byte == b'\r' => *self = Self::DataEnd(1),
            Self::DataEnd(1) if byte == b'\n' => *self = Self::Size(Vec::new()),
            Self::DataEnd(_) => return Err("a chunk longer than it said"),
            Self::Trailer(0, _) if byte == b'\n' => *self = Self::Done,
            Self::Trailer(_, 0) => return Err("a trailer without an end"),
            Self::Trailer(length, room) => {
                *room -= 1;
                match byte {
                    b'\n' => *length = 0,
                    b'\r' => {}
                    _ => *length += 1,
                }
            }
            Self::Data(_) | Self::Done => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content and what follows it, with the input cut where `cuts` says.
    fn read(
        mut framing: Framing,
        input: &[u8],
        step: usize,
        room: usize,
    ) -> Result<(Vec<u8>, usize), &'static str> {
        let mut content = Vec::new();
        let (mut at, mut end) = (0, 0);
        while !framing.is_done() && (at < end || end < input.len()) {
            end = if at == end { (end + step).min(input.len()) } else { end };
            let mut output = vec![0; room];
            let (consumed, length) = framing.take(&input[at..end], &mut output)?;
            content.extend_from_slice(&output[..length]);
            at += consumed;
        }
        Ok((content, at))
    }

    #[test]
    fn chunks_survive_any_split_of_the_bytes() {
        let body = b"5\r\nhello\r\n00006;x=y\r\n world\r\n0\r\nTrailer: a\r\n\r\nHTTP/1.1 200";
        for step in 1..body.len() {
            for room in [1, 2, 3, 64] {
                let (content, used) = read(Framing::chunked(), body, step, room).unwrap();
                assert_eq!(content, b"hello world");
                assert_eq!(&body[used..], b"HTTP/1.1 200", "nothing of the next response is taken");
            }
        }
    }

    #[test]
    fn broken_chunks_are_refused() {
        for bad in [
            &b"x\r\n"[..],
            b"\r\n",
            b"3\r\nabcd\r\n",
            b"ffffffffffffffffff\r\n",
            b"-1\r\n",
            b"+1\r\na\r\n",
        ] {
            assert!(read(Framing::chunked(), bad, 64, 64).is_err(), "{bad:?}");
        }
        assert!(read(Framing::chunked(), &[b'1'; 2 * LINE_LIMIT], 64, 64).is_err());
        let endless = format!("0\r\n{}", "a: b\r\n".repeat(TRAILER_LIMIT));
        assert!(read(Framing::chunked(), endless.as_bytes(), 64, 64).is_err());
    }
}
