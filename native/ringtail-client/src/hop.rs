//! What of a request's and an answer's header fields goes on to the next hop. Pure.

type Field = (String, Vec<u8>);

/// What frames or steers one connection (RFC 9110, 7.6.1).
const ONE_CONNECTION: [&str; 10] = [
    "Connection",
    "HTTP2-Settings",
    "Keep-Alive",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "Proxy-Connection",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
];

/// What this client says itself, and what is true only of whoever asked us: a node judges `Referer`
/// against its own name, and takes for the sender's address what `Forwarded` and the like say.
const OURS: [&str; 9] = [
    "Client-IP",
    "Content-Length",
    "Cookie",
    "Expect",
    "Forwarded",
    "Host",
    "Origin",
    "Referer",
    "X-Real-IP",
];
const OURS_PREFIXES: [&str; 2] = ["X-Forwarded-", "X-Ringtail-"];

/// What is meant for the end, whatever `Connection` names: a condition or a user that gets lost on
/// the way would make another request of it.
const END_TO_END: [&str; 8] = [
    "Authorization",
    "Date",
    "ETag",
    "Last-Modified",
    "Link",
    "Location",
    "Retry-After",
    "WWW-Authenticate",
];
const END_TO_END_PREFIXES: [&str; 5] = ["Accept", "Content-", "If-", "X-Riak-", "X-Ringtail-"];

/// The fields of a request that go on to a node.
pub(crate) fn onward(fields: Vec<Field>) -> Vec<Field> {
    let is_ours = |name: &str| is_one_of(name, &OURS, &OURS_PREFIXES);
    end_to_end(fields).into_iter().filter(|(name, _)| !is_ours(name)).collect()
}

/// The fields that are meant for the other end.
pub(crate) fn end_to_end(fields: Vec<Field>) -> Vec<Field> {
    let named: Vec<Vec<u8>> = fields
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("Connection"))
        .flat_map(|(_, value)| value.split(|&byte| byte == b','))
        .map(|option| option.trim_ascii().to_vec())
        .collect();
    let stays = |name: &str| {
        is_one_of(name, &ONE_CONNECTION, &[])
            || (named.iter().any(|option| option.eq_ignore_ascii_case(name.as_bytes()))
                && !is_one_of(name, &END_TO_END, &END_TO_END_PREFIXES))
    };
    fields.into_iter().filter(|(name, _)| !stays(name)).collect()
}

fn is_one_of(name: &str, names: &[&str], prefixes: &[&str]) -> bool {
    let begins = |prefix: &&str| {
        name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    names.iter().any(|known| known.eq_ignore_ascii_case(name)) || prefixes.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(hop: fn(Vec<Field>) -> Vec<Field>, fields: &[(&str, &str)]) -> Vec<String> {
        let fields = fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        hop(fields).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn connection_cannot_name_away_what_a_request_depends_on() {
        let fields = [
            ("Connection", "authorization, If-None-Match,x-riak-vclock, X-Other"),
            ("connection", "Accept-Encoding, content-type"),
            ("Authorization", "Basic x"),
            ("If-None-Match", "*"),
            ("X-Riak-Vclock", "a"),
            ("Content-Type", "a/b"),
            ("x-other", "1"),
            ("X-Another", "1"),
        ];
        assert_eq!(
            left(onward, &fields),
            ["Authorization", "If-None-Match", "X-Riak-Vclock", "Content-Type", "X-Another"]
        );
    }

    #[test]
    fn what_the_other_side_would_take_for_ours_stays_here() {
        let fields = [
            ("Referer", "http://explorer:9000/"),
            ("origin", "http://explorer:9000"),
            ("X-Forwarded-For", "8.8.8.8"),
            ("x-forwarded-anything", "x"),
            ("Forwarded", "for=8.8.8.8"),
            ("X-Real-IP", "8.8.8.8"),
            ("Cookie", "session=1"),
            ("Host", "explorer"),
            ("Expect", "100-continue"),
            ("X-Ringtail-Route", "redirect"),
            ("Content-Length", "5"),
            ("X-Riak-Meta-Forwarded", "kept"),
        ];
        assert_eq!(left(onward, &fields), ["X-Riak-Meta-Forwarded"]);
    }

    #[test]
    fn what_is_said_of_one_connection_stays_on_it() {
        let fields = [
            ("Connection", "close, Server"),
            ("Keep-Alive", "timeout=5"),
            ("TE", "trailers"),
            ("Trailer", "X"),
            ("Transfer-Encoding", "chunked"),
            ("Upgrade", "h2c"),
            ("Proxy-Authorization", "Basic x"),
            ("Server", "MochiWeb"),
            ("X-Ringtail-Node", "kept"),
            ("gr\u{fc}n", "kept"),
        ];
        assert_eq!(left(end_to_end, &fields), ["X-Ringtail-Node", "gr\u{fc}n"]);
    }
}
