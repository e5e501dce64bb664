//! What a call costs with a design: service times of its operations added up, stage by stage.
//!
//! ```text
//! a call at home      reads that arguments name, in one round trip
//!                     then reads that go by earlier rows, each after the other
//!                     then rows that new ones refer to, in one round trip for each insert
//!                     then the commit, in which all writes go together, and before them all is read again that is validated
//! a call elsewhere    the same with all rows remote, by verbs; or the call at home, and a message there and back
//! ```

use super::TuneError;
use super::asked::{Ask, Kind};
use super::candidate::{Choice, IndexChoice, Placing};
use super::cost::{Cost, add, scaled};
use super::line::{Setting, USUAL_LOAD, USUAL_NODE, USUAL_ROW, USUAL_SLOTS};
use super::model::{Model, Plan, TablePlan};
use crate::design::Access;
use crate::measurement::{AccessPath, Demand, Operation, Place};
use layout::{IndexKind, Storage};

/// Rows of the lookups that tell what a further row in a batch costs.
const BATCH_ROWS: f64 = 16.0;
/// Operations that are told of those that were not measured.
const LACKING_TOLD: usize = 4;

/// What a procedure costs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// On the machine of its rows.
    pub home: Cost,
    /// From another one, by verbs; none where there is none.
    pub one_sided: Option<Cost>,
    /// From another one, by calling the owner.
    pub shipped: Option<Cost>,
}

impl Costs {
    /// Called from another machine, with an access; none where there is none, or it was not measured.
    pub fn away(&self, access: Access) -> Option<Cost> {
        match access {
            Access::OneSided => self.one_sided,
            Access::Shipped => self.shipped,
        }
    }
}

/// What an operation costs at a place.
#[derive(Clone, Copy, Default)]
struct Parts {
    /// Finding its rows, as one of many in a batch.
    each: Cost,
    /// What a batch of remote rows costs beside.
    batch: Cost,
    /// What a call whose rows are all local costs beside, once.
    fixed: Cost,
    /// Writing.
    write: Cost,
}

/// What a call waits for once, however many remote rows are asked for together: the slowest.
#[derive(Clone, Copy, Default)]
struct Waits {
    /// Rows that arguments name.
    ahead: Cost,
    /// How many these are.
    named: f64,
    /// Rows that new ones refer to, of statements before.
    referred: Cost,
    /// The same of the statement that was noted last: all of them together.
    together: (u32, Cost),
    /// Finding again, between locks and writes, what a serializable call has read.
    again: Cost,
    /// Waiting for that.
    validated: Cost,
}

impl Waits {
    /// Adds an operation, given how likely one of so many of its rows is remote.
    fn note(&mut self, ask: &Ask, parts: &Parts, is_remote: &dyn Fn(f64) -> f64) {
        let batch = parts.batch.times(is_remote(ask.times));
        if ask.is_validated {
            self.again = self.again.plus(&parts.each.times(ask.times));
            // It may be in a branch.
            self.validated = self.validated.with(&batch.times(ask.times.min(1.0)), f64::max);
        }
        if ask.is_referred {
            // A statement in a loop waits each time.
            let waits = match ask.is_batch {
                true => batch.times(ask.times.min(1.0)),
                false => parts.batch.times(is_remote(1.0) * ask.times),
            };
            if self.together.0 != ask.statement {
                self.referred = self.referred.plus(&self.together.1);
                self.together = (ask.statement, Cost::default());
            }
            self.together.1 = self.together.1.with(&waits, f64::max);
        } else if ask.is_ahead {
            self.named += ask.times;
            self.ahead = self.ahead.with(&batch, f64::max);
        }
    }

    /// For what is read before the commit.
    fn reading(&self) -> Cost {
        let ahead = self.ahead.times(self.named.min(1.0));
        ahead.plus(&self.referred).plus(&self.together.1)
    }

    /// What validation takes.
    fn validation(&self) -> Cost {
        self.again.plus(&self.validated)
    }
}

impl Parts {
    /// The same with such shares of reading each row, and of the batch.
    fn read(self, (each, batch): (f64, f64)) -> Self {
        Self { each: self.each.times(each), batch: self.batch.times(batch), ..self }
    }
}

