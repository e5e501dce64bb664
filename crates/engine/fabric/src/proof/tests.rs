//! Proofs that fit, and every way in which one does not.

use super::*;
use std::os::unix::net::UnixStream;

const MESSAGE: &[u8; 8] = b"a hello.";
const ANSWER: &[u8; 9] = b"a welcome";

fn secret() -> Secret {
    Secret::new([7; 32])
}

/// A challenge and the caller's proof for it.
fn exchange(secret: &Secret, purpose: Purpose) -> (Challenge, Claim, [u8; PROOF_BYTES]) {
    let challenge = Challenge::to(&opening(secret)).expect("it is one");
    let bytes = challenge.encode();
    Claim::is_challenge(bytes.first_chunk().expect("it has more")).expect("it is one");
    let (claim, proof) = Claim::to(&bytes, secret, purpose, MESSAGE);
    (challenge, claim, proof)
}

fn judged(challenge: Challenge, proof: &[u8; PROOF_BYTES], message: &[u8]) -> Option<Stranger> {
    challenge.check(&secret(), Purpose::Verbs, proof, message).err()
}

#[test]
fn both_sides_of_one_cluster_believe_each_other() {
    let (challenge, claim, proof) = exchange(&secret(), Purpose::Verbs);
    let proven = challenge.check(&secret(), Purpose::Verbs, &proof, MESSAGE).expect("it fits");
    let seal = proven.seal(&secret(), ANSWER);
    claim.check(&secret(), ANSWER, &seal).expect("it fits");
    claim.check(&secret(), b"a refusal", &seal).expect_err("another answer");
    let other = Secret::new([8; 32]);
    claim.check(&secret(), ANSWER, &proven.seal(&other, ANSWER)).expect_err("another cluster");
}

