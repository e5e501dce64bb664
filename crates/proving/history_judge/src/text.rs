//! Histories of registers as plain text, one operation per line: the text format of PolySI, which
//! reads and writes `r(key,value,session,transaction)` and `w(key,value,session,transaction)` with
//! numbers only, and uses 0 for the value before any write.
//!
//! ```text
//! w(8,1,4,0)
//! r(9,5,4,0)
//! ```
//!
//! Only transactions that took effect are written. A session runs its transactions in the order of
//! their first appearance; the format has no times. For other checkers a key has at most one read
//! and one write per transaction: the value read before its own writes, and its last write. A list
//! becomes a register with the list's last element. The format cannot express what a transaction
//! reads of its own writes, nor that lists contradict each other.

use crate::HistoryError;
use crate::error::ParseError;
use crate::history::{Action, Ended, History, HistoryBuilder, Outcome, Step, TransactionId};
use crate::infer;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Write};

/// One line of such a file.
struct Line {
    is_write: bool,
    key: i64,
    value: i64,
    /// The index of its transaction, in order of appearance.
    transaction: u32,
}

/// Reads a history; the error says in one sentence why the text is not one.
pub fn read_text(text: &[u8]) -> Result<History, ParseError> {
    let mut lines = Vec::new();
    // Session, line and number of each transaction.
    let mut transactions: Vec<(i64, u32)> = Vec::new();
    let mut places = HashMap::new();
    for (index, bytes) in text.split(|&byte| byte == b'\n').enumerate() {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if bytes.is_empty() {
            continue;
        }
        let (is_write, [key, value, session, number]) = parse_line(bytes, index + 1)?;
        let transaction = *places.entry(number).or_insert_with(|| {
            transactions.push((session, index as u32 + 1));
            transactions.len() as u32 - 1
        });
        let (first_session, first_line) = transactions[transaction as usize];
        if first_session != session {
            let what = format!(
                "transaction {number} is of session {session} here, and of {first_session} in line {first_line}"
            );
            return Err(ParseError { line: index + 1, column: 1, what });
        }
        lines.push(Line { is_write, key, value, transaction });
    }
    lines.sort_by_key(|line| line.transaction);
    let mut builder = HistoryBuilder::new();
    let mut rest = &lines[..];
    for (index, &(session, line)) in transactions.iter().enumerate() {
        let end = rest.partition_point(|line| line.transaction as usize == index);
        builder.begin(Outcome::Committed);
        for &Line { is_write, key, value, .. } in &rest[..end] {
            let step = match (is_write, value) {
                (true, value) => Step::Write(value),
                (false, 0) => Step::ReadInitial,
                (false, value) => Step::ReadValue(value),
            };
            let key = builder.integer_key(key);
            builder.step(key, step, None).expect("there are registers only");
        }
        builder.end(Ended { process: Some(session), invoked: None, completed: None, line });
        rest = &rest[end..];
    }
    Ok(builder.finish())
}

fn parse_line(bytes: &[u8], line: usize) -> Result<(bool, [i64; 4]), ParseError> {
    let error = |column: usize, what: &str| {
        Err(ParseError { line, column: column + 1, what: what.to_owned() })
    };
    let is_write = match bytes {
        [b'r', b'(', ..] => false,
        [b'w', b'(', ..] => true,
        _ => return error(0, "a line is r(key,value,session,transaction) or w(...)"),
    };
    let mut numbers = [0; 4];
    let mut offset = 2;
    for (index, number) in numbers.iter_mut().enumerate() {
        let closing = if index == 3 { b')' } else { b',' };
        let rest = &bytes[offset..];
        let Some(length) = rest.iter().position(|&byte| byte == closing) else {
            return error(offset, "four numbers belong here, with commas between and a `)` behind");
        };
        let digits = std::str::from_utf8(&rest[..length]).unwrap_or_default();
        *number = match digits.trim().parse() {
            Ok(number) => number,
            Err(_) => return error(offset, "an integer of 64 bits belongs here"),
        };
        offset += length + 1;
    }
    if offset < bytes.len() {
        return error(offset, "there is text after the operation");
    }
    if is_write && numbers[1] == 0 {
        return error(2, "no transaction can write 0: it is the value before any write");
    }
    Ok((is_write, numbers))
}

