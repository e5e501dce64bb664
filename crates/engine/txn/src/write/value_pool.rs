//! Memory for long values: a lane's own free pieces, and those that the lanes of a compute server
//! share.
//!
//! Without sharing, a lane that deletes more than it writes would collect memory that the others
//! lack.
//!
//! Decisions:
//! - docs/decisions/0039-long-values-are-written-in-batch-2-ahead-of-their-row.md
//! - docs/decisions/0040-freeing-a-long-value-takes-no-verb.md

use fabric::{Env, Note};
use layout::{GlobalPtr, NodeId};
use memory::{AllocateError, Label, PieceKind, Pool, Purpose, SharedPieces};
use std::collections::BTreeMap;

/// Words of free pieces that a lane keeps for itself, per table and server (1 MiB); it shares the
/// others.
const FREE_WORDS_MAX: u64 = 128 * 1024;

/// A lane's memory for the long values of one table on one server.
pub(crate) struct ValuePool {
    label: Label,
    server: NodeId,
    fresh: Pool,
    free: BTreeMap<u32, Vec<GlobalPtr>>,
    free_words: u64,
}

impl ValuePool {
    /// An empty pool of a table on `server`.
    pub fn new(label: Label, server: NodeId) -> Self {
        let fresh = Pool::new(label, vec![server]);
        Self { label, server, fresh, free: BTreeMap::new(), free_words: 0 }
    }

    /// Allocates a piece of `words` words: a free one of the lane, a shared one, or new memory.
    pub async fn allocate<E: Env>(
        &mut self,
        env: &E,
        shared: &SharedPieces,
        words: u32,
    ) -> Result<GlobalPtr, AllocateError> {
        let Some(piece) = self.take(shared, words) else {
            return self.fresh.allocate(env, words).await;
        };
        env.note(|| Note::Allocates { at: piece, words });
        Ok(piece)
    }

    /// Takes a freed piece.
    fn take(&mut self, shared: &SharedPieces, words: u32) -> Option<GlobalPtr> {
        if let Some(piece) = self.free.get_mut(&words).and_then(Vec::pop) {
            self.free_words -= u64::from(words);
            return Some(piece);
        }
        let mut taken = Vec::new();
        shared.take(self.kind(words), 1, &mut taken);
        taken.pop()
    }

    fn kind(&self, words: u32) -> PieceKind {
        let (label, server) = (self.label, Some(self.server));
        PieceKind { label, purpose: Purpose::Values, server, words }
    }

    /// Frees a piece.
    pub fn free<E: Env>(&mut self, env: &E, shared: &SharedPieces, piece: GlobalPtr, words: u32) {
        env.note(|| Note::Frees { at: piece, words });
        if self.free_words + u64::from(words) > FREE_WORDS_MAX {
            return shared.give(self.kind(words), std::iter::once(piece));
        }
        self.free_words += u64::from(words);
        self.free.entry(words).or_default().push(piece);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::run_now;
    use layout::RegionId;

    #[test]
    fn surplus_pieces_of_one_lane_serve_another() {
        let config = crate::local::OpenConfig { server_bytes: 64 << 20, ..Default::default() };
        let database = crate::local::open(&config).expect("memory");
        let env = database.env().clone();
        let (label, shared) = (Label(7), SharedPieces::default());
        let pool = || ValuePool::new(label, NodeId(0));
        let (mut giver, mut taker) = (pool(), pool());
        let words = FREE_WORDS_MAX as u32 / 2;
        let pieces: Vec<GlobalPtr> = (1..4).map(|n| GlobalPtr::new(RegionId(0), n << 30)).collect();
        pieces.iter().for_each(|&piece| giver.free(&env, &shared, piece, words));
        let take = |pool: &mut ValuePool| run_now(pool.allocate(&env, &shared, words));
        assert_eq!(take(&mut taker), Ok(pieces[2]));
        assert_eq!((take(&mut giver), take(&mut giver)), (Ok(pieces[1]), Ok(pieces[0])));
        assert!(!pieces.contains(&take(&mut giver).expect("there is room")));
        giver.free(&env, &shared, pieces[0], 2 * words);
        giver.free(&env, &shared, pieces[1], words);
        shared.retain(|other| other != label);
        assert_eq!(shared.count(), 0);
    }
}
