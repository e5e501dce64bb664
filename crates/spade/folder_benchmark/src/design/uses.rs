//! What the procedures of a workload do with its tables.

use procedure::node::Workload;
use procedure::operations::{Action, Operation, Origin, Path, named};
use sql::load::{Draw, ProcedureLoad};
use sql::{Load, Procedure};

/// What is done with each table, in the order of the schema.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Uses {
    pub tables: Vec<TableUses>,
}

/// What is done with a table.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct TableUses {
    /// Who goes through the primary key in its order.
    pub order: OrderUses,
    /// Whether rows are looked for by anything.
    pub is_read: bool,
    /// Whether rows are added.
    pub grows: bool,
    /// Whether some of them have a key that a procedure computes, as it counts on.
    pub counts_on: bool,
    /// Where called procedures add rows: for each of their statements that do, what is known of the columns, in order.
    pub adds: Vec<Vec<Adds>>,
    /// The share of calls that change rows of it.
    pub changing_share: f64,
    /// Of its indexes, in the order of the schema.
    pub indexes: Vec<IndexUses>,
}

/// What is known of a column of rows that a procedure adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Adds {
    /// It is an argument, which is drawn for each call, or the key of a row that was found.
    Anywhere,
    /// All rows have the same.
    SamePlace,
    /// It is counted on, or follows from other rows.
    Unknown,
}

/// Who goes through a key or an index in its order.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct OrderUses {
    /// A procedure that does.
    pub procedure: Option<String>,
    /// Who names fewest of the first columns by their values, and how many; a procedure or a function of `checks.sql`. Nobody
    /// goes through it if there is none.
    pub least: Option<(usize, String)>,
}

/// What is done with an index.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct IndexUses {
    /// Who goes through it in its order.
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

    /// Notes what checks of the same tables go through in its order. Nothing is stored for their sake, but what they go
    /// through has to stay in order.
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

    /// How many of the first columns all who go through it in its order name by their values; none if nobody does.
    pub fn named(&self) -> Option<usize> {
        self.least.as_ref().map(|(named, _)| *named)
    }
}

/// The columns that a table's primary key consists of, or one of its indexes.
fn columns(table: &sql::Table, index: Option<usize>) -> &[usize] {
    index.map_or(&table.primary_key, |index| &table.indexes[index].columns)
}

/// What is known of a column of an added row. `is_key` tells whether an operation's column is of its table's primary key.
fn adds(
    origin: &Origin,
    routine: &Procedure,
    called: Option<&ProcedureLoad>,
    is_key: &impl Fn(usize, usize) -> bool,
) -> Adds {
    let variable = match origin {
        Origin::Constant => return Adds::SamePlace,
        // Elements of an array are drawn as the array is.
        Origin::Element(of) => return adds(of, routine, called, is_key),
        Origin::Argument(variable) => *variable,
        // Whatever led to the row, it may be any.
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
    /// Who goes through the primary key, or an index, in its order.
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
