//! The secret of a cluster. Servers, clients and orders prove that they know it; it is never sent.

use hmac::{Hmac, KeyInit, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;
use std::fmt;
use std::io;

pub const SECRET_BYTES: usize = 32;
/// Bytes of a message authentication code: HMAC with SHA-256.
pub const MAC_BYTES: usize = 32;

/// The text whose code is the token of the control pages.
const TOKEN_LABEL: &[u8] = b"namdb token of control pages";
/// Begins the text of a datagram's code. The token's label has another length, so no datagram has
/// the same text as the token.
const DATAGRAM_LABEL: &[u8] = b"namdb datagram of the failure detector";

/// A key that all members and clients of one cluster share.
#[derive(Clone)]
pub struct Secret([u8; SECRET_BYTES]);

impl Secret {
    pub const fn new(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(bytes)
    }

    /// Draws the secret of a new cluster.
    pub fn draw() -> io::Result<Self> {
        random().map(Self)
    }

    /// Reads 64 hexadecimal digits, with white space around them.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.trim().as_bytes();
        let mut bytes = [0; SECRET_BYTES];
        if digits.len() != 2 * SECRET_BYTES {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *byte = (digit(0)? * 16 + digit(1)?) as u8;
        }
        Some(Self(bytes))
    }

    /// The content of the secret's file.
    pub fn to_text(&self) -> String {
        hexadecimal(&self.0) + "\n"
    }

    /// The token with which the control pages can be read. It opens nothing else, and the secret
    /// cannot be derived from it.
    pub fn token(&self) -> String {
        hexadecimal(&self.code(&[TOKEN_LABEL]))
    }

    /// Whether `token` is that of [`Secret::token`]. The time of the comparison does not depend on
    /// the contents.
    pub fn is_token(&self, token: &str) -> bool {
        let given = Self::parse(token).map(|token| token.0);
        given.is_some_and(|given| self.is_code(&[TOKEN_LABEL], &given))
    }

    /// The code of a datagram with this content, which has the same length in all datagrams.
    pub fn datagram_code(&self, content: &[u8]) -> [u8; MAC_BYTES] {
        self.code(&[DATAGRAM_LABEL, content])
    }

    /// Whether `code` is that of a datagram with this content, compared in constant time.
    pub fn is_datagram_code(&self, content: &[u8], code: &[u8; MAC_BYTES]) -> bool {
        self.is_code(&[DATAGRAM_LABEL, content], code)
    }

    /// The code of these parts. Callers use parts of fixed lengths, so that no two lists have the
    /// same bytes.
    pub(crate) fn code(&self, parts: &[&[u8]]) -> [u8; MAC_BYTES] {
        self.hash(parts).finalize().into_bytes().into()
    }

    /// Whether `code` is that of these parts, compared in constant time.
    pub(crate) fn is_code(&self, parts: &[&[u8]], code: &[u8; MAC_BYTES]) -> bool {
        self.hash(parts).verify_slice(code).is_ok()
    }

    /// Whether the code of these parts begins with `beginning`, compared in constant time.
    pub(crate) fn begins_code(&self, parts: &[&[u8]], beginning: &[u8]) -> bool {
        self.hash(parts).verify_truncated_left(beginning).is_ok()
    }

    fn hash(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut hash = Hmac::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        parts.iter().for_each(|part| hash.update(part));
        hash
    }
}

/// Logs and panics must not print the secret.
impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

/// Unpredictable bytes from the kernel.
pub(crate) fn random<const BYTES: usize>() -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    let mut filled = 0;
    while filled < BYTES {
        filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_back_and_nothing_else_is_one() {
        let secret = Secret::draw().expect("the kernel has random numbers");
        let text = secret.to_text();
        assert_eq!(text.len(), 65);
        assert_eq!(Secret::parse(&text).expect("it was written").0, secret.0);
        assert_ne!(Secret::draw().expect("more").0, secret.0);
        let digits = text.trim();
        for wrong in
            ["", &digits[1..], &format!("{digits}0"), &digits.replacen(&digits[..1], "g", 1)]
        {
            assert!(Secret::parse(wrong).is_none(), "{wrong}");
        }
    }

    /// Codes of RFC 4231, test case 2, whose key is padded with zeros to the block in any case.
    #[test]
    fn codes_are_those_of_the_standard() {
        let mut key = [0; SECRET_BYTES];
        key[..4].copy_from_slice(b"Jefe");
        let secret = Secret::new(key);
        let code = secret.code(&[b"what do ya want ", b"for nothing?"]);
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hexadecimal(&code), expected);
        assert!(secret.is_code(&[b"what do ya want for nothing?"], &code));
        for bit in 0..8 * MAC_BYTES {
            let mut wrong = code;
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(!secret.is_code(&[b"what do ya want for nothing?"], &wrong), "bit {bit}");
        }
    }

    #[test]
    fn a_datagrams_code_is_of_its_content_and_secret() {
        let [one, other] = [1, 2].map(|byte| Secret::new([byte; SECRET_BYTES]));
        let code = one.datagram_code(b"content");
        assert!(one.is_datagram_code(b"content", &code));
        assert!(!one.is_datagram_code(b"Content", &code));
        assert!(!other.is_datagram_code(b"content", &code));
        assert_ne!(one.datagram_code(b""), one.code(&[TOKEN_LABEL]));
    }

    #[test]
    fn a_token_is_of_one_secret_and_does_not_contain_it() {
        let [one, other] = [1, 2].map(|byte| Secret::new([byte; SECRET_BYTES]));
        assert!(one.is_token(&one.token()) && !one.is_token(&other.token()));
        assert!(!one.is_token(one.to_text().trim()) && !one.is_token(""));
        assert_eq!(format!("{one:?}"), "Secret");
    }
}
