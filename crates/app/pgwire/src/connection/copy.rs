//! COPY: rows as data, in both directions.

use super::binary_copy::{Decoder, encode_header, encode_row, encode_trailer};
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
    origin: Origin,
    /// Reads the binary format.
    binary: Option<Decoder>,
}

/// The message that began it.
pub(super) enum Origin {
    /// Query, with the statements behind it.
    Query(VecDeque<Waiting>),
    /// Execute.
    Execute,
}

impl<S: Session> Connection<S> {
    /// From now on the client sends rows.
    pub(super) fn begin_copy(&mut self, format: &CopyFormat, origin: Origin) {
        let binary = format.is_binary.then(|| Decoder::new(self.session.copy_columns()));
        self.mode = Mode::CopyIn(CopyIn { origin, binary });
    }

    /// Serves a message while the client sends rows.
    pub(super) fn serve_copy(&mut self, message: Frontend<'_>) -> Next {
        match message {
            Frontend::CopyData(data) => match self.take_copy_data(data) {
                Ok(()) => Next::Message,
                Err(failure) => self.end_copy(Err(failure)),
            },
            Frontend::CopyDone => {
                let tag = self.finish_copy();
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

    fn take_copy_data(&mut self, data: &[u8]) -> Result<()> {
        let Mode::CopyIn(CopyIn { binary: Some(decoder), .. }) = &mut self.mode else {
            return self.session.copy_data(data);
        };
        decoder.push(data);
        loop {
            match decoder.next() {
                Ok(Some(row)) => self.session.copy_row(row)?,
                Ok(None) => return Ok(()),
                Err(failure) => {
                    // The client gets the reason, and not that of the session.
                    let _ = self.session.copy_fail("malformed data");
                    return Err(failure);
                }
            }
        }
    }

    fn finish_copy(&mut self) -> Result<String> {
        if let Mode::CopyIn(CopyIn { binary: Some(decoder), .. }) = &self.mode
            && let Err(failure) = decoder.end()
        {
            let _ = self.session.copy_fail("malformed data");
            return Err(failure);
        }
        self.session.copy_done()
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
        if format.is_binary {
            return self.send_binary_copy();
        }
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

    fn send_binary_copy(&mut self) -> Result<()> {
        let columns = self.session.copy_columns();
        let (mut data, mut count) = (Vec::new(), 0);
        encode_header(&mut data);
        while let Some(rows) = self.session.copied_rows()? {
            count += rows.len();
            for at in 0..rows.len() {
                encode_row(&rows, at, &columns, &mut data)?;
                self.send_copy_data(&mut data)?;
            }
        }
        encode_trailer(&mut data);
        self.send_copy_data(&mut data)?;
        let output = &mut self.stream.output;
        Writer::begin(output, b'c').end();
        backend::command_complete(output, &format!("COPY {count}"));
        Ok(())
    }

    /// Sends a row: clients expect one per message.
    fn send_copy_data(&mut self, data: &mut Vec<u8>) -> Result<()> {
        let output = &mut self.stream.output;
        Writer::begin(output, b'd').bytes(data).end();
        data.clear();
        if output.len() >= OUTPUT_BYTES_MAX && !self.stream.flush() {
            return Err(fatal(sqlstate::PROTOCOL_VIOLATION, "connection to client lost"));
        }
        Ok(())
    }
}
