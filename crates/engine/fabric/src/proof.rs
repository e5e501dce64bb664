//! The beginning of every connection: both sides prove that they know the cluster's secret.
//!
//! ```text
//! caller                             server
//! opening: magic, version, mark ->
//!                               <-   challenge: magic, version, the server's nonce
//! proof: the caller's nonce,    ->
//!   code; the first message
//!                               <-   the answer to that message, and its code
//! ```
//!
//! The codes are keyed by the secret and cover both nonces and the message, so a recorded
//! connection cannot be replayed, and no message can be exchanged for another one. Until the caller
//! has proven the secret, the server says the version of its protocol and nothing else: a false
//! opening or a false proof gets the version, and the connection ends.
//!
//! The mark in the opening is four bytes of a code. It proves nothing, because readers of the
//! network can repeat it, but other strangers cannot make one: their connections give way to those
//! with the mark ([`crate::guests`]).
//!
//! Decision: docs/decisions/0306-every-connection-proves-the-clusters-secret.md

use crate::identity::{Refusal, WIRE_VERSION};
use crate::secret::{MAC_BYTES, Secret, random};
use std::io::{self, Read, Write};
use std::ops::Range;

/// "namdbHLO" in ASCII, the first bytes of every connection.
const OPENING_MAGIC: u64 = u64::from_le_bytes(*b"namdbHLO");
const CHALLENGE_MAGIC: u64 = u64::from_le_bytes(*b"namdbCHL");
const VERSION_MAGIC: u64 = u64::from_le_bytes(*b"namdbVER");
/// The first bytes of a TLS handshake record, of any version. A caller that expects encryption
/// sends them.
const TLS_HANDSHAKE: [u8; 2] = [22, 3];

/// The place of the mark in an opening.
const MARK: Range<usize> = 12..16;
/// The text whose code begins with the mark.
const MARK_LABEL: &[u8] = b"namdb mark of openings";
const NONCE_BYTES: usize = 32;
/// Bytes of the caller's first message: magic, version, mark.
pub const OPENING_BYTES: usize = 16;
/// Bytes of the server's only answer to a caller that does not prove the secret: magic, version,
/// four bytes 0.
pub const VERSION_BYTES: usize = OPENING_BYTES;
/// Bytes of the server's challenge: magic, version, four bytes 0, nonce.
pub const CHALLENGE_BYTES: usize = 16 + NONCE_BYTES;
/// Bytes of the caller's proof, before its message: nonce, code.
pub const PROOF_BYTES: usize = NONCE_BYTES + MAC_BYTES;
/// Bytes of the code behind the server's answer.
pub const SEAL_BYTES: usize = MAC_BYTES;

/// The protocol that a connection speaks after the proof. A proof for one opens no other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Verbs and calls.
    Verbs,
    /// Orders to compute servers.
    Work,
}

impl Purpose {
    const fn label(self) -> &'static [u8; 8] {
        match self {
            Self::Verbs => b"verbs   ",
            Self::Work => b"work    ",
        }
    }
}

/// The caller's first message.
pub fn opening(secret: &Secret) -> [u8; OPENING_BYTES] {
    let mut bytes: [u8; OPENING_BYTES] = head(OPENING_MAGIC);
    bytes[MARK].copy_from_slice(&secret.code(&[MARK_LABEL])[..MARK.len()]);
    bytes
}

/// Whether the caller that sent this opening knows the secret, or has seen an opening of one that
/// does.
pub fn is_marked(opening: &[u8; OPENING_BYTES], secret: &Secret) -> bool {
    secret.begins_code(&[MARK_LABEL], &opening[MARK])
}

/// The version of the protocol: all that a stranger learns.
pub fn version() -> [u8; VERSION_BYTES] {
    head(VERSION_MAGIC)
}

fn head<const BYTES: usize>(magic: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&magic.to_le_bytes());
    bytes[8..12].copy_from_slice(&WIRE_VERSION.to_le_bytes());
    bytes
}

/// Why a caller is refused before it has proven the secret; for the log only.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stranger {
    #[error(
        "the caller uses TLS, this server does not; only one of their cluster files has a section `tls`"
    )]
    Tls,
    #[error("the caller does not speak the protocol of namdb")]
    Foreign,
    #[error(
        "the caller uses version {0} of the protocol, this server {WIRE_VERSION}; use the same program everywhere"
    )]
    Version(u32),
    #[error(
        "the caller does not know the secret of this cluster; copy the file that `secret` of the cluster's file names"
    )]
    Secret,
}