impl Model<'_> {
    /// What a procedure costs; none if something like it was not measured.
    pub fn procedure(&self, plan: &Plan, number: usize) -> Option<Costs> {
        self.procedure_on(plan, number, &[])
    }

    /// The same where its calls at home are on one of these machines, of which all are meant if none is named.
    pub fn procedure_on(&self, plan: &Plan, number: usize, machines: &[usize]) -> Option<Costs> {
        let mut tables: Vec<usize> = self.asked[number].asks.iter().map(|ask| ask.table).collect();
        tables.sort_unstable();
        tables.dedup();
        let mut stored = Vec::new();
        tables.iter().for_each(|table| plan.tables[*table].put_key(&mut stored));
        let key = (number, machines.to_vec(), stored);
        if let Some(costs) = self.priced.get(&key, self.surface.used()) {
            return Some(costs);
        }
        let (found, lines) = self.surface.recorded(|| self.price(plan, number, machines));
        let costs = found?;
        self.priced.put(key, costs, lines);
        Some(costs)
    }

    fn price(&self, plan: &Plan, number: usize, machines: &[usize]) -> Option<Costs> {
        let call = &self.calls[number];
        let at_home = |at: usize| call.near(at, machines);
        let home = self.call(plan, number, &at_home)?;
        if self.machines < 2 || call.home.source.is_none() {
            // Rows are anywhere, so that no machine is another than the rows' one.
            return Some(Costs { home, one_sided: None, shipped: None });
        }
        let away = |at: usize| if call.copied[at] { (1.0, 1.0) } else { (0.0, 0.0) };
        let one_sided = self.call(plan, number, &away);
        let shipped = self.message(plan, number).map(|message| home.plus(&message));
        Some(Costs { home, one_sided, shipped })
    }

    /// The average call of a procedure, with its access.
    pub fn average(&self, costs: &Costs, access: Access) -> Option<Cost> {
        if costs.one_sided.is_none() && costs.shipped.is_none() {
            return Some(costs.home);
        }
        Some(costs.away(access)?.mixed(self.remote_calls, &costs.home))
    }

    /// Called procedures something like which was not measured, by name.
    pub fn unmeasured(&self, plan: &Plan) -> Vec<String> {
        self.surface.take_lacking();
        let each = self.asked.iter().enumerate().filter(|(_, asked)| asked.share > 0.0);
        // Anew, since what is lacking is told while it is looked for.
        let cost =
            |number: usize| self.average(&self.price(plan, number, &[])?, plan.access[number]);
        let missing = each.filter(|(number, _)| cost(*number).is_none());
        missing.map(|(_, asked)| asked.name.clone()).collect()
    }

    /// That these procedures ask for what was not measured, and what that is.
    pub fn not_measured(&self, procedures: Vec<String>) -> TuneError {
        let mut operations = self.surface.take_lacking();
        let more = operations.len().saturating_sub(LACKING_TOLD);
        if more > 0 {
            operations.truncate(LACKING_TOLD);
            operations.push(format!("{more} more"));
        }
        let without = if self.surface.is_quick() { "--quick" } else { "--seconds" };
        TuneError::NotMeasured { procedures, operations, without }
    }

    /// What a write of a procedure takes at home.
    pub fn write(&self, plan: &Plan, number: usize, ask: &Ask) -> Option<Cost> {
        let at = self.asked[number].asks.iter().position(|one| one == ask)?;
        let call = &self.calls[number];
        let (rows, entries) = self.near((call.local[at], call.entries[at]));
        Some(self.mixed(plan, ask, rows, entries)?.write)
    }

    /// The same of a call from another machine, by verbs.
    pub fn write_away(&self, plan: &Plan, ask: &Ask) -> Option<Cost> {
        let (rows, entries) = self.near((0.0, 0.0));
        Some(self.mixed(plan, ask, rows, entries)?.write)
    }

    /// A call of a procedure whose rows, and entries of indexes, are local with such shares.
    fn call(
        &self,
        plan: &Plan,
        number: usize,
        local: &dyn Fn(usize) -> (f64, f64),
    ) -> Option<Cost> {
        let asked = &self.asked[number];
        let (mut sum, mut waits) = (Cost::default(), Waits::default());
        let (mut writes, mut slowest, mut written) = (Cost::default(), Cost::default(), 0.0);
        // Waiting for a batch of remote rows has in it what a transaction costs in any case; without one that comes on top.
        let (mut fixed, mut within, mut read) = (Cost::default(), 1.0, 0.0);
        let (mut hot, mut near, mut adds_ns) = (Demand::default(), 1.0, 0.0_f64);
        for (at, ask) in asked.asks.iter().enumerate().filter(|(_, ask)| ask.times > 0.0) {
            let (rows, entries) = self.near(local(at));
            let parts = self.mixed(plan, ask, rows, entries)?;
            // Whether a batch of so many rows has a remote one.
            let is_remote = |count: f64| 1.0 - libm::pow(rows.min(entries), count.max(1.0));
            if ask.kind == Kind::Insert {
                let waits = parts.each.plus(&parts.batch.times(is_remote(ask.times)));
                adds_ns = adds_ns.max(waits.latency_ns);
            }
            let parts = parts.read(self.is_read(plan, number, ask));
            sum = sum.plus(&parts.each.times(ask.times));
            let remote = parts.each.plus(&parts.batch).plus(&parts.write).owners;
            // Of a call elsewhere rows that would be at home are on any machine.
            let anywhere = 1.0 - self.near((self.calls[number].local[at], 1.0)).0;
            let by_skew = if rows > 0.0 { 1.0 } else { anywhere };
            hot = add(hot, scaled(remote, ask.times * by_skew * self.calls[number].skew[at]));
            fixed = fixed.with(&parts.fixed, f64::max);
            read += if parts.fixed == Cost::default() { 0.0 } else { ask.times };
            let keeps = self.keeps_leaves(&plan.tables[ask.table]);
            if ask.kind < Kind::Update || ask.kind == Kind::Insert && !keeps {
                let whole =
                    if matches!(ask.kind, Kind::Scan(_)) { rows.min(entries) } else { rows };
                let is_remote = 1.0 - libm::pow(whole, ask.times.max(1.0));
                within *= 1.0 - is_remote * ask.times.min(1.0);
            }
            waits.note(ask, &parts, &is_remote);
            if !ask.is_ahead && !ask.is_referred {
                let batches = if ask.is_batch { ask.times.min(1.0) } else { ask.times };
                let count = if ask.is_batch { ask.times } else { 1.0 };
                sum = sum.plus(&parts.batch.times(is_remote(count) * batches));
            }
            if ask.kind >= Kind::Update {
                written += ask.times;
                near *= libm::pow(rows.min(entries), ask.times);
                writes = writes.plus(&parts.write.times(ask.times));
                slowest = slowest.with(&parts.write, f64::max);
            }
        }
        // Branches may leave out some of it, but hardly all.
        let slowest = slowest.times(written.min(1.0));
        let fixed = fixed.times(within * read.min(1.0));
        let commit = committed(&writes, &slowest, written).plus(&waits.validation());
        let cost = sum.plus(&waits.reading()).plus(&fixed).plus(&commit);
        let far = if self.surface.has(Place::Local) { 1.0 - near } else { 0.0 };
        Some(Cost { commit_ns: commit.latency_ns, adds_ns, far, hot, ..cost })
    }

    /// Shares of rows and entries that are local: none where memory servers are apart from all that compute, since the own
    /// machine's rows are as far as others'.
    pub fn near(&self, shares: (f64, f64)) -> (f64, f64) {
        if self.surface.has(Place::Local) { shares } else { (0.0, 0.0) }
    }

    /// An operation's parts where rows and entries are local with such shares.
    fn mixed(&self, plan: &Plan, ask: &Ask, rows: f64, entries: f64) -> Option<Parts> {
        let at = |row, entry| self.parts(plan, ask, row, entry);
        let by_rows = |entry| match rows {
            rows if rows >= 1.0 => at(Place::Local, entry),
            rows if rows <= 0.0 => at(Place::OneSided, entry),
            rows => {
                let (local, remote) = (at(Place::Local, entry)?, at(Place::OneSided, entry)?);
                Some(Parts {
                    each: local.each.mixed(rows, &remote.each),
                    batch: remote.batch,
                    fixed: local.fixed,
                    write: local.write.mixed(rows, &remote.write),
                })
            }
        };
        match entries {
            entries if entries >= 1.0 => by_rows(Place::Local),
            entries if entries <= 0.0 => by_rows(Place::OneSided),
            entries => {
                let (local, remote) = (by_rows(Place::Local)?, by_rows(Place::OneSided)?);
                Some(Parts {
                    each: local.each.mixed(entries, &remote.each),
                    batch: remote.batch,
                    fixed: local.fixed,
                    write: local.write.mixed(entries, &remote.write),
                })
            }
        }
    }

    fn parts(&self, plan: &Plan, ask: &Ask, row: Place, entry: Place) -> Option<Parts> {
        let table = &plan.tables[ask.table];
        let of = |operation, path, place, rows| {
            self.cost(ask.table, table, operation, path, place, rows)
        };
        let lookup = of(Operation::Lookup, AccessPath::Primary, row, 1.0)?;
        let beside = self.batch(table.choice.storage, row)?;
        let each = lookup.minus(&beside).at_least_nothing();
        let nothing = Cost::default();
        let (batch, fixed) =
            if row == Place::Local { (nothing, beside) } else { (beside, nothing) };
        let none = Parts::default();
        let maintained = |operation: Operation| {
            let plain = of(operation, AccessPath::Primary, entry, 1.0)?;
            let mut each = ask.touched.iter().map(|index| {
                let path = path_of(table.indexes[*index]);
                let cost = self.indexed(ask, table, operation, path, *index, entry)?;
                Some(cost.minus(&plain).at_least_nothing())
            });
            each.try_fold(Cost::default(), |sum, cost| Some(sum.plus(&cost?)))
        };
        let writing = |operation: Operation| {
            let write = of(operation, AccessPath::Primary, row, 1.0)?;
            Some(write.minus(&lookup).at_least_nothing())
        };
        Some(match ask.kind {
            Kind::Lookup => Parts { each, batch, fixed, ..none },
            Kind::IndexLookup(index) => self.through_index(ask, table, index, (row, entry))?,
            Kind::Scan(None) => {
                let scan = self.in_order(plan, ask, row)?;
                Parts { each: scan.minus(&fixed).at_least_nothing(), fixed, ..none }
            }
            Kind::Scan(Some(index)) => {
                let worse = if row == Place::Local { entry } else { row };
                let path = AccessPath::SecondaryTree;
                let scan = self.indexed(ask, table, Operation::Scan, path, index, worse)?;
                let fixed = if worse == Place::Local { fixed } else { nothing };
                Parts { each: scan.minus(&fixed).at_least_nothing(), fixed, ..none }
            }
            Kind::Everything => {
                let rows = self.shapes[ask.table].rows as f64;
                Parts { each: each.times(rows), batch, fixed, ..none }
            }
            Kind::Insert if self.keeps_leaves(table) => {
                let kept = self.kept_insert(table, ask, row, (each, batch))?;
                Parts { write: kept.write.plus(&maintained(Operation::Insert)?), ..kept }
            }
            Kind::Insert => {
                let mut write = writing(Operation::Insert)?;
                write.machines.atomics_ns *= self.leaves(table, ask);
                let write = write.plus(&maintained(Operation::Insert)?);
                Parts { each, batch, fixed, write }
            }
            Kind::Delete => {
                let write = writing(Operation::Delete)?.plus(&maintained(Operation::Delete)?);
                Parts { write, ..none }
            }
            Kind::Update => {
                let mut write = writing(Operation::Update)?;
                if !ask.touched.is_empty() {
                    write = write.plus(&maintained(Operation::Insert)?);
                    write = write.plus(&maintained(Operation::Delete)?);
                }
                Parts { write, ..none }
            }
        })
    }

    /// A row that is added to a leaf which may be kept: as measured nothing was read, and what a call costs beside is in it. What it takes
    /// to find a row, and to wait for a batch of them, is given; whoever finds nothing in a leaf reads no row behind it.
    fn kept_insert(
        &self,
        table: &TablePlan,
        ask: &Ask,
        row: Place,
        (each, batch): (Cost, Cost),
    ) -> Option<Parts> {
        let fixed = self.batch(Storage::Tree, Place::Local)?;
        let insert =
            self.cost(ask.table, table, Operation::Insert, AccessPath::Primary, row, 1.0)?;
        let write = insert.minus(&fixed).at_least_nothing().of_leaves(self.leaves(table, ask));
        let (rows, beside) = self.one_row(ask.table, row)?;
        let each = each.minus(&rows).at_least_nothing();
        let batch = batch.minus(&beside).at_least_nothing();
        Some(Parts { each, batch, fixed, write })
    }

    pub(super) fn cost(
        &self,
        number: usize,
        table: &TablePlan,
        operation: Operation,
        path: AccessPath,
        place: Place,
        rows: f64,
    ) -> Option<Cost> {
        let choice = &table.choice;
        // Where memory servers are apart from all that compute, the own machine's rows are as far as others'.
        let place = match place {
            Place::Local if !self.surface.has(Place::Local) => Place::OneSided,
            other => other,
        };
        let node_bytes = match (path, choice.storage) {
            (AccessPath::SecondaryTree, _) => table
                .indexes
                .iter()
                .find(|index| index.kind == IndexKind::Tree)
                .map_or(USUAL_NODE, |index| index.node_bytes),
            (_, Storage::Tree) => choice.node_bytes,
            _ => 0,
        };
        self.surface.cost(&Setting {
            operation,
            path,
            place,
            rows,
            storage: choice.storage,
            row_bytes: self.shapes[number].row_bytes(),
            slots: choice.slots,
            load_percent: match choice.placing {
                Placing::Hashed(load) => Some(load),
                _ => None,
            },
            node_bytes,
            replicas: self.replicas,
        })
    }

    /// As [`Model::cost`] through one of several indexes.
    fn indexed(
        &self,
        ask: &Ask,
        table: &TablePlan,
        operation: Operation,
        path: AccessPath,
        index: usize,
        place: Place,
    ) -> Option<Cost> {
        let only = TablePlan { indexes: vec![table.indexes[index]], ..table.clone() };
        let rows = if operation == Operation::Scan { ask.rows } else { 1.0 };
        self.cost(ask.table, &only, operation, path, place, rows)
    }

    /// A look-up through an index whose entry and row are at these places: the row's one first.
    fn through_index(
        &self,
        ask: &Ask,
        table: &TablePlan,
        index: usize,
        (row, entry): (Place, Place),
    ) -> Option<Parts> {
        let path = path_of(table.indexes[index]);
        let through = self.indexed(ask, table, Operation::Lookup, path, index, row)?;
        // An index leads to the row itself, which is one read wherever it lives.
        let beside = self.batch(Storage::HashInlined, row)?;
        let read = through.minus(&self.entry(ask, table, index, row)?).minus(&beside);
        let read = read.at_least_nothing().times(ask.rows);
        let each = self.entry(ask, table, index, entry)?.plus(&read);
        let none = Parts { each, ..Parts::default() };
        Some(match row {
            Place::Local => Parts { fixed: beside, ..none },
            _ => Parts { batch: beside, ..none },
        })
    }

    /// What finding an entry of an index costs, without the row: as measured with rows that are inlined, since those of other storages are
    /// not found through it as they are without it.
    fn entry(&self, ask: &Ask, table: &TablePlan, index: usize, place: Place) -> Option<Cost> {
        let choice = Choice {
            storage: Storage::HashInlined,
            slots: USUAL_SLOTS,
            placing: Placing::Hashed(USUAL_LOAD),
            node_bytes: 0,
        };
        let inlined = TablePlan { choice, ..table.clone() };
        let path = path_of(table.indexes[index]);
        let through = self.indexed(ask, &inlined, Operation::Lookup, path, index, place)?;
        let direct =
            self.cost(ask.table, &inlined, Operation::Lookup, AccessPath::Primary, place, 1.0)?;
        Some(through.minus(&direct).at_least_nothing())
    }

    /// What a batch of lookups costs beside its rows: a lookup less what a further row in a batch costs.
    pub(super) fn batch(&self, storage: Storage, place: Place) -> Option<Cost> {
        let (slots, load_percent) =
            if storage == Storage::Tree { (0, None) } else { (USUAL_SLOTS, Some(USUAL_LOAD)) };
        let setting = Setting {
            operation: Operation::Lookup,
            path: AccessPath::Primary,
            place,
            rows: 1.0,
            storage,
            row_bytes: USUAL_ROW,
            slots,
            load_percent,
            node_bytes: if storage == Storage::Tree { USUAL_NODE } else { 0 },
            replicas: 1,
        };
        let alone = self.surface.cost(&setting)?;
        // Rows of a batch that follow each other share leaves, which rows of a workload need not: those of buckets do not.
        let setting = match storage {
            Storage::Tree => Setting {
                storage: Storage::HashOutside,
                slots: USUAL_SLOTS,
                load_percent: Some(USUAL_LOAD),
                node_bytes: 0,
                ..setting
            },
            _ => setting,
        };
        let one = self.surface.cost(&setting)?;
        let many = self.surface.cost(&Setting { rows: BATCH_ROWS, ..setting })?;
        let further = many.minus(&one).times(1.0 / (BATCH_ROWS - 1.0));
        Some(alone.minus(&further).at_least_nothing())
    }

    /// What it costs to call the owner, beside what it does there: the most that it does of any operation of the procedure.
    fn message(&self, plan: &Plan, number: usize) -> Option<Cost> {
        let asks = self.asked[number].asks.iter().filter(|ask| ask.times > 0.0);
        let each =
            asks.filter(|ask| ask.kind < Kind::Update || ask.kind == Kind::Insert).map(|ask| {
                let table = &plan.tables[ask.table];
                let of = |place| {
                    self.cost(ask.table, table, Operation::Lookup, AccessPath::Primary, place, 1.0)
                };
                let (shipped, local) = (of(Place::Shipped)?, of(Place::Local)?);
                Some(shipped.minus(&local).at_least_nothing())
            });
        each.reduce(|most, cost| Some(most?.with(&cost?, f64::max)))?
    }
}

