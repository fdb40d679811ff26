//! `ringtail delete`: delete an object.

use ringtail_client::Deleted;
use serde_json::json;

use super::remote;
use crate::args::DeleteArgs;
use crate::failure::Failure;
use crate::output::{Output, Style};

pub fn run(args: &DeleteArgs, out: &mut Output) -> Result<(), Failure> {
    let (client, name) = remote::object(&args.object)?;
    match client.delete(&name, &remote::write_options(&args.write))? {
        Deleted::Done => match out.style {
            Style::Json => out.json(&json!({"deleted": true})).map_err(Failure::output),
            Style::Plain | Style::Table => Ok(()),
        },
        Deleted::NotFound => Err(remote::not_found(&name)),
        Deleted::PreconditionFailed => Err(remote::precondition_failed(&name)),
    }
}
