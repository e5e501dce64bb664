//! Connections to a compute server's work port that have not proven the cluster's secret. Each has
//! a thread, so their number is limited; a new one displaces an old one by closing its socket.

use fabric::guests::{Guest, GuestLimits, GuestStage};
use fabric::linger::Linger;
use fabric::tell;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

/// The guests of a port, in the order in which they entered.
#[derive(Default)]
pub struct Guests(Mutex<Known>);

#[derive(Default)]
struct Known {
    entered: u64,
    guests: Vec<Entry>,
}

struct Entry {
    number: u64,
    peer: IpAddr,
    socket: Arc<TcpStream>,
    stage: GuestStage,
}

/// A guest's place, given up when this is dropped.
pub struct GuestPlace {
    guests: Arc<Guests>,
    number: u64,
    socket: Arc<TcpStream>,
}

impl Guests {
    /// Gives a new connection a place; closes another guest if there are too many.
    ///
    /// # Errors
    /// The connection has ended, or descriptors are short.
    pub fn enter(self: &Arc<Self>, socket: &TcpStream) -> std::io::Result<GuestPlace> {
        let (peer, socket) = (socket.peer_addr()?.ip(), Arc::new(socket.try_clone()?));
        let mut known = self.known();
        let guest = |entry: &Entry| Guest { peer: entry.peer, stage: entry.stage };
        let guests: Vec<Guest> = known.guests.iter().map(guest).collect();
        if let Some(index) = GuestLimits::WORK.displaced(&guests, peer) {
            // Its thread notices the end.
            let displaced = known.guests.remove(index);
            let _ = displaced.socket.shutdown(Shutdown::Both);
            tell::refused(&displaced.peer, &"too many connections have not proven the secret");
        }
        known.entered += 1;
        let (number, stage) = (known.entered, GuestStage::Silent);
        known.guests.push(Entry { number, peer, socket: socket.clone(), stage });
        Ok(GuestPlace { guests: self.clone(), number, socket })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().expect("no holder panics")
    }
}

impl GuestPlace {
    /// The guest has come so far.
    pub fn note(&self, stage: GuestStage) {
        let mut known = self.guests.known();
        let entry = known.guests.iter_mut().find(|entry| entry.number == self.number);
        entry.into_iter().for_each(|entry| entry.stage = stage);
    }

    /// Closes the connection of a guest that was refused, after its last words.
    pub fn linger(self) {
        self.note(GuestStage::Ended);
        Linger::wait(&self.socket);
    }
}

impl Drop for GuestPlace {
    fn drop(&mut self) {
        self.guests.known().guests.retain(|entry| entry.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn the_oldest_silent_guest_is_closed_and_places_are_given_back() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let guests = Arc::<Guests>::default();
        let enter = || {
            let caller = TcpStream::connect(address).expect("it listens");
            let (socket, _) = listener.accept().expect("somebody connects");
            let place = guests.enter(&socket).expect("a descriptor");
            (caller, socket, place)
        };
        let mut all: Vec<_> = (0..GuestLimits::WORK.per_peer).map(|_| enter()).collect();
        all[0].2.note(GuestStage::Spoken);
        let _newest = enter();
        assert_eq!(all[1].0.read(&mut [0]).expect("it is closed"), 0);
        all[0].0.set_nonblocking(true).expect("a socket");
        let kind = all[0].0.read(&mut [0]).expect_err("it is open").kind();
        assert_eq!(kind, std::io::ErrorKind::WouldBlock);
        drop(all);
        assert_eq!(guests.known().guests.len(), 1);
    }
}