/// A server's side, after the challenge is drawn.
#[derive(Debug)]
pub struct Challenge {
    nonce: [u8; NONCE_BYTES],
}

/// A server's side, after the caller has proven the secret.
#[derive(Debug)]
pub struct Proven {
    nonces: [[u8; NONCE_BYTES]; 2],
    purpose: Purpose,
}

impl Challenge {
    /// Checks a caller's opening, and draws the challenge for it.
    pub fn to(opening: &[u8; OPENING_BYTES]) -> Result<Self, Stranger> {
        if opening.starts_with(&TLS_HANDSHAKE) {
            return Err(Stranger::Tls);
        }
        match parse(opening) {
            (OPENING_MAGIC, WIRE_VERSION) => {
                Ok(Self { nonce: random().expect("the kernel has random numbers") })
            }
            (OPENING_MAGIC, other) => Err(Stranger::Version(other)),
            _ => Err(Stranger::Foreign),
        }
    }

    pub fn encode(&self) -> [u8; CHALLENGE_BYTES] {
        let mut bytes: [u8; CHALLENGE_BYTES] = head(CHALLENGE_MAGIC);
        bytes[16..].copy_from_slice(&self.nonce);
        bytes
    }

    /// Checks the proof in front of a caller's message. A challenge serves for one attempt.
    pub fn check(
        self,
        secret: &Secret,
        purpose: Purpose,
        proof: &[u8; PROOF_BYTES],
        message: &[u8],
    ) -> Result<Proven, Stranger> {
        let (theirs, code) = split(proof);
        let nonces = [self.nonce, theirs];
        match secret.is_code(&parts(b"caller  ", purpose, &nonces, message), &code) {
            true => Ok(Proven { nonces, purpose }),
            false => Err(Stranger::Secret),
        }
    }
}

impl Proven {
    /// The code behind the server's answer.
    pub fn seal(&self, secret: &Secret, answer: &[u8]) -> [u8; SEAL_BYTES] {
        secret.code(&parts(b"server  ", self.purpose, &self.nonces, answer))
    }
}

/// A caller's side, after its proof.
#[derive(Debug)]
pub struct Claim {
    nonces: [[u8; NONCE_BYTES]; 2],
    purpose: Purpose,
}

impl Claim {
    /// Whether these bytes, the first ones from a server, are a challenge; otherwise why not.
    pub fn is_challenge(bytes: &[u8; VERSION_BYTES]) -> Result<(), Refusal> {
        match parse(bytes) {
            (CHALLENGE_MAGIC, WIRE_VERSION) => Ok(()),
            (CHALLENGE_MAGIC | VERSION_MAGIC, other) => Err(other_version(other)),
            _ => Err(Refusal::foreign()),
        }
    }

    /// The refusal that these bytes, the first ones after the proof, are; `None` if they begin an
    /// answer.
    pub fn refusal(bytes: &[u8; VERSION_BYTES]) -> Option<Refusal> {
        let sentence = "the server does not accept the secret of this cluster file; copy the file that `secret` names from a \
                        host of the cluster";
        let (magic, _) = parse(bytes);
        (magic == VERSION_MAGIC).then(|| Refusal::new(sentence))
    }

    /// The proof for a challenge and the message behind it.
    pub fn to(
        challenge: &[u8; CHALLENGE_BYTES],
        secret: &Secret,
        purpose: Purpose,
        message: &[u8],
    ) -> (Self, [u8; PROOF_BYTES]) {
        let nonce: [u8; NONCE_BYTES] = random().expect("the kernel has random numbers");
        let (_, theirs) = challenge.split_last_chunk().expect("a challenge ends with its nonce");
        let nonces = [*theirs, nonce];
        let code = secret.code(&parts(b"caller  ", purpose, &nonces, message));
        let mut proof = [0; PROOF_BYTES];
        proof[..NONCE_BYTES].copy_from_slice(&nonce);
        proof[NONCE_BYTES..].copy_from_slice(&code);
        (Self { nonces, purpose }, proof)
    }

    /// Checks that the answer is of a server that knows the secret.
    pub fn check(
        &self,
        secret: &Secret,
        answer: &[u8],
        seal: &[u8; SEAL_BYTES],
    ) -> Result<(), Refusal> {
        match secret.is_code(&parts(b"server  ", self.purpose, &self.nonces, answer), seal) {
            true => Ok(()),
            false => Err(Refusal::new(
                "the server at this address does not know the cluster's secret; check the addresses of the servers",
            )),
        }
    }
}

