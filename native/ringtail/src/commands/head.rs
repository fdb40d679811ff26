//! `ringtail head`: all of an object but its content.

use std::io::Write;

use ringtail_client::{Fetched, Vclock};

use super::{object, remote};
use crate::args::HeadArgs;
use crate::failure::Failure;
use crate::output::{Output, Style};

pub fn run(args: &HeadArgs, out: &mut Output) -> Result<(), Failure> {
    let (client, name) = remote::object(&args.object)?;
    let options = remote::read_options(&args.read);
    let fetched = match client.head(&name, &options)? {
        // Riak tells no vtags without a body.
        Fetched::Siblings(_) => match client.get(&name, &options)? {
            Fetched::Siblings(siblings) => Fetched::Siblings(siblings),
            // Resolved in between.
            Fetched::Object(_) => client.head(&name, &options)?,
            Fetched::NotFound { deleted } => Fetched::NotFound { deleted },
            Fetched::NotModified => Fetched::NotModified,
        },
        other => other,
    };
    let lines = match fetched {
        Fetched::NotFound { .. } => return Err(remote::not_found(&name)),
        Fetched::NotModified => return object::not_modified(out),
        Fetched::Object(object) if out.style == Style::Json => {
            let document = object::document(&name, &object, object.content, None);
            return out.json(&document).map_err(Failure::output);
        }
        Fetched::Siblings(siblings) if out.style == Style::Json => {
            return out.json(&object::siblings_document(&name, &siblings)).map_err(Failure::output);
        }
        Fetched::Object(object) => object::lines(&object, object.content),
        Fetched::Siblings(siblings) => {
            let vclock = siblings.vclock.as_ref().map(Vclock::as_str);
            let vclock = vclock.map(|vclock| ("vclock".to_owned(), vclock.to_owned()));
            vclock
                .into_iter()
                .chain(siblings.vtags.iter().map(|vtag| ("sibling".to_owned(), vtag.clone())))
                .collect()
        }
    };
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, value) in lines {
        match out.style {
            Style::Table => writeln!(out, "{name:<width$}  {value}"),
            Style::Plain | Style::Json => writeln!(out, "{name}\t{value}"),
        }
        .map_err(Failure::output)?;
    }
    Ok(())
}
