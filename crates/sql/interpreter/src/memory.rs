//! The memory that a statement may take for rows that it must hold: sorts, groups, hash tables.

use crate::error::Result;
use crate::rows::Rows;
use sql_value::{Error, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The limit without a setting, in bytes.
pub const WORK_MEMORY: usize = 256 << 20;

/// The memory of a statement.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    /// In bytes.
    limit: usize,
    used: Arc<AtomicUsize>,
}

impl Default for Memory {
    fn default() -> Self {
        Self { limit: WORK_MEMORY, used: Arc::default() }
    }
}

impl Memory {
    pub fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// Takes memory for a node.
    pub fn reserve(&self, held: &mut Reservation, bytes: usize, node: &str) -> Result<()> {
        let used = self.used.fetch_add(bytes, Relaxed) + bytes;
        held.used.get_or_insert_with(|| self.used.clone());
        held.bytes += bytes;
        match used > self.limit {
            true => Err(self.exceeded(held.bytes, node)),
            false => Ok(()),
        }
    }

    #[cold]
    fn exceeded(&self, bytes: usize, node: &str) -> crate::error::Failure {
        let limit = self.limit >> 10;
        let message = format!("the statement needs more memory than work_mem ({limit} kB)");
        let detail = format!("The {node} of its plan holds {} kB.", bytes.div_ceil(1 << 10));
        let hint = format!(
            "Raise work_mem, or let fewer rows reach the {node}: rows are not written to disk."
        );
        Error::new("53200", message).detail(detail).hint(hint).into()
    }
}

/// Memory that a node holds; it is free when this is dropped.
#[derive(Default, Debug)]
pub(crate) struct Reservation {
    used: Option<Arc<AtomicUsize>>,
    pub bytes: usize,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(used) = &self.used {
            used.fetch_sub(self.bytes, Relaxed);
        }
    }
}

/// The memory of some values, in bytes.
pub(crate) fn bytes_of(values: &[Value]) -> usize {
    size_of_val(values) + values.iter().map(apart).sum::<usize>()
}

/// The memory of the rows from this one on, in bytes.
pub(crate) fn bytes_from(rows: &Rows, at: usize) -> usize {
    (at..rows.len()).map(|at| bytes_of(rows.row(at))).sum()
}

/// The memory of a value beside the value itself, in bytes.
fn apart(value: &Value) -> usize {
    match value {
        Value::Text(text) if text.is_heap_allocated() => text.capacity(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Array(values) | Value::Row(values) => bytes_of(values),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_free_when_its_holder_is_dropped() {
        let mut memory = Memory::default();
        memory.set_limit(100);
        let mut held = Reservation::default();
        memory.reserve(&mut held, 60, "Sort").expect("there is room");
        let mut other = Reservation::default();
        assert!(memory.reserve(&mut other, 50, "Sort").is_err());
        drop(other);
        memory.reserve(&mut held, 40, "Sort").expect("the room is free again");
        drop(held);
        memory.reserve(&mut Reservation::default(), 100, "Sort").expect("all is free");
    }

    #[test]
    fn long_values_count() {
        let long = Value::text(&"x".repeat(1000));
        assert!(bytes_of(std::slice::from_ref(&long)) >= 1000 + size_of::<Value>());
        let array = Value::Array(vec![long, Value::Int(1)].into());
        assert!(bytes_of(&[array, Value::Null]) >= 1000 + 4 * size_of::<Value>());
    }
}
