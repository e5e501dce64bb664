//! The database at rest, after all sessions: garbage is collected to the last piece, and every
//! piece of memory belongs to a structure.

use fabric::{DynEnv, Env};
use txn::Database;

/// Rounds of collection after the last session. Two suffice, unless vectors are fetched by slow
/// verbs: a horizon becomes a candidate in one, and is adopted in the next.
const ROUNDS: usize = 200;
/// Time between two rounds, so that collectors freeze vectors and fetchers fetch them.
const ROUND_NS: u64 = 1_000_000;

/// Collects the garbage of the idle lanes of all compute servers. Returns the number of pieces that
/// are left after all rounds: a defect if it is not 0.
pub async fn collect_all(env: &DynEnv, homes: &[Database<DynEnv>]) -> usize {
    let mut waiting = 0;
    for _ in 0..ROUNDS {
        env.sleep_ns(ROUND_NS).await;
        waiting = 0;
        for home in homes {
            // A collection that fails is repeated by the next round.
            waiting += home.collect_garbage().await.unwrap_or(1);
        }
        if waiting == 0 {
            break;
        }
    }
    waiting
}
