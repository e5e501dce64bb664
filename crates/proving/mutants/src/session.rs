//! Sessions: transactions that append to lists and read them, through every access path.

use crate::dice::Dice;
use crate::kind::{Division, Finding, Kind};
use crate::lists::{self, ELEMENTS, InUse, OWNER, Tables, key};
use crate::passing;
use crate::promises::BrokenPromises;
use fabric::Env;
use layout::Storage;
use std::collections::BTreeMap;
use txn::{Abort, Database, Isolation, Lane, RowId, Scan, ScanSource, Transaction, TxnError};
use workload::attempts::result_of;
use workload::recording;
use workload::{TransactionResult, WorkloadError};

/// The number of lanes that a session takes, one after another, when it loses them.
const LANES_MAX: u32 = 8;
/// The longest pause between two transactions.
const BETWEEN_NS: u64 = 8_000;
/// Percentage of transactions that collect garbage afterwards in tight worlds.
const COLLECT_PERCENT: u64 = 33;
/// Percentage of transactions before which rows of the passing table are used.
const PASSING_PERCENT: u64 = 50;
/// The largest number of rows that a tide inserts or deletes at once.
const TIDE_ROWS_MAX: u64 = 6;
/// Number of access paths to draw from.
const WAYS: u64 = 8;

pub struct Session {
    pub kind: Kind,
    /// The storage of rows.
    pub storage: Storage,
    pub tables: Tables,
    /// The history of the session.
    pub recording: recording::Session,
    pub lists: InUse,
    /// The random generator.
    pub dice: Dice,
    pub broken_promises: BrokenPromises,
    /// Whether the running transaction has written, or the last one.
    pub has_written: bool,
}

/// The lane of the running transaction, and one for transactions that were parked.
struct Lanes<'a, E: Env> {
    lane: &'a mut Lane<E>,
    spare: &'a mut Option<Lane<E>>,
}

/// The location of a list: its row, the row's content, and the row's number.
struct Found {
    row: RowId,
    id: i64,
    elements: Vec<i64>,
}

impl Session {
    /// Runs all transactions of the session.
    pub async fn run<E: Env>(mut self, database: Database<E>) {
        if database.refresh().await.is_err() {
            return;
        }
        let mut lanes = 0;
        let mut left = self.kind.transactions;
        while left > 0 && lanes < LANES_MAX {
            let Ok(mut lane) = database.lane().await else { return };
            lanes += 1;
            let mut spare = None;
            if self.kind.park_percent > 0 {
                spare = database.lane().await.ok();
                // The first one that is parked may be older than the keeper of pins.
                if let Ok(txn) = lane.begin(self.kind.isolation).await {
                    let _ = txn.park().await;
                }
            }
            while left > 0 {
                left -= 1;
                if self.kind.remakes_index {
                    self.tables.index = database.index(lists::TABLE, lists::INDEX);
                }
                lane.env().sleep_ns(self.dice.below(BETWEEN_NS)).await;
                if self.kind.has_passing_table && self.dice.percent(PASSING_PERCENT) {
                    // The table may be gone.
                    let _ = passing::use_rows(&database, &mut lane, &mut self.dice).await;
                }
                let longest_ns = database.config().transaction_time_max_ns;
                let lanes = Lanes { lane: &mut lane, spare: &mut spare };
                if !self.transact(lanes, longest_ns).await {
                    break;
                }
                if self.has_written {
                    self.broken_promises.judge_upkeep(&self.kind, &lane);
                }
                if self.kind.is_tight && self.dice.percent(COLLECT_PERCENT) {
                    // Garbage that cannot be collected now is collected later.
                    let _ = lane.collect_garbage().await;
                }
            }
        }
    }

    /// Runs a transaction, for which `longest_ns` is promised; returns whether the lane can run
    /// another.
    async fn transact<E: Env>(&mut self, lanes: Lanes<'_, E>, longest_ns: u64) -> bool {
        let Lanes { lane, spare } = lanes;
        self.has_written = false;
        if self.kind.tide_percent > 0 && self.dice.percent(self.kind.tide_percent) {
            let ended = self.turn_tide(lane).await;
            return !matches!(ended, Err(TxnError::Abort(Abort::Unreachable)));
        }
        let began_ns = lane.env().now_ns();
        self.recording.begin(began_ns);
        let ended = self.attempt(Lanes { lane, spare }).await;
        let now_ns = lane.env().now_ns();
        self.recording.end(now_ns, &ended);
        let abort = match ended {
            Ok(TransactionResult::Aborted(abort)) | Err(WorkloadError::Aborted(abort)) => abort,
            Ok(TransactionResult::Committed) => return true,
            _ => {
                self.has_written = false;
                return true;
            }
        };
        self.has_written = false;
        self.broken_promises.judge_abort(&self.kind, abort, now_ns - began_ns, longest_ns);
        // A lost lane refuses the next transaction; a lane that lost only a read is intact.
        abort != Abort::Unreachable || self.dice.percent(50)
    }

