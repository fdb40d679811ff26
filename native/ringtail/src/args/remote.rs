//! Arguments of the commands that speak to a cluster.

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ringtail_client::{Quorum, Vclock};
use ringtail_core::topology::Token;

use super::values::{Bytes, percent_notation};

/// How to reach nodes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connecting")]
pub struct NodeArgs {
    /// Tell on stderr which node was chosen and why, and what else happens
    #[arg(short, long)]
    pub verbose: bool,
    /// Seconds a request may take, retries included
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub timeout: Duration,
    /// PEM file of the CA that issued the nodes' certificates, instead of the system's
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// PEM file of the client certificate
    #[arg(long, value_name = "FILE", requires = "cert_key")]
    pub cert: Option<PathBuf>,
    /// PEM file of the client certificate's private key
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub cert_key: Option<PathBuf>,
    /// User for Riak's security, with https URLs only; the password is taken from RINGTAIL_PASSWORD
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
}

/// Show the topology of a cluster: members, endpoints, owners, and its token
#[derive(Debug, Args)]
#[command(after_help = "\
In a pipe every line begins with what it is about:
  token, cluster, cluster_uuid, ring_size, resizing TAB value
  member TAB node TAB uuid TAB status TAB up or down TAB partitions TAB endpoints, separated by \
commas
With --from, and for each change with --watch:
  token TAB token;  joined, changed TAB as member;  left TAB uuid;  owner TAB index TAB uuid of \
the new owner
With --json: the documents as nodes give them, one a line.

Examples:
  ringtail topology http://10.0.0.1:8098 http://10.0.0.2:8098
  ringtail topology http://10.0.0.1:8098 --from 4-9f3ac21b77d0e1aa
  ringtail topology http://10.0.0.1:8098 --watch --json")]
pub struct TopologyArgs {
    /// URLs of nodes; one is enough to find the others
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<String>,
    #[command(flatten)]
    pub node: NodeArgs,
    /// Show what has changed since the topology of this token
    #[arg(long, value_name = "TOKEN")]
    pub from: Option<Token>,
    /// Go on and show every change
    #[arg(long)]
    pub watch: bool,
}

/// Which object.
#[derive(Debug, Args)]
pub struct ObjectArgs {
    /// URLs of nodes (one is enough to find the others), then bucket and key in percent notation
    #[arg(value_name = "URL|BUCKET|KEY", required = true)]
    pub words: Vec<OsString>,
    /// Bucket type, in percent notation
    #[arg(
        long = "type",
        value_name = "T",
        default_value = "default",
        value_parser = percent_notation(),
        allow_hyphen_values = true
    )]
    pub bucket_type: Bytes,
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Read an object
#[derive(Debug, Args)]
#[command(
    override_usage = "ringtail get [OPTIONS] URL... BUCKET KEY",
    after_help = "\
The content goes to stdout as it is stored. With --json: one object with its fields; content that \
is text under \"content\", other under \"content_base64\", none with --file.

An object with siblings is an error without --json: name one by --vtag, or resolve them by a put \
with the vclock that ringtail head shows.

Examples:
  ringtail get http://10.0.0.1:8098 users user123
  ringtail get http://10.0.0.1:8098 http://10.0.0.2:8098 --type maps a%2Fb k --file object.bin -v"
)]
pub struct GetArgs {
    #[command(flatten)]
    pub object: ObjectArgs,
    /// Write the content to this file, which is replaced only once all of it is there
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Show all of an object but its content
#[derive(Debug, Args)]
#[command(
    override_usage = "ringtail head [OPTIONS] URL... BUCKET KEY",
    after_help = "\
In a pipe: name TAB value. Names: content_type, content_encoding, length, vclock, etag, \
last_modified, deleted, meta.NAME, index.FIELD, link.TAG, sibling."
)]
pub struct HeadArgs {
    #[command(flatten)]
    pub object: ObjectArgs,
    #[command(flatten)]
    pub read: ReadArgs,
}

/// How to read.
#[derive(Debug, Args)]
pub struct ReadArgs {
    /// Replicas that must answer: one, quorum, all, or a number
    #[arg(long, value_name = "R")]
    pub r: Option<Quorum>,
    /// Primaries that must answer
    #[arg(long, value_name = "PR")]
    pub pr: Option<Quorum>,
    /// Only the sibling of this vtag
    #[arg(long, value_name = "VTAG")]
    pub vtag: Option<String>,
    /// Only if the entity tag is another
    #[arg(long, value_name = "ETAG")]
    pub if_none_match: Option<String>,
}

/// Store an object
#[derive(Debug, Args)]
#[command(
    override_usage = "ringtail put [OPTIONS] URL... BUCKET KEY",
    after_help = "\
A write whose connection breaks is not sent again: the error says that its outcome is unknown.

Examples:
  echo hello | ringtail put http://10.0.0.1:8098 users user123 --content-type text/plain
  ringtail put http://10.0.0.1:8098 files a --file a.iso --meta Colour=blue --index size_int=7
  ringtail put http://10.0.0.1:8098 users user123 --file u.json --vclock \"$(ringtail head URL \
users user123 | awk '$1 == \"vclock\" {print $2}')\""
)]
pub struct PutArgs {
    #[command(flatten)]
    pub object: ObjectArgs,
    /// File with the content, - for stdin
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub file: PathBuf,
    /// Content type
    #[arg(long, value_name = "TYPE", default_value = "application/octet-stream")]
    pub content_type: String,
    /// Content encoding, such as gzip
    #[arg(long, value_name = "ENCODING")]
    pub content_encoding: Option<String>,
    /// User metadata
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub meta: Vec<(String, String)>,
    /// Secondary index, such as age_int=7 or city_bin=Rome
    #[arg(long, value_name = "FIELD=VALUE", value_parser = pair)]
    pub index: Vec<(String, String)>,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Delete an object
#[derive(Debug, Args)]
#[command(override_usage = "ringtail delete [OPTIONS] URL... BUCKET KEY")]
pub struct DeleteArgs {
    #[command(flatten)]
    pub object: ObjectArgs,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// How to write.
#[derive(Debug, Args)]
pub struct WriteArgs {
    /// Vclock of the version that this write follows
    #[arg(long, value_name = "VCLOCK", value_parser = |text: &str| Vclock::new(text))]
    pub vclock: Option<Vclock>,
    /// Replicas that must take it: one, quorum, all, or a number
    #[arg(long, value_name = "W")]
    pub w: Option<Quorum>,
    /// Primaries that must take it
    #[arg(long, value_name = "PW")]
    pub pw: Option<Quorum>,
    /// Only if the entity tag is this one; * for any
    #[arg(long, value_name = "ETAG")]
    pub if_match: Option<String>,
    /// Only if the entity tag is another; * if there is no object at all
    #[arg(long, value_name = "ETAG")]
    pub if_none_match: Option<String>,
}

fn seconds(text: &str) -> Result<Duration, Box<dyn Error + Send + Sync>> {
    let seconds: f64 = text.parse()?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() && seconds <= 86_400.0 => Ok(time),
        _ => Err("give a number of seconds above 0, at most 86400".into()),
    }
}

fn pair(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write a name, an equals sign and a value"),
    }
}
