//! Reads a ring from a file of a node, from stdin, or through a node's topology.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ringtail_client::{Client, Config};
use ringtail_core::{Ring, RingParts};

use crate::args::RingSource;
use crate::failure::Failure;

/// Bytes a ring file may have. A ring of 4096 partitions has some hundred thousand.
const LIMIT: u64 = 64 * 1024 * 1024;

/// The ring that `source` holds.
pub fn load(source: &RingSource) -> Result<Ring, Failure> {
    match source {
        RingSource::File(path) => {
            let name = path.display().to_string();
            let bytes = open(path).and_then(read_all).map_err(|error| unreadable(path, &error))?;
            decode(&name, bytes)
        }
        RingSource::Stdin => {
            let bytes = read_all(io::stdin().lock()).map_err(|error| {
                Failure::failed("read_failed", format!("cannot read the ring from stdin: {error}"))
            })?;
            decode("stdin", bytes)
        }
        RingSource::Node(url) => of_node(url),
    }
}

/// The ring of a node's cluster. What a topology does not tell (claimant, pending transfers) is not
/// in it.
fn of_node(url: &str) -> Result<Ring, Failure> {
    let client = Client::connect(Config::new([url])?)?;
    let view = client.view();
    let snapshot = view.snapshot();
    let parts = RingParts {
        cluster_name: Some(snapshot.cluster().name.clone()),
        owners: snapshot.owners().map(|(index, owner)| (index, owner.name.clone())).collect(),
        members: snapshot
            .members()
            .iter()
            .map(|member| (member.name.clone(), member.status))
            .collect(),
        rvsn_sum: view.token().ordinal,
        resizing: snapshot.resizing(),
        ..RingParts::default()
    };
    Ring::from_parts(parts)
        .map_err(|error| Failure::failed(error.code(), format!("{url}: {error}")))
}

fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(file)
}

fn read_all(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(LIMIT + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn decode(name: &str, bytes: Vec<u8>) -> Result<Ring, Failure> {
    if bytes.len() as u64 > LIMIT {
        return Err(Failure::failed(
            "too_large",
            format!("{name} has more than {LIMIT} bytes: it is not a ring file"),
        ));
    }
    Ring::decode(&bytes).map_err(|error| Failure::failed(error.code(), format!("{name}: {error}")))
}

/// The failure for a file that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let name = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => Failure::failed(
            "file_not_found",
            format!("{name}: there is no such file; check the path"),
        ),
        io::ErrorKind::IsADirectory => Failure::failed("is_a_directory", directory(path)),
        io::ErrorKind::PermissionDenied => Failure::failed(
            "permission_denied",
            format!("{name}: no permission to read it; run as a user who may, such as riak"),
        ),
        _ => Failure::failed("read_failed", format!("{name}: cannot be read: {error}")),
    }
}

/// A node's ring directory holds its last few rings: name the newest, which is what was meant. The
/// names end in the time.
fn directory(path: &Path) -> String {
    let newest = path.read_dir().ok().and_then(|entries| {
        entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| name.starts_with("riak_core_ring."))
            .max_by(|a, b| a.rsplit('.').next().cmp(&b.rsplit('.').next()))
    });
    match newest {
        Some(name) => format!(
            "{} is a directory; its newest ring file is {}",
            path.display(),
            path.join(name).display()
        ),
        None => format!("{} is a directory; give the name of a file", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(failure: Failure) -> (&'static str, String) {
        match failure {
            Failure::Said { code, message, .. } => (code, message),
            Failure::PipeClosed => panic!("not a closed pipe"),
        }
    }

    #[test]
    fn each_way_to_be_unreadable_has_its_own_code() {
        let path = Path::new("/some/ring");
        for (kind, expected) in [
            (io::ErrorKind::NotFound, "file_not_found"),
            (io::ErrorKind::PermissionDenied, "permission_denied"),
            (io::ErrorKind::IsADirectory, "is_a_directory"),
            (io::ErrorKind::TimedOut, "read_failed"),
        ] {
            let (code, message) = told(unreadable(path, &kind.into()));
            assert_eq!(code, expected);
            assert!(message.contains("/some/ring"), "{message}");
        }
    }

    #[test]
    fn the_newest_ring_of_a_directory_is_suggested() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["riak_core_ring.z.20250101000000", "riak_core_ring.a.20260101000000", "zzz"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert!(directory(dir.path()).ends_with("/riak_core_ring.a.20260101000000"));
    }

    #[test]
    fn an_endless_file_is_not_read_to_its_end() {
        let bytes = read_all(io::repeat(131)).unwrap();
        assert_eq!(told(decode("x", bytes).unwrap_err()).0, "too_large");
    }
}
