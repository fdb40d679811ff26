//! How bytes from outside (keys, node names) are shown: readable where they are plain text, never
//! ambiguous, never able to steer a terminal or to break a line or a column.
//!
//! Shown text is percent notation: `%`, control characters, invisible or direction-changing
//! characters and bytes that are not UTF-8 appear as `%XX`; all else as it is. Decoding it gives
//! the bytes back, so any key shown can be given to `--key`.

use std::io::{self, Write};

/// True if `bytes` are shown as they are. The common case by far, so it is one pass without a
/// branch per byte.
#[inline]
pub fn is_plain(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .fold(true, |plain, &byte| plain & (byte.wrapping_sub(b' ') < 0x5f) & (byte != b'%'))
}

/// Writes `bytes` as they are shown.
#[inline]
pub fn write_shown(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    if is_plain(bytes) { out.write_all(bytes) } else { write_escaped(out, bytes, "") }
}

/// `bytes` as they are shown.
pub fn shown(bytes: &[u8]) -> String {
    shown_in_list(bytes, "")
}

/// `bytes` as they are shown where the ASCII characters of `separators` have a meaning of their
/// own.
pub fn shown_in_list(bytes: &[u8], separators: &str) -> String {
    let mut text = Vec::with_capacity(bytes.len());
    write_escaped(&mut text, bytes, separators).expect("writing to memory cannot fail");
    String::from_utf8(text).expect("what is not UTF-8 was escaped")
}

fn write_escaped(out: &mut impl Write, bytes: &[u8], separators: &str) -> io::Result<()> {
    for chunk in bytes.utf8_chunks() {
        let text = chunk.valid();
        let mut from = 0;
        for (at, character) in
            text.char_indices().filter(|&(_, c)| needs_escape(c) || separators.contains(c))
        {
            let end = at + character.len_utf8();
            out.write_all(&text.as_bytes()[from..at])?;
            write_percent(out, &text.as_bytes()[at..end])?;
            from = end;
        }
        out.write_all(&text.as_bytes()[from..])?;
        write_percent(out, chunk.invalid())?;
    }
    Ok(())
}

fn write_percent(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    bytes.iter().try_for_each(|byte| write!(out, "%{byte:02X}"))
}

/// Besides control characters: what Unicode draws as nothing, as a line break, or as a change of
/// direction.
fn needs_escape(character: char) -> bool {
    character == '%'
        || character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{feff}' | '\u{200b}'..='\u{200f}')
        || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(character, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringtail_core::keys::percent_decode;

    #[test]
    fn clean_keys_are_shown_raw() {
        for key in ["", "user123", "a/b c+d", "~!@#$^&*()", "größe", "鍵"] {
            assert_eq!(shown(key.as_bytes()), key);
        }
    }

    #[test]
    fn what_could_mislead_is_escaped() {
        assert_eq!(shown(b"50%"), "50%25");
        assert_eq!(shown(b"a\tb\nc\rd\0"), "a%09b%0Ac%0Dd%00");
        assert_eq!(shown(b"\x1b[31m\x7f"), "%1B[31m%7F");
        assert_eq!(shown(b"\xff\xfeok\xc3"), "%FF%FEok%C3");
        assert_eq!(shown("\u{9b}x\u{202e}y\u{200b}".as_bytes()), "%C2%9Bx%E2%80%AEy%E2%80%8B");
        assert_eq!(shown_in_list(b"a,b@c", ","), "a%2Cb@c");
    }

    #[test]
    fn shown_text_decodes_to_the_same_bytes_for_every_pair_of_bytes() {
        for first in 0..=255u8 {
            for second in 0..=255u8 {
                let key = [first, second];
                let text = shown(&key);
                assert_eq!(percent_decode(text.as_bytes()).unwrap(), key);
                assert_eq!(
                    is_plain(&key),
                    key.iter().all(|b| (0x20..0x7f).contains(b) && *b != b'%')
                );
                if is_plain(&key) {
                    assert_eq!(text.as_bytes(), key);
                }
                let mut written = Vec::new();
                write_shown(&mut written, &key).unwrap();
                assert_eq!(written, text.as_bytes());
            }
        }
    }
}
