//! Header fields in order, with their names as they were spelled.

/// The field whose value is a secret.
pub(crate) const AUTHORIZATION: &str = "Authorization";

/// Header fields: names compare without case, order and spelling are kept, values are bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, Vec<u8>)>);

impl Headers {
    /// No fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a field after those there are.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) {
        self.0.push((name.into(), value.into()));
    }

    /// The value of the first field of that name.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The same as text; nothing where it is not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The values of all fields of that name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Every field in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    pub(crate) fn reserve(&mut self, fields: usize) {
        self.0.reserve(fields);
    }
}

/// Whether a name may stand in a head (a token of RFC 9110).
pub(crate) fn is_name(name: &[u8]) -> bool {
    !name.is_empty()
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

/// Whether a value may stand in a head: no control characters, so that no value becomes another
/// field.
pub(crate) fn is_value(value: &[u8]) -> bool {
    value.iter().all(|&byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_compare_without_case_and_keep_their_spelling() {
        let mut headers = Headers::new();
        headers.push("X-Riak-Meta-Colour", *b"blue");
        headers.push("x-riak-meta-colour", *b"red");
        assert_eq!(headers.text("X-RIAK-META-COLOUR"), Some("blue"));
        assert_eq!(headers.all("x-riak-meta-colour").count(), 2);
        assert_eq!(headers.iter().next().map(|(name, _)| name), Some("X-Riak-Meta-Colour"));
    }

    #[test]
    fn a_value_cannot_start_a_new_field() {
        assert!(is_value(b"a b\tc \xff") && is_name(b"X-Riak-Meta-a"));
        for bad in [&b"a\r\nb"[..], b"a\nb", b"\0", b"\x7f"] {
            assert!(!is_value(bad));
        }
        assert!(
            !is_name(b"") && !is_name(b"a:b") && !is_name(b"a b") && !is_name("\u{e9}".as_bytes())
        );
    }
}
