//! A connection that has not proven the cluster's secret yet: reads its messages as they arrive.

use super::handshake::OFFER_BYTES;
use crate::guests::{self, GUEST_TIME_MAX, GuestStage};
use crate::identity::HELLO_BYTES;
use crate::linger::Linger;
use crate::proof::{self, Challenge, OPENING_BYTES, PROOF_BYTES, Proven, Purpose, Stranger};
use crate::secret::Secret;
use crate::tell;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::Instant;

/// Bytes of a caller's message: its hello and its offer.
const MESSAGE_BYTES: usize = HELLO_BYTES + OFFER_BYTES;

pub(super) struct Guest {
    pub(super) stream: TcpStream,
    peer: IpAddr,
    bytes: Vec<u8>,
    /// `None` before its opening.
    challenge: Option<Challenge>,
    stage: GuestStage,
    /// `Some` once a stranger was turned away.
    linger: Option<Linger>,
    since: Instant,
}

/// The message of a caller that has proven the secret.
pub(super) struct Greeting {
    pub(super) proven: Proven,
    pub(super) message: Vec<u8>,
}

pub(super) enum GuestProgress {
    Nothing,
    /// It has left, is late, or is a stranger.
    Gone,
    Proven(Greeting),
}

impl Guest {
    pub(super) fn new(stream: TcpStream, peer: IpAddr) -> Self {
        let bytes = Vec::with_capacity(PROOF_BYTES + MESSAGE_BYTES);
        let (challenge, stage, linger) = (None, GuestStage::Silent, None);
        Self { stream, peer, bytes, challenge, stage, linger, since: now() }
    }

    /// The guest as the limits see it.
    pub(super) fn known(&self) -> guests::Guest {
        guests::Guest { peer: self.peer, stage: self.stage }
    }

    /// Continues the handshake with what has arrived.
    pub(super) fn read(&mut self, secret: &Secret) -> GuestProgress {
        if let Some(linger) = &mut self.linger {
            let is_over = linger.is_over(&self.stream);
            return if is_over { GuestProgress::Gone } else { GuestProgress::Nothing };
        }
        loop {
            let whole = match self.challenge {
                None => OPENING_BYTES,
                Some(_) => PROOF_BYTES + MESSAGE_BYTES,
            };
            let mut piece = [0; PROOF_BYTES + MESSAGE_BYTES];
            match self.stream.read(&mut piece[..whole - self.bytes.len()]) {
                Ok(0) => return GuestProgress::Gone,
                Ok(count) => self.bytes.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return self.wait(),
                Err(_) => return GuestProgress::Gone,
            }
            if self.stage == GuestStage::Silent {
                self.stage = GuestStage::Spoken;
            }
            if self.bytes.len() < whole {
                return self.wait();
            }
            let bytes = std::mem::take(&mut self.bytes);
            match self.challenge.take() {
                None => match self.challenge(&bytes, secret) {
                    Ok(challenge) => self.challenge = Some(challenge),
                    Err(stranger) => return self.turn_away(&stranger),
                },
                Some(challenge) => {
                    let (proof, message) = bytes.split_first_chunk().expect("it was waited for");
                    return match challenge.check(secret, Purpose::Verbs, proof, message) {
                        Ok(proven) => {
                            let message = message.to_vec();
                            GuestProgress::Proven(Greeting { proven, message })
                        }
                        Err(stranger) => self.turn_away(&stranger),
                    };
                }
            }
        }
    }

    fn challenge(&mut self, opening: &[u8], secret: &Secret) -> Result<Challenge, Stranger> {
        let opening = opening.try_into().expect("it was waited for");
        let challenge = Challenge::to(opening)?;
        if proof::is_marked(opening, secret) {
            self.stage = GuestStage::Marked;
        }
        // It fits into the system's buffer; a caller that has left is noticed at the next read.
        let _ = self.stream.write_all(&challenge.encode());
        Ok(challenge)
    }

    fn wait(&self) -> GuestProgress {
        if self.since.elapsed() <= GUEST_TIME_MAX {
            return GuestProgress::Nothing;
        }
        self.refuse(&"it has not completed the handshake in time");
        GuestProgress::Gone
    }

