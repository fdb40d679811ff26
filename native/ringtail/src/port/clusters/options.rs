//! A cluster's configuration from Erlang.

use std::path::PathBuf;

use ringtail_client::{Config, TlsOptions};
use ringtail_core::question;
use ringtail_core::term::Term;

use super::super::fault::Fault;

const EXPECTED: Fault = Fault::argument(
    "options",
    "a list of {user | password | cacertfile | certfile | keyfile, Binary}",
);

/// Seeds and options as a client's configuration. Nothing is connected to, no file is read.
pub fn config(seeds: &Term, options: &Term) -> Result<Config, Fault> {
    let mut config = Config::new(question::texts(seeds, "seeds")?)?;
    let (mut user, mut password, mut tls) = (None, None, TlsOptions::default());
    let (mut certificate, mut key) = (None, None);
    for option in options.list().ok_or(EXPECTED)? {
        let [name, value] = option.tuple().ok_or(EXPECTED)?;
        let value = question::text(&value, "an option's value")?.to_owned();
        match name.atom().as_deref() {
            Some("user") => user = Some(value),
            Some("password") => password = Some(value),
            Some("cacertfile") => tls.ca = Some(PathBuf::from(value)),
            Some("certfile") => certificate = Some(PathBuf::from(value)),
            Some("keyfile") => key = Some(PathBuf::from(value)),
            _ => return Err(EXPECTED),
        }
    }
    tls.identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(Fault::argument("options", "certfile and keyfile together, or neither")),
    };
    config = config.tls(tls);
    Ok(match user {
        Some(user) => config.credentials(user, password.unwrap_or_default()),
        None => config,
    })
}
