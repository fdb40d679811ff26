//! Objects, as recorded exchanges of Riak show them: vclocks, siblings, conditions, metadata.

use std::collections::HashMap;

use crate::http::{Request, Response};

/// The properties of a bucket type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketType {
    /// Replicas.
    pub n_val: u32,
    /// Whether concurrent writes make siblings.
    pub allow_mult: bool,
    /// Module and function.
    pub keyfun: (String, String),
}

impl BucketType {
    /// So many replicas, siblings, the usual keyfun.
    pub fn of(n_val: u32, allow_mult: bool) -> Self {
        Self { n_val, allow_mult, keyfun: ("riak_core_util".into(), "chash_std_keyfun".into()) }
    }
}

type Name = (Vec<u8>, Vec<u8>, Vec<u8>);

struct Version {
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    vtag: String,
}

pub(crate) struct Store {
    pub(crate) types: HashMap<Vec<u8>, BucketType>,
    objects: HashMap<Name, (u64, Vec<Version>)>,
    writes: u64,
}

impl Default for Store {
    fn default() -> Self {
        let custom =
            BucketType { keyfun: ("mine".into(), "keyfun".into()), ..BucketType::of(3, true) };
        let types = [
            ("default", BucketType::of(3, false)),
            ("mult", BucketType::of(3, true)),
            ("n1", BucketType::of(1, false)),
            ("custom", custom),
        ];
        let types =
            types.into_iter().map(|(name, kind)| (name.as_bytes().to_vec(), kind)).collect();
        Self { types, objects: HashMap::new(), writes: 0 }
    }
}

const STORED: [&str; 3] = ["content-type", "content-encoding", "link"];
const MODIFIED: &str = "Sun, 29 Nov 2026 18:12:36 GMT";

fn vclock(writes: u64) -> String {
    format!("a85h{writes}")
}

impl Store {
    pub(crate) fn properties(&self, bucket_type: &[u8], bucket: &[u8]) -> Response {
        let Some(kind) = self.types.get(bucket_type) else { return unknown_type(bucket_type) };
        let props = serde_json::json!({"props": {
            "name": String::from_utf8_lossy(bucket), "n_val": kind.n_val,
            "allow_mult": kind.allow_mult, "w": "quorum",
            "chash_keyfun": {"mod": kind.keyfun.0, "fun": kind.keyfun.1}, "precommit": [],
        }});
        Response::new(200, "application/json", props.to_string())
    }

    pub(crate) fn object(&mut self, request: &Request, name: Name) -> Response {
        let Some(kind) = self.types.get(&name.0).cloned() else { return unknown_type(&name.0) };
        for quorum in ["r", "w", "pr", "pw", "dw"] {
            let asked = request.query(quorum).and_then(|text| text.parse::<u32>().ok());
            if asked.is_some_and(|asked| asked > kind.n_val) {
                let message = format!(
                    "Specified w/dw/pw/node_confirms values invalid for bucket n value of {}\n",
                    kind.n_val
                );
                return Response { status: 400, body: message.into_bytes(), ..Response::default() };
            }
        }
        let versions =
            self.objects.get(&name).map(|(_, versions)| versions.as_slice()).unwrap_or_default();
        let tags: Vec<String> =
            versions.iter().map(|version| format!("\"{}\"", version.vtag)).collect();
        let matches = |condition: &str| match condition {
            "*" => !tags.is_empty(),
            tag => tags.iter().any(|known| known == tag),
        };
        let read = matches!(request.method.as_str(), "GET" | "HEAD");
        if request.header("If-Match").is_some_and(|condition| !matches(condition)) {
            return Response::new(412, "text/html", "<html>Precondition Failed</html>");
        }
        if request.header("If-None-Match").is_some_and(matches) {
            return match read {
                true => Response { status: 304, ..Response::default() }.with("ETag", tags.join("")),
                false => Response::new(412, "text/html", "<html>Precondition Failed</html>"),
            };
        }
        match request.method.as_str() {
            "GET" | "HEAD" => self.read(request, &name),
            "PUT" | "POST" => self.write(request, name, &kind),
            "DELETE" => match self.objects.remove(&name) {
                Some(_) => Response { status: 204, ..Response::default() },
                None => Response::new(404, "text/plain", "not found\n"),
            },
            _ => Response::new(405, "text/html", "<html>Method Not Allowed</html>"),
        }
    }

