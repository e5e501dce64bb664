//! Mutants that random worlds hardly ever catch: for each guard, the test plays the course of
//! events that needs it, step by step or with random timing.

use crate::mutants::{fixed, is_caught, is_caught_within, judge};
use crate::support::cluster::Cluster;
use crate::support::program::{Program, Step, Tables};
use crate::support::{index, key, table};
use fabric::{DynEnv, Env, Mutant};
use layout::{IndexKind, Storage};
use sim::{Carrier, Interval, SimConfig};
use txn::{Abort, DatabaseConfig, Isolation, Lane, Outcome, TxnError};

type Player = Lane<DynEnv>;

/// Number of collection rounds that suffice to adopt a horizon and to collect with it.
const COLLECTIONS: u32 = 4;

/// Runs a transaction of one session until it commits.
fn play(cluster: &Cluster, lane: &mut Player, tables: Tables, steps: &[Step]) {
    let program = Program::new(1, Isolation::Snapshot, steps.to_vec());
    for _ in 0..1000 {
        match cluster.run_one(lane, tables, &program).outcome {
            Outcome::Committed => return,
            Outcome::Aborted(abort) if abort.is_retryable() => {}
            other => panic!("{}: {other:?}", cluster.world.identity()),
        }
    }
    panic!("{}: no other client runs, and no commit succeeds", cluster.world.identity());
}

/// Collects all garbage of a lane, except what snapshots younger than E need.
fn collect(cluster: &Cluster, lane: &mut Player, tables: Tables) {
    for _ in 0..COLLECTIONS {
        play(cluster, lane, tables, &[Step::Read(0)]);
        cluster.admin(cluster.admin.sleep_ns(1_000_000));
        // In a quiet world an error here adds nothing.
        let _ = cluster.admin(lane.collect_garbage());
    }
}

/// A row is deleted and collected while an old snapshot still covers it. Then its bucket splits,
/// and the old snapshot looks for the row in the new bucket.
fn looking_behind_a_split(config: SimConfig, mutant: Mutant) -> (Vec<String>, u64) {
    let lost = 1 + (config.seed % 8) as i32;
    let database = DatabaseConfig { transaction_time_max_ns: 1000, ..Default::default() };
    let cluster = Cluster::new(config, 1, database);
    let mut spec = table("t", Storage::HashInlined, Vec::new());
    spec.design.size_hint = 1;
    spec.design.neighbourhood = 2;
    let tables = cluster.create(spec);
    let (mut old, mut writer) = (cluster.lane(), cluster.lane());
    let fill: Vec<Step> = (0..9).map(Step::Put).collect();
    play(&cluster, &mut writer, tables, &fill);
    let mut reader = cluster.admin(old.begin(Isolation::Snapshot)).expect("no other client runs");
    play(&cluster, &mut writer, tables, &[Step::Delete(lost)]);
    collect(&cluster, &mut writer, tables);
    let statistics = writer.statistics().expect("nothing was dropped");
    assert!(statistics.entries_collected > 0, "{}", cluster.world.identity());
    for id in 100..140 {
        play(&cluster, &mut writer, tables, &[Step::Put(id)]);
    }
    let wrong = match cluster.admin(reader.read(tables.table, &key(lost))) {
        Ok(None) => vec![format!("a snapshot that has row {lost} does not find it")],
        Ok(Some(_)) | Err(TxnError::Abort(Abort::SnapshotTooOld)) => Vec::new(),
        Err(error) => panic!("{}: {error}", cluster.world.identity()),
    };
    (wrong, cluster.world.mutant_asked(mutant))
}

#[test]
fn splitting_without_the_collected_word() {
    is_caught(&[Mutant::HashForgetCollected], 40, &looking_behind_a_split);
}

