//! Mutants: each test removes a guard of the protocol, and the checkers must notice. A checker that
//! has never caught a planted bug proves nothing.
//!
//! Every test shows three things: the protocol consulted the guard, some world within a bounded
//! number of seeds goes wrong without it, and the same worlds are right with it.

use crate::random::{Dice, Mix, SNAPSHOT, TIGHT, programs};
use crate::support::cluster::Cluster;
use crate::support::history::{cycle, shared_groups, violations};
use crate::support::program::{KEY_MAX, Program, Step, Tables};
use crate::support::{NOTE, VALUE, index, key, table, with_notes};
use fabric::{Env, Mutant};
use layout::{IndexKind, LongValues, Storage};
use sim::{Carrier, SimConfig};
use std::cell::RefCell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use txn::{DatabaseConfig, Isolation, Lane, Outcome};

/// Runs a scenario in a world; returns the errors, and how often the protocol consulted the guard.
pub type Scenario<'a> = &'a dyn Fn(SimConfig, Mutant) -> (Vec<String>, u64);

/// Shows that the scenario fails within `seeds` when all of `mutants` are removed.
pub fn is_caught(mutants: &[Mutant], seeds: u64, scenario: Scenario<'_>) {
    is_caught_within(mutants, 0..seeds, scenario);
}

/// The same with seeds of a range, for a bug that few seeds show.
pub fn is_caught_within(mutants: &[Mutant], seeds: Range<u64>, scenario: Scenario<'_>) {
    let first = mutants[0];
    let mut asked = 0;
    let mut caught = None;
    for seed in seeds.clone() {
        let hostile = || SimConfig::hostile(seed).named(format!("{mutants:?}"));
        let (wrong, _) = scenario(hostile(), first);
        assert_eq!(wrong, Vec::<String>::new(), "seed {seed}, {mutants:?} present");
        let config = mutants.iter().fold(hostile(), |config, &mutant| config.with_mutant(mutant));
        // Without its guards the protocol may fail its own assertions, which counts as noticed.
        let run = catch_unwind(AssertUnwindSafe(|| scenario(config, first)));
        let (wrong, times) = run.unwrap_or_else(|_| (vec!["an assertion failed".to_owned()], 1));
        asked += times;
        caught = wrong.first().map(|wrong| (seed, wrong.clone()));
        if caught.is_some() {
            break;
        }
    }
    assert!(asked > 0, "{first} is never consulted");
    let (seed, wrong) =
        caught.unwrap_or_else(|| panic!("{mutants:?} is not caught by seeds {seeds:?}"));
    eprintln!("{mutants:?}: caught by seed {seed}: {}", &wrong[..wrong.len().min(160)]);
}

/// All errors after the sessions ran.
pub fn judge(
    cluster: &Cluster,
    tables: Tables,
    setup: &Program,
    sessions: &[Vec<Program>],
    is_unique: bool,
) -> Vec<String> {
    let history = cluster.run(tables, setup, sessions);
    let mut wrong = violations(&history);
    if wrong.is_empty() && sessions[0][0].isolation == Isolation::Serializable {
        wrong.extend(cycle(&history).map(|cycle| format!("not serializable: {cycle:?}")));
    }
    if wrong.is_empty() && is_unique {
        wrong.extend(shared_groups(&history));
    }
    let report = cluster.admin(cluster.database.check()).expect("no server is dead");
    wrong.extend(report.defects());
    wrong
}

/// Random transactions.
pub fn random(carrier: Carrier, mix: Mix) -> impl Fn(SimConfig, Mutant) -> (Vec<String>, u64) {
    move |config, mutant| {
        let mut dice = Dice(config.seed ^ 0xd1ce);
        let servers = 1 + (config.seed % 2) as u16;
        let (cluster, tables) = mix.open(config.carried_by(carrier), servers, &mut dice);
        let sessions = programs(&mut dice, &mix);
        let wrong = judge(&cluster, tables, &mix.setup(), &sessions, false);
        (wrong, cluster.world.mutant_asked(mutant))
    }
}

