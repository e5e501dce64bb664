//! A memory server stands still while lanes commit, and every process lives on: the lanes decide
//! their unknown outcomes when it answers again, and nothing stays locked.

use crate::support::network::Network;
use crate::support::{STORAGES, VALUE, index, key, table};
use fabric::{DynEnv, Env};
use layout::IndexKind;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use txn::{Abort, Database, Isolation, Lane, Outcome, TableId};

/// Number of lanes that write.
const LANES: usize = 6;
/// The rows that they write; each transaction adds to two of them.
const ROWS: i32 = 4;
/// Time without an answer after which a server is lost.
const ANSWER_NS: u64 = 150_000_000;
/// The server stands still from the first moment on, for as long as the second.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_millis(500));
/// Time for which the lanes write.
const RUN_NS: u64 = 1_500_000_000;

/// The ends of the transactions.
#[derive(Default, Debug)]
struct Ends {
    committed: i64,
    unknown: i64,
    /// Those that lost batch 1, and other attempts without effect.
    aborted: u64,
    /// Commits in the last third of the run.
    late: u64,
}

impl Ends {
    fn note(&mut self, outcome: Result<Outcome, Abort>, is_late: bool) {
        match outcome {
            Ok(Outcome::Committed) => {
                self.committed += 1;
                self.late += u64::from(is_late);
            }
            Ok(Outcome::Unknown) => self.unknown += 1,
            Ok(Outcome::Aborted(_)) | Err(_) => self.aborted += 1,
        }
    }
}

/// Adds 1 to two rows.
async fn add(lane: &mut Lane<DynEnv>, table: TableId, first: i32) -> Result<Outcome, Abort> {
    let mut txn = lane.begin(Isolation::Snapshot).await?;
    for id in [first % ROWS, (first + 1) % ROWS] {
        let read = txn.read(table, &key(id)).await;
        let row = read.map_err(|error| error.abort().expect("the table is whole"))?;
        let row = row.expect("it was inserted");
        let next = txn.row(row).int(VALUE) + 1;
        txn.update(row).set_int(VALUE, next);
    }
    Ok(txn.commit().await)
}

/// Writes until the end of the run. A lane with an unknown outcome is dropped, as a client that
/// goes on without waiting does; half of the lanes are kept instead.
async fn write(database: Database<DynEnv>, table: TableId, number: usize, ends: Rc<RefCell<Ends>>) {
    let env = database.env().clone();
    let start_ns = env.now_ns();
    let mut lane = None;
    for step in 0.. {
        let taken_ns = env.now_ns() - start_ns;
        if taken_ns >= RUN_NS {
            return;
        }
        let mut held = match lane.take() {
            Some(lane) => lane,
            None => match database.lane().await {
                Ok(lane) => lane,
                Err(_) => {
                    env.sleep_ns(1_000_000).await;
                    continue;
                }
            },
        };
        let outcome = add(&mut held, table, number as i32 + step).await;
        ends.borrow_mut().note(outcome, taken_ns > 2 * RUN_NS / 3);
        match outcome {
            Ok(Outcome::Unknown) if number.is_multiple_of(2) => drop(held),
            Err(Abort::Unreachable) => {
                env.sleep_ns(1_000_000).await;
                lane = Some(held);
            }
            _ => lane = Some(held),
        }
    }
}

#[test]
fn lanes_decide_when_a_memory_server_answers_again() {
    for storage in STORAGES {
        let network = Network::with_answer_time(ANSWER_NS);
        let tables = network.create(table("t", storage, vec![index(IndexKind::Tree, false)]));
        let table = tables.table;
        network.block_on(async {
            let mut lane = network.database.lane().await.expect("there are slots");
            let mut txn = lane.begin(Isolation::Snapshot).await.expect("begins");
            for id in 0..ROWS {
                txn.insert(table, &key(id)).await.expect("is free");
            }
            assert_eq!(txn.commit().await, Outcome::Committed);
        });
        let ends = Rc::new(RefCell::new(Ends::default()));
        let pause = network.pause_later(PAUSE.0, PAUSE.1);
        network.block_on(async {
            let env = network.database.env().clone();
            for number in 0..LANES {
                let (database, ends) = (network.database.clone(), ends.clone());
                env.spawn(write(database, table, number, ends));
            }
            // Lanes that wait for their server end their last transaction later.
            env.sleep_ns(RUN_NS + 300_000_000).await;
        });
        pause.join().expect("it does not panic");
        let departed = network.block_on(network.database.leave(1_000_000_000));
        departed.expect("the servers answer");
        let ends = ends.take();
        assert!(ends.unknown > 0 || ends.aborted > 0, "{storage:?}: the pause had no effect");
        assert!(ends.late > 0, "{storage:?}: nothing commits after the pause: {ends:?}");
        network.check();
        let sum = network.block_on(async {
            let mut lane = network.database.lane().await.expect("there are slots");
            let mut txn = lane.begin(Isolation::Snapshot).await.expect("begins");
            let mut sum = 0;
            for id in 0..ROWS {
                let row = txn.read(table, &key(id)).await.expect("reads").expect("is there");
                sum += txn.row(row).int(VALUE);
            }
            sum
        });
        let all = 2 * ends.committed..=2 * (ends.committed + ends.unknown);
        assert!(all.contains(&sum), "{storage:?}: the rows have {sum}, {ends:?}");
    }
}
