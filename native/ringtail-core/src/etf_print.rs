//! A cluster's name as people know it: the term as Erlang's `~w` prints it.

use std::fmt::Write;

use crate::error::DecodeError;
use crate::etf::{Cursor, Integer, tag};

const FIELD: &str = "cluster name";
/// Riak's own name for a cluster is `{Node, {MegaSecs, Secs, MicroSecs}}`: two deep and at most
/// some 300 bytes.
const DEPTH: usize = 32;
const LIMIT: usize = 4096;
const EXPECTED: &str = "a term of atoms, integers, binaries, tuples and lists";

/// Passes the cluster's name; `None` where Riak writes `undefined`.
pub(crate) fn cluster_name(cursor: &mut Cursor<'_>) -> Result<Option<String>, DecodeError> {
    let mut text = String::new();
    print(cursor, &mut text, 0)?;
    Ok((text != "undefined").then_some(text))
}

fn print(cursor: &mut Cursor<'_>, out: &mut String, depth: usize) -> Result<(), DecodeError> {
    if depth > DEPTH {
        return Err(DecodeError::TooDeep { field: FIELD, limit: DEPTH, offset: cursor.offset() });
    }
    if let Some(atom) = cursor.atom()? {
        write_atom(&atom, out);
    } else if let Some(integer) = cursor.integer()? {
        write_integer(integer, out)?;
    } else if let Some(arity) = cursor.tuple()? {
        out.push('{');
        for element in 0..arity {
            separate(element > 0, out);
            print(cursor, out, depth + 1)?;
        }
        out.push('}');
    } else {
        match cursor.peek()? {
            tag::NIL | tag::STRING | tag::LIST => print_list(cursor, out, depth)?,
            tag::BINARY => {
                cursor.u8()?;
                let len = cursor.length()?;
                out.push_str("<<");
                write_bytes(cursor.take(len)?, out)?;
                out.push_str(">>");
            }
            _ => return Err(cursor.unexpected(FIELD, EXPECTED)),
        }
    }
    check(out)
}

/// A list, proper or not; a tail that is a list again continues it.
fn print_list(cursor: &mut Cursor<'_>, out: &mut String, depth: usize) -> Result<(), DecodeError> {
    out.push('[');
    let mut first = true;
    loop {
        match cursor.peek()? {
            tag::NIL => {
                cursor.u8()?;
                break;
            }
            tag::STRING => {
                cursor.u8()?;
                let len = usize::from(u16::from_be_bytes([cursor.u8()?, cursor.u8()?]));
                let bytes = cursor.take(len)?;
                separate(!first && len > 0, out);
                write_bytes(bytes, out)?;
                break;
            }
            tag::LIST => {
                cursor.u8()?;
                for _ in 0..cursor.length()? {
                    separate(!first, out);
                    first = false;
                    print(cursor, out, depth + 1)?;
                }
            }
            _ => {
                if !first {
                    out.push('|');
                }
                print(cursor, out, depth + 1)?;
                break;
            }
        }
    }
    out.push(']');
    Ok(())
}

fn separate(wanted: bool, out: &mut String) {
    if wanted {
        out.push(',');
    }
}

fn check(out: &str) -> Result<(), DecodeError> {
    if out.len() > LIMIT {
        Err(DecodeError::TooLarge { field: FIELD, limit: LIMIT })
    } else {
        Ok(())
    }
}

fn write_bytes(bytes: &[u8], out: &mut String) -> Result<(), DecodeError> {
    for (at, byte) in bytes.iter().enumerate() {
        separate(at > 0, out);
        write!(out, "{byte}").expect("a string takes all");
        check(out)?;
    }
    Ok(())
}

fn write_integer(integer: Integer<'_>, out: &mut String) -> Result<(), DecodeError> {
    let (negative, digits) = match integer {
        Integer::Small(value) => {
            write!(out, "{value}").expect("a string takes all");
            return Ok(());
        }
        Integer::Big { negative, digits } => (negative, digits),
    };
    // Beyond this the text would be beyond the limit, and the division below quadratic in nothing
    // small.
    let len = digits.iter().rposition(|&digit| digit != 0).map_or(0, |last| last + 1);
    if len > LIMIT / 2 {
        return Err(DecodeError::TooLarge { field: FIELD, limit: LIMIT });
    }
    let mut rest: Vec<u8> = digits[..len].iter().rev().copied().collect();
    let mut decimal = Vec::new();
    while !rest.is_empty() {
        let mut remainder = 0u16;
        for digit in &mut rest {
            let value = remainder << 8 | u16::from(*digit);
            *digit = (value / 10) as u8;
            remainder = value % 10;
        }
        decimal.push(char::from(b'0' + remainder as u8));
        let zeros = rest.iter().take_while(|&&digit| digit == 0).count();
        rest.drain(..zeros);
    }
    if decimal.is_empty() {
        decimal.push('0');
    } else if negative {
        decimal.push('-');
    }
    out.extend(decimal.iter().rev());
    Ok(())
}