    /// A stranger learns the version of the protocol and nothing else.
    fn turn_away(&mut self, stranger: &Stranger) -> GuestProgress {
        self.refuse(stranger);
        let sent = self.stream.write_all(&proof::version());
        self.linger = sent.and_then(|()| Linger::begin(&self.stream)).ok();
        self.stage = GuestStage::Ended;
        if self.linger.is_some() { GuestProgress::Nothing } else { GuestProgress::Gone }
    }

    fn refuse(&self, reason: &dyn std::fmt::Display) {
        let peer =
            self.stream.peer_addr().map_or_else(|_| self.peer.to_string(), |it| it.to_string());
        tell::refused(&peer, reason);
    }
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "callers of a network are not part of a run")]
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::ANSWER_BYTES;
    use crate::proof::{prove, version};
    use std::net::TcpListener;

    fn secret() -> Secret {
        Secret::new([7; 32])
    }

    /// A guest, and the caller's end of its connection.
    fn guest() -> (Guest, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let caller = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        let (stream, peer) = listener.accept().expect("somebody connects");
        stream.set_nonblocking(true).expect("a socket");
        (Guest::new(stream, peer.ip()), caller)
    }

    /// Reads until something is decided.
    fn decided(guest: &mut Guest) -> GuestProgress {
        loop {
            match guest.read(&secret()) {
                GuestProgress::Nothing => std::thread::yield_now(),
                other => return other,
            }
        }
    }

    #[test]
    fn a_caller_that_knows_the_secret_delivers_its_message() {
        let (mut guest, mut caller) = guest();
        let message = [5; MESSAGE_BYTES];
        std::thread::scope(|scope| {
            let called = scope.spawn(move || {
                let mut answer = [0; ANSWER_BYTES + OFFER_BYTES];
                prove(&mut caller, &secret(), Purpose::Verbs, &message, &mut answer)
                    .map(|()| answer)
            });
            let GuestProgress::Proven(greeting) = decided(&mut guest) else {
                panic!("it knows the secret")
            };
            assert_eq!(greeting.message, message);
            let answer = [9; ANSWER_BYTES + OFFER_BYTES];
            let seal = greeting.proven.seal(&secret(), &answer);
            guest.stream.write_all(&[&answer[..], &seal].concat()).expect("it reads");
            assert_eq!(called.join().expect("it does not panic").expect("it is served"), answer);
        });
    }

    #[test]
    fn strangers_hear_the_version_and_nothing_else() {
        for first in
            [&b"GET / HTTP/1.1\r\n\r\n"[..], &[22, 3, 1, 2, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]]
        {
            let (mut guest, mut caller) = guest();
            caller.write_all(&[first, &[7; 10_000]].concat()).expect("it reads");
            let heard = std::thread::scope(|scope| {
                let heard = scope.spawn(move || {
                    let mut heard = Vec::new();
                    caller.read_to_end(&mut heard).map(|_| heard)
                });
                assert!(matches!(decided(&mut guest), GuestProgress::Gone));
                heard.join().expect("it does not panic")
            });
            assert_eq!(heard.expect("no reset"), version());
        }
        let (mut guest, mut caller) = guest();
        std::thread::scope(|scope| {
            let called = scope.spawn(move || {
                let (other, message) = (Secret::new([8; 32]), [5; MESSAGE_BYTES]);
                let mut answer = [0; ANSWER_BYTES + OFFER_BYTES];
                prove(&mut caller, &other, Purpose::Verbs, &message, &mut answer)
            });
            assert!(matches!(decided(&mut guest), GuestProgress::Gone), "another secret");
            drop(guest);
            let refused = called.join().expect("it does not panic").expect_err("a stranger");
            assert!(refused.to_string().contains("does not accept the secret"), "{refused}");
        });
    }

    #[test]
    fn a_guest_that_leaves_or_is_late_is_gone() {
        let (mut gone, caller) = guest();
        drop(caller);
        assert!(matches!(decided(&mut gone), GuestProgress::Gone));
        let (mut late, mut caller) = guest();
        caller.write_all(&proof::opening(&secret())[..9]).expect("it reads");
        assert!(matches!(late.read(&secret()), GuestProgress::Nothing));
        late.since = now().checked_sub(2 * GUEST_TIME_MAX).expect("the host runs for longer");
        assert!(matches!(late.read(&secret()), GuestProgress::Gone));
    }
}