    fn read(&self, request: &Request, name: &Name) -> Response {
        let Some((clock, versions)) = self.objects.get(name) else {
            return Response::new(404, "text/plain", "not found\n");
        };
        let wanted = request.query("vtag");
        let versions: Vec<&Version> = versions
            .iter()
            .filter(|version| wanted.as_ref().is_none_or(|wanted| *wanted == version.vtag))
            .collect();
        let response = match &versions[..] {
            [] => return Response::new(404, "text/plain", "not found\n"),
            [version] => single(version),
            several
                if request
                    .header("Accept")
                    .is_some_and(|accept| accept.contains("multipart/mixed")) =>
            {
                multipart(several)
            }
            several => {
                let vtags: String =
                    several.iter().map(|version| format!("{}\n", version.vtag)).collect();
                Response::new(300, "text/plain", format!("Siblings:\n{vtags}"))
            }
        };
        response.with("X-Riak-Vclock", vclock(*clock)).with("Last-Modified", MODIFIED)
    }

    fn write(&mut self, request: &Request, name: Name, kind: &BucketType) -> Response {
        self.writes += 1;
        let fields = request.headers.iter().filter(|(field, _)| {
            let field = field.to_ascii_lowercase();
            STORED.contains(&field.as_str())
                || field.starts_with("x-riak-meta-")
                || field.starts_with("x-riak-index-")
        });
        let version = Version {
            fields: fields.cloned().collect(),
            body: request.body.clone(),
            vtag: format!("vtag{}", self.writes),
        };
        let entry = self.objects.entry(name.clone()).or_default();
        let follows = request.header("X-Riak-Vclock") == Some(vclock(entry.0).as_str());
        if follows || !kind.allow_mult {
            entry.1.clear();
        }
        entry.0 = self.writes;
        entry.1.push(version);
        if request.query("returnbody").as_deref() == Some("true") {
            return self.read(request, &name);
        }
        Response { status: 204, ..Response::default() }
    }
}

fn unknown_type(name: &[u8]) -> Response {
    Response::new(
        404,
        "text/plain",
        format!("Unknown bucket type: {}", String::from_utf8_lossy(name)),
    )
}

fn single(version: &Version) -> Response {
    let mut response = Response { status: 200, body: version.body.clone(), ..Response::default() };
    for (name, value) in &version.fields {
        // Riak keeps the spelling of metadata and lowers that of indexes.
        let lower = name.to_ascii_lowercase();
        response = response
            .with(if lower.starts_with("x-riak-index-") { &lower } else { name }, value.as_slice());
    }
    response
        .with("Link", *b"</buckets/rec>; rel=\"up\"")
        .with("ETag", format!("\"{}\"", version.vtag))
}

fn multipart(versions: &[&Version]) -> Response {
    const BOUNDARY: &str = "WxrstcQzVanZCZyg8nvbXT4LfmY";
    let mut body = Vec::new();
    for version in versions {
        body.extend_from_slice(format!("\r\n--{BOUNDARY}\r\n").as_bytes());
        for (name, value) in &version.fields {
            body.extend_from_slice(format!("{name}: ").as_bytes());
            body.extend_from_slice(value);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(
            format!("Etag: {}\r\nLast-Modified: {MODIFIED}\r\n\r\n", version.vtag).as_bytes(),
        );
        body.extend_from_slice(&version.body);
    }
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    Response::new(300, &format!("multipart/mixed; boundary={BOUNDARY}"), body)
}