/// Given transactions, each in a session of its own.
pub fn fixed(
    carrier: Carrier,
    storage: Storage,
    isolation: Isolation,
    unique: Option<IndexKind>,
    setup: Vec<Vec<Step>>,
    sessions: Vec<Vec<Step>>,
) -> impl Fn(SimConfig, Mutant) -> (Vec<String>, u64) {
    move |config, mutant| {
        let config = config.carried_by(carrier);
        let cluster = Cluster::new(config, 1, DatabaseConfig::default());
        let indexes = unique.map(|kind| index(kind, true)).into_iter().collect();
        let tables = cluster.create(table("t", storage, indexes));
        let mut lane = cluster.lane();
        let program = |number: usize, steps: &Vec<Step>| {
            Program::new(number as i64, isolation, steps.clone())
        };
        let mut setup: Vec<Program> = setup.iter().map(|steps| program(900, steps)).collect();
        let last = setup.pop().expect("there is a setup");
        let mut before = Vec::new();
        for (number, program) in setup.iter_mut().enumerate() {
            program.number = 901 + number as i64;
            before.push(cluster.run_one(&mut lane, tables, program));
        }
        drop(lane);
        let sessions: Vec<_> = sessions
            .iter()
            .enumerate()
            .map(|(number, steps)| vec![program(number, steps)])
            .collect();
        let mut history = before;
        history.extend(cluster.run(tables, &last, &sessions));
        let mut wrong = violations(&history);
        if wrong.is_empty() && isolation == Isolation::Serializable {
            wrong.extend(cycle(&history).map(|cycle| format!("not serializable: {cycle:?}")));
        }
        if wrong.is_empty() && unique.is_some() {
            // The setup itself may pass through states that share a group.
            wrong.extend(shared_groups(&history));
        }
        (wrong, cluster.world.mutant_asked(mutant))
    }
}

#[test]
fn validating_before_locking() {
    let steps = |id| vec![Step::ReadMany(vec![0, 1]), Step::Put(id)];
    let skew = vec![steps(0), steps(1)];
    let setup = vec![vec![Step::Put(0), Step::Put(1)]];
    let scenario =
        fixed(Carrier::Card, Storage::HashInlined, Isolation::Serializable, None, setup, skew);
    is_caught(&[Mutant::CommitValidateBeforeLocks], 300, &scenario);
}

#[test]
fn inserting_without_the_insert_word() {
    let insert = || vec![Step::Insert(5, 0)];
    let setup = vec![vec![Step::Put(0)]];
    let sessions = vec![insert(), insert(), insert()];
    let scenario =
        fixed(Carrier::Card, Storage::HashOutside, Isolation::Snapshot, None, setup, sessions);
    is_caught(&[Mutant::CommitSkipInsertWord], 300, &scenario);
}

#[test]
fn reading_an_old_version_without_its_successor() {
    let mix = Mix { storage: Storage::HashInlined, keys: 2, transactions: 12, ..SNAPSHOT };
    is_caught(&[Mutant::ReadSuccessorUnchecked], 300, &random(Carrier::Card, mix));
}

#[test]
fn collecting_without_raising_the_collected_word() {
    let mix = Mix { storage: Storage::HashInlined, keys: 3, ..TIGHT };
    is_caught(&[Mutant::CollectSkipCollectedWord], 600, &random(Carrier::Card, mix));
}

#[test]
fn ignoring_the_collected_word() {
    let mix = Mix { storage: Storage::Tree, keys: 3, ..TIGHT };
    is_caught(&[Mutant::ReadSkipCollected], 600, &random(Carrier::Card, mix));
}

#[test]
fn a_horizon_that_ignores_active_lanes() {
    let mix = Mix { storage: Storage::HashOutside, keys: 3, ..TIGHT };
    let mutants = [Mutant::CollectIgnoreLanes, Mutant::CollectSkipCollectedWord];
    is_caught(&mutants, 300, &random(Carrier::Caller, mix));
}

#[test]
fn publishing_before_installing() {
    let mix = Mix { storage: Storage::HashInlined, ..SNAPSHOT };
    is_caught(&[Mutant::CommitPublishBeforeInstall], 300, &random(Carrier::Card, mix));
}

#[test]
fn collecting_the_vector_once() {
    let mix =
        Mix { storage: Storage::HashInlined, sessions: 6, transactions: 8, keys: 8, ..SNAPSHOT };
    is_caught_within(&[Mutant::OracleSingleCollect], 3560..7560, &random(Carrier::Card, mix));
}

/// Where servers execute whole batches, there is no second read of the vector that could detect the
/// error.
#[test]
fn trusting_one_read_of_the_vector() {
    let mix =
        Mix { storage: Storage::HashInlined, sessions: 6, transactions: 8, keys: 8, ..SNAPSHOT };
    let scenario = random(Carrier::Server, mix);
    let is_wrong = |seed, one_moment| {
        let mut config = SimConfig::hostile(seed).named("one read of the vector");
        config.broken.one_moment = one_moment;
        !scenario(config, Mutant::CommitSkipReaders).0.is_empty()
    };
    let caught = (0..4000).find(|&seed| {
        assert!(!is_wrong(seed, false), "seed {seed}, with verbs of one moment");
        is_wrong(seed, true)
    });
    assert!(caught.is_some(), "no world detects a read of the vector that takes time");
}

#[test]
fn overwriting_what_the_snapshot_does_not_cover() {
    let mix = Mix { storage: Storage::HashInlined, keys: 2, ..SNAPSHOT };
    is_caught(&[Mutant::CommitSkipSnapshotCheck], 600, &random(Carrier::Card, mix));
}

