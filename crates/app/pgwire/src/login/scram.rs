//! SCRAM-SHA-256 [RFC 5802, RFC 7677]: both sides prove that they know the password, or what was
//! derived from it, and neither sends it. Nonces of both sides are part of the proof, so that a
//! recorded exchange proves nothing later.

use crate::error::{Result, SqlError, fatal, sqlstate};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use sql_session::access::verifier::{Hash, Verifier, client_key, mac};
use std::hint::black_box;
use std::sync::Arc;

pub const PLAIN: &str = "SCRAM-SHA-256";
pub const BOUND: &str = "SCRAM-SHA-256-PLUS";
/// Longest message of a client, as in PostgreSQL.
pub const MESSAGE_BYTES_MAX: usize = 1_024;
const BINDING: &str = "p=tls-server-end-point";
/// Random bytes of a nonce, as in PostgreSQL.
const NONCE_BYTES: usize = 18;

/// The server's side of an exchange.
pub struct Exchange {
    user: String,
    verifier: Verifier,
    /// Why even the right password does not help.
    refusal: Option<SqlError>,
    /// Identifies the server's certificate, if the connection is encrypted.
    binding: Option<Arc<[u8]>>,
    first: Option<First>,
}

/// The first messages.
struct First {
    /// How the client binds the connection.
    header: String,
    client: String,
    server: String,
    nonce: String,
}

impl Exchange {
    pub fn new(
        user: &str,
        verifier: Verifier,
        refusal: Option<SqlError>,
        binding: Option<Arc<[u8]>>,
    ) -> Self {
        Self { user: user.to_owned(), verifier, refusal, binding, first: None }
    }

