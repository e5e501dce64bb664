//! The keys of connections, by which another connection cancels a statement.
//!
//! A key is random as a whole: 32 bits that clients call the process, and 32 that they call the
//! secret.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The keys of all connections.
#[derive(Default, Debug)]
pub struct Keys {
    connections: Mutex<BTreeMap<u32, Entry>>,
}

#[derive(Debug)]
struct Entry {
    secret: u32,
}

/// The key of a connection, until it is dropped.
#[derive(Debug)]
pub struct Registration {
    keys: Arc<Keys>,
    process: u32,
    secret: u32,
}

impl Keys {
    /// Registers a connection, unless there are `count_max`.
    pub fn register(self: &Arc<Self>, count_max: usize) -> Option<Registration> {
        let mut connections = self.lock();
        if connections.len() >= count_max {
            return None;
        }
        loop {
            let [process, secret] = random();
            // Clients may take 0 or negative numbers for errors.
            let process = process & 0x7fff_ffff;
            if process != 0 && !connections.contains_key(&process) {
                connections.insert(process, Entry { secret });
                return Some(Registration { keys: self.clone(), process, secret });
            }
        }
    }

    /// Number of connections.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Cancels the statement of the connection with this key. False if none has it.
    pub fn cancel(&self, process: u32, secret: &[u8]) -> bool {
        self.is_valid(process, secret)
    }

    /// Whether a connection has this key.
    pub fn is_valid(&self, process: u32, secret: &[u8]) -> bool {
        let connections = self.lock();
        let entry = connections.get(&process);
        entry.is_some_and(|entry| secret == entry.secret.to_be_bytes())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Entry>> {
        // Entries are inserted and removed whole.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Registration {
    /// Process and secret.
    pub fn key(&self) -> (u32, u32) {
        (self.process, self.secret)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.keys.lock().remove(&self.process);
    }
}

/// Random numbers of the operating system.
///
/// # Panics
/// If the system has none, which no supported system does.
fn random() -> [u32; 2] {
    let mut bytes = [0; 8];
    let flags = rustix::rand::GetRandomFlags::empty();
    let count = rustix::rand::getrandom(&mut bytes, flags).expect("the system has random numbers");
    assert_eq!(count, bytes.len(), "short requests are filled at once");
    let number = u64::from_le_bytes(bytes);
    [(number >> 32) as u32, number as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_valid_as_long_as_its_connection() {
        let keys = Arc::new(Keys::default());
        let first = keys.register(2).expect("there is room");
        let second = keys.register(2).expect("there is room");
        assert!(keys.register(2).is_none(), "both places are taken");
        let (process, secret) = first.key();
        assert_ne!(first.key(), second.key());
        assert!(keys.is_valid(process, &secret.to_be_bytes()));
        assert!(!keys.is_valid(process, &(!secret).to_be_bytes()) && !keys.is_valid(process, b""));
        drop(first);
        assert!(!keys.is_valid(process, &secret.to_be_bytes()));
        assert_eq!(keys.count(), 1);
    }
}