/// A transaction scans over a tombstone, inserts the row again, deletes it again, and inserts a row
/// before it into the same leaf. The tombstone must be retired, not the entry that the leaf now has
/// at its old position.
#[test]
fn collecting_a_tombstone_that_was_scanned_takes_its_own_entry() {
    for seed in 0..20 {
        let config = SimConfig::hostile(seed).named("scanned tombstone");
        let cluster = Cluster::new(config, 1, DatabaseConfig::default());
        let tables = cluster.create(table("t", Storage::Tree, Vec::new()));
        let mut lane = cluster.lane();
        play(&cluster, &mut lane, tables, &[Step::Put(0), Step::Put(5), Step::Put(7)]);
        play(&cluster, &mut lane, tables, &[Step::Delete(5)]);
        let steps = [Step::Scan(1, 7), Step::Insert(5, 0), Step::Delete(5), Step::Insert(4, 0)];
        play(&cluster, &mut lane, tables, &steps);
        collect(&cluster, &mut lane, tables);
        let statistics = lane.statistics().expect("nothing was dropped");
        assert!(statistics.entries_collected > 0, "{}", cluster.world.identity());
        let mut reader =
            cluster.admin(lane.begin(Isolation::Snapshot)).expect("no other client runs");
        for (id, is_there) in [(0, true), (4, true), (5, false), (7, true)] {
            let row = cluster.admin(reader.read(tables.table, &key(id))).expect("it is quiet");
            assert_eq!(row.is_some(), is_there, "row {id}, {}", cluster.world.identity());
        }
        cluster.check();
    }
}

/// Two sessions give different rows the same unique key, whose leaf is full. One session splits the
/// leaf between the two entries and goes on in the right part, the other in the left part.
#[test]
fn a_unique_key_stays_unique_when_its_leaf_splits() {
    // Four keys below theirs and three above, so that the right part begins with the larger of
    // their entries.
    let fill = (0..7).map(|id| Step::Insert(id, i64::from(id) + if id < 4 { 0 } else { 20 }));
    let fill: Vec<Step> = fill.collect();
    // Try rows until one is in another bucket than row 11, so that the table has no conflict.
    for other in 7..11 {
        let late = vec![Step::Pause(30_000), Step::Insert(other, 15)];
        let sessions = vec![vec![Step::Insert(11, 15)], late];
        let (isolation, index) = (Isolation::Snapshot, Some(IndexKind::Tree));
        let setup = vec![fill.clone()];
        let run = fixed(Carrier::Card, Storage::HashInlined, isolation, index, setup, sessions);
        for seed in 0..300 {
            let (wrong, _) =
                run(SimConfig::hostile(seed).named("split unique key"), Mutant::CommitSkipReaders);
            assert_eq!(wrong, [""; 0], "row {other}, seed {seed}");
        }
    }
}

/// A lane has retired an index entry that its row has again. Another lane collects the row with the
/// entry, and another row reuses its memory; then the key gets a new row and a new entry. Only then
/// does the first lane collect.
fn collecting_an_entry_late(config: SimConfig, mutant: Mutant) -> (Vec<String>, u64) {
    let kind = [IndexKind::Tree, IndexKind::Hash][(config.seed % 2) as usize];
    let storage = [Storage::Tree, Storage::HashOutside][(config.seed / 2 % 2) as usize];
    let cluster = Cluster::new(config, 1, DatabaseConfig::default());
    let tables = cluster.create(table("t", storage, vec![index(kind, false)]));
    let [mut late, mut other, mut third] = [(); 3].map(|()| cluster.lane());
    play(&cluster, &mut late, tables, &[Step::Insert(1, 7)]);
    play(&cluster, &mut late, tables, &[Step::PutInto(1, 8)]);
    play(&cluster, &mut other, tables, &[Step::PutInto(1, 7)]);
    play(&cluster, &mut other, tables, &[Step::Delete(1)]);
    collect(&cluster, &mut other, tables);
    play(&cluster, &mut other, tables, &[Step::Insert(2, 9)]);
    play(&cluster, &mut third, tables, &[Step::Insert(1, 7)]);
    collect(&cluster, &mut late, tables);
    let program = Program::new(2, Isolation::Snapshot, vec![Step::Lookup(7)]);
    let seen = cluster.run_one(&mut third, tables, &program).observations;
    let mut wrong = Vec::new();
    if !format!("{seen:?}").contains("found: {1:") {
        wrong.push(format!("row 1 is in group 7, and a lookup there saw {seen:?}"));
    }
    let report = cluster.admin(cluster.database.check()).expect("no server is dead");
    wrong.extend(report.errors);
    (wrong, cluster.world.mutant_asked(mutant))
}

#[test]
fn removing_the_entry_of_another_row() {
    is_caught(&[Mutant::CollectTrustEntryKey], 8, &collecting_an_entry_late);
}

