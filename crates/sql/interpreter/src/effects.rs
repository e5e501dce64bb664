//! The effects of statements and routines: which tables they read, change and share, and which
//! routines they call.

use crate::bind::{BoundTable, add_reached};
use crate::program::Program;
use procedure::node::Statement;
use procedure::{Operator, Procedure};
use std::collections::BTreeSet;

/// The effects of a statement or routine.
#[derive(Clone, Default, Debug)]
pub struct Effects {
    /// The routines that it calls while it runs.
    callees: BTreeSet<String>,
    writes: bool,
    /// Tables whose rows it reads.
    reads: BTreeSet<usize>,
    /// Tables whose rows it changes.
    changed: BTreeSet<usize>,
    /// Tables whose storage must stay until the transaction ends.
    shared: BTreeSet<usize>,
    is_guarded: bool,
    has_texts: bool,
    has_handlers: bool,
    has_cursors: bool,
}

impl Effects {
    /// Those of a planned statement, which `writes` or does not.
    pub(crate) fn of_statement(statement: &Statement, tables: &[BoundTable], writes: bool) -> Self {
        Self { writes, ..Self::of([statement].into_iter(), tables) }
    }

    /// Those of a routine whose statements have plans.
    pub(crate) fn of_routine(
        procedure: &Procedure,
        tables: &[BoundTable],
        program: &Program,
    ) -> Self {
        let mut effects = Self::of(procedure.statements.iter(), tables);
        if program.has_texts {
            effects.shared = (0..tables.len()).collect();
        }
        effects.writes = program.writes;
        effects.is_guarded = program.is_guarded;
        effects.has_texts = program.has_texts;
        effects.has_handlers = program.has_handlers;
        effects.has_cursors = program.has_cursors;
        effects
    }

    fn of<'s>(statements: impl Iterator<Item = &'s Statement>, tables: &[BoundTable]) -> Self {
        let (mut effects, mut changed_tables) = (Self::default(), Vec::new());
        let statements: Vec<_> = statements.collect();
        for statement in &statements {
            changed_tables.extend(changed(statement));
            walk(statement, &mut |operator| match operator {
                Operator::Scan(scan) => drop(effects.reads.insert(scan.table)),
                Operator::Call { routine, .. } => {
                    effects.callees.insert(routine.clone());
                }
                _ => {}
            });
        }
        add_reached(tables, &mut changed_tables);
        effects.shared.extend(shared(statements.into_iter(), &changed_tables, tables));
        effects.is_guarded = changed_tables.iter().any(|&at| {
            let table = &tables[at];
            !table.references.is_empty() || !table.referrers.is_empty()
        });
        effects.changed.extend(changed_tables);
        effects
    }

    /// The routines that are called.
    pub fn callees(&self) -> impl Iterator<Item = &str> {
        self.callees.iter().map(String::as_str)
    }

    /// Whether rows are changed or locked.
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// Whether the texts of statements are computed: they may change any table.
    pub fn has_texts(&self) -> bool {
        self.has_texts
    }

    /// Whether there are handlers of errors.
    pub fn has_handlers(&self) -> bool {
        self.has_handlers
    }

    /// Whether cursors are opened or moved.
    pub fn has_cursors(&self) -> bool {
        self.has_cursors
    }

    /// The tables whose storage must stay until the transaction ends, by position in the catalog:
    /// those with rows that are changed, locked, or looked up for foreign keys.
    pub fn shared(&self) -> impl Iterator<Item = usize> {
        self.shared.iter().copied()
    }

    /// Adds those of a routine that is called.
    pub fn add(&mut self, callee: &Self) {
        self.callees.extend(callee.callees.iter().cloned());
        self.reads.extend(&callee.reads);
        self.changed.extend(&callee.changed);
        self.shared.extend(&callee.shared);
        self.writes |= callee.writes;
        self.is_guarded |= callee.is_guarded;
        self.has_texts |= callee.has_texts;
        self.has_handlers |= callee.has_handlers;
        self.has_cursors |= callee.has_cursors;
    }

    /// Whether the rows of a table are, or may be, changed.
    pub(crate) fn changes(&self, table: usize) -> bool {
        self.has_texts || self.changed.contains(&table)
    }

    /// Whether rows that reference others, or are referenced, are changed.
    pub(crate) fn is_guarded(&self) -> bool {
        self.is_guarded
    }

    /// The tables whose rows are changed.
    pub(crate) fn changed(&self) -> impl Iterator<Item = usize> {
        self.changed.iter().copied()
    }

    /// The tables whose rows are read.
    pub(crate) fn reads(&self) -> impl Iterator<Item = usize> {
        self.reads.iter().copied()
    }
}

/// The tables that a statement changes.
fn changed(statement: &Statement) -> Vec<usize> {
    let mut changed = Vec::new();
    walk(statement, &mut |operator| match operator {
        Operator::Insert(insert) => changed.push(insert.table),
        Operator::Update(update) => changed.push(update.table),
        Operator::Delete(delete) => changed.push(delete.table),
        _ => {}
    });
    changed
}

/// The tables that statements change, with those that they lock and those that foreign keys read.
fn shared<'s>(
    statements: impl Iterator<Item = &'s Statement>,
    changed: &[usize],
    tables: &[BoundTable],
) -> Vec<usize> {
    let mut shared = BTreeSet::from_iter(changed.iter().copied());
    for statement in statements {
        walk(statement, &mut |operator| {
            let (table, reads) = match operator {
                Operator::Lock { table, .. } => (*table, Vec::new()),
                Operator::Insert(insert) => {
                    (insert.table, references(&tables[insert.table], &|_| true))
                }
                Operator::Update(update) => {
                    let is_set = |column| update.assignments.iter().any(|(set, _)| *set == column);
                    let table = &tables[update.table];
                    let of_table = references(table, &is_set).into_iter();
                    (update.table, of_table.chain(referrers(table, &is_set)).collect())
                }
                Operator::Delete(delete) => {
                    (delete.table, referrers(&tables[delete.table], &|_| true))
                }
                _ => return,
            };
            shared.insert(table);
            shared.extend(reads);
        });
    }
    // Rows that actions of foreign keys change are checked, too.
    let acting = changed.iter().flat_map(|&table| &tables[table].referrers);
    for referrer in acting.filter(|referrer| referrer.acts()) {
        let table = &tables[referrer.key.table];
        shared.extend(references(table, &|_| true));
        shared.extend(referrers(table, &|_| true));
    }
    shared.into_iter().collect()
}

/// The tables that foreign keys of a table reference, if these columns are among their own.
fn references(table: &BoundTable, is_changed: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let keys = table.references.iter().filter(|key| key.own.iter().any(|&own| is_changed(own)));
    keys.map(|key| key.table).collect()
}

/// The tables that reference these columns of a table.
fn referrers(table: &BoundTable, is_changed: &dyn Fn(usize) -> bool) -> Vec<usize> {
    let keys = table.referrers.iter().map(|referrer| &referrer.key);
    let keys = keys.filter(|key| key.own.iter().any(|&own| is_changed(own)));
    keys.map(|key| key.table).collect()
}

/// Whether a statement locks rows.
pub(crate) fn locks(statement: &Statement) -> bool {
    let mut found = false;
    walk(statement, &mut |operator| {
        found |= matches!(operator, Operator::Lock { .. });
    });
    found
}

fn walk(statement: &Statement, visit: &mut impl FnMut(&Operator)) {
    let plans = statement.sub_plans.iter().map(|plan| &plan.root);
    for root in plans.chain([&statement.root]) {
        root.walk(&mut |node| visit(&node.operator));
    }
}
