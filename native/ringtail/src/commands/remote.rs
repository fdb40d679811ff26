//! What the commands that speak to a cluster share.

use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStrExt;

use indicatif::{ProgressBar, ProgressStyle};
use ringtail_client::{Client, Config, ObjectName, ReadOptions, TlsOptions, WriteOptions};
use ringtail_core::keys::percent_decode;

use crate::args::{NodeArgs, ObjectArgs, ReadArgs, WriteArgs};
use crate::failure::Failure;
use crate::keytext::shown;

/// Objects below this size come and go too fast for a bar to be seen.
const LARGE: u64 = 1024 * 1024;

/// The configuration for these seeds.
pub fn config(urls: &[String], args: &NodeArgs) -> Result<Config, Failure> {
    let tls = TlsOptions {
        ca: args.cacert.clone(),
        identity: args.cert.clone().zip(args.cert_key.clone()),
    };
    let mut config = Config::new(urls)?.timeout(args.timeout).tls(tls);
    if let Some(user) = &args.user {
        let password = std::env::var("RINGTAIL_PASSWORD").map_err(|_| {
            Failure::usage(
                "no_password",
                "--user wants the password in the environment, as RINGTAIL_PASSWORD",
            )
        })?;
        config = config.credentials(user, password);
    }
    if args.verbose {
        config =
            config.observer(|event| eprintln!("ringtail: {}", shown(event.to_string().as_bytes())));
    }
    Ok(config)
}

/// A client of the cluster behind these seeds.
pub fn connect(urls: &[String], args: &NodeArgs) -> Result<Client, Failure> {
    Ok(Client::connect(config(urls, args)?)?)
}

fn wanted() -> Failure {
    Failure::usage("usage", "give at least one URL of a node, then bucket and key")
}

/// A client, and the object that was named.
pub fn object(args: &ObjectArgs) -> Result<(Client, ObjectName), Failure> {
    let [urls @ .., bucket, key] = &args.words[..] else {
        return Err(wanted());
    };
    if urls.is_empty() {
        return Err(wanted());
    }
    let bytes = |what: &str, word: &std::ffi::OsString| {
        percent_decode(word.as_bytes())
            .map_err(|error| Failure::usage(error.code(), format!("{what}: {error}")))
    };
    let name = ObjectName::new(bytes("bucket", bucket)?, bytes("key", key)?)
        .of_type(args.bucket_type.0.clone());
    let urls: Vec<String> = urls.iter().map(|url| url.to_string_lossy().into_owned()).collect();
    Ok((connect(&urls, &args.node)?, name))
}

/// `type/bucket/key` for messages.
pub fn shown_name(name: &ObjectName) -> String {
    format!("{}/{}/{}", shown(name.bucket_type()), shown(name.bucket()), shown(name.key()))
}

/// Options of get and head.
pub fn read_options(args: &ReadArgs) -> ReadOptions {
    ReadOptions {
        r: args.r,
        pr: args.pr,
        vtag: args.vtag.clone(),
        if_none_match: args.if_none_match.clone(),
        ..ReadOptions::default()
    }
}

/// Options of put and delete.
pub fn write_options(args: &WriteArgs) -> WriteOptions {
    WriteOptions {
        vclock: args.vclock.clone(),
        w: args.w,
        pw: args.pw,
        if_match: args.if_match.clone(),
        if_none_match: args.if_none_match.clone(),
        ..WriteOptions::default()
    }
}

/// There is no such object.
pub fn not_found(name: &ObjectName) -> Failure {
    Failure::not_found("not_found", format!("there is no object {}", shown_name(name)))
}

/// The condition does not hold.
pub fn precondition_failed(name: &ObjectName) -> Failure {
    Failure::failed(
        "precondition_failed",
        format!("{} was left as it is: the condition does not hold", shown_name(name)),
    )
}

/// A bar where somebody sees it and the content is large.
pub fn progress_bar(length: Option<u64>, stderr_is_free: bool) -> Option<ProgressBar> {
    let length = length.filter(|&length| length >= LARGE)?;
    if !stderr_is_free || !io::stderr().is_terminal() {
        return None;
    }
    let style =
        ProgressStyle::with_template("{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}")
            .ok()?;
    Some(ProgressBar::new(length).with_style(style))
}
