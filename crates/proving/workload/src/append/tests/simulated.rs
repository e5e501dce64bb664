//! List-append in simulated worlds: sessions on compute servers of their own, over weak memory. The
//! tests rely on the judge alone: correct code keeps its promises, and the clients' histories
//! reveal each planted bug.

use super::{AppendConfig, config, new};
use crate::append::TYPES;
use crate::driver::{RunTotals, TransactionResult, Workload};
use crate::simulated;
use fabric::Mutant;
use history_judge::{Level, Report, Verdict};
use sim::{SimConfig, World};
use txn::Isolation;

/// Words of each memory server.
const SERVER_WORDS: u64 = 1 << 20;
const SERVERS: u16 = 2;
/// Sessions, each on a compute server.
const SESSIONS: u32 = 4;
/// Transactions of a session.
const TRANSACTIONS: u32 = 60;
/// The number of worlds within which a planted bug must be found.
const SEEDS_MAX: u64 = 30;

/// The judge's report on one world.
fn judged(sim: SimConfig, isolation: Isolation) -> Report {
    let is_broken = !sim.mutants.is_empty();
    let world = World::new(sim.with_servers(&[SERVER_WORDS; SERVERS as usize]));
    let (admin, database) = simulated::open(&world);
    let append = new(AppendConfig { lists: 4, ..config(isolation) });
    let mut lane = world.block_on(&admin, async {
        append.create_tables(&database).await.expect("the table is new");
        let mut lane = database.lane().await.expect("lanes are free");
        append.load_part(&database, &mut lane, 0, 1, &|_| {}).await.expect("it fits");
        lane.rest().await.expect("the oracle answers");
        lane
    });
    for number in 0..SESSIONS {
        let endpoint = world.endpoint(world.compute_node(number as u16));
        let database = database.elsewhere(endpoint.clone().into_dyn());
        let append = append.clone();
        world.spawn_on(&endpoint, async move {
            database.refresh().await.expect("the servers answer");
            let mut lane = database.lane().await.expect("lanes are free");
            let mut terminal =
                append.terminal(&database, number, SESSIONS, 1).expect("the table is there");
            for _ in 0..TRANSACTIONS {
                let finished = append.run_one(&mut lane, &mut terminal).await;
                let finished = finished.expect("nothing is wrong");
                if finished.result == TransactionResult::Unknown {
                    // The session's lane is unusable.
                    return;
                }
            }
        });
    }
    assert_eq!(world.run_until_idle(), 0, "{}: tasks wait for ever", world.identity());
    let totals = RunTotals::new(TYPES.len());
    let checked = world.block_on(&admin, append.check(&database, &mut lane, &totals, false));
    // With a planted bug the final read may fail; the judge still evaluates the earlier history.
    assert!(checked.is_ok() || is_broken, "{checked:?}");
    history_judge::judge(&append.recordings().history()).expect("values are unique")
}

#[test]
fn right_code_keeps_what_each_level_promises() {
    for seed in 0..6 {
        let report = judged(SimConfig::hostile(seed), Isolation::Snapshot);
        let verdict = report.verdict(Level::StrongSessionSnapshot);
        assert_eq!(verdict, &Verdict::Holds, "seed {seed}: {:?}", report.findings);
        assert!(report.counts.committed > 200, "seed {seed}: {:?}", report.counts);
        let report = judged(SimConfig::hostile(seed), Isolation::Serializable);
        let verdict = report.verdict(Level::Serializable);
        assert_eq!(verdict, &Verdict::Holds, "seed {seed}: {:?}", report.findings);
    }
}

/// Whether some world with `mutant` shows `anomaly`. Another anomaly that the same bug causes may
/// come first, so that the search goes on past it.
fn is_shown(mutant: Mutant, isolation: Isolation, anomaly: &str) -> bool {
    let level = match isolation {
        Isolation::Snapshot => Level::Snapshot,
        Isolation::Serializable => Level::Serializable,
    };
    (0..SEEDS_MAX).any(|seed| {
        let report = judged(SimConfig::hostile(seed).with_mutant(mutant), isolation);
        report.against(level).any(|found| found.witness.anomaly.to_string() == anomaly)
    })
}

#[test]
fn histories_of_clients_reveal_planted_bugs() {
    use Isolation::{Serializable, Snapshot};
    for (mutant, isolation, anomaly) in [
        (Mutant::CommitPublishBeforeInstall, Snapshot, "G-single"),
        (Mutant::CommitValidateBeforeLocks, Serializable, "G2"),
        (Mutant::CommitSkipInsertWord, Snapshot, "G-single"),
        (Mutant::HashMovedRowUnlocked, Snapshot, "G-single"),
    ] {
        assert!(is_shown(mutant, isolation, anomaly), "{mutant} did not cause {anomaly}");
    }
}
