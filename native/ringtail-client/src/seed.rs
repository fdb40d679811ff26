//! Seeds: the addresses a client starts from.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use ringtail_core::keys::percent_decode;
use ringtail_core::topology::{Endpoint, Protocol};

use crate::error::{ConfigError, Error};

/// The address of a node: `http://HOST:PORT` or `https://HOST:PORT`, perhaps with `USER:PASSWORD@`
/// before the host.
#[derive(Clone, PartialEq, Eq)]
pub struct Seed {
    pub(crate) endpoint: Endpoint,
    pub(crate) credentials: Option<Credentials>,
}

/// User and password for Riak's security.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user.
    pub user: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Seed {
    /// Whether it is an https address.
    pub fn is_https(&self) -> bool {
        self.endpoint.protocol == Protocol::Https
    }

    /// How Riak listens: `http` or `https`.
    pub fn protocol(&self) -> Protocol {
        self.endpoint.protocol
    }
}

impl FromStr for Seed {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self, Error> {
        // What is told back must not hold a password.
        let shown = match (url.find("://"), url.rfind('@')) {
            (Some(scheme), Some(at)) if scheme < at => {
                format!("{}{}", &url[..scheme + 3], &url[at + 1..])
            }
            _ => url.to_owned(),
        };
        let bad = |what| Error::from(ConfigError::BadSeed { url: shown.clone(), what });
        if !url.contains("://") {
            return Err(bad("it has no scheme"));
        }
        let uri: Uri = url.parse().map_err(|_| bad("it is no URL"))?;
        let (protocol, default_port) = match uri.scheme_str() {
            Some("http") => (Protocol::Http, 80),
            Some("https") => (Protocol::Https, 443),
            _ => return Err(bad("its scheme is neither http nor https")),
        };
        if uri.path() != "/" || uri.query().is_some() {
            return Err(bad("it has a path"));
        }
        let authority = uri.authority().ok_or_else(|| bad("it has no host"))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() {
            return Err(bad("it has no host"));
        }
        let port = match authority.as_str().rsplit_once(authority.host()) {
            Some((_, "")) => default_port,
            Some(_) => authority
                .port_u16()
                .filter(|&port| port > 0)
                .ok_or_else(|| bad("its port is none"))?,
            None => return Err(bad("it is no URL")),
        };
        let credentials = match authority.as_str().rsplit_once('@') {
            None => None,
            Some((given, _)) => {
                let (user, password) = given.split_once(':').unwrap_or((given, ""));
                let text = |text: &str| {
                    percent_decode(text.as_bytes())
                        .ok()
                        .and_then(|bytes| String::from_utf8(bytes).ok())
                        .ok_or_else(|| bad("its user or password is no percent notation"))
                };
                Some(Credentials { user: text(user)?, password: text(password)? })
            }
        };
        Ok(Self { endpoint: Endpoint { protocol, host: host.to_owned(), port }, credentials })
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&url(&self.endpoint))
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seed({self})")
    }
}

/// `http://host:port`
pub(crate) fn url(endpoint: &Endpoint) -> String {
    format!("{}://{}", endpoint.protocol, endpoint.authority())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds() {
        let seed: Seed = "http://10.0.0.1:8098".parse().unwrap();
        assert_eq!(
            seed.endpoint,
            Endpoint { protocol: Protocol::Http, host: "10.0.0.1".into(), port: 8098 }
        );
        let seed: Seed = "https://u%40x:p%3Aw@[::1]:8087/".parse().unwrap();
        assert_eq!(
            (seed.endpoint.host.as_str(), seed.endpoint.port, seed.is_https()),
            ("::1", 8087, true)
        );
        assert_eq!(seed.to_string(), "https://[::1]:8087");
        let credentials = seed.credentials.unwrap();
        assert_eq!((credentials.user.as_str(), credentials.password.as_str()), ("u@x", "p:w"));
        assert!(!format!("{credentials:?}").contains("p:w"));
        assert_eq!("http://riak".parse::<Seed>().unwrap().endpoint.port, 80);
        assert_eq!("https://[::1]".parse::<Seed>().unwrap().endpoint.port, 443);
    }

    #[test]
    fn what_is_no_seed_says_why() {
        for (bad, why) in [
            ("10.0.0.1:8098", "no scheme"),
            ("", "no scheme"),
            ("pb://10.0.0.1:8087", "neither"),
            ("http://", "no URL"),
            ("http://:8098", "host"),
            ("http://h:99999", "port"),
            ("http://h:0", "port"),
            ("http://h:", "port"),
            ("http://h:8098/riak", "path"),
            ("http://h h:8098", "no URL"),
        ] {
            let error = bad.parse::<Seed>().unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
        let error = "http://user:secret@h:8098/riak".parse::<Seed>().unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}