/// The bytes that a code covers. Labels and nonces have fixed lengths and the message is last, so
/// the parts cannot be cut in another way.
fn parts<'a>(
    side: &'static [u8; 8],
    purpose: Purpose,
    nonces: &'a [[u8; NONCE_BYTES]; 2],
    message: &'a [u8],
) -> [&'a [u8]; 5] {
    [side, purpose.label(), &nonces[0], &nonces[1], message]
}

fn split(proof: &[u8; PROOF_BYTES]) -> ([u8; NONCE_BYTES], [u8; MAC_BYTES]) {
    let (nonce, code) = proof.split_at(NONCE_BYTES);
    let whole = "the lengths are those of a proof";
    (nonce.try_into().expect(whole), code.try_into().expect(whole))
}

fn parse(head: &[u8; OPENING_BYTES]) -> (u64, u32) {
    let magic = head.first_chunk().expect("a head has 16 bytes");
    let version = head[8..12].try_into().expect("four bytes were taken");
    (u64::from_le_bytes(*magic), u32::from_le_bytes(version))
}

fn other_version(theirs: u32) -> Refusal {
    Refusal::new(format!(
        "the server uses version {theirs} of the protocol, this program {WIRE_VERSION}; use the same program everywhere"
    ))
}

/// Proves the secret to the server behind a blocking stream, sends `message`, and reads the answer.
///
/// # Errors
/// The stream fails, or ([`io::ErrorKind::PermissionDenied`]) the server refuses this caller or is
/// itself a stranger.
pub fn prove(
    stream: &mut (impl Read + Write),
    secret: &Secret,
    purpose: Purpose,
    message: &[u8],
    answer: &mut [u8],
) -> io::Result<()> {
    let refused = |refusal: Refusal| io::Error::new(io::ErrorKind::PermissionDenied, refusal);
    send(stream, &opening(secret))?;
    let mut challenge = [0; CHALLENGE_BYTES];
    let (head, nonce) = challenge.split_first_chunk_mut().expect("a challenge begins so");
    stream.read_exact(head)?;
    Claim::is_challenge(head).map_err(refused)?;
    stream.read_exact(nonce)?;
    let (claim, proof) = Claim::to(&challenge, secret, purpose, message);
    send(stream, &[&proof[..], message].concat())?;
    let mut sealed = vec![0; answer.len() + SEAL_BYTES];
    let (head, rest) = sealed.split_first_chunk_mut().expect("a seal has more bytes than a head");
    stream.read_exact(head)?;
    Claim::refusal(head).map_or(Ok(()), Err).map_err(refused)?;
    stream.read_exact(rest)?;
    let (said, seal) = sealed.split_last_chunk().expect("the seal is last");
    claim.check(secret, said, seal).map_err(refused)?;
    answer.copy_from_slice(said);
    Ok(())
}

/// Demands the proof from the caller behind a blocking stream, and reads its `message`. Calls
/// `marked` if its opening has the cluster's mark.
///
/// # Errors
/// The stream fails, or ([`io::ErrorKind::PermissionDenied`]) the caller is a [`Stranger`].
pub fn demand(
    stream: &mut (impl Read + Write),
    secret: &Secret,
    purpose: Purpose,
    message: &mut [u8],
    marked: impl FnOnce(),
) -> io::Result<Proven> {
    let mut first = [0; OPENING_BYTES];
    stream.read_exact(&mut first)?;
    let challenge = match Challenge::to(&first) {
        Ok(challenge) => challenge,
        Err(stranger) => return Err(turn_away(stream, stranger)),
    };
    if is_marked(&first, secret) {
        marked();
    }
    send(stream, &challenge.encode())?;
    let mut proof = [0; PROOF_BYTES];
    stream.read_exact(&mut proof)?;
    stream.read_exact(message)?;
    let checked = challenge.check(secret, purpose, &proof, message);
    checked.map_err(|stranger| turn_away(stream, stranger))
}

fn turn_away(stream: &mut impl Write, stranger: Stranger) -> io::Error {
    // A stranger that has gone needs no answer.
    let _ = send(stream, &version());
    io::Error::new(io::ErrorKind::PermissionDenied, stranger)
}

fn send(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

#[cfg(test)]
mod tests;