#[test]
fn trusting_a_chain_read_before_the_lock() {
    let mix = Mix { storage: Storage::HashInlined, keys: 3, ..TIGHT };
    is_caught_within(&[Mutant::CommitChainBeforeLock], 220..4220, &random(Carrier::Card, mix));
}

#[test]
fn writing_the_payload_before_the_old_version() {
    let mix = Mix { storage: Storage::HashInlined, keys: 2, transactions: 12, ..SNAPSHOT };
    is_caught(&[Mutant::CommitPayloadBeforeOldVersion], 600, &random(Carrier::Card, mix));
}

#[test]
fn leaving_a_moved_row_unlocked() {
    let mix = Mix { storage: Storage::HashInlined, keys: KEY_MAX + 1, ..TIGHT };
    is_caught(&[Mutant::HashMovedRowUnlocked], 600, &random(Carrier::Card, mix));
}

#[test]
fn giving_an_existing_unique_key_without_its_lock() {
    let setup = vec![vec![Step::PutInto(0, 7), Step::PutInto(1, 101)], vec![Step::PutInto(0, 100)]];
    let sessions =
        vec![vec![Step::PutInto(0, 7)], vec![Step::Insert(5, 7)], vec![Step::PutInto(1, 7)]];
    let scenario = fixed(
        Carrier::Card,
        Storage::HashInlined,
        Isolation::Snapshot,
        Some(IndexKind::Tree),
        setup,
        sessions,
    );
    is_caught(&[Mutant::CommitSkipUniqueLock], 600, &scenario);
}

#[test]
fn locking_a_leaf_without_its_rewrite_counter() {
    // Many insert into one leaf, so that some read it while its insert word changes.
    let setup = vec![vec![Step::Put(0)]];
    let sessions = (1..=8).map(|id| vec![Step::Insert(id, 0)]).collect();
    let scenario = fixed(Carrier::Card, Storage::Tree, Isolation::Snapshot, None, setup, sessions);
    // A read takes long enough for its words to come from before and after a commit.
    let slowly = |config, mutant: Mutant| scenario(SimConfig { word_ns: 1500, ..config }, mutant);
    is_caught(&[Mutant::CommitSkipLeafVersion], 6000, &slowly);
}

#[test]
fn validating_a_bucket_by_a_lock_on_another_value() {
    let steps = |read, insert| vec![Step::Read(read), Step::Pause(5000), Step::Insert(insert, 0)];
    let setup = vec![vec![Step::Put(0)]];
    let sessions = vec![steps(5, 6), steps(6, 5), steps(7, 5)];
    let scenario = fixed(
        Carrier::Caller,
        Storage::HashInlined,
        Isolation::Serializable,
        None,
        setup,
        sessions,
    );
    is_caught(&[Mutant::CommitTrustOwnBucketLock], 1000, &scenario);
}

/// A reader that runs for longer than E has a row's image, and reads the long value when its memory
/// has another one.
fn late_reader(config: SimConfig, mutant: Mutant) -> (Vec<String>, u64) {
    let limits = DatabaseConfig { transaction_time_max_ns: 1000, ..DatabaseConfig::default() };
    let cluster = Cluster::new(config.carried_by(Carrier::Card), 1, limits);
    let tables = cluster.create(with_notes(table("t", Storage::HashInlined, Vec::new()), None));
    let [mut reader, mut writer] = [(); 2].map(|()| cluster.lane());
    let text = |number: usize| format!("{number:0100}");
    let wrong = cluster.admin(async {
        write_note(&mut writer, tables, &text(0)).await;
        let mut txn = reader.begin(Isolation::Snapshot).await.expect("the servers answer");
        let row = txn.read(tables.table, &key(1)).await.expect("the servers answer");
        for number in 1..20 {
            write_note(&mut writer, tables, &text(number)).await;
            writer.env().sleep_ns(2000).await;
            let _what_is_left_is_collected_later = writer.collect_garbage().await;
        }
        let mut notes = LongValues::default();
        let wanted = [(row.expect("it was written"), NOTE)];
        match txn.read_long_many(&wanted, &mut notes).await {
            Ok(()) if notes.get(0) != Some(text(0).as_bytes()) => {
                vec![format!("{:?}", notes.get(0))]
            }
            Ok(()) | Err(_) => Vec::new(),
        }
    });
    (wrong, cluster.world.mutant_asked(mutant))
}

/// Gives row 1 this note; inserts the row if it is absent.
async fn write_note<E: Env>(lane: &mut Lane<E>, tables: Tables, text: &str) {
    let mut txn = lane.begin(Isolation::Snapshot).await.expect("the servers answer");
    let row = match txn.read(tables.table, &key(1)).await.expect("the servers answer") {
        Some(row) => row,
        None => txn.insert(tables.table, &key(1)).await.expect("the servers answer"),
    };
    txn.update(row).set_bytes(NOTE, text.as_bytes());
    assert_eq!(txn.commit().await, Outcome::Committed);
}