    /// The mechanisms that the client may choose, the best one first.
    pub fn mechanisms(&self) -> &'static [&'static str] {
        if self.binding.is_some() { &[BOUND, PLAIN] } else { &[PLAIN] }
    }

    /// Whether the client has sent its first message.
    pub fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    /// Reads the client's first message; returns the server's.
    ///
    /// # Errors
    /// The message does not follow the protocol.
    pub fn begin(&mut self, mechanism: &str, message: &[u8]) -> Result<String> {
        if !self.mechanisms().contains(&mechanism) {
            let message = "client selected an invalid SASL authentication mechanism";
            return Err(fatal(sqlstate::PROTOCOL_VIOLATION, message));
        }
        let message = text(message)?;
        let (flag, rest) = message.split_once(',').ok_or_else(malformed)?;
        let (identity, client) = rest.split_once(',').ok_or_else(malformed)?;
        self.check_binding(flag, mechanism == BOUND)?;
        if !identity.is_empty() {
            let message = "client uses authorization identity, but it is not supported";
            return Err(fatal(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
        let mut fields = client.split(',');
        let name = fields.next().and_then(|field| field.strip_prefix("n="));
        let nonce = fields.next().and_then(|field| field.strip_prefix("r="));
        let (Some(_), Some(nonce)) = (name, nonce) else { return Err(malformed()) };
        if nonce.is_empty() || !nonce.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(malformed());
        }
        let nonce = format!("{nonce}{}", new_nonce());
        let (salt, rounds) = (STANDARD.encode(&self.verifier.salt), self.verifier.iterations);
        let server = format!("r={nonce},s={salt},i={rounds}");
        let header = format!("{flag},,");
        let (client, answer) = (client.to_owned(), server.clone());
        self.first = Some(First { header, client, server, nonce });
        Ok(answer)
    }

    fn check_binding(&self, flag: &str, is_bound: bool) -> Result<()> {
        match flag {
            "n" if !is_bound => Ok(()),
            // The client believes that this server cannot bind: somebody has removed it from the
            // list of mechanisms.
            "y" if !is_bound && self.binding.is_some() => {
                let message = "SCRAM channel binding negotiation error";
                Err(fatal(sqlstate::INVALID_AUTHORIZATION, message))
            }
            "y" if !is_bound => Ok(()),
            BINDING if is_bound => Ok(()),
            _ => Err(malformed()),
        }
    }

    /// Reads the client's proof; returns the server's.
    ///
    /// # Errors
    /// The proof is wrong, the user may not log in, or the message does not follow the protocol.
    pub fn end(&mut self, message: &[u8]) -> Result<String> {
        let first = self.first.take().ok_or_else(malformed)?;
        let message = text(message)?;
        let (unproved, proof) = message.rsplit_once(",p=").ok_or_else(malformed)?;
        let mut fields = unproved.split(',');
        let bound = fields.next().and_then(|field| field.strip_prefix("c="));
        let nonce = fields.next().and_then(|field| field.strip_prefix("r="));
        let proof = STANDARD.decode(proof).ok().and_then(|proof| Hash::try_from(proof).ok());
        let (Some(bound), Some(nonce), Some(proof)) = (bound, nonce, proof) else {
            return Err(malformed());
        };
        let mut expected = first.header.clone().into_bytes();
        if first.header.starts_with(BINDING) {
            expected.extend_from_slice(self.binding.as_deref().unwrap_or_default());
        }
        if bound != STANDARD.encode(expected) {
            let message = "SCRAM channel binding check failed";
            return Err(fatal(sqlstate::INVALID_AUTHORIZATION, message));
        }
        if nonce != first.nonce {
            let message = "invalid SCRAM response";
            return Err(
                fatal(sqlstate::PROTOCOL_VIOLATION, message).detail("Nonce does not match.")
            );
        }
        let all = format!("{},{},{unproved}", first.client, first.server);
        let signature = mac(&self.verifier.stored_key, &[all.as_bytes()]);
        let is_proved = is_same(&key(&proof, &signature), &self.verifier.stored_key);
        // The same work for users that do not exist.
        let own = STANDARD.encode(mac(&self.verifier.server_key, &[all.as_bytes()]));
        match (is_proved, self.refusal.take()) {
            (true, None) => Ok(format!("v={own}")),
            (true, Some(refusal)) => Err(refusal),
            (false, _) => Err(sql_session::wrong_password(&self.user)),
        }
    }
}

/// The stored key of a client whose proof is `proof`.
fn key(proof: &Hash, signature: &Hash) -> Hash {
    let mut key = *proof;
    key.iter_mut().zip(signature).for_each(|(key, byte)| *key ^= byte);
    Sha256::digest(key).into()
}

/// Compares in a time that does not depend on the hashes.
fn is_same(one: &Hash, other: &Hash) -> bool {
    let differences = one.iter().zip(other).map(|(one, other)| one ^ other);
    black_box(differences.fold(0, |all, one| all | one)) == 0
}

fn text(message: &[u8]) -> Result<&str> {
    std::str::from_utf8(message).map_err(|_| malformed())
}

fn malformed() -> SqlError {
    fatal(sqlstate::PROTOCOL_VIOLATION, "malformed SCRAM message")
}

/// A random text.
///
/// # Panics
/// If the system has no random numbers, which no supported system does.
fn new_nonce() -> String {
    let mut bytes = [0; NONCE_BYTES];
    let count = getrandom(&mut bytes, GetRandomFlags::empty());
    assert_eq!(count, Ok(NONCE_BYTES), "the system has random numbers");
    STANDARD.encode(bytes)
}

/// The client's side of an exchange, without channel binding.
pub struct Proof {
    password: String,
    bare: String,
    nonce: String,
    server_signature: Option<String>,
}

impl Proof {
    pub fn new(password: &str) -> Self {
        let nonce = new_nonce();
        let bare = format!("n=,r={nonce}");
        Self { password: password.to_owned(), bare, nonce, server_signature: None }
    }

    /// The first message.
    pub fn first(&self) -> String {
        format!("n,,{}", self.bare)
    }

    /// The answer to the server's first message; `None` if that does not follow the protocol.
    pub fn answer(&mut self, server: &str) -> Option<String> {
        let mut fields = server.split(',');
        let nonce = fields.next()?.strip_prefix("r=").filter(|one| one.starts_with(&self.nonce))?;
        let salt = STANDARD.decode(fields.next()?.strip_prefix("s=")?).ok()?;
        let iterations = fields.next()?.strip_prefix("i=")?.parse().ok()?;
        let unproved = format!("c=biws,r={nonce}");
        let all = format!("{},{server},{unproved}", self.bare);
        let verifier = Verifier::with_salt(&self.password, &salt, iterations);
        let mut proof = client_key(&self.password, &salt, iterations);
        let signature = mac(&verifier.stored_key, &[all.as_bytes()]);
        proof.iter_mut().zip(signature).for_each(|(proof, byte)| *proof ^= byte);
        let expected = STANDARD.encode(mac(&verifier.server_key, &[all.as_bytes()]));
        self.server_signature = Some(format!("v={expected}"));
        Some(format!("{unproved},p={}", STANDARD.encode(proof)))
    }

    /// Whether the server knows the password's verifier.
    pub fn is_answered(&self, server: &str) -> bool {
        self.server_signature.as_deref() == Some(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(binding: Option<&[u8]>) -> Exchange {
        let binding = binding.map(Arc::from);
        Exchange::new("ada", Verifier::with_salt("secret", b"salt", 10), None, binding)
    }

    fn run(password: &str, refusal: Option<SqlError>) -> Result<bool> {
        let mut server = Exchange { refusal, ..exchange(None) };
        let mut client = Proof::new(password);
        let first = server.begin(PLAIN, client.first().as_bytes())?;
        let answer = client.answer(&first).expect("it follows the protocol");
        server.end(answer.as_bytes()).map(|last| client.is_answered(&last))
    }

    #[test]
    fn both_sides_prove_the_password() {
        assert_eq!(run("secret", None), Ok(true));
        let state = |run: Result<bool>| run.expect_err("it is refused").sqlstate.to_string();
        assert_eq!(state(run("Secret", None)), "28P01");
        let refusal = || Some(fatal("28000", "not permitted to log in"));
        assert_eq!(state(run("secret", refusal())), "28000");
        // Only who has the password learns the reason.
        assert_eq!(state(run("wrong", refusal())), "28P01");
    }

    #[test]
    fn a_recorded_exchange_proves_nothing() {
        let mut server = exchange(None);
        let mut client = Proof::new("secret");
        let first = server.begin(PLAIN, client.first().as_bytes()).expect("it is fine");
        let answer = client.answer(&first).expect("it follows the protocol");
        server.end(answer.as_bytes()).expect("the password is right");
        let again = server.end(answer.as_bytes()).expect_err("the exchange has ended");
        assert_eq!(again.sqlstate, "08P01");
        let mut other = exchange(None);
        other.begin(PLAIN, client.first().as_bytes()).expect("it is fine");
        let replayed = other.end(answer.as_bytes()).expect_err("the nonce is another one");
        assert_eq!(replayed.detail.as_deref(), Some("Nonce does not match."));
    }

    #[test]
    fn strange_messages_are_refused() {
        let begin = |binding: Option<&[u8]>, mechanism: &str, message: &str| {
            let refused = exchange(binding).begin(mechanism, message.as_bytes());
            refused.map_or_else(|error| error.sqlstate.to_string(), |_| "fine".to_owned())
        };
        assert_eq!(begin(None, PLAIN, "n,,n=,r=abc"), "fine");
        assert_eq!(begin(None, PLAIN, "y,,n=,r=abc"), "fine");
        assert_eq!(begin(Some(b"x"), PLAIN, "n,,n=,r=abc"), "fine");
        assert_eq!(begin(Some(b"x"), PLAIN, "y,,n=,r=abc"), "28000");
        assert_eq!(begin(Some(b"x"), BOUND, "p=tls-server-end-point,,n=,r=abc"), "fine");
        assert_eq!(begin(None, PLAIN, "n,a=eve,n=,r=abc"), "0A000");
        for message in
            ["", "n", "n,,", "n,,n=", "n,,n=,r=", "n,,m=x,n=,r=abc", "p=tls-unique,,n=,r=a"]
        {
            assert_eq!(begin(Some(b"x"), PLAIN, message), "08P01", "{message}");
        }
        for mechanism in ["", "SCRAM-SHA-1", BOUND] {
            assert_eq!(begin(None, mechanism, "n,,n=,r=abc"), "08P01");
        }
        for message in ["", "c=biws", "c=biws,r=x,p=", "c=biws,r=x,p=AAAA", ",p="] {
            let mut server = exchange(None);
            server.begin(PLAIN, b"n,,n=,r=abc").expect("it is fine");
            let refused = server.end(message.as_bytes()).expect_err("it is malformed");
            assert_eq!(refused.sqlstate, "08P01", "{message}");
        }
    }

    #[test]
    fn another_certificate_is_noticed() {
        let mut server = exchange(Some(b"hash of our certificate"));
        server.begin(BOUND, b"p=tls-server-end-point,,n=,r=abc").expect("it is fine");
        let nonce = server.first.as_ref().expect("it has begun").nonce.clone();
        let bound = STANDARD.encode("p=tls-server-end-point,,hash of another one");
        let proof = STANDARD.encode([0; 32]);
        let refused = server.end(format!("c={bound},r={nonce},p={proof}").as_bytes());
        let message = refused.expect_err("somebody is between").message.clone();
        assert_eq!(message, "SCRAM channel binding check failed");
    }
}
