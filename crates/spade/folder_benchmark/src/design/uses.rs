//! How the procedures of a workload use its tables.

use procedure::node::Workload;
use procedure::operations::{Action, Operation, Origin, Path, named};
use sql::load::{Draw, ProcedureLoad};
use sql::{Load, Procedure};

/// The uses of each table, in the order of the schema.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Uses {
    pub tables: Vec<TableUses>,
}

/// How a table is used.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct TableUses {
    /// Scans of the primary key in order.
    pub order: OrderUses,
    /// Whether any statement reads rows.
    pub is_read: bool,
    /// Whether any statement inserts rows.
    pub grows: bool,
    /// Whether some inserted rows have a key that the procedure computes: a counter.
    pub counts_on: bool,
    /// Inserts by called procedures: for each inserting statement, how the values of each column
    /// are distributed.
    pub adds: Vec<Vec<Adds>>,
    /// The share of calls that update rows of the table.
    pub changing_share: f64,
    /// Uses of its indexes, in the order of the schema.
    pub indexes: Vec<IndexUses>,
}

/// How the values of a column of inserted rows are distributed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Adds {
    /// An argument that is drawn for each call, or the key of a row that was found.
    Anywhere,
    /// All rows have the same value.
    SamePlace,
    /// It is counted up, or depends on other rows.
    Unknown,
}

/// Scans of a key or index in its order.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct OrderUses {
    /// A procedure that scans it.
    pub procedure: Option<String>,
    /// The scan with values for the fewest leading columns: their number, and the procedure or
    /// function of `checks.sql`. `None` if nothing scans it.
    pub least: Option<(usize, String)>,
}

/// How an index is used.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct IndexUses {
    /// Scans of the index in its order.
    pub order: OrderUses,
    /// Whether rows are looked up by all of its columns.
    pub is_looked_up: bool,
}

impl Uses {
    pub fn new(workload: &Workload, load: &Load) -> Self {
        let fresh = |table: &sql::Table| TableUses {
            indexes: vec![IndexUses::default(); table.indexes.len()],
            ..TableUses::default()
        };
        let mut tables: Vec<TableUses> = workload.catalog.tables.iter().map(fresh).collect();
        let sum: f64 = load.procedures.iter().map(|of| of.frequency).sum();
        for procedure in &workload.procedures {
            let name = &procedure.routine.name;
            let called = load.procedures.iter().find(|of| of.procedure == *name);
            let share = called.map_or(0.0, |of| of.frequency) / sum.max(f64::MIN_POSITIVE);
            let mut changed = vec![false; tables.len()];
            let operations = workload.operations(procedure);
            let is_key = |operation: usize, column: usize| {
                let read = &workload.catalog.tables[operations[operation].table];
                read.primary_key.contains(&column)
            };
            let adds = |origin: &Origin| adds(origin, &procedure.routine, called, &is_key);
            for Operation { table, action, .. } in &operations {
                tables[*table].note(action, name, &workload.catalog.tables[*table]);
                if let (Action::Insert { values }, true) = (action, share > 0.0) {
                    tables[*table].adds.push(values.iter().map(adds).collect());
                }
                changed[*table] |= matches!(action, Action::Update { .. });
            }
            let shared = tables.iter_mut().zip(changed).filter(|(_, is_changed)| *is_changed);
            shared.for_each(|(table, _)| table.changing_share += share);
        }
        Self { tables }
    }

    /// Adds the scans of the checks. The design does not optimize for them, but the indexes that
    /// they scan must stay in order.
    pub fn note_checks(&mut self, checks: &Workload) {
        for check in &checks.procedures {
            for Operation { table, action, .. } in checks.operations(check) {
                let Action::Read { path: Path::Range(index), keys, .. } = &action else { continue };
                let columns = columns(&checks.catalog.tables[table], *index);
                let order = self.tables[table].order_mut(*index);
                order.note(named(columns, keys), &check.routine.name);
            }
        }
    }
}

impl OrderUses {
    fn note(&mut self, named: usize, who: &str) {
        if self.least.as_ref().is_none_or(|(least, _)| named < *least) {
            self.least = Some((named, who.to_owned()));
        }
    }

    /// The number of leading columns for which all scans have values; `None` without scans.
    pub fn named(&self) -> Option<usize> {
        self.least.as_ref().map(|(named, _)| *named)
    }
}

/// The columns of the primary key or of an index.
fn columns(table: &sql::Table, index: Option<usize>) -> &[usize] {
    index.map_or(&table.primary_key, |index| &table.indexes[index].columns)
}

/// How the values of a column of inserted rows are distributed. `is_key(operation, column)` returns
/// whether the column belongs to the primary key of the operation's table.
fn adds(
    origin: &Origin,
    routine: &Procedure,
    called: Option<&ProcedureLoad>,
    is_key: &impl Fn(usize, usize) -> bool,
) -> Adds {
    let variable = match origin {
        Origin::Constant => return Adds::SamePlace,
        // Array elements have the distribution of the array.
        Origin::Element(of) => return adds(of, routine, called, is_key),
        Origin::Argument(variable) => *variable,
        // The row may be any row of its table.
        Origin::Output { operation, column } if is_key(*operation, *column) => {
            return Adds::Anywhere;
        }
        Origin::Output { .. } | Origin::OneOf(_) | Origin::Computed => return Adds::Unknown,
    };
    let at = routine.inputs().position(|(of, _)| of.variable == variable);
    let drawn = called.zip(at).and_then(|(of, at)| of.arguments.get(at));
    match drawn.map(|(_, of)| &of.draw) {
        None | Some(Draw::Sequence { .. }) => Adds::Unknown,
        Some(Draw::Constant(_)) => Adds::SamePlace,
        Some(_) => Adds::Anywhere,
    }
}

impl TableUses {
    fn order_mut(&mut self, index: Option<usize>) -> &mut OrderUses {
        match index {
            None => &mut self.order,
            Some(index) => &mut self.indexes[index].order,
        }
    }

    fn note(&mut self, action: &Action, procedure: &str, table: &sql::Table) {
        match action {
            Action::Read { path, keys, .. } => {
                self.is_read = true;
                match path {
                    Path::Range(index) => {
                        let order = self.order_mut(*index);
                        order.procedure.get_or_insert_with(|| procedure.into());
                        order.note(named(columns(table, *index), keys), procedure);
                    }
                    Path::Lookup(index) => self.indexes[*index].is_looked_up = true,
                    Path::Key | Path::All => {}
                }
            }
            Action::Insert { values } => {
                self.grows = true;
                let mut key = table.primary_key.iter().filter_map(|&column| values.get(column));
                self.counts_on |= key.any(|origin| *origin == Origin::Computed);
            }
            Action::Update { .. } | Action::Delete { .. } => {}
        }
    }
}
