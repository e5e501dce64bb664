//! Transactions in words.

use crate::history::{Action, History, KeyId, Operation, Outcome, TransactionId};
use std::fmt::Write;

/// The largest number of elements shown of a list: its end, which matters.
const ELEMENTS_MAX: usize = 8;

/// A list: all of it, or its end.
pub(crate) fn list_in_words(list: &[i64]) -> String {
    let told = &list[list.len().saturating_sub(ELEMENTS_MAX)..];
    let mut text = String::from("[");
    if told.len() < list.len() {
        let _ = write!(text, "... {} more ... ", list.len() - told.len());
    }
    for (place, value) in told.iter().enumerate() {
        let _ = write!(text, "{}{value}", if place > 0 { " " } else { "" });
    }
    text.push(']');
    text
}

/// The session, line and time of a transaction.
pub fn transaction_in_words(history: &History, id: TransactionId) -> String {
    let transaction = history.transaction(id);
    let mut text = match transaction.session {
        Some(session) => format!("session {}, ", history.sessions()[session as usize]),
        None => String::new(),
    };
    let _ = write!(text, "line {}", transaction.line);
    let outcome = match transaction.outcome {
        Outcome::Committed => "",
        Outcome::Aborted => ", aborted",
        Outcome::Unknown => ", outcome unknown",
    };
    text.push_str(outcome);
    let milliseconds = |time_ns: i64| time_ns as f64 / 1e6;
    match (transaction.invoked_ns, transaction.completed_ns) {
        (Some(invoked), Some(completed)) => {
            let (invoked, completed) = (milliseconds(invoked), milliseconds(completed));
            let _ = write!(text, ", {invoked:.3} to {completed:.3} ms");
        }
        (Some(invoked), None) => {
            let _ = write!(text, ", from {:.3} ms", milliseconds(invoked));
        }
        _ => {}
    }
    text
}

/// The operations of a transaction on the given keys, one by one; on all keys, if none are given.
pub fn operations_in_words(history: &History, id: TransactionId, keys: &[KeyId]) -> Vec<String> {
    let operations = history.operations(id).iter();
    let told = operations.filter(|operation| keys.is_empty() || keys.contains(&operation.key));
    told.map(|operation| operation_in_words(history, operation)).collect()
}

fn operation_in_words(history: &History, operation: &Operation) -> String {
    let key = history.key_name(operation.key);
    match operation.action {
        Action::Append(value) => format!("append {value} to {key}"),
        Action::Write(value) => format!("write {value} to {key}"),
        Action::ReadValue(value) => format!("read {key}: {value}"),
        Action::ReadList(read) => {
            format!("read {key}: {}", list_in_words(history.list(operation.key, read)))
        }
        Action::ReadInitial => format!("read {key}: nothing"),
        Action::Unread => format!("read {key}"),
    }
}