/// A lane retires an index entry and rests. Another lane deletes the entry's row and collects it.
/// The entry now leads to no row; nobody but a commit that wants its key can remove it.
#[test]
fn an_entry_without_a_row_does_not_keep_its_key_taken() {
    for seed in 0..24 {
        let kind = [IndexKind::Tree, IndexKind::Hash][(seed % 2) as usize];
        let storages = [Storage::Tree, Storage::HashOutside, Storage::HashInlined];
        let storage = storages[(seed / 2 % 3) as usize];
        let servers = 1 + (seed / 6 % 2) as u16;
        // Row 1 gets the key again, or another row does.
        let next = 1 + (seed / 12 % 2) as i32;
        let config = SimConfig::hostile(seed).named("entry without a row");
        let cluster = Cluster::new(config, servers, DatabaseConfig::default());
        let tables = cluster.create(table("t", storage, vec![index(kind, true)]));
        let [mut late, mut other, mut third] = [(); 3].map(|()| cluster.lane());
        play(&cluster, &mut late, tables, &[Step::Insert(1, 7)]);
        play(&cluster, &mut late, tables, &[Step::PutInto(1, 8)]);
        cluster.admin(late.rest()).expect("no server is dead");
        play(&cluster, &mut other, tables, &[Step::Delete(1)]);
        collect(&cluster, &mut other, tables);
        let statistics = other.statistics().expect("nothing was dropped");
        assert!(statistics.entries_collected > 0, "{}", cluster.world.identity());
        cluster.admin(other.rest()).expect("no server is dead");
        play(&cluster, &mut third, tables, &[Step::Insert(next, 7)]);
        collect(&cluster, &mut late, tables);
        let program = Program::new(2, Isolation::Snapshot, vec![Step::Lookup(7)]);
        let seen = cluster.run_one(&mut third, tables, &program).observations;
        let expected = format!("found: {{{next}:");
        assert!(format!("{seen:?}").contains(&expected), "{seen:?}, {}", cluster.world.identity());
        cluster.check();
    }
}

/// Sessions give different rows the same unique key, whose entries are often on another server than
/// the rows. Some writes take so long that an entry arrives before its row.
fn taking_a_key_whose_row_is_on_its_way(config: SimConfig, mutant: Mutant) -> (Vec<String>, u64) {
    let kind = [IndexKind::Tree, IndexKind::Hash][(config.seed % 2) as usize];
    let storages = [Storage::Tree, Storage::HashOutside, Storage::HashInlined];
    let storage = storages[(config.seed / 2 % 3) as usize];
    let config = SimConfig { slow_verb_one_in: 8, slow_verb_factor: 100, ..config };
    let cluster = Cluster::new(config, 4, DatabaseConfig::default());
    let tables = cluster.create(table("t", storage, vec![index(kind, true)]));
    let program =
        |number, steps: &[Step]| Program::new(number, Isolation::Snapshot, steps.to_vec());
    let setup = program(900, &[Step::Insert(1, 90)]);
    let take = |session: i32| {
        let step = |n: i32| match n % 2 {
            0 => Step::Insert(10 * session + n / 2, 100),
            _ => Step::Delete(10 * session + n / 2),
        };
        (0..8).map(|n| program(i64::from(10 * session + n), &[step(n)])).collect()
    };
    let sessions: Vec<Vec<Program>> = (1..6).map(take).collect();
    let wrong = judge(&cluster, tables, &setup, &sessions, true);
    (wrong, cluster.world.mutant_asked(mutant))
}

#[test]
fn removing_an_entry_whose_row_is_on_its_way() {
    let mutants = [Mutant::CollectTrustMissingRow];
    is_caught_within(&mutants, 2100..2700, &taking_a_key_whose_row_is_on_its_way);
}