    async fn attempt<E: Env>(
        &mut self,
        Lanes { lane, spare }: Lanes<'_, E>,
    ) -> Result<TransactionResult, WorkloadError> {
        let mut txn = lane.begin(self.kind.isolation).await?;
        let count = 1 + self.dice.below(self.kind.operations);
        let mut known = None;
        for _ in 0..count {
            if let Some(spare) =
                spare.as_mut().filter(|_| self.dice.percent(self.kind.park_percent))
            {
                let parked = txn.park().await?;
                self.pause(lane.env()).await;
                std::mem::swap(lane, spare);
                txn = lane.resume(parked).await.map_err(|(_, abort)| abort)?;
            } else {
                self.pause(txn.env()).await;
            }
            if !self.has_written && self.dice.percent(self.kind.visit_percent) {
                self.read_all(&mut txn).await?;
                continue;
            }
            let list = self.lists.at(self.dice.below(self.kind.lists));
            if let Some(known) = known.filter(|_| self.kind.keeps_leaves && !self.has_written) {
                self.insert_in_vain(&mut txn, known, list).await?;
            }
            let found = self.find(&mut txn, list).await?;
            known = found.first().map(|found| found.id);
            let elements: Vec<i64> =
                found.iter().flat_map(|found| found.elements.clone()).collect();
            let is_full = elements.len() >= self.kind.elements;
            if is_full {
                self.lists.replace(list);
            }
            if is_full || found.len() > 1 || self.dice.percent(self.kind.read_percent) {
                self.recording.read_list(list, &elements);
                continue;
            }
            let has_appended = self.append(&mut txn, list, found.into_iter().next()).await?;
            self.has_written |= has_appended;
        }
        self.pause(txn.env()).await;
        Ok(result_of(txn.commit().await))
    }

    /// Inserts rows that hold no list, or deletes them. No list changes, so the history does not
    /// show it.
    async fn turn_tide<E: Env>(&mut self, lane: &mut Lane<E>) -> Result<(), TxnError> {
        let list = self.lists.at(self.dice.below(self.kind.lists));
        let rows = lists::tide(&self.kind, list);
        let (rises, count) = (self.dice.percent(50), 1 + self.dice.below(TIDE_ROWS_MAX));
        let (length, first) = (rows.end - rows.start, self.dice.below(64) as i64);
        let mut txn = lane.begin(Isolation::Snapshot).await?;
        for number in 0..count as i64 {
            self.pause(txn.env()).await;
            let id = rows.start + (first + number) % length;
            match txn.read(self.tables.table, &key(&self.kind, id)).await? {
                Some(row) if !rises => txn.delete(row),
                None if rises => {
                    let row = txn.insert(self.tables.table, &key(&self.kind, id)).await?;
                    txn.update(row).set_int(OWNER, -1 - id);
                }
                _ => {}
            }
        }
        match txn.commit().await {
            txn::Outcome::Unknown => Err(Abort::Unreachable.into()),
            _ => Ok(()),
        }
    }

    /// Requests new rows at all places of a list that already has one: no row is inserted, and the
    /// lane's cached leaf must not reveal anything to the transaction.
    async fn insert_in_vain<E: Env>(
        &mut self,
        txn: &mut Transaction<'_, E>,
        known: i64,
        list: u64,
    ) -> Result<(), TxnError> {
        let ids =
            std::iter::once(known).chain(lists::places(&self.kind, list).filter(|&id| id != known));
        let inserts: Vec<_> = ids.map(|id| (self.tables.table, key(&self.kind, id))).collect();
        match txn.insert_many(&inserts, &mut Vec::new()).await {
            Err(TxnError::DuplicateKey { .. }) => Ok(()),
            Err(error) => Err(error),
            Ok(()) => unreachable!("the transaction has seen a row with the first key"),
        }
    }

    async fn pause<E: Env>(&mut self, env: &E) {
        if self.dice.percent(self.kind.pause_percent) {
            let env = env.clone();
            env.sleep_ns(self.dice.below(self.kind.pause_ns)).await;
        }
    }

