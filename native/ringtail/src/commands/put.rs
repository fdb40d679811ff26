//! `ringtail put`: store an object from a file or stdin.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use ringtail_client::{Content, Metadata, Stored};
use serde_json::json;

use super::remote;
use crate::args::PutArgs;
use crate::failure::Failure;
use crate::output::{Output, Style};
use crate::ringfile::unreadable;

pub fn run(args: &PutArgs, out: &mut Output) -> Result<(), Failure> {
    let metadata = Metadata {
        content_type: args.content_type.clone(),
        content_encoding: args.content_encoding.clone(),
        user: pairs(&args.meta),
        indexes: pairs(&args.index),
        links: Vec::new(),
    };
    let input = open(&args.file)?;
    let (client, name) = remote::object(&args.object)?;
    let options = remote::write_options(&args.write);
    let (stored, bytes) = match input {
        Input::File(mut file, left) => {
            let bar = remote::progress_bar(Some(left), !args.object.node.verbose);
            let stored = match &bar {
                Some(bar) => client.put(
                    &name,
                    &metadata,
                    Content::Seekable(&mut bar.wrap_read(file)),
                    &options,
                ),
                None => client.put(&name, &metadata, Content::Seekable(&mut file), &options),
            };
            if let Some(bar) = bar {
                bar.finish_and_clear();
            }
            (stored, Some(left))
        }
        Input::Stream(mut stream) => {
            (client.put(&name, &metadata, Content::Reader(&mut stream, None), &options), None)
        }
    };
    match stored? {
        Stored::Done | Stored::Object(_) | Stored::Siblings(_) => match out.style {
            Style::Json => {
                out.json(&json!({"stored": true, "length": bytes})).map_err(Failure::output)
            }
            Style::Plain | Style::Table => Ok(()),
        },
        Stored::PreconditionFailed => Err(remote::precondition_failed(&name)),
    }
}

fn pairs(given: &[(String, String)]) -> Vec<(String, Vec<u8>)> {
    given.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect()
}

enum Input {
    /// A regular file and how much of it is left: it can be sent again.
    File(File, u64),
    /// Anything else: it comes once.
    Stream(Box<dyn Read>),
}

fn open(path: &Path) -> Result<Input, Failure> {
    let refuse = |error: io::Error| unreadable(path, &error);
    let mut file = if path == Path::new("-") {
        // /dev/stdin by its descriptor: a shell's redirection is as good as a file's name.
        use std::os::fd::AsFd as _;
        File::from(io::stdin().as_fd().try_clone_to_owned().map_err(refuse)?)
    } else {
        File::open(path).map_err(refuse)?
    };
    let metadata = file.metadata().map_err(refuse)?;
    if metadata.is_dir() {
        return Err(refuse(io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Ok(Input::Stream(Box::new(file)));
    }
    let position = file.stream_position().map_err(refuse)?;
    Ok(Input::File(file, metadata.len().saturating_sub(position)))
}