/// The reason why a history cannot be written as text.
#[derive(Debug)]
#[non_exhaustive]
pub enum TextError {
    /// The history cannot be judged.
    History(HistoryError),
    /// A value that the format cannot express.
    Value {
        /// The line of the transaction.
        line: u32,
        value: i64,
    },
    /// The file cannot be written.
    Io(io::Error),
}

impl fmt::Display for TextError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::History(error) => error.fmt(formatter),
            Self::Value { line, value } => write!(
                formatter,
                "line {line} writes {value}; in the text form values are larger than 0"
            ),
            Self::Io(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for TextError {}

impl From<io::Error> for TextError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes the transactions that took effect, with lists as registers and keys as numbers.
pub fn write_text(history: &History, output: &mut dyn Write) -> Result<(), TextError> {
    let versions = infer::versions(history).map_err(TextError::History)?;
    let key_numbers = key_numbers(history);
    // Sessions count from 0 here, and a transaction without one gets one of its own.
    let mut sessions = history.sessions().len();
    for id in history.ids() {
        if !versions.took_effect(id) {
            continue;
        }
        let session = match history.transaction(id).session {
            Some(session) => session as usize,
            None => {
                sessions += 1;
                sessions - 1
            }
        };
        for (key, value) in first_reads(history, id) {
            writeln!(output, "r({},{value},{session},{})", key_numbers[key], id.0)?;
        }
        for (key, value) in last_writes(history, id)? {
            writeln!(output, "w({},{value},{session},{})", key_numbers[key], id.0)?;
        }
    }
    Ok(())
}

/// The values that a transaction read of each of its keys before its own writes, possible or not;
/// without keys whose list does not end with the transaction's own appends.
fn first_reads(history: &History, id: TransactionId) -> Vec<(usize, i64)> {
    let mut reads: Vec<(usize, i64)> = Vec::new();
    let mut own: Vec<(usize, i64)> = Vec::new();
    if history.transaction(id).outcome != Outcome::Committed {
        return reads;
    }
    for operation in history.operations(id) {
        let key = operation.key.index();
        let written: Vec<i64> =
            own.iter().filter(|(other, _)| *other == key).map(|&(_, value)| value).collect();
        let seen = match operation.action {
            Action::Append(value) | Action::Write(value) => {
                own.push((key, value));
                None
            }
            Action::ReadInitial if written.is_empty() => Some(0),
            Action::ReadValue(value) if written.is_empty() => Some(value),
            Action::ReadList(read) => {
                let list = history.list(operation.key, read).strip_suffix(&written[..]);
                list.map(|list| list.last().copied().unwrap_or(0))
            }
            _ => None,
        };
        if let Some(value) = seen
            && !reads.iter().any(|(other, _)| *other == key)
        {
            reads.push((key, value));
        }
    }
    reads
}

/// The last value that a transaction wrote to each of its keys.
fn last_writes(history: &History, id: TransactionId) -> Result<Vec<(usize, i64)>, TextError> {
    let mut writes: Vec<(usize, i64)> = Vec::new();
    for operation in history.operations(id) {
        let (Action::Append(value) | Action::Write(value)) = operation.action else {
            continue;
        };
        if value <= 0 {
            return Err(TextError::Value { line: history.transaction(id).line, value });
        }
        let key = operation.key.index();
        writes.retain(|&(other, _)| other != key);
        writes.push((key, value));
    }
    Ok(writes)
}

/// Numbers for the keys: their own, if all are non-negative integers.
fn key_numbers(history: &History) -> Vec<u64> {
    let names = (0..history.key_count()).map(|key| history.key_name(crate::KeyId(key as u32)));
    let own: Option<Vec<u64>> = names.map(|name| name.parse().ok()).collect();
    own.unwrap_or_else(|| (0..history.key_count() as u64).collect())
}