#[test]
fn taking_a_value_without_its_version() {
    is_caught(&[Mutant::ValueSkipVersion], 100, &late_reader);
}

/// Writes the same value into some rows; returns whether it has committed.
async fn write_all<E: Env>(lane: &mut Lane<E>, tables: Tables, ids: &[i32], value: i64) -> bool {
    let Ok(mut txn) = lane.begin(Isolation::Snapshot).await else { return false };
    for &id in ids {
        let row = match txn.read(tables.table, &key(id)).await {
            Ok(Some(row)) => row,
            Ok(None) => match txn.insert(tables.table, &key(id)).await {
                Ok(row) => row,
                Err(_) => return false,
            },
            Err(_) => return false,
        };
        txn.update(row).set_int(VALUE, value);
    }
    txn.commit().await == Outcome::Committed
}

/// The values that a snapshot has of two rows that are always written together.
async fn pair<E: Env>(lane: &mut Lane<E>, tables: Tables) -> Option<[Option<i64>; 2]> {
    let mut txn = lane.begin(Isolation::Snapshot).await.ok()?;
    let mut pair = [None; 2];
    for (id, value) in (0..).zip(&mut pair) {
        let row = txn.read(tables.table, &key(id)).await.ok()?;
        *value = row.map(|row| txn.row(row).int(VALUE));
    }
    Some(pair)
}

/// One session writes two rows together, or a third, on one lane, while completions are lost.
/// Others check that the two rows are equal.
fn writing_under_loss(config: SimConfig, mutant: Mutant) -> (Vec<String>, u64) {
    let config = SimConfig { lost_batch_one_in: 60, ..config };
    let prepare = || {
        let cluster = Cluster::new(config, 1, DatabaseConfig::default());
        let tables = cluster.create(table("t", Storage::HashInlined, Vec::new()));
        let mut lane = cluster.lane();
        let is_filled = cluster.admin(write_all(&mut lane, tables, &[0, 1, 2], 0));
        assert!(is_filled, "a loss");
        (cluster, tables)
    };
    // A world that loses a completion before there are rows shows nothing.
    let Ok((cluster, tables)) = catch_unwind(AssertUnwindSafe(prepare)) else {
        return (Vec::new(), 0);
    };
    let wrong = Rc::new(RefCell::new(Vec::new()));
    let writer = cluster.compute(0);
    cluster.world.spawn_on(&writer.env().clone(), async move {
        let (Ok(_), Ok(mut lane)) = (writer.refresh().await, writer.lane().await) else { return };
        for value in 1..30 {
            write_all(&mut lane, tables, if value % 2 == 1 { &[0, 1] } else { &[2] }, value).await;
        }
    });
    for number in 1..3 {
        let (reader, wrong) = (cluster.compute(number), wrong.clone());
        cluster.world.spawn_on(&reader.env().clone(), async move {
            let (Ok(_), Ok(mut lane)) = (reader.refresh().await, reader.lane().await) else {
                return;
            };
            for _ in 0..60 {
                if let Some([one, other]) = pair(&mut lane, tables).await
                    && one != other
                {
                    wrong.borrow_mut().push(format!("half a transaction: {one:?}, {other:?}"));
                }
            }
        });
    }
    cluster.world.run_until_idle();
    (wrong.take(), cluster.world.mutant_asked(mutant))
}

#[test]
fn going_on_with_a_lane_after_an_unknown_outcome() {
    is_caught_within(&[Mutant::LaneReusedAfterUnknown], 260..860, &writing_under_loss);
}

#[test]
fn proving_two_absences_by_one_of_two_readings() {
    let setup = vec![vec![Step::Put(0)]];
    let mixed = vec![
        Step::Read(5),
        Step::Pause(20_000),
        Step::Insert(6, 0),
        Step::Insert(7, 0),
        Step::Insert(8, 0),
        Step::Insert(5, 0),
    ];
    let sessions = vec![mixed, vec![Step::Insert(5, 0)], vec![Step::Insert(5, 0)]];
    let scenario =
        fixed(Carrier::Card, Storage::HashInlined, Isolation::Snapshot, None, setup, sessions);
    is_caught(&[Mutant::WriteMixBucketReadings], 2000, &scenario);
}

#[test]
fn removing_an_entry_that_an_old_snapshot_needs() {
    let mix = Mix {
        storage: Storage::HashInlined,
        keys: 3,
        index: Some(IndexKind::Tree),
        transactions: 20,
        ..TIGHT
    };
    let seeds = 3790..7190;
    is_caught_within(&[Mutant::CollectTrustNewestVersion], seeds, &random(Carrier::Card, mix));
}
