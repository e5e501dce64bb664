//! Passwords as they are stored: SCRAM-SHA-256 verifiers in PostgreSQL's form,
//! `SCRAM-SHA-256$iterations:salt$stored key:server key` [RFC 5803]. A stored verifier does not
//! show the password, and a thief cannot log in with it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use std::fmt;

/// Rounds of the hash for new passwords, as in PostgreSQL.
pub const ITERATIONS: u32 = 4_096;
/// Bytes of a new salt.
pub const SALT_BYTES: usize = 16;
const NAME: &str = "SCRAM-SHA-256";

/// A SHA-256 hash.
pub type Hash = [u8; 32];

/// The parts of a verifier.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    pub iterations: u32,
    pub salt: Vec<u8>,
    pub stored_key: Hash,
    pub server_key: Hash,
}

impl Verifier {
    /// The verifier of a password, with a random salt.
    ///
    /// # Panics
    /// If the system has no random numbers, which no supported system does.
    pub fn new(password: &str) -> Self {
        let mut salt = [0; SALT_BYTES];
        random(&mut salt);
        Self::with_salt(password, &salt, ITERATIONS)
    }

    /// The verifier of a password with this salt.
    pub fn with_salt(password: &str, salt: &[u8], iterations: u32) -> Self {
        let salted = salted(&normalized(password), salt, iterations);
        let stored_key = Sha256::digest(mac(&salted, &[b"Client Key"])).into();
        let server_key = mac(&salted, &[b"Server Key"]);
        Self { iterations, salt: salt.to_vec(), stored_key, server_key }
    }

    /// Reads a stored verifier; `None` if the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('$');
        if parts.next() != Some(NAME) {
            return None;
        }
        let (iterations, salt) = parts.next()?.split_once(':')?;
        let (stored, server) = parts.next()?.split_once(':')?;
        let hash = |text: &str| Hash::try_from(STANDARD.decode(text).ok()?).ok();
        let found = Self {
            iterations: iterations.parse().ok().filter(|&count| count > 0)?,
            salt: STANDARD.decode(salt).ok()?,
            stored_key: hash(stored)?,
            server_key: hash(server)?,
        };
        parts.next().is_none().then_some(found)
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored, server] =
            [&self.salt[..], &self.stored_key, &self.server_key].map(|part| STANDARD.encode(part));
        write!(formatter, "{NAME}${}:{salt}${stored}:{server}", self.iterations)
    }
}

impl fmt::Debug for Verifier {
    /// Keeps the keys out of logs.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Verifier")
    }
}

/// The key with which a client proves that it has a password. It is as good as the password.
pub fn client_key(password: &str, salt: &[u8], iterations: u32) -> Hash {
    mac(&salted(&normalized(password), salt, iterations), &[b"Client Key"])
}

/// The HMAC of the concatenated parts.
///
/// # Panics
/// Never: every key length is valid.
pub fn mac(key: &[u8], parts: &[&[u8]]) -> Hash {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("every key length is valid");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// `Hi` of RFC 5802: the hash that costs `iterations` rounds.
fn salted(password: &[u8], salt: &[u8], iterations: u32) -> Hash {
    let mut last = mac(password, &[salt, &1u32.to_be_bytes()]);
    let mut all = last;
    for _ in 1..iterations {
        last = mac(password, &[&last]);
        all.iter_mut().zip(last).for_each(|(all, last)| *all ^= last);
    }
    all
}

/// The password as it is hashed: by SASLprep, or as it is if that refuses it, as in PostgreSQL.
fn normalized(password: &str) -> Vec<u8> {
    let prepared = stringprep::saslprep(password);
    prepared.map_or_else(|_| password.to_owned(), std::borrow::Cow::into_owned).into_bytes()
}

/// Fills bytes with random ones; at most 256, which the kernel gives at once.
///
/// # Panics
/// If the system has no random numbers, which no supported system does.
pub(super) fn random(bytes: &mut [u8]) {
    let length = bytes.len();
    let count = getrandom(bytes, GetRandomFlags::empty());
    assert_eq!(count, Ok(length), "the system has random numbers");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    #[test]
    fn keys_are_those_of_the_standard() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("it is base64");
        let verifier = Verifier::with_salt("pencil", &salt, 4_096);
        let auth =
            b"n=user,r=rOprNGfwEbeRWgbNEkqO,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                     s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,\
                     r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let signature = STANDARD.encode(mac(&verifier.server_key, &[auth]));
        assert_eq!(signature, "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn verifiers_are_read_as_they_were_written() {
        let verifier = Verifier::new("p\u{e4}ss");
        assert_eq!(Verifier::parse(&verifier.to_string()), Some(verifier.clone()));
        assert_ne!(verifier, Verifier::new("p\u{e4}ss"), "salts are random");
        assert_eq!(format!("{verifier:?}"), "Verifier");
        for text in ["", "secret", "SCRAM-SHA-256$4096:YQ==$YQ==:YQ==", "SCRAM-SHA-256$0:YQ==$:"] {
            assert_eq!(Verifier::parse(text), None, "{text}");
        }
        // A soft hyphen counts for nothing, and a full-width letter as a letter [RFC 4013].
        let same = |one, other| {
            Verifier::with_salt(one, b"salt", 1) == Verifier::with_salt(other, b"salt", 1)
        };
        assert!(same("a\u{ad}b", "ab") && same("\u{ff41}", "a") && !same("a", "A"));
    }
}
