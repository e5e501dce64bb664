//! Values of SQL as bytes of the protocol, in text and in binary format.
//!
//! ```text
//! types    OIDs, lengths and modifiers      encode   values for clients
//! numeric  the binary format of decimals    decode   parameters of clients
//! ```

pub mod decode;
pub mod encode;
mod numeric;
pub mod types;

#[cfg(test)]
mod tests;

use crate::error::{Result, error, sqlstate};

/// The first byte of a `jsonb` in binary format.
const JSONB_VERSION: u8 = 1;

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Text,
    Binary,
}

impl Format {
    /// The format with this code.
    pub fn of(code: i16) -> Result<Self> {
        match code {
            0 => Ok(Self::Text),
            1 => Ok(Self::Binary),
            _ => {
                let message = format!("unsupported format code: {code}");
                Err(error(sqlstate::INVALID_PARAMETER_VALUE, message))
            }
        }
    }

    pub const fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

/// Expands a message's list of formats to one per item; an empty list means text for all.
pub fn formats(codes: &[i16], count: usize, items: &str) -> Result<Vec<Format>> {
    match codes {
        // Most messages: no allocation.
        [] | [0] => Ok(Vec::new()),
        [code] => Ok(vec![Format::of(*code)?; count]),
        codes if codes.len() == count => codes.iter().map(|code| Format::of(*code)).collect(),
        codes => {
            let message =
                format!("bind message has {} {items} formats but {count} {items}s", codes.len());
            Err(error(sqlstate::PROTOCOL_VIOLATION, message))
        }
    }
}
