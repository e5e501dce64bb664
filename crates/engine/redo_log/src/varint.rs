//! Numbers of one to ten bytes: seven bits per byte, lowest first, the upper bit says that more
//! follow (LEB128). Each number has exactly one form.

/// Most bytes of a number.
const BYTES_MAX: usize = 10;

pub(crate) fn append(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a number off the front; `None` if there is none in its only form.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    if let Some((&byte, rest)) = bytes.split_first()
        && byte < 0x80
    {
        // Nearly all numbers have one byte.
        *bytes = rest;
        return Some(u64::from(byte));
    }
    let mut value = 0_u64;
    for (index, &byte) in bytes.iter().enumerate().take(BYTES_MAX) {
        let part = u64::from(byte & 0x7f);
        if index == BYTES_MAX - 1 && part > 1 {
            return None;
        }
        value |= part << (7 * index);
        if byte & 0x80 == 0 {
            if byte == 0 && index > 0 {
                return None;
            }
            *bytes = &bytes[index + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value in prop_oneof![any::<u64>(), 0..300_u64, Just(u64::MAX)]) {
            let mut bytes = Vec::new();
            append(&mut bytes, value);
            bytes.push(9);
            let mut rest = &bytes[..];
            prop_assert_eq!(take(&mut rest), Some(value));
            prop_assert_eq!(rest, [9]);
        }

        #[test]
        fn each_number_has_one_form(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut rest = &bytes[..];
            if let Some(value) = take(&mut rest) {
                let mut again = Vec::new();
                append(&mut again, value);
                prop_assert_eq!(&again[..], &bytes[..bytes.len() - rest.len()]);
            }
        }
    }
}