/// What leads through an index.
pub fn path_of(index: IndexChoice) -> AccessPath {
    match index.kind {
        IndexKind::Hash => AccessPath::SecondaryHash,
        IndexKind::Tree => AccessPath::SecondaryTree,
    }
}

/// A commit of several writes, each measured with a commit of its own: they go together, so that the slowest one is waited for, and
/// are published once. What cores do for them they do one after the other.
fn committed(writes: &Cost, slowest: &Cost, count: f64) -> Cost {
    let published = Demand {
        link_out_ns: slowest.others.link_in_ns,
        link_in_ns: slowest.others.link_out_ns,
        engine_ns: slowest.others.engine_ns,
        ..Demand::default()
    };
    let spared = scaled(published, -(count - 1.0).max(0.0));
    let serial_ns = (writes.machines.core_ns - slowest.machines.core_ns).max(0.0);
    Cost {
        latency_ns: slowest.latency_ns + serial_ns,
        tail_ns: slowest.tail_ns + serial_ns,
        round_trips: slowest.round_trips,
        machines: add(writes.machines, spared),
        others: slowest.others,
        ..*writes
    }
    .at_least_nothing()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(statement: u32, times: f64, is_batch: bool) -> Ask {
        Ask {
            statement,
            table: 0,
            kind: Kind::Lookup,
            times,
            rows: 1.0,
            is_ahead: false,
            is_batch,
            follows: false,
            rises: false,
            is_referred: true,
            is_validated: true,
            touched: Vec::new(),
            operation: 0,
        }
    }

    /// Rows that one insert refers to are waited for once, those of another one again, and in a loop each time; the commit reads all of
    /// them again in one trip.
    #[test]
    fn references_are_waited_for_once_for_each_insert() {
        let of = |latency_ns: f64| Cost { latency_ns, ..Cost::default() };
        let parts = Parts { each: of(1.0), batch: of(100.0), ..Parts::default() };
        let waits = |asks: &[Ask]| {
            let mut waits = Waits::default();
            asks.iter().for_each(|ask| waits.note(ask, &parts, &|_| 1.0));
            (waits.reading().latency_ns, waits.validation().latency_ns)
        };
        let once = reference(1, 1.0, false);
        assert_eq!(waits(&[once.clone(), once.clone()]), (100.0, 102.0));
        assert_eq!(waits(&[once.clone(), once, reference(2, 1.0, false)]), (200.0, 103.0));
        assert_eq!(waits(&[reference(1, 8.0, false)]), (800.0, 108.0), "a loop");
        assert_eq!(waits(&[reference(1, 8.0, true)]), (100.0, 108.0), "rows of one statement");
        assert_eq!(waits(&[reference(1, 0.25, false)]), (25.0, 25.25), "a branch");
    }
}