/// As `io_lib:write_atom_as_latin1/1`.
fn write_atom(atom: &str, out: &mut String) {
    if is_bare(atom) {
        out.push_str(atom);
        return;
    }
    out.push('\'');
    for character in atom.chars() {
        match character {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{b}' => out.push_str("\\v"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\u{1b}' => out.push_str("\\e"),
            '\u{7f}' => out.push_str("\\d"),
            ' '..='~' | '\u{a0}'..='\u{ff}' => out.push(character),
            '\0'..='\u{9f}' => {
                write!(out, "\\{:03o}", u32::from(character)).expect("a string takes all")
            }
            _ => write!(out, "\\x{{{:X}}}", u32::from(character)).expect("a string takes all"),
        }
    }
    out.push('\'');
}

/// Whether an atom needs no quotes: a small letter first, then letters, digits, `_` and `@`, all of
/// Latin-1, and no reserved word (`erl_scan:reserved_word/1`).
fn is_bare(atom: &str) -> bool {
    const RESERVED: [&str; 27] = [
        "after", "begin", "case", "try", "cond", "catch", "andalso", "orelse", "end", "fun", "if",
        "let", "of", "receive", "when", "bnot", "not", "div", "rem", "band", "and", "bor", "bxor",
        "bsl", "bsr", "or", "xor",
    ];
    let small = |c: char| matches!(c, 'a'..='z' | 'ß'..='ö' | 'ø'..='ÿ');
    let name = |c: char| {
        small(c) || matches!(c, 'A'..='Z' | 'À'..='Ö' | 'Ø'..='Þ' | '0'..='9' | '_' | '@')
    };
    atom.chars().next().is_some_and(small) && atom.chars().all(name) && !RESERVED.contains(&atom)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// External term format and what OTP 25 prints of it with `~w`.
    const PRINTED: &[(&str, &str)] = &[
        ("8364000161", r"a"),
        ("8364000141", r"'A'"),
        ("8364000d7269616b4031302e302e302e31", r"'riak@10.0.0.1'"),
        ("836800", r"{}"),
        ("836a", r"[]"),
        ("836b0003010203", r"[1,2,3]"),
        ("836b0003616263", r"[97,98,99]"),
        ("836c000000016400016164000162", r"[a|b]"),
        ("836c000000036400016168016400016261636a", r"[a,{b},99]"),
        ("836d000000020102", r"<<1,2>>"),
        ("836d00000000", r"<<>>"),
        ("8364000469742773", r"'it\'s'"),
        ("83640003656e64", r"'end'"),
        ("836400056d61796265", r"maybe"),
        ("83640000", r"''"),
        (
            "836e1a000000000000000000000000000000000000000000000000000001",
            r"1606938044258990275541962092341162602522202993782792835301376",
        ),
        ("8362ffffffff", r"-1"),
        ("836e0d0100000000000000000000000010", r"-1267650600228229401496703205376"),
        ("836e040000000080", r"2147483648"),
        ("83640004610a625c", r"'a\nb\\'"),
        ("83640002e461", r"äa"),
        ("83640002c461", r"'Äa'"),
        ("83640005017f9ba0a3", r"'\001\d\233 £'"),
        ("837703cebb61", r"'\x{3BB}a'"),
        ("836c000000026c000000016c00000001640001616a6a6a6a", r"[[[a]],[]]"),
        ("836400051b080b0c00", r"'\e\b\v\f\000'"),
        ("83640001f7", r"'÷'"),
        ("836400057840315f59", r"x@1_Y"),
        (
            "83680264000e7269616b314031302e302e302e316803620000070362000ee4376200079c6d",
            r"{'riak1@10.0.0.1',{1795,975927,498797}}",
        ),
        ("836c000000026d0000000162610764000178", r"[<<98>>,7|x]"),
        ("836400066109620d2063", r"'a\tb\r c'"),
    ];

    fn printed(hex: &str) -> Result<Option<String>, DecodeError> {
        let bytes = crate::keys::parse_hex(hex).unwrap();
        let mut cursor = Cursor::new(&bytes, 1);
        let text = cluster_name(&mut cursor)?;
        assert_eq!(cursor.remaining(), 0, "{hex} is passed whole");
        Ok(text)
    }

    #[test]
    fn prints_as_erlang_does() {
        for (hex, text) in PRINTED {
            assert_eq!(printed(hex).unwrap().as_deref(), Some(*text));
        }
        assert_eq!(printed("83640009756e646566696e6564"), Ok(None));
    }

    #[test]
    fn refuses_what_no_cluster_is_called() {
        let code = |hex: &str| printed(hex).unwrap_err().code();
        assert_eq!(code("83460000000000000000"), "unexpected_term");
        assert_eq!(code("837400000000"), "unexpected_term");
        assert_eq!(code(&format!("83{}6a", "6801".repeat(DEPTH + 1))), "too_deep");
        assert_eq!(
            code(&format!("83{}6a{}", "6c00000001".repeat(DEPTH + 1), "6a".repeat(DEPTH + 1))),
            "too_deep"
        );
        assert_eq!(code(&format!("836d00002000{}", "ff".repeat(0x2000))), "too_large");
        assert_eq!(code(&format!("836f0000200000{}", "ff".repeat(0x2000))), "too_large");
        assert_eq!(code(&format!("836900002000{}", "6a".repeat(0x2000))), "too_large");
    }
}