#[test]
fn proofs_of_others_are_refused() {
    let (challenge, _, proof) = exchange(&Secret::new([8; 32]), Purpose::Verbs);
    assert_eq!(judged(challenge, &proof, MESSAGE), Some(Stranger::Secret), "another secret");
    let (challenge, _, proof) = exchange(&secret(), Purpose::Work);
    assert_eq!(judged(challenge, &proof, MESSAGE), Some(Stranger::Secret), "another purpose");
    let (challenge, _, proof) = exchange(&secret(), Purpose::Verbs);
    assert_eq!(judged(challenge, &proof, b"a hello!"), Some(Stranger::Secret), "another message");
    for bit in 0..8 * PROOF_BYTES {
        let (challenge, _, mut proof) = exchange(&secret(), Purpose::Verbs);
        proof[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(judged(challenge, &proof, MESSAGE), Some(Stranger::Secret), "bit {bit}");
    }
}

/// A recorded proof answers another nonce; a code of the server's side is none of the caller's.
#[test]
fn recorded_and_reflected_codes_are_refused() {
    let (challenge, _, proof) = exchange(&secret(), Purpose::Verbs);
    let proven = challenge.check(&secret(), Purpose::Verbs, &proof, MESSAGE).expect("it fits");
    let (next, _, _) = exchange(&secret(), Purpose::Verbs);
    assert_eq!(judged(next, &proof, MESSAGE), Some(Stranger::Secret), "a replay");
    let mut reflected = proof;
    reflected[NONCE_BYTES..].copy_from_slice(&proven.seal(&secret(), MESSAGE));
    let again = Challenge { nonce: proven.nonces[0] };
    assert_eq!(judged(again, &reflected, MESSAGE), Some(Stranger::Secret), "a reflection");
    let same = Challenge { nonce: proven.nonces[0] };
    assert_eq!(judged(same, &proof, MESSAGE), None, "only the nonce has kept it out");
}

#[test]
fn openings_of_strangers_are_told_apart() {
    let changed = |at: usize, to: u8| {
        let mut bytes = opening(&secret());
        bytes[at] = to;
        Challenge::to(&bytes).expect_err("it does not fit")
    };
    assert_eq!(changed(0, b'x'), Stranger::Foreign);
    assert_eq!(changed(8, 77), Stranger::Version(77));
    let first = |bytes: &[u8; 16]| Challenge::to(bytes).expect_err("it does not fit");
    assert_eq!(first(b"\x16\x03\x01\x02\x00\x01_ClientHel"), Stranger::Tls);
    assert_eq!(first(b"GET / HTTP/1.1\r\n"), Stranger::Foreign);
}

#[test]
fn openings_are_marked_by_the_secret() {
    assert!(is_marked(&opening(&secret()), &secret()));
    assert!(!is_marked(&opening(&Secret::new([8; 32])), &secret()), "another cluster");
    assert!(!is_marked(&head(OPENING_MAGIC), &secret()), "no mark");
    for bit in 8 * MARK.start..8 * MARK.end {
        let mut bytes = opening(&secret());
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(!is_marked(&bytes, &secret()), "bit {bit}");
    }
}

#[test]
fn servers_of_other_versions_and_of_other_programs_are_named() {
    let mut bytes = version();
    bytes[8] = 9;
    let sentence = Claim::is_challenge(&bytes).expect_err("it is a version").to_string();
    assert!(sentence.contains("uses version 9 of the protocol"), "{sentence}");
    let sentence = Claim::is_challenge(b"HTTP/1.1 400 Bad").expect_err("it is none").to_string();
    assert!(sentence.contains("not a namdb server"), "{sentence}");
    assert!(Claim::refusal(b"namdbWLC\0\0\0\0\0\0\0\0").is_none());
    let sentence = Claim::refusal(&version()).expect("a refusal").to_string();
    assert!(sentence.contains("does not accept the secret"), "{sentence}");
}

/// Lets a blocking server judge a caller.
fn answered(caller: impl FnOnce(&mut UnixStream) -> io::Result<()> + Send) -> io::Result<()> {
    let (mut one, mut other) = UnixStream::pair().expect("a pair of sockets");
    std::thread::scope(|scope| {
        let caller = scope.spawn(move || caller(&mut one));
        let mut message = [0; MESSAGE.len()];
        let judged = demand(&mut other, &secret(), Purpose::Work, &mut message, || ());
        let judged = judged.and_then(|proven| {
            assert_eq!(message, *MESSAGE);
            send(&mut other, &[&ANSWER[..], &proven.seal(&secret(), ANSWER)].concat())
        });
        drop(other);
        let called = caller.join().expect("it does not panic");
        assert_eq!(called.is_ok(), judged.is_ok(), "{called:?} {judged:?}");
        judged
    })
}

#[test]
fn a_blocking_caller_and_a_blocking_server_meet() {
    let call = |secret: Secret, purpose| {
        answered(move |stream| {
            let mut answer = [0; ANSWER.len()];
            prove(stream, &secret, purpose, MESSAGE, &mut answer)?;
            assert_eq!(answer, *ANSWER);
            Ok(())
        })
    };
    call(secret(), Purpose::Work).expect("it is a member");
    let denied = io::ErrorKind::PermissionDenied;
    assert_eq!(call(Secret::new([8; 32]), Purpose::Work).map_err(|e| e.kind()), Err(denied));
    assert_eq!(call(secret(), Purpose::Verbs).map_err(|e| e.kind()), Err(denied));
}

#[test]
fn a_stranger_hears_the_version_and_nothing_else() {
    let denied = answered(|stream| {
        stream.write_all(b"GET /status HTTP/1.1\r\n\r\n")?;
        let mut heard = Vec::new();
        let ended = stream.read_to_end(&mut heard);
        assert_eq!(heard, version());
        ended.and(Err(io::ErrorKind::PermissionDenied.into()))
    });
    assert_eq!(denied.expect_err("a stranger").kind(), io::ErrorKind::PermissionDenied);
}
