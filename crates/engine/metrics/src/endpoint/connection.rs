//! One connection: a request is read, its answer is written, and what the client still sends is ignored.

use super::http::{self, Pages, Request};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

/// Longest request, with all its headers.
const REQUEST_BYTES_MAX: usize = 8 * 1024;
/// Most that is read at a time, so that one client does not keep the thread.
const READ_BYTES_MAX: usize = 4 * 1024;

pub(super) struct Connection {
    socket: TcpStream,
    /// When its time is up.
    pub(super) until: Instant,
    stage: Stage,
}

enum Stage {
    /// What has arrived of the request.
    Reading(Vec<u8>),
    /// The answer, and how much of it is written.
    Writing(Vec<u8>, usize),
    /// The answer is written. A socket closed before all was read would take the answer back.
    Draining,
}

/// Whether there is more to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    Open,
    Done,
}

impl Connection {
    /// A connection that was just accepted, unless it is gone already.
    pub(super) fn new(socket: TcpStream, until: Instant) -> Option<Self> {
        socket.set_nonblocking(true).ok()?;
        Some(Self { socket, until, stage: Stage::Reading(Vec::new()) })
    }

    pub(super) fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub(super) fn is_writing(&self) -> bool {
        matches!(self.stage, Stage::Writing(..))
    }

    /// Does what can be done without waiting.
    pub(super) fn advance(&mut self, pages: &Pages) -> Progress {
        let outcome = match &mut self.stage {
            Stage::Reading(_) => self.read(pages),
            Stage::Writing(..) => self.write(),
            Stage::Draining => self.drain(),
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
            Request::Partial => http::too_long(),
            Request::Malformed => http::malformed(),
            Request::Whole { method, path } => pages.answer(&method, &path),
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
        self.socket.shutdown(Shutdown::Write)?;
        self.stage = Stage::Draining;
        Ok(Progress::Open)
    }

    fn drain(&mut self) -> std::io::Result<Progress> {
        match self.socket.read(&mut [0; READ_BYTES_MAX])? {
            0 => Ok(Progress::Done),
            _ => Ok(Progress::Open),
        }
    }
}

fn is_later(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
