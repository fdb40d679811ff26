//! The command line as typed values. Nothing is opened or computed here: what passes is
//! well-formed, and the modules under `commands` act on it.

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};
use ringtail_core::topology::TokenError;
use ringtail_core::{KeyTextError, Keyfun, KeyfunError, NVal, NValError};

// clap wraps these texts to the terminal: a paragraph is one line.
mod remote;
mod values;

pub use remote::{
    DeleteArgs, GetArgs, HeadArgs, NodeArgs, ObjectArgs, PutArgs, ReadArgs, TopologyArgs, WriteArgs,
};
pub use values::{Bytes, RingSource};
use values::{n_val, percent_notation};

const AFTER_HELP: &str = "\
Output:
  On a terminal: aligned tables with headings. In a pipe or file: one record a line, fields \
separated by tabs, no headings. With --json: JSON; partition indices are strings, for they have up \
to 49 digits.

Bytes:
  Types, buckets and keys are bytes. On the command line %XX stands for any byte (%00, %2F) and \
%25 for a percent sign; all else, '+' too, stands for itself. Where keys are printed, the same \
notation shows percent signs, control and invisible characters and bytes that are not UTF-8, so \
that printed keys can be given back.

Exit status:
  0  done; also when the reader of the output closed it early
  1  failed
  2  the command line makes no sense
  3  not found
  4  unavailable
  Errors go to stderr; with --json as {\"error\": code, \"message\": text}.";

/// Where keys live in a Riak KV cluster, by Riak's own rules, and the objects behind them.
#[derive(Debug, Parser)]
#[command(name = "ringtail", version, after_help = AFTER_HELP, max_term_width = 100)]
pub struct Cli {
    /// Answer in JSON, errors too
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    Ring(RingArgs),
    Preflist(PreflistArgs),
    Keys(KeysArgs),
    Topology(TopologyArgs),
    Get(GetArgs),
    Head(HeadArgs),
    Put(PutArgs),
    Delete(DeleteArgs),
    /// Serve an Erlang VM over stdin and stdout; the Erlang application starts this itself
    Port,
}

/// Show a ring: cluster, members with their share of partitions, pending transfers
#[derive(Debug, Args)]
#[command(after_help = "\
In a pipe every line begins with what it is about:
  cluster_name, claimant, nodename, ring_size, resizing, rvsn_sum, vclock_sum TAB value
  member TAB node TAB status TAB partitions TAB percent TAB percent after transfers
  pending TAB index TAB owner TAB next owner TAB status
  owner TAB index TAB node (with --owners)
`-` stands for a value that the ring does not have.

Examples:
  ringtail ring /var/lib/riak/ring/riak_core_ring.default.20260101120000
  ringtail ring --owners RING | awk -F'\\t' '$1 == \"owner\" && $3 == \"riak1@10.0.0.1\" {print $2}'
  ringtail ring --json RING | jq .members
  ringtail ring http://10.0.0.1:8098")]
pub struct RingArgs {
    /// Ring file of a node (data directory, ring/riak_core_ring.*), - for stdin, or URLs of nodes
    #[arg(value_name = "FILE|URL", required = true, num_args = 1..)]
    pub ring: Vec<RingSource>,
    #[command(flatten)]
    pub node: NodeArgs,
    /// Show the owner of every partition as well
    #[arg(long)]
    pub owners: bool,
}

/// Show the preflist of one key: its primaries that are up, then fallbacks
#[derive(Debug, Args)]
#[command(after_help = "\
In a pipe: node TAB primary or fallback TAB partition's position in the ring TAB partition's index.

Examples:
  ringtail preflist --ring RING --bucket users --key user123
  ringtail preflist --ring RING --type maps --bucket a%2Fb --key 100%25 --n 1
  ringtail preflist --ring RING --bucket b --key 00ff --hex --json
  ringtail preflist http://10.0.0.1:8098 --bucket users --key user123
  ringtail preflist --ring RING --bucket b --key k --down riak1@10.0.0.1 riak2@10.0.0.2")]
pub struct PreflistArgs {
    /// URLs of nodes: the preflist as a node has it, by the bucket's properties and the nodes that
    /// are up
    #[arg(value_name = "URL", conflicts_with_all = ["ring", "n", "keyfun", "down"])]
    pub urls: Vec<String>,
    #[command(flatten)]
    pub node: NodeArgs,
    /// Ring file of a node (data directory, ring/riak_core_ring.*), - for stdin, or a node's URL
    #[arg(long, value_name = "FILE|URL", required_unless_present = "urls")]
    pub ring: Option<RingSource>,
    #[command(flatten)]
    pub bucket: BucketArgs,
    /// Key, in percent notation (or see --hex)
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    pub key: OsString,
    /// The key is given in hexadecimal
    #[arg(long)]
    pub hex: bool,
    /// Nodes to take as down; all others count as up
    #[arg(long, value_name = "NODE", num_args = 1..)]
    pub down: Vec<String>,
}

/// Find the primaries of many keys, read from a file or stdin
#[derive(Debug, Args)]
#[command(after_help = "\
Keys are the bytes of each line as they are: no percent notation, a carriage return belongs to the \
key, an empty line is the empty key. --null takes keys that contain newlines, --hex any key. A key \
has at most 16 MiB. Memory does not grow with the number of keys.

In a pipe: key TAB index of the first primary's partition TAB primaries, separated by commas. Keys \
are printed in percent notation, with --hex in hexadecimal. With --json: one object a line.

With --count, per node and in total: keys it is a primary of, keys it is the first primary of, and \
copies it holds (more than keys where a preflist names it twice). In a pipe: node TAB keys TAB \
first TAB copies; the last line is the total.

Examples:
  ringtail keys --ring RING --bucket users keys.txt > placed.tsv
  ringtail keys --ring RING --bucket users --count --n 1 < keys.txt
  find . -type f -print0 | ringtail keys --ring RING --bucket files --null --json")]
pub struct KeysArgs {
    /// Ring file of a node (data directory, ring/riak_core_ring.*), - for stdin, or a node's URL
    #[arg(long, value_name = "FILE|URL")]
    pub ring: RingSource,
    #[command(flatten)]
    pub bucket: BucketArgs,
    /// Keys end with a NUL byte instead of a newline
    #[arg(long)]
    pub null: bool,
    /// Keys are given, and printed, in hexadecimal
    #[arg(long)]
    pub hex: bool,
    /// Print how many keys each node has, instead of the keys
    #[arg(long)]
    pub count: bool,
    /// File of keys, - for stdin
    #[arg(value_name = "INPUT", default_value = "-")]
    pub input: PathBuf,
}

/// What decides, together with a key, where an object lives.
#[derive(Debug, Args)]
pub struct BucketArgs {
    /// Bucket type, in percent notation
    #[arg(
        long = "type",
        value_name = "T",
        default_value = "default",
        value_parser = percent_notation(),
        allow_hyphen_values = true
    )]
    pub bucket_type: Bytes,
    /// Bucket, in percent notation
    #[arg(long, value_name = "B", value_parser = percent_notation(), allow_hyphen_values = true)]
    pub bucket: Bytes,
    /// The bucket's n_val: how many primaries a key has
    #[arg(long, value_name = "N", default_value = "3", value_parser = n_val)]
    pub n: NVal,
    /// The bucket's chash_keyfun: std or bucketonly
    #[arg(long, value_name = "KEYFUN", default_value = "std", value_parser = Keyfun::from_str)]
    pub keyfun: Keyfun,
}

