//! Writes a history as EDN, one event per line, in the order of time.

use crate::history::{Action, History, NEVER, Operation, Outcome, Transaction, TransactionId};
use std::io::{self, Write};

/// Writes the history; [`super::read_edn`] reads the same history back.
pub fn write_edn(history: &History, output: &mut dyn Write) -> io::Result<()> {
    let mut line = Vec::new();
    for (index, event) in events(history).into_iter().enumerate() {
        line.clear();
        write_event(history, event, index, &mut line)?;
        output.write_all(&line)?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Happening {
    id: TransactionId,
    is_end: bool,
}

/// Beginnings and ends in their order. An end that must be written, but has no recorded position,
/// comes last.
fn events(history: &History) -> Vec<Happening> {
    let mut placed = Vec::with_capacity(2 * history.transactions().len());
    for id in history.ids() {
        let Transaction { invoked, completed, outcome, .. } = *history.transaction(id);
        if invoked > 0 {
            placed.push((invoked, Happening { id, is_end: false }));
        }
        if completed != NEVER || invoked == 0 || outcome != Outcome::Unknown {
            placed.push((completed, Happening { id, is_end: true }));
        }
    }
    // The sort is stable, so that ends without a position stay in the order of their sessions.
    placed.sort_by_key(|&(position, _)| position);
    placed.into_iter().map(|(_, event)| event).collect()
}

fn write_event(
    history: &History,
    Happening { id, is_end }: Happening,
    index: usize,
    line: &mut Vec<u8>,
) -> io::Result<()> {
    let transaction = history.transaction(id);
    let name = match (is_end, transaction.outcome) {
        (false, _) => ":invoke",
        (true, Outcome::Committed) => ":ok",
        (true, Outcome::Aborted) => ":fail",
        (true, Outcome::Unknown) => ":info",
    };
    write!(line, "{{:type {name}, :f :txn, :value [")?;
    for (index, operation) in history.operations(id).iter().enumerate() {
        line.extend_from_slice(if index > 0 { b" " } else { b"" });
        write_operation(history, operation, is_end, line)?;
    }
    line.push(b']');
    let versions = history.versions(id);
    if is_end && versions.iter().any(Option::is_some) {
        line.extend_from_slice(b", :versions [");
        for (index, version) in versions.iter().enumerate() {
            line.extend_from_slice(if index > 0 { b" " } else { b"" });
            match version {
                Some(version) => write!(line, "{version}")?,
                None => line.extend_from_slice(b"nil"),
            }
        }
        line.push(b']');
    }
    if let Some(session) = transaction.session {
        write!(line, ", :process {}", history.sessions()[session as usize])?;
    }
    let time_ns = if is_end { transaction.completed_ns } else { transaction.invoked_ns };
    if let Some(time_ns) = time_ns {
        write!(line, ", :time {time_ns}")?;
    }
    writeln!(line, ", :index {index}}}")
}

fn write_operation(
    history: &History,
    operation: &Operation,
    is_end: bool,
    line: &mut Vec<u8>,
) -> io::Result<()> {
    let key = history.key_name(operation.key);
    match operation.action {
        Action::Append(value) => write!(line, "[:append {key} {value}]"),
        Action::Write(value) => write!(line, "[:w {key} {value}]"),
        Action::ReadValue(value) if is_end => write!(line, "[:r {key} {value}]"),
        Action::ReadList(read) if is_end => {
            write!(line, "[:r {key} [")?;
            for (index, value) in history.list(operation.key, read).iter().enumerate() {
                line.extend_from_slice(if index > 0 { b" " } else { b"" });
                write!(line, "{value}")?;
            }
            line.extend_from_slice(b"]]");
            Ok(())
        }
        _ => write!(line, "[:r {key} nil]"),
    }
}
