//! A connection: a client, its session, and the state between two messages.
//!
//! Nothing is on the stack between two messages, so a thread serves a connection while its client
//! is busy, and another thread may go on later.
//!
//! ```text
//! start     from the startup packet to the first ReadyForQuery
//! simple    Query                       extended  Parse, Bind, Describe, Execute, Close, Sync
//! rows      results as messages         copy      data in both directions; binary_copy
//! stream    the socket with its buffers    slow      the log of slow statements
//! ```
//!
//! Decision: docs/decisions/0330-a-connection-has-a-thread-only-while-it-works.md

mod binary_copy;
mod copy;
mod extended;
mod rows;
mod simple;
mod slow;
pub(crate) mod start;
pub mod stream;

use crate::error::{Result, Severity, SqlError, error, fatal, sqlstate};
use crate::message::backend::{self, Status};
use crate::message::frontend::{self, Frame, Frontend};
use crate::server::cancel::Registration;
use crate::server::shared::Shared;
use crate::session::{Session, SilenceLimit, TransactionStatus};
use copy::CopyIn;
use extended::{Portal, Statement};
use std::collections::BTreeMap;
use std::sync::Arc;
use stream::{OUTPUT_BYTES_MAX, Received, Stream};

/// A connection after its startup.
pub struct Connection<S: Session> {
    stream: Stream,
    session: S,
    shared: Arc<Shared>,
    statements: BTreeMap<String, Arc<Statement<S::Prepared>>>,
    portals: BTreeMap<String, Portal<S::Prepared>>,
    mode: Mode,
    /// Whether statements since the last Sync are one implicit transaction.
    is_implicit: bool,
    /// Whether the server has refused a message since the last Sync.
    has_failed: bool,
    /// Removes the connection's key when it ends.
    registration: Registration,
}

/// The messages that a connection accepts next.
enum Mode {
    Ready,
    /// After an error in the extended protocol: everything is skipped up to Sync.
    SkipToSync,
    /// The client sends rows.
    CopyIn(CopyIn),
}

/// Why a thread leaves a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// The client is silent.
    Silent,
    /// The connection has ended.
    Ended,
}

/// Whether the connection goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Message,
    End,
}

impl<S: Session> Connection<S> {
    /// Serves the client until it is silent or gone, or until the server stops.
    pub fn serve(&mut self, is_pressed: impl Fn() -> bool) -> Left {
        loop {
            if self.serve_received() == Next::End {
                let _ = self.stream.flush();
                return self.end();
            }
            if !self.stream.flush() {
                return self.end();
            }
            if self.shared.is_stopping() {
                return self.stop();
            }
            match self.stream.receive(is_pressed()) {
                Received::Bytes => {}
                Received::Silence => {
                    self.stream.shrink();
                    self.session.park();
                    return Left::Silent;
                }
                Received::End => return self.end(),
            }
        }
    }

    /// Tells a client that the server stops.
    pub fn stop(&mut self) -> Left {
        let message = "terminating connection due to administrator command";
        self.send_error(&fatal(sqlstate::ADMIN_SHUTDOWN, message));
        let _ = self.stream.flush();
        self.end()
    }

    /// How long the client may be silent from now on; `None` without a limit.
    pub fn silence_limit(&self) -> Option<SilenceLimit> {
        let is_idle = matches!(self.mode, Mode::Ready) && !self.is_implicit;
        self.session.silence_limit().filter(|_| is_idle)
    }

    /// Tells a client that it was silent for too long.
    pub fn expire(&mut self) -> Left {
        if let Some(limit) = self.silence_limit() {
            self.send_error(&fatal(limit.sqlstate, limit.message));
            let _ = self.stream.flush();
        }
        self.end()
    }

    fn end(&mut self) -> Left {
        self.stream.end();
        self.session.close();
        Left::Ended
    }

    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Serves all messages that were received whole.
    fn serve_received(&mut self) -> Next {
        let input = self.stream.take_input();
        let (mut done, mut next) = (0, Next::Message);
        while next == Next::Message {
            let rest = &input[done..];
            match frontend::frame(rest, self.shared.limits.message_bytes_max) {
                Frame::Partial { .. } => break,
                Frame::Whole { bytes, .. } => {
                    next = self.serve_message(&rest[..bytes], rest.get(bytes).copied());
                    done += bytes;
                }
                Frame::Invalid { kind, length } => {
                    self.refuse_frame(kind, length);
                    next = Next::End;
                }
            }
            if self.stream.output.len() >= OUTPUT_BYTES_MAX && !self.stream.flush() {
                next = Next::End;
            }
        }
        self.stream.put_input(input, done);
        next
    }

