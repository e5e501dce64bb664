//! The lingering close of a connection that the server ends with some last words.
//!
//! A socket that is closed with unread bytes resets its connection, which may cost the peer the
//! last words. The server therefore ends its own side first, and discards arriving bytes until the
//! peer has closed its side, for a limited time and up to a limited length.

use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Time that the peer has to close its side.
pub const LINGER_TIME_MAX: Duration = Duration::from_secs(1);
/// Bytes that are discarded; a peer that sends more may lose the last words.
pub const LINGER_BYTES_MAX: usize = 256 * 1024;
/// Bytes discarded at once.
const PIECE_BYTES: usize = 16 * 1024;

/// A connection that is closing.
#[derive(Debug)]
pub struct Linger {
    since: Instant,
    bytes_left: usize,
}

impl Linger {
    /// Ends the server's side; all last words were sent.
    ///
    /// # Errors
    /// The connection has failed.
    pub fn begin(socket: &TcpStream) -> io::Result<Self> {
        socket.shutdown(Shutdown::Write)?;
        Ok(Self { since: now(), bytes_left: LINGER_BYTES_MAX })
    }

    /// Whether the time is over.
    pub fn is_late(&self) -> bool {
        self.since.elapsed() > LINGER_TIME_MAX
    }

    /// Discards the bytes that have arrived at a non-blocking socket; returns whether the socket
    /// should be closed now.
    pub fn is_over(&mut self, mut socket: &TcpStream) -> bool {
        while self.bytes_left > 0 && !self.is_late() {
            match socket.read(&mut [0; PIECE_BYTES]) {
                Ok(0) => return true,
                Ok(count) => self.bytes_left = self.bytes_left.saturating_sub(count),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return true,
            }
        }
        true
    }

    /// The whole lingering close of a blocking socket; returns when the socket should be closed.
    pub fn wait(mut socket: &TcpStream) {
        let Ok(mut linger) = Self::begin(socket) else { return };
        while linger.bytes_left > 0 {
            let left = LINGER_TIME_MAX.saturating_sub(linger.since.elapsed());
            if left.is_zero() || socket.set_read_timeout(Some(left)).is_err() {
                return;
            }
            match socket.read(&mut [0; PIECE_BYTES]) {
                Ok(0) => return,
                Ok(count) => linger.bytes_left = linger.bytes_left.saturating_sub(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

fn now() -> Instant {
    #[allow(clippy::disallowed_methods, reason = "the end of a connection is not part of a run")]
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let peer = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
        (listener.accept().expect("somebody connects").0, peer)
    }

    #[test]
    fn a_peer_that_still_sends_hears_the_last_words() {
        let (mut server, mut peer) = pair();
        let heard = std::thread::scope(|scope| {
            scope.spawn(move || {
                server.write_all(b"the version").expect("it is open");
                Linger::wait(&server);
            });
            // The server's end and its last words are there before these bytes.
            assert_eq!(peer.peek(&mut [0]).expect("last words"), 1);
            peer.write_all(&[7; 100_000]).expect("they are discarded");
            let mut heard = Vec::new();
            peer.read_to_end(&mut heard).expect("no reset");
            heard
        });
        assert_eq!(heard, b"the version");
    }

    #[test]
    fn a_peer_that_sends_too_much_or_stays_is_closed() {
        let (server, mut peer) = pair();
        server.set_nonblocking(true).expect("a socket");
        let mut linger = Linger::begin(&server).expect("it is open");
        assert!(!linger.is_over(&server), "the peer has time");
        let start = now();
        while !linger.is_over(&server) {
            let _ = peer.write_all(&[7; PIECE_BYTES]);
        }
        assert_eq!(linger.bytes_left, 0);
        assert!(start.elapsed() < LINGER_TIME_MAX);
        let (server, _peer) = pair();
        server.set_nonblocking(true).expect("a socket");
        let mut linger = Linger::begin(&server).expect("it is open");
        while !linger.is_over(&server) {
            std::thread::yield_now();
        }
        assert!(linger.is_late());
    }
}
