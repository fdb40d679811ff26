//! `ringtail get`: an object's content, to stdout or a file.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use ringtail_client::{ContentReader, Fetched, Object, ObjectName, Siblings};

use super::{object, remote};
use crate::args::GetArgs;
use crate::failure::Failure;
use crate::output::{Output, Style};

pub fn run(args: &GetArgs, out: &mut Output) -> Result<(), Failure> {
    let (client, name) = remote::object(&args.object)?;
    match client.get_streamed(&name, &remote::read_options(&args.read))? {
        Fetched::Object(object) => deliver(args, &name, object, out),
        Fetched::Siblings(siblings) => several(args, &name, &siblings, out),
        Fetched::NotFound { .. } => Err(remote::not_found(&name)),
        Fetched::NotModified => object::not_modified(out),
    }
}

fn deliver(
    args: &GetArgs,
    name: &ObjectName,
    mut object: Object<ContentReader>,
    out: &mut Output,
) -> Result<(), Failure> {
    let length = object.content.length();
    let to_terminal = args.file.is_none() && out.style == Style::Table;
    let bar = remote::progress_bar(length, !args.object.node.verbose && !to_terminal);
    let mut content: &mut dyn Read = &mut object.content;
    let mut shown;
    if let Some(bar) = &bar {
        shown = bar.wrap_read(content);
        content = &mut shown;
    }
    let copied = match (&args.file, out.style) {
        (Some(path), _) => into_file(content, path).map(|()| None),
        (None, Style::Json) => {
            let mut bytes = Vec::new();
            copy(content, &mut bytes).map(|()| Some(bytes))
        }
        (None, Style::Plain | Style::Table) => copy(content, out).map(|()| None),
    };
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let bytes = copied?;
    if out.style == Style::Json {
        let document = object::document(name, &object, length, bytes.as_deref());
        out.json(&document).map_err(Failure::output)?;
    }
    Ok(())
}

/// Copies, and keeps apart what failed.
fn copy(content: &mut dyn Read, to: &mut dyn Write) -> Result<(), Failure> {
    let mut piece = vec![0; 64 * 1024];
    loop {
        match content.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => to.write_all(&piece[..length]).map_err(Failure::output)?,
            Err(error) => {
                return Err(Failure::failed(
                    "broke_off",
                    format!("the object broke off: {error}; try again"),
                ));
            }
        }
    }
}

/// Beside the file first, so that a file that is there stays as it is until all has come.
fn into_file(content: &mut dyn Read, path: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::failed("write_failed", format!("cannot write {}: {error}", path.display()))
    };
    let Some(file_name) = path.file_name() else {
        return Err(Failure::usage("bad_file", format!("{} is no name of a file", path.display())));
    };
    // A device or a pipe cannot be replaced.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        let mut file = File::options().write(true).open(path).map_err(failed)?;
        return copy(content, &mut file);
    }
    let mut part_name = OsString::from(".");
    part_name.push(file_name);
    part_name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(part_name);
    let mut file = File::create_new(&part).map_err(failed)?;
    let written = copy(content, &mut file).and_then(|()| fs::rename(&part, path).map_err(failed));
    if written.is_err() {
        // It failed already; what is left behind is no more than untidy.
        let _ = fs::remove_file(&part);
    }
    written
}

fn several(
    args: &GetArgs,
    name: &ObjectName,
    siblings: &Siblings,
    out: &mut Output,
) -> Result<(), Failure> {
    if out.style == Style::Json && args.file.is_none() {
        return out.json(&object::siblings_document(name, siblings)).map_err(Failure::output);
    }
    Err(Failure::failed(
        "siblings",
        format!(
            "{} has {} siblings: choose one with --vtag ({}), or all of them with --json",
            remote::shown_name(name),
            siblings.vtags.len(),
            siblings.vtags.join(", ")
        ),
    ))
}