    fn refuse_frame(&mut self, kind: u8, length: i32) {
        let message = match length {
            0 => format!("invalid frontend message type {kind}"),
            length => format!("invalid message length {length}"),
        };
        let limit = self.shared.limits.message_bytes_max;
        let mut refusal = fatal(sqlstate::PROTOCOL_VIOLATION, message);
        if length > 0 {
            refusal.detail = Some(format!("A message has at most {limit} bytes here."));
        }
        self.send_error(&refusal);
    }

    /// Serves a message; `behind` is the type of the next one, if it has already arrived.
    fn serve_message(&mut self, message: &[u8], behind: Option<u8>) -> Next {
        let kind = message[0];
        if matches!(self.mode, Mode::SkipToSync) && !matches!(kind, b'S' | b'X') {
            return Next::Message;
        }
        let parsed = match frontend::parse(message) {
            Ok(parsed) => parsed,
            Err(malformed) => {
                let refused = Err(malformed.into());
                return self.conclude(refused, is_extended(kind));
            }
        };
        if matches!(self.mode, Mode::CopyIn(_)) {
            return self.serve_copy(parsed);
        }
        match parsed {
            Frontend::Query(text) => self.query(text),
            Frontend::Parse { name, query, types } => {
                let parsed = self.parse(name, query, &types);
                self.conclude(parsed, true)
            }
            Frontend::Bind(bind) => {
                let bound = self.bind(&bind);
                self.conclude(bound, true)
            }
            Frontend::Describe(target) => {
                let described = self.describe(target);
                self.conclude(described, true)
            }
            Frontend::Execute { portal, rows_max } => {
                let executed = self.execute(portal, rows_max, behind == Some(b'S'));
                self.conclude(executed, true)
            }
            Frontend::Close(target) => {
                self.close(target);
                Next::Message
            }
            Frontend::Sync => self.sync(),
            // Output is sent before the next message is awaited.
            Frontend::Flush => Next::Message,
            // The rest of a copy that has failed.
            Frontend::CopyData(_) | Frontend::CopyDone | Frontend::CopyFail(_) => Next::Message,
            Frontend::Terminate => Next::End,
            Frontend::Password(_) => {
                let message = "unexpected password: this server asks for none";
                self.conclude(Err(error(sqlstate::PROTOCOL_VIOLATION, message)), false)
            }
        }
    }

    /// Forgets a request to cancel: it was meant for an earlier message.
    fn forget_cancel(&self) {
        self.registration.interrupt().clear();
    }

    /// Reports the error of a message, if it has one. In the extended protocol, messages up to
    /// Sync are then skipped; otherwise the client awaits ReadyForQuery.
    fn conclude(&mut self, result: Result<()>, is_extended: bool) -> Next {
        let Err(failure) = result else { return Next::Message };
        self.send_error(&failure);
        if failure.severity == Severity::Fatal {
            return Next::End;
        }
        if is_extended {
            self.has_failed = true;
            self.mode = Mode::SkipToSync;
        } else {
            self.ready();
        }
        Next::Message
    }

    /// Reports errors to the client.
    fn send_error(&mut self, failure: &SqlError) {
        self.shared.counters.count_error();
        backend::error_response(&mut self.stream.output, failure);
    }

    /// Reports notices and changed settings of the last statement.
    fn send_notices(&mut self) {
        for notice in self.session.take_notices() {
            let mut message = SqlError::new(notice.sqlstate, notice.message);
            message.severity = notice.severity;
            message.detail = notice.detail;
            message.hint = notice.hint;
            backend::error_response(&mut self.stream.output, &message);
        }
        for (name, value) in self.session.take_changed_settings() {
            backend::parameter_status(&mut self.stream.output, &name, &value);
        }
    }

    /// Ends a simple query, or the messages up to Sync. Portals end with their transaction.
    fn ready(&mut self) {
        let status = match self.session.status() {
            TransactionStatus::Idle => Status::Idle,
            TransactionStatus::InTransaction => Status::InTransaction,
            TransactionStatus::Failed => Status::Failed,
        };
        if status != Status::InTransaction {
            self.portals.clear();
        }
        self.send_notices();
        backend::ready_for_query(&mut self.stream.output, status);
    }
}

/// Whether errors of this message are followed by a Sync of the client.
fn is_extended(kind: u8) -> bool {
    matches!(kind, b'P' | b'B' | b'D' | b'E' | b'C' | b'H')
}