/// Entries have lost their rows. Session 0 gives their unique keys to other rows, while session 1
/// inserts the old rows with their old keys again, which need no new entries.
fn taking_keys_that_come_back(config: SimConfig, mutant: Mutant) -> (Vec<String>, u64) {
    const KEYS: i32 = 6;
    let kind = [IndexKind::Tree, IndexKind::Hash][(config.seed % 2) as usize];
    let config = SimConfig { word_ns: 200, slow_verb_one_in: 16, slow_verb_factor: 200, ..config };
    let cluster = Cluster::new(config, 4, DatabaseConfig::default());
    let tables = cluster.create(table("t", Storage::HashInlined, vec![index(kind, true)]));
    let [mut late, mut other] = [(); 2].map(|()| cluster.lane());
    for id in 0..KEYS {
        play(&cluster, &mut late, tables, &[Step::Insert(id, id.into())]);
        play(&cluster, &mut late, tables, &[Step::PutInto(id, (100 + id).into())]);
    }
    cluster.admin(late.rest()).expect("no server is dead");
    for id in 0..KEYS {
        play(&cluster, &mut other, tables, &[Step::Delete(id)]);
    }
    collect(&cluster, &mut other, tables);
    cluster.admin(other.rest()).expect("no server is dead");
    let program = |number, retries, step| {
        let program = Program::new(number, Isolation::Snapshot, vec![step]);
        Program { retries, ..program }
    };
    let setup = program(900, 100, Step::Put(50));
    let take = |id: i32| program(i64::from(id), 30, Step::Insert(10 + id, id.into()));
    // The reads are there for a newer stamp.
    let come_back = |id: i32| {
        let read = program(i64::from(100 + id), 3, Step::Read(50));
        [read, program(i64::from(200 + id), 6, Step::Insert(id, id.into()))]
    };
    let sessions = vec![(0..KEYS).map(take).collect(), (0..KEYS).flat_map(come_back).collect()];
    let wrong = judge(&cluster, tables, &setup, &sessions, true);
    (wrong, cluster.world.mutant_asked(mutant))
}

#[test]
fn forgetting_which_commits_a_doubt_is_about() {
    let mutants = [Mutant::CollectForgetInsertWord];
    is_caught_within(&mutants, 1180..5180, &taking_keys_that_come_back);
}

/// A commit that deletes a row is often held between batch 2 and its publish. Meanwhile others
/// insert rows with the deleted row's unique key, and take many snapshots: none may have both rows.
fn taking_a_key_that_is_given_up(config: SimConfig, mutant: Mutant) -> (Vec<String>, u64) {
    let config =
        SimConfig { reach_delay_one_in: 8, reach_delay_ns: Interval::new(0, 200_000), ..config };
    let cluster = Cluster::new(config, 1, DatabaseConfig::default());
    let unique = vec![index(IndexKind::Hash, true)];
    let tables = cluster.create(table("t", Storage::HashInlined, unique));
    let program =
        |number, steps: &[Step]| Program::new(number, Isolation::Snapshot, steps.to_vec());
    let setup = program(900, &[Step::Insert(1, 100)]);
    let mut sessions = vec![vec![program(0, &[Step::Delete(1)])]];
    let take = |id| program(i64::from(id), &[Step::Pause(40_000), Step::Insert(id, 100)]);
    sessions.extend((2..6).map(|id| vec![take(id)]));
    let look =
        |session: i64| (0..10).map(|n| program(session * 100 + n, &[Step::Read(1)])).collect();
    sessions.extend((6..8).map(look));
    let wrong = judge(&cluster, tables, &setup, &sessions, true);
    (wrong, cluster.world.mutant_asked(mutant))
}

#[test]
fn taking_a_unique_key_from_an_unpublished_deletion() {
    is_caught(&[Mutant::CommitTakeKeyFromUnpublished], 2000, &taking_a_key_that_is_given_up);
}

#[test]
fn validating_a_leaf_by_its_insert_word_alone() {
    // Readers find no row 10 and then write the rows that the inserter of row 10 has read: each
    // must miss the other. A reader goes wrong if its entries are from before the insert and its
    // insert word from after.
    let ids = 0..10;
    let setup = vec![ids.clone().map(Step::Put).collect()];
    let reader = |id| {
        let mut steps = vec![Step::Pause(40_000), Step::Read(10)];
        // Long enough for the inserter to have validated its reads.
        steps.extend((0..8).map(|_| Step::Pause(200_000)));
        steps.push(Step::Put(id));
        steps
    };
    let mut sessions: Vec<Vec<Step>> = ids.clone().map(reader).collect();
    sessions.push(vec![Step::ReadMany(ids.collect()), Step::Insert(10, 0)]);
    let scenario =
        fixed(Carrier::Card, Storage::Tree, Isolation::Serializable, None, setup, sessions);
    // Writes are quick, and some reads are so slow that their words span a whole commit.
    let with_slow_reads = |config: SimConfig, mutant: Mutant| {
        let SimConfig { mutants, scenario: name, seed, .. } = config;
        let config = SimConfig {
            mutants,
            word_ns: 100,
            write_ns: Interval::new(50, 100),
            slow_verb_one_in: 8,
            slow_verb_factor: 100,
            ..SimConfig::new(seed).named(name)
        };
        scenario(config, mutant)
    };
    is_caught(&[Mutant::CommitTrustLeafInsertWord], 2000, &with_slow_reads);
}
