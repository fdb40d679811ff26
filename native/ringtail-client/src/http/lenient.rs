//! Header fields as they come, where no rule of HTTP is kept: names and values that were stored by
//! Protocol Buffers stand in Riak's answers as they are. What is told there belongs to an object,
//! so nothing is dropped and nothing refused that can be told apart.

use super::headers::Headers;

/// The fields up to the empty line, and how many bytes they are with it; nothing where it has not
/// come yet.
///
/// # Errors
/// More than `most` fields, or a first line that is none.
pub(crate) fn fields(bytes: &[u8], most: usize) -> Result<Option<(Headers, usize)>, &'static str> {
    let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
    let mut at = 0;
    loop {
        let Some(end) = bytes[at..].iter().position(|&byte| byte == b'\n') else { return Ok(None) };
        let line = &bytes[at..at + end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        at += end + 1;
        if line.is_empty() {
            break;
        }
        // An entry without a name tells nothing, and is no part of the field before it.
        if line.starts_with(b":") {
            continue;
        }
        if fields.len() >= most {
            return Err("more header fields than anybody sends");
        }
        match (field(line), fields.last_mut()) {
            (Some((name, value)), _) => {
                fields.push((String::from_utf8_lossy(name).into_owned(), one_line(value)));
            }
            // A folded line, or a value with a line end in it. As the one line that it may be
            // written on again.
            (None, Some((_, value))) => {
                value.push(b' ');
                value.extend_from_slice(&one_line(line));
            }
            (None, None) => return Err("a line in the head that is no header field"),
        }
    }
    let mut headers = Headers::new();
    headers.reserve(fields.len());
    fields.into_iter().for_each(|(name, value)| headers.push(name, value));
    Ok(Some((headers, at)))
}

fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if line.first().is_some_and(|first| b" \t".contains(first)) {
        return None;
    }
    let colon = line.iter().position(|&byte| byte == b':')?;
    let name = trim(&line[..colon]);
    (!name.is_empty()).then(|| (name, &line[colon + 1..]))
}

/// Without the space round it, which is none of the value's, and without line ends.
fn one_line(value: &[u8]) -> Vec<u8> {
    trim(value).iter().map(|&byte| if byte == b'\r' { b' ' } else { byte }).collect()
}

fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_at_the_empty_line_however_lines_end() {
        for text in ["a: b\r\nc:d\r\n\r\nrest", "a:  b \nc: d\n\nrest"] {
            let (headers, length) = fields(text.as_bytes(), 9).unwrap().unwrap();
            let found: Vec<(&str, &[u8])> = headers.iter().collect();
            assert_eq!(found, [("a", &b"b"[..]), ("c", b"d")]);
            assert_eq!(&text[length..], "rest");
        }
        assert!(fields(b"a: b\r\n", 9).unwrap().is_none());
        assert_eq!(fields(b"\r\n", 9).unwrap().unwrap().1, 2);
    }

    #[test]
    fn no_value_holds_a_line_end() {
        let (headers, _) =
            fields(b"a: b\r\n\tc\r\nd\r\n : e\r\nf: g\rh\r\n\r\n", 9).unwrap().unwrap();
        let found: Vec<(&str, &[u8])> = headers.iter().collect();
        assert_eq!(found, [("a", &b"b c d : e"[..]), ("f", b"g h")]);
    }

    #[test]
    fn a_nameless_field_is_no_part_of_the_one_before() {
        let (headers, _) = fields(b"Content-Length: 5\r\n: \r\n: x\r\n\r\n", 9).unwrap().unwrap();
        let found: Vec<(&str, &[u8])> = headers.iter().collect();
        assert_eq!(found, [("Content-Length", &b"5"[..])]);
    }
}