/// The code of the typed error behind clap's message, where there is one.
pub fn error_code(error: &clap::Error) -> &'static str {
    let Some(source) = error.source() else { return "usage" };
    if let Some(error) = source.downcast_ref::<NValError>() {
        error.code()
    } else if let Some(error) = source.downcast_ref::<KeyfunError>() {
        error.code()
    } else if let Some(error) = source.downcast_ref::<KeyTextError>() {
        error.code()
    } else if let Some(error) = source.downcast_ref::<TokenError>() {
        error.code()
    } else {
        "usage"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn clap_finds_no_fault_in_the_definitions() {
        Cli::command().debug_assert();
    }

    #[test]
    fn ring_sources() {
        let source = |text: &str| RingSource::from(OsString::from(text));
        assert_eq!(source("-"), RingSource::Stdin);
        assert_eq!(source("https://h:8098"), RingSource::Node("https://h:8098".into()));
        assert_eq!(source("./http"), RingSource::File("./http".into()));
    }

    #[test]
    fn a_value_may_begin_with_a_hyphen_and_hold_any_byte() {
        let cli = Cli::parse_from([
            "ringtail",
            "preflist",
            "--ring=r",
            "--bucket",
            "-b%00%25+",
            "--key",
            "--json",
        ]);
        assert!(!cli.json);
        let Command::Preflist(args) = cli.command else { panic!("another command") };
        assert_eq!(args.bucket.bucket.0, b"-b\0%+");
        assert_eq!(args.key, "--json");
    }
}
