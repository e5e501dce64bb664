//! `uuid` [PostgreSQL 15, `src/backend/utils/adt/uuid.c`].

use crate::error::{Error, Result};
use compact_str::CompactString;
use std::fmt::Write;

/// Prints 32 hexadecimal digits in groups of 8, 4, 4, 4 and 12.
pub fn text(uuid: &[u8; 16]) -> CompactString {
    let mut text = CompactString::with_capacity(36);
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Parses hexadecimal digits. Hyphens may follow each group of four digits, and braces may enclose
/// them.
///
/// # Errors
/// 22P02 if the text is no UUID.
pub fn parse(text: &str) -> Result<[u8; 16]> {
    let invalid = || Error::invalid_text("uuid", text);
    let inner = match text.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}').ok_or_else(invalid)?,
        None => text,
    };
    let mut rest = inner.as_bytes();
    let mut uuid = [0; 16];
    for (at, byte) in uuid.iter_mut().enumerate() {
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let [high, low, behind @ ..] = rest else { return Err(invalid()) };
        *byte = digit(*high).ok_or_else(invalid)? << 4 | digit(*low).ok_or_else(invalid)?;
        rest = match behind {
            [b'-', behind @ ..] if at % 2 == 1 && at < 15 => behind,
            behind => behind,
        };
    }
    if rest.is_empty() { Ok(uuid) } else { Err(invalid()) }
}

/// Makes a UUID of version 4 of random bytes.
pub fn of_random(mut bytes: [u8; 16]) -> [u8; 16] {
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_read_in_all_of_postgresqls_forms() {
        let printed = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
        for form in [
            printed,
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
            "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
        ] {
            assert_eq!(text(&parse(form).expect(form)), printed);
        }
        for form in
            ["", "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11", "a0-eebc999c0b4ef8bb6d6bb9bd380a11"]
        {
            assert!(parse(form).is_err(), "{form}");
        }
        assert!(parse(&format!("{printed} ")).is_err() && parse(&format!("{printed}-")).is_err());
        assert_eq!(text(&of_random([0xff; 16])), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
