//! `ringtail keys`: where many keys live. A stream from end to end: nothing is kept but counts.

mod count;
mod lines;
mod sink;

use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, Write};
use std::os::fd::AsFd;
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use ringtail_core::{KeyTextError, Keyfun, Ring, hash_key};

use super::checks::{check_n, hex};
use crate::args::{KeysArgs, RingSource};
use crate::failure::Failure;
use crate::output::{Output, Style};
use crate::records::{RecordError, Records};
use crate::ringfile;
use sink::Sink;

/// Bytes a key may have. Riak sets no limit; an unlimited one would let one input without newlines
/// fill the memory.
const KEY_LIMIT: usize = 16 * 1024 * 1024;

pub fn run(args: &KeysArgs, out: &mut Output) -> Result<(), Failure> {
    let from_stdin = args.input == Path::new("-");
    if from_stdin && args.ring == RingSource::Stdin {
        return Err(Failure::usage(
            "stdin_twice",
            "the ring and the keys cannot both come from stdin: name a file for one of them",
        ));
    }
    let ring = ringfile::load(&args.ring)?;
    check_n(&ring, args.bucket.n)?;
    let input = open(&args.input, from_stdin)?;
    if from_stdin && io::stdin().is_terminal() {
        // A hint for whoever forgot to name a file; nobody misses it if stderr is closed.
        let _ = writeln!(io::stderr(), "Reading keys from the terminal, one a line; Ctrl-D ends.");
    }
    let bar = progress_bar(&input, args.count || !io::stdout().is_terminal());
    let result = match &bar {
        Some(bar) => place(args, &ring, bar.wrap_read(input), out),
        None => place(args, &ring, input, out),
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    result
}

/// Prints or counts every key of the input.
fn place(args: &KeysArgs, ring: &Ring, input: impl Read, out: &mut Output) -> Result<(), Failure> {
    let n = args.bucket.n;
    if args.count {
        let mut counts = count::Counts::new(ring, n);
        each_key(args, ring, input, &mut counts)?;
        return counts.write(out).map_err(Failure::output);
    }
    let text = if args.hex { lines::KeyText::Hex } else { lines::KeyText::Percent };
    match out.style {
        Style::Plain => each_key(args, ring, input, &mut lines::Plain::new(ring, n, text, out)),
        Style::Json => each_key(args, ring, input, &mut lines::Json::new(ring, n, text, out)),
        Style::Table => {
            let mut lines = lines::Aligned::new(ring, n, text, out);
            lines.write_headings().map_err(Failure::output)?;
            each_key(args, ring, input, &mut lines)
        }
    }
}

/// Gives every key of the input to `sink`.
fn each_key(
    args: &KeysArgs,
    ring: &Ring,
    input: impl Read,
    sink: &mut impl Sink,
) -> Result<(), Failure> {
    let bucket_type = &args.bucket.bucket_type.0;
    let bucket = &args.bucket.bucket.0;
    let keyfun = args.bucket.keyfun;
    // By bucketonly all keys of a bucket are in one place.
    let one_place = match keyfun {
        Keyfun::BucketOnly => Some(ring.position(&hash_key(bucket_type, bucket, b"", keyfun))),
        Keyfun::Std => None,
    };
    let place = |key: &[u8]| {
        one_place.unwrap_or_else(|| ring.position(&hash_key(bucket_type, bucket, key, keyfun)))
    };
    let limit = if args.hex { 2 * KEY_LIMIT } else { KEY_LIMIT };
    let mut records = Records::new(input, if args.null { 0 } else { b'\n' }, limit);
    loop {
        while let Some(record) =
            records.next_buffered().map_err(|error| cannot_go_on(args, error))?
        {
            if args.hex {
                let key = hex(record).map_err(|error| (error, records.number()));
                let key = key.map_err(|(error, number)| bad_hex(args, number, &error))?;
                sink.key(&key, place(&key)).map_err(Failure::output)?;
            } else {
                sink.key(record, place(record)).map_err(Failure::output)?;
            }
        }
        sink.flush().map_err(Failure::output)?;
        if !records.fill().map_err(|error| cannot_go_on(args, error))? {
            return Ok(());
        }
    }
}

fn record_name(args: &KeysArgs) -> &'static str {
    if args.null { "key" } else { "line" }
}

fn bad_hex(args: &KeysArgs, number: u64, error: &KeyTextError) -> Failure {
    Failure::failed(
        error.code(),
        format!(
            "{} {number} of the keys: {error}; keys before it were done. Leave --hex out if keys \
             are plain bytes",
            record_name(args)
        ),
    )
}

fn cannot_go_on(args: &KeysArgs, error: RecordError) -> Failure {
    match error {
        RecordError::TooLong { number } => Failure::failed(
            "key_too_long",
            format!(
                "{name} {number} of the keys has more than {} MiB; keys before it were done. \
                 {hint}",
                KEY_LIMIT / (1024 * 1024),
                name = record_name(args),
                hint = if args.null {
                    "Are keys separated by newlines? Then leave --null out"
                } else {
                    "Are keys separated by NUL bytes? Then add --null"
                }
            ),
        ),
        RecordError::Read(error) if error.kind() == io::ErrorKind::IsADirectory => {
            ringfile::unreadable(&args.input, &error)
        }
        RecordError::Read(error) => {
            Failure::failed("read_failed", format!("cannot read the keys: {error}"))
        }
    }
}

/// The input as a file: stdin, too, by a duplicate of its descriptor, which tells whether it is a
/// regular file.
fn open(path: &Path, stdin: bool) -> Result<File, Failure> {
    if stdin {
        return match io::stdin().as_fd().try_clone_to_owned() {
            Ok(descriptor) => Ok(File::from(descriptor)),
            Err(error) => {
                Err(Failure::failed("read_failed", format!("cannot read stdin: {error}")))
            }
        };
    }
    File::open(path).map_err(|error| ringfile::unreadable(path, &error))
}

/// Fewer bytes are done before anybody looks.
const WORTH_A_BAR: u64 = 1024 * 1024;

/// A bar where somebody sees it, the length is known, and it does not run into printed keys.
fn progress_bar(input: &File, stderr_is_free: bool) -> Option<ProgressBar> {
    let metadata = input.metadata().ok()?;
    if !metadata.is_file() || !stderr_is_free || !io::stderr().is_terminal() {
        return None;
    }
    // A shell may hand over a file that was read in part.
    let position = (&*input).stream_position().ok()?;
    let length = metadata.len().saturating_sub(position);
    if length < WORTH_A_BAR {
        return None;
    }
    let bar = ProgressBar::new(length);
    let style =
        ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
            .ok()?;
    Some(bar.with_style(style))
}