    /// Reads every list in one snapshot, through every access path in turn. An error says why that
    /// was not possible.
    pub async fn read_everything<E: Env>(&mut self, lane: &mut Lane<E>) -> Result<(), String> {
        let mut reason = String::new();
        for _ in 0..20 {
            self.recording.begin(lane.env().now_ns());
            let ended = self.look(lane).await;
            self.recording.end(lane.env().now_ns(), &ended);
            if matches!(ended, Ok(TransactionResult::Committed)) {
                return Ok(());
            }
            reason = format!("{ended:?}");
            lane.env().yield_now().await;
        }
        Err(reason)
    }

    async fn look<E: Env>(
        &mut self,
        lane: &mut Lane<E>,
    ) -> Result<TransactionResult, WorkloadError> {
        let mut txn = lane.begin(self.kind.isolation).await?;
        for list in self.lists.all() {
            let found = self.find(&mut txn, list).await?;
            let elements: Vec<i64> = found.into_iter().flat_map(|found| found.elements).collect();
            self.recording.read_list(list, &elements);
        }
        self.read_all(&mut txn).await?;
        Ok(result_of(txn.commit().await))
    }

    /// Reads all lists by visiting the whole table.
    async fn read_all<E: Env>(&mut self, txn: &mut Transaction<'_, E>) -> Result<(), TxnError> {
        let all = self.lists.all();
        let mut seen: BTreeMap<u64, Vec<(i64, Vec<i64>)>> =
            all.iter().map(|&list| (list, vec![])).collect();
        let kind = self.kind;
        let mut visit = |row: layout::RecordRef<'_>| {
            if let Ok(list) = u64::try_from(row.int(OWNER)) {
                let found = (lists::id(&kind, row), lists::elements(row));
                seen.entry(list).or_default().push(found);
            }
        };
        match self.kind.is_long {
            true => txn.for_each_long(self.tables.table, &mut visit).await?,
            false => txn.for_each(self.tables.table, &mut visit).await?,
        }
        for (list, mut rows) in seen {
            rows.sort_unstable();
            let elements: Vec<i64> = rows.into_iter().flat_map(|(_, elements)| elements).collect();
            // A list that came into use meanwhile may be missing, and then it is not recorded.
            if all.contains(&list) || !elements.is_empty() {
                self.recording.read_list(list, &elements);
            }
        }
        Ok(())
    }

    async fn find<E: Env>(
        &mut self,
        txn: &mut Transaction<'_, E>,
        list: u64,
    ) -> Result<Vec<Found>, TxnError> {
        let rows = match self.kind.finding {
            Finding::Keys => self.find_by_keys(txn, list).await?,
            Finding::KeysOrIndex(_) if self.dice.percent(50) || self.tables.index.is_none() => {
                self.find_by_keys(txn, list).await?
            }
            _ => self.find_by_owner(txn, list).await?,
        };
        let mut found = Vec::new();
        for row in rows {
            let id = lists::id(&self.kind, txn.row(row));
            if txn.row(row).int(OWNER) < 0 {
                continue;
            }
            let elements = match self.kind.is_long {
                true => {
                    // Meanwhile the value may be replaced, and its memory used for another one.
                    self.pause(txn.env()).await;
                    let mut bytes = Vec::new();
                    txn.read_long(row, ELEMENTS, &mut bytes).await?;
                    lists::decode(&bytes)
                }
                false => lists::elements(txn.row(row)),
            };
            found.push(Found { row, id, elements });
        }
        // Two rows are one too many; their order must not matter.
        found.sort_by_key(|found| found.id);
        Ok(found)
    }

    async fn find_by_owner<E: Env>(
        &mut self,
        txn: &mut Transaction<'_, E>,
        list: u64,
    ) -> Result<Vec<RowId>, TxnError> {
        let index = self.tables.index.expect("a kind that finds by owner has the index");
        let mut rows = Vec::new();
        txn.lookup(index, &lists::number(list as i64), &mut rows).await?;
        Ok(rows)
    }

    async fn find_by_keys<E: Env>(
        &mut self,
        txn: &mut Transaction<'_, E>,
        list: u64,
    ) -> Result<Vec<RowId>, TxnError> {
        let (table, places) = (self.tables.table, lists::places(&self.kind, list));
        let way = self.dice.below(WAYS);
        let is_ordered =
            self.storage == Storage::Tree && !matches!(self.kind.division, Division::Hashed(_));
        if is_ordered && way < WAYS / 2 {
            let (source, reverse) = (ScanSource::Table(table), way == 0);
            // A scan with a limit ends at its last row, and independent scans share round trips.
            let is_limited = self.kind.has_wide_keys;
            let scan = |ids: std::ops::Range<i64>| {
                let (low, high) = (key(&self.kind, ids.start), key(&self.kind, ids.end - 1));
                let limit = if is_limited { ids.count() } else { usize::MAX };
                Scan { source, low, high, reverse, limit }
            };
            let mut rows = Vec::new();
            if self.kind.has_wide_keys && way == 1 {
                let middle = places.end - 1;
                let scans = [scan(places.start..middle), scan(middle..places.end)];
                let mut found = Vec::new();
                txn.scan_many(&scans, &mut found).await?;
                return Ok(found.concat());
            }
            txn.scan(&scan(places), &mut rows).await?;
            return Ok(rows);
        }
        if way == WAYS - 1 {
            let mut rows = Vec::new();
            for id in places {
                rows.extend(txn.read(table, &key(&self.kind, id)).await?);
                self.pause(txn.env()).await;
            }
            return Ok(rows);
        }
        let reads: Vec<_> = places.map(|id| (table, key(&self.kind, id))).collect();
        let mut rows = Vec::new();
        txn.read_many(&reads, &mut rows).await?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// Appends a value; returns whether it did.
    async fn append<E: Env>(
        &mut self,
        txn: &mut Transaction<'_, E>,
        list: u64,
        found: Option<Found>,
    ) -> Result<bool, TxnError> {
        let is_owned = matches!(self.kind.finding, Finding::Owner(_));
        let value = self.recording.value();
        let mut elements = found.as_ref().map_or(vec![], |found| found.elements.clone());
        elements.push(value);
        let target = match &found {
            Some(found) if !self.dice.percent(self.kind.move_percent) => Some(found.row),
            _ => self.take_row(txn, list, found.as_ref()).await?,
        };
        let target = match (target, &found) {
            (Some(target), _) => target,
            (None, Some(found)) => found.row,
            (None, None) => {
                self.recording.read_list(list, &[]);
                return Ok(false);
            }
        };
        if found.is_none() && is_owned {
            self.recording.read_list(list, &[]);
        }
        self.recording.append(list, value);
        let mut record = txn.update(target);
        record.set_int(OWNER, list as i64);
        record.set_bytes(ELEMENTS, &lists::encode(&elements));
        if let Some(left) = found.filter(|found| found.row != target) {
            self.leave(txn, &left);
        }
        Ok(true)
    }

    /// Returns another row for a list: a new one, or one that holds none.
    async fn take_row<E: Env>(
        &mut self,
        txn: &mut Transaction<'_, E>,
        list: u64,
        found: Option<&Found>,
    ) -> Result<Option<RowId>, TxnError> {
        let is_owned = matches!(self.kind.finding, Finding::Owner(_));
        let rows =
            if is_owned { lists::rows(&self.kind, list) } else { lists::places(&self.kind, list) };
        // A list's first row is always the same, if nothing else prevents two rows for it.
        let is_guarded = is_owned || self.kind.isolation == Isolation::Serializable;
        let is_free = is_guarded || found.is_some();
        let offset = if is_free { self.dice.below((rows.end - rows.start) as u64) } else { 0 };
        let id = rows.start + offset as i64;
        if found.is_some_and(|found| found.id == id) {
            return Ok(None);
        }
        if self.kind.keeps_leaves {
            match txn.insert(self.tables.table, &key(&self.kind, id)).await {
                Err(TxnError::DuplicateKey { .. }) => {}
                inserted => return inserted.map(Some),
            }
        }
        match txn.read(self.tables.table, &key(&self.kind, id)).await? {
            Some(row) if txn.row(row).int(OWNER) < 0 => Ok(Some(row)),
            Some(_) => Ok(None),
            None => Ok(Some(txn.insert(self.tables.table, &key(&self.kind, id)).await?)),
        }
    }

    /// Removes a list from a row: the row is deleted, or remains without a list.
    fn leave<E: Env>(&mut self, txn: &mut Transaction<'_, E>, found: &Found) {
        if self.dice.percent(50) {
            txn.delete(found.row);
            return;
        }
        let mut record = txn.update(found.row);
        record.set_int(OWNER, -1 - found.id);
        record.set_bytes(ELEMENTS, &[]);
    }
}
