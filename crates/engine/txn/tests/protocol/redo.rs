//! The redo log of a database in a simulated world whose power fails: what a restart replays is
//! exactly what the snapshot of the last durable group covers.

use crate::mutants::is_caught;
use crate::random::{Dice, Mix, SNAPSHOT, TIGHT, programs};
use crate::support::cluster::Cluster;
use crate::support::history::{Cell, State, state_at};
use crate::support::program::{Tables, execute_all};
use crate::support::{GROUP, NOTE, SEED, STORAGES, VALUE, note};
use fabric::{DynEnv, Env, Mutant, run_now};
use layout::{RecordRef, Schema, VersionWord, set_changed_column};
use redo_log::entry::Columns;
use redo_log::{Change, Config, DatabaseId, Image, Log, LogError, OnDamage, Position};
use sim::disk::{DiskConfig, SimulatedDisk};
use sim::{Carrier, SimConfig};
use std::cell::{Cell as Shared, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use storage::{Directory, Disk};
use txn::{Database, Isolation, Snapshot};

const CONFIG: Config = Config { segment_bytes: 1 << 16, ..Config::new(DatabaseId([7; 16])) };

/// Commits groups until no session runs; returns the snapshot of the last durable one.
async fn commit_groups<D: Disk>(
    database: &Database<DynEnv>,
    log: &mut Log<D>,
    running: &Shared<usize>,
) -> Option<Snapshot> {
    let mut last = None;
    let mut lane = database.lane().await.expect("there are slots");
    while running.get() > 0 {
        let snapshot = lane.begin(Isolation::Snapshot).await.map(|txn| txn.snapshot().clone());
        if let Ok(snapshot) = snapshot {
            log.commit_group(snapshot.counters()).await.expect("the disk works");
            last = Some(snapshot);
        }
        let env = database.env();
        env.sleep_ns(1 + env.random() % 20_000).await;
    }
    last
}

/// The entries of a row.
#[derive(Default)]
struct Versions {
    /// The image of each version; `None` for a tombstone.
    images: HashMap<VersionWord, Option<Vec<u64>>>,
    /// The changed columns of versions without a whole image, and the version that each replaces.
    changes: HashMap<VersionWord, (VersionWord, Vec<u8>)>,
    replaced: HashSet<VersionWord>,
    /// Long values by the version of the reference.
    values: HashMap<VersionWord, Vec<u8>>,
}

impl Versions {
    /// Makes a whole image of each change, from that of the replaced version.
    fn complete(&mut self, schema: &Schema) {
        while !self.changes.is_empty() {
            let ready = self.changes.iter().find_map(|(&version, (replaces, columns))| {
                let before = self.images.get(replaces)?.clone();
                Some((version, before.expect("a tombstone has no columns"), columns.clone()))
            });
            let (version, mut image, columns) = ready.expect("a change is of a row in the log");
            for (column, value) in Columns::of(&columns).expect("they are well formed").iter() {
                assert!(set_changed_column(schema, &mut image, column, value));
            }
            self.changes.remove(&version);
            self.images.insert(version, Some(image));
        }
    }

    /// The payload of the row after all its entries. Where a tombstone was collected, the next
    /// insert replaces nothing, so several versions may be the last of a chain; all but one are
    /// tombstones then.
    fn live(&self) -> Result<Option<&Vec<u64>>, String> {
        let last = self.images.iter().filter(|(version, _)| !self.replaced.contains(version));
        let live: Vec<&Vec<u64>> = last.filter_map(|(_, image)| image.as_ref()).collect();
        match live[..] {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            _ => Err(format!("{} versions of a row are the last one", live.len())),
        }
    }
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    bytes.chunks_exact(8).map(word).collect()
}

/// The rows that a restart replays from a disk.
fn replayed<D: Disk>(disk: D, schema: &Schema) -> Result<BTreeMap<Vec<u8>, Versions>, LogError> {
    let directory = run_now(Directory::open(disk))?;
    let opened = run_now(Log::open(directory.clone(), CONFIG, Position::START, OnDamage::Refuse))?;
    let payload_bytes = 8 * schema.row_layout(false).payload_words as usize;
    let mut rows = BTreeMap::<Vec<u8>, Versions>::new();
    for segment in 0..opened.survey.segment_count() {
        run_now(opened.survey.replay(&directory, CONFIG.database, segment, |replayed| {
            if !replayed.is_covered {
                return Ok::<(), LogError>(());
            }
            let row = rows.entry(replayed.row.key.to_vec()).or_default();
            row.replaced.insert(replayed.row.replaces.timestamp());
            let image = match replayed.row.image {
                Image::None => None,
                Image::Whole(image) => {
                    let (payload, values) = image.split_at(payload_bytes);
                    row.values.insert(replayed.version, values.to_vec());
                    Some(words(payload))
                }
                Image::Columns(columns) => {
                    assert_eq!(replayed.row.change, Change::Update);
                    let change = (replayed.row.replaces.timestamp(), columns.bytes().to_vec());
                    row.changes.insert(replayed.version, change);
                    return Ok(());
                }
            };
            assert_eq!(image.is_none(), replayed.row.change == Change::Delete);
            row.images.insert(replayed.version, image);
            Ok(())
        }))?;
    }
    rows.values_mut().for_each(|row| row.complete(schema));
    Ok(rows)
}

/// The state after replay; refuses rows whose note is not the one that was written.
fn state(rows: &BTreeMap<Vec<u8>, Versions>, schema: &Schema) -> Result<State, String> {
    let mut state = State::new();
    for (key, versions) in rows {
        let Some(payload) = versions.live()? else { continue };
        let key = words(key);
        let record = RecordRef::new(schema, &key, payload);
        let cell = Cell { value: record.int(VALUE), group: record.int(GROUP) };
        state.insert(record.int(0) as i32, cell);
        if schema.long_columns().is_empty() {
            continue;
        }
        let reference = record.out_of_line(NOTE).filter(|_| !record.is_null(NOTE));
        let value = |version| match versions.values.get(&version) {
            _ if version.is_none() => Vec::new(),
            Some(value) => value.clone(),
            None => b"missing".to_vec(),
        };
        let in_row = record.in_row(NOTE).map(<[u8]>::to_vec);
        let bytes = reference.map(|reference| in_row.unwrap_or_else(|| value(reference.version)));
        let expected = note(record.int(SEED)).map(String::into_bytes);
        if bytes != expected {
            return Err(format!("row {} has the note {bytes:?}", record.int(0)));
        }
    }
    Ok(state)
}

/// Runs sessions and a flusher, and cuts the power when the sessions have ended; returns what is
/// wrong after a restart, and how many rows it replayed.
fn crash(cluster: &Cluster, tables: Tables, mix: &Mix, dice: &mut Dice) -> (Vec<String>, usize) {
    let disk = SimulatedDisk::new(DiskConfig::new(dice.0));
    let access = disk.access_on(&cluster.admin);
    let mut log = cluster
        .admin(async { Log::create(Directory::open(access).await?, CONFIG).await })
        .expect("the disk is empty");
    let database = cluster.database.clone().logging_to(log.lanes());
    let schema = database.schema(tables.table).expect("it was created");
    let history = Rc::new(RefCell::new(Vec::new()));
    let sessions: Vec<_> = std::iter::once(vec![mix.setup()]).chain(programs(dice, mix)).collect();
    let running = Rc::new(Shared::new(sessions.len()));
    for (number, programs) in sessions.into_iter().enumerate() {
        let database = cluster.compute(number as u16);
        let (history, running) = (history.clone(), running.clone());
        cluster.world.spawn_on(&database.env().clone(), async move {
            let mut record = |execution| history.borrow_mut().push(execution);
            execute_all(&database, tables, number, &programs, &mut record).await;
            running.set(running.get() - 1);
        });
    }
    let last = cluster.admin(commit_groups(&database, &mut log, &running));
    cluster.world.run_until_idle();
    drop(log);
    disk.crash();
    let Some(snapshot) = last else { return (vec!["no group is durable".to_owned()], 0) };
    let rows = replayed(disk.access(), &schema).expect("a crash leaves a log that opens");
    let found = state(&rows, &schema);
    let expected = state_at(&history.borrow(), &snapshot);
    let wrong = match found == expected {
        true => Vec::new(),
        false => vec![format!("replayed {found:?}, the last group covers {expected:?}")],
    };
    (wrong, rows.values().map(|row| row.images.len()).sum())
}

fn scenario(carrier: Carrier, mix: Mix) -> impl Fn(SimConfig, Mutant) -> (Vec<String>, u64) {
    move |config, mutant| {
        let mut dice = Dice(config.seed ^ 0xd15c);
        let servers = 1 + (config.seed % 2) as u16;
        let (cluster, tables) = mix.open(config.carried_by(carrier), servers, &mut dice);
        let (wrong, _) = crash(&cluster, tables, &mix, &mut dice);
        (wrong, cluster.world.mutant_asked(mutant))
    }
}

fn check_all(base: Mix, seeds: u64) {
    let mut rows = 0;
    for seed in 0..seeds {
        let mix = Mix { storage: STORAGES[(seed % 3) as usize], ..base };
        let carrier = [Carrier::Card, Carrier::Caller, Carrier::Server][(seed / 3 % 3) as usize];
        let config = SimConfig::hostile(seed).named(format!("{mix:?}")).carried_by(carrier);
        let mut dice = Dice(seed ^ 0xd15c);
        let (cluster, tables) = mix.open(config, 1 + (seed % 2) as u16, &mut dice);
        let identity = cluster.world.identity();
        let (wrong, replayed) = crash(&cluster, tables, &mix, &mut dice);
        assert_eq!(wrong, Vec::<String>::new(), "{identity}");
        rows += replayed;
    }
    assert!(rows as u64 > seeds, "{rows} rows were replayed in {seeds} runs");
}

#[test]
fn a_restart_replays_what_the_last_group_covers() {
    check_all(Mix { transactions: 8, ..SNAPSHOT }, 200);
}

#[test]
fn tombstones_that_were_collected_do_not_come_back() {
    check_all(TIGHT, 200);
}

#[test]
fn long_values_are_replayed_with_their_rows() {
    check_all(Mix { has_notes: true, ..TIGHT }, 200);
    check_all(Mix { has_notes: true, notes_in_row: Some(150), ..TIGHT }, 100);
    check_all(Mix { has_notes: true, notes_in_row: Some(41), ..TIGHT }, 100);
}

#[test]
fn an_entry_after_the_publication_is_missed_by_a_group() {
    let mix = Mix { transactions: 8, ..SNAPSHOT };
    is_caught(&[Mutant::RedoAfterPublish], 500, &scenario(Carrier::Card, mix));
}

#[test]
fn an_entry_before_the_locks_may_be_of_an_aborted_transaction() {
    let mix = Mix { transactions: 8, ..SNAPSHOT };
    is_caught(&[Mutant::RedoBeforeLocks], 500, &scenario(Carrier::Card, mix));
}
