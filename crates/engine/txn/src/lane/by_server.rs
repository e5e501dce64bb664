//! Values that a lane keeps per memory server.
//!
//! A lane of a large cluster uses few of many servers, and dozens of tables: a value for each
//! server in each table would take most of the lane's memory.
//!
//! Decision: docs/decisions/0148-a-lane-stores-only-what-it-has-opened.md

use layout::NodeId;

/// One value for each memory server, made at its first use.
pub(crate) struct ByServer<T> {
    /// Sorted by server.
    made: Vec<(NodeId, T)>,
}

impl<T> ByServer<T> {
    pub(crate) const fn new() -> Self {
        Self { made: Vec::new() }
    }

    /// The value of `server`; `make` makes it at the first use.
    #[inline]
    pub(crate) fn on(&mut self, server: NodeId, make: impl FnOnce() -> T) -> &mut T {
        let place = match self.made.binary_search_by_key(&server, |made| made.0) {
            Ok(place) => place,
            Err(place) => self.insert(place, (server, make())),
        };
        &mut self.made[place].1
    }

    #[cold]
    fn insert(&mut self, place: usize, made: (NodeId, T)) -> usize {
        self.made.insert(place, made);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_its_own_and_nothing_is_made_twice() {
        let mut kept = ByServer::new();
        for (server, count) in [(5, 1), (2, 1), (5, 2), (9, 1), (2, 2)] {
            let (_, times) = kept.on(NodeId(server), || (server, 0));
            *times += 1;
            assert_eq!(*times, count);
        }
        let servers: Vec<_> = kept.made.iter().map(|made| (made.0.0, made.1.0)).collect();
        assert_eq!(servers, [(2, 2), (5, 5), (9, 9)]);
    }
}
