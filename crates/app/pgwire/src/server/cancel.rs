//! The keys of connections, by which another connection cancels a statement.
//!
//! A key is random as a whole: 31 bits that clients call the process, and 32 that they call the
//! secret. The protocol has no room for more. A request is compared with all keys, and takes the
//! same time whether a part of a key is right or none.

use sql_session::Interrupt;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The keys of all connections.
#[derive(Default, Debug)]
pub struct Keys {
    connections: Mutex<BTreeMap<u32, Entry>>,
}

#[derive(Debug)]
struct Entry {
    secret: u32,
    interrupt: Arc<Interrupt>,
}

/// The key of a connection, until it is dropped.
#[derive(Debug)]
pub struct Registration {
    keys: Arc<Keys>,
    process: u32,
    secret: u32,
    interrupt: Arc<Interrupt>,
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
                let interrupt = Arc::new(Interrupt::default());
                connections.insert(process, Entry { secret, interrupt: interrupt.clone() });
                return Some(Registration { keys: self.clone(), process, secret, interrupt });
            }
        }
    }

    /// Number of connections.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Cancels the running statement of the connection with this key. False if none has it.
    pub fn cancel(&self, process: u32, secret: &[u8]) -> bool {
        let Ok(secret) = secret.try_into().map(u32::from_be_bytes) else { return false };
        let wanted = whole(process, secret);
        let mut found = None;
        for (&process, entry) in &*self.lock() {
            let difference = black_box(whole(process, entry.secret) ^ wanted);
            if difference == 0 {
                found = Some(entry.interrupt.clone());
            }
        }
        found.is_some_and(|interrupt| {
            interrupt.request();
            true
        })
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

    /// Ends the running statement of the connection when it is requested.
    pub fn interrupt(&self) -> &Arc<Interrupt> {
        &self.interrupt
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.keys.lock().remove(&self.process);
    }
}

/// A whole key.
fn whole(process: u32, secret: u32) -> u64 {
    u64::from(process) << 32 | u64::from(secret)
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
    fn a_key_cancels_its_connection_alone_and_as_long_as_it_lives() {
        let keys = Arc::new(Keys::default());
        let first = keys.register(2).expect("there is room");
        let second = keys.register(2).expect("there is room");
        assert!(keys.register(2).is_none(), "both places are taken");
        let (process, secret) = first.key();
        assert_ne!(first.key(), second.key());
        for wrong in [&(!secret).to_be_bytes()[..], b"", b"a longer secret"] {
            assert!(!keys.cancel(process, wrong));
        }
        assert!(!keys.cancel(process ^ 1, &secret.to_be_bytes()));
        assert!(!first.interrupt().is_requested());
        assert!(keys.cancel(process, &secret.to_be_bytes()));
        assert!(first.interrupt().is_requested() && !second.interrupt().is_requested());
        drop(first);
        assert!(!keys.cancel(process, &secret.to_be_bytes()));
        assert_eq!(keys.count(), 1);
    }
}
