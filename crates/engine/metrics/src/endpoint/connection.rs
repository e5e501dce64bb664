//! A connection: reads a request, writes the answer, and discards whatever the client still sends.

use super::http::{self, Pages, Request};
use crate::clock;
use fabric::guests::{Guest, GuestStage};
use fabric::linger::{LINGER_TIME_MAX, Linger};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::Instant;

/// Maximal length of a request with its headers.
const REQUEST_BYTES_MAX: usize = 8 * 1024;
/// Maximal number of bytes read at a time, so that one client does not occupy the thread.
const READ_BYTES_MAX: usize = 4 * 1024;

pub(super) struct Connection {
    socket: TcpStream,
    peer: IpAddr,
    /// Deadline of the connection.
    pub(super) until: Instant,
    stage: Stage,
}

enum Stage {
    /// The received part of the request.
    Reading(Vec<u8>),
    /// The answer, and the number of bytes written.
    Writing(Vec<u8>, usize),
    /// The answer is written.
    Lingering(Linger),
}

/// Whether the connection has more work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    Open,
    Done,
}

impl Connection {
    /// Sets up an accepted connection; `None` if the client has already left.
    pub(super) fn new(socket: TcpStream, peer: IpAddr, until: Instant) -> Option<Self> {
        socket.set_nonblocking(true).ok()?;
        Some(Self { socket, peer, until, stage: Stage::Reading(Vec::new()) })
    }

    /// The connection as the limits see it.
    pub(super) fn guest(&self) -> Guest {
        let stage = match &self.stage {
            Stage::Reading(request) if request.is_empty() => GuestStage::Silent,
            Stage::Reading(_) | Stage::Writing(..) => GuestStage::Spoken,
            Stage::Lingering(_) => GuestStage::Ended,
        };
        Guest { peer: self.peer, stage }
    }

    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub(super) fn is_writing(&self) -> bool {
        matches!(self.stage, Stage::Writing(..))
    }

    /// Works as far as possible without blocking.
    pub(super) fn advance(&mut self, pages: &Pages) -> Progress {
        let outcome = match &mut self.stage {
            Stage::Reading(_) => self.read(pages),
            Stage::Writing(..) => self.write(),
            Stage::Lingering(linger) => Ok(match linger.is_over(&self.socket) {
                true => Progress::Done,
                false => Progress::Open,
            }),
        };
        match outcome {
            Ok(progress) => progress,
            Err(error) if is_later(error.kind()) => Progress::Open,
            Err(_) => Progress::Done,
        }
    }

    fn read(&mut self, pages: &Pages) -> std::io::Result<Progress> {
        let Stage::Reading(request) = &mut self.stage else { return Ok(Progress::Open) };
        let mut bytes = [0; READ_BYTES_MAX];
        let count = self.socket.read(&mut bytes)?;
        if count == 0 {
            return Ok(Progress::Done);
        }
        request.extend_from_slice(&bytes[..count]);
        let answer = match http::parse(request) {
            Request::Partial if request.len() < REQUEST_BYTES_MAX => return Ok(Progress::Open),
            Request::Partial => pages.too_long(),
            Request::Malformed => pages.malformed(),
            Request::Whole { method, path, token } => {
                pages.answer(&method, &path, token.as_deref())
            }
        };
        self.stage = Stage::Writing(answer, 0);
        self.write()
    }

    fn write(&mut self) -> std::io::Result<Progress> {
        let Stage::Writing(answer, written) = &mut self.stage else { return Ok(Progress::Open) };
        *written += self.socket.write(&answer[*written..])?;
        if *written < answer.len() {
            return Ok(Progress::Open);
        }
        self.stage = Stage::Lingering(Linger::begin(&self.socket)?);
        self.until = self.until.min(clock::now() + LINGER_TIME_MAX);
        Ok(Progress::Open)
    }
}

fn is_later(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
