//! COPY: rows as data, in both directions.

use super::simple::Waiting;
use super::stream::OUTPUT_BYTES_MAX;
use super::{Connection, Mode, Next};
use crate::error::{Result, error, fatal, sqlstate};
use crate::message::backend;
use crate::message::frontend::Frontend;
use crate::message::writer::Writer;
use crate::session::{CopyFormat, Session};
use std::collections::VecDeque;

/// A copy from the client under way.
pub(super) struct CopyIn {
    pub origin: Origin,
}

/// The message that began it.
pub(super) enum Origin {
    /// Query, with the statements behind it.
    Query(VecDeque<Waiting>),
    /// Execute.
    Execute,
}

impl<S: Session> Connection<S> {
    /// Serves a message while the client sends rows.
    pub(super) fn serve_copy(&mut self, message: Frontend<'_>) -> Next {
        match message {
            Frontend::CopyData(data) => match self.session.copy_data(data) {
                Ok(()) => Next::Message,
                Err(failure) => self.end_copy(Err(failure)),
            },
            Frontend::CopyDone => {
                let tag = self.session.copy_done();
                self.end_copy(tag)
            }
            Frontend::CopyFail(reason) => {
                let failure = self.session.copy_fail(reason);
                self.end_copy(Err(failure))
            }
            // The extended protocol has these behind Execute already.
            Frontend::Flush | Frontend::Sync => Next::Message,
            Frontend::Terminate => Next::End,
            _ => {
                let _ = self.session.copy_fail("unexpected message");
                let message = "unexpected message type during COPY from stdin";
                self.end_copy(Err(error(sqlstate::PROTOCOL_VIOLATION, message)))
            }
        }
    }

    fn end_copy(&mut self, tag: Result<String>) -> Next {
        let Mode::CopyIn(copy) = std::mem::replace(&mut self.mode, Mode::Ready) else {
            unreachable!("only a copy under way ends")
        };
        match (tag, copy.origin) {
            (Ok(tag), origin) => {
                self.send_notices();
                backend::command_complete(&mut self.stream.output, &tag);
                match origin {
                    Origin::Query(waiting) => self.go_on(waiting),
                    Origin::Execute => Next::Message,
                }
            }
            (Err(failure), Origin::Query(_)) => self.fail_query(failure),
            (Err(failure), Origin::Execute) => self.conclude(Err(failure), true),
        }
    }

    /// Sends the rows of a copy to the client, with `CopyOutResponse` and the tag.
    pub(super) fn send_copy(&mut self, format: &CopyFormat) -> Result<()> {
        let output = &mut self.stream.output;
        backend::copy_response(output, b'H', format.is_binary, format.columns);
        let mut data = Vec::new();
        loop {
            data.clear();
            let tag = self.session.copy_out(&mut data)?;
            let output = &mut self.stream.output;
            if !data.is_empty() {
                Writer::begin(output, b'd').bytes(&data).end();
            }
            if let Some(tag) = tag {
                Writer::begin(output, b'c').end();
                backend::command_complete(output, &tag);
                return Ok(());
            }
            if output.len() >= OUTPUT_BYTES_MAX && !self.stream.flush() {
                return Err(fatal(sqlstate::PROTOCOL_VIOLATION, "connection to client lost"));
            }
        }
    }
}
