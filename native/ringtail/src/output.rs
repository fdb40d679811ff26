//! Where answers go: stdout through one large buffer, in the style that suits the reader.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;

/// Who reads the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A person at a terminal: aligned columns under headings.
    Table,
    /// A pipe or a file: tab-separated fields, no headings.
    Plain,
    /// A program that asked for JSON.
    Json,
}

/// Buffered stdout.
pub struct Output {
    writer: BufWriter<File>,
    /// How to write to it.
    pub style: Style,
}

impl Output {
    /// Stdout. A duplicate of its descriptor, because std's own handle looks for newlines in all
    /// that passes.
    pub fn stdout(json: bool) -> io::Result<Self> {
        let stdout = io::stdout();
        let style = match (json, stdout.is_terminal()) {
            (true, _) => Style::Json,
            (false, true) => Style::Table,
            (false, false) => Style::Plain,
        };
        let file = File::from(stdout.as_fd().try_clone_to_owned()?);
        Ok(Self { writer: BufWriter::with_capacity(256 * 1024, file), style })
    }

    /// A document on one line.
    pub fn json(&mut self, document: &impl serde::Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self, document)?;
        self.write_all(b"\n")
    }
}

impl Write for Output {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
