//! Foreign keys: a referenced row must exist, and a deleted row must not be referenced. A violation
//! deviates.
//!
//! Rows are read at the transaction's snapshot, as the executor does, and procedures that change
//! such tables are serializable: if another transaction concurrently deletes the referenced row, or
//! inserts a referencing one, one of the two is aborted and retried.
//!
//! Decision: docs/decisions/0272-generated-code-checks-constraints-and-the-executor-reports.md

use crate::access::key_of;
use crate::code::Code;
use crate::function::Function;
use crate::names::identifier;
use crate::node::index_name;
use crate::unsupported::Unsupported;
use layout::ColumnType;
use procedure::node::{Node, Operator};
use procedure::reference::{AccessPath, access_path};
use sql::catalog::ForeignKey;
use sql::{Catalog, Table};
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, Unsupported>;

/// Whether executing a plan reads rows of a table for a foreign key, of the referenced or of the
/// referencing side.
pub fn looks_for(catalog: &Catalog, root: &Node, table: usize) -> bool {
    let mut found = false;
    root.walk(&mut |node| {
        let is_changed = |columns: &[usize], update: &procedure::node::Update| {
            update.assignments.iter().any(|(column, _)| columns.contains(column))
        };
        let mut refers = |of: usize, test: &dyn Fn(&ForeignKey) -> bool| {
            let keys = &catalog.tables[of].foreign_keys;
            found |= keys.iter().any(|key| key.table == table && test(key));
        };
        match &node.operator {
            Operator::Insert(insert) => refers(insert.table, &|_| true),
            Operator::Update(update) => {
                refers(update.table, &|key| is_changed(&key.columns, update))
            }
            Operator::Delete(delete) => {
                let keys = &catalog.tables[table].foreign_keys;
                found |= keys.iter().any(|key| key.table == delete.table);
            }
            _ => {}
        }
    });
    found
}

impl<'a> Function<'a> {
    /// Whether executing a plan reads rows for any foreign key.
    pub fn looks_for_any(&self, root: &Node) -> bool {
        let catalog = &self.workload.catalog;
        (0..catalog.tables.len()).any(|table| looks_for(catalog, root, table))
    }

    /// Prints the checks that the rows exist that a table's row references. `row` has its new
    /// values; only foreign keys with changed columns are checked, or all for a new row.
    pub fn check_references(
        &mut self,
        table: usize,
        row: &[Code],
        changed: Option<&[usize]>,
    ) -> Result<()> {
        let of = self.table(table);
        let mut wanted = Vec::new();
        for (at, reference) in of.foreign_keys.iter().enumerate() {
            let is_concerned = changed
                .is_none_or(|changed| changed.iter().any(|at| reference.columns.contains(at)));
            let is_null = reference.columns.iter().any(|&column| row[column].text == "None");
            if !is_concerned || is_null {
                continue;
            }
            match self.ahead.reference(self.statement, at).map(str::to_owned) {
                Some(place) => self.line(format!("known({place})?;")),
                None => wanted.push(reference),
            }
        }
        let are_by_key = |&reference: &&ForeignKey| {
            let to = self.table(reference.table);
            matches!(access_path(to, &reference.references), Some(AccessPath::Key(_)))
        };
        let (by_key, others): (Vec<_>, Vec<_>) = wanted.into_iter().partition(are_by_key);
        // Iterations in lockstep collect their own reads.
        match by_key.len() > 1 && !self.rounds.is_inside {
            true => self.read_referred(table, &by_key, row)?,
            false => by_key.iter().try_for_each(|reference| self.refer(table, reference, row))?,
        }
        others.iter().try_for_each(|reference| self.refer(table, reference, row))
    }

    /// Prints reading several referenced rows in one round trip.
    fn read_referred(
        &mut self,
        from: usize,
        references: &[&'a ForeignKey],
        row: &[Code],
    ) -> Result<()> {
        self.line("// The rows that it refers to are read together.");
        self.line("call.scratch.reads.clear();");
        for reference in references {
            let to = self.table(reference.table);
            self.with_key(
                reference.table,
                &reference.references,
                (from, &reference.columns),
                row,
                &mut |function, key| {
                    function.line(format!(
                        "call.scratch.reads.push((tables.{}, {key}));",
                        identifier(&to.name)
                    ));
                    Ok(())
                },
            )?;
        }
        let found = self.names.fresh("referred_to");
        self.line(format!("let mut {found} = call.scratch.take_found();"));
        let tables: BTreeSet<usize> = references.iter().map(|reference| reference.table).collect();
        self.read_many(&tables, &found);
        self.line(format!("check({found}.iter().all(Option::is_some))?;"));
        self.line(format!("call.scratch.give_found({found});"));
        Ok(())
    }

    /// Prints looking up one referenced row.
    fn refer(&mut self, from: usize, reference: &'a ForeignKey, row: &[Code]) -> Result<()> {
        let (table, columns) = (reference.table, reference.references.as_slice());
        self.with_key(table, columns, (from, &reference.columns), row, &mut |function, key| {
            function.look_for(table, columns, key, true)
        })
    }

    /// Prints the checks that no row references a deleted one with these values.
    pub fn check_referrers(&mut self, table: usize, row: &[Code]) -> Result<()> {
        let catalog: &'a Catalog = &self.workload.catalog;
        for (of, other) in catalog.tables.iter().enumerate() {
            for reference in other.foreign_keys.iter().filter(|key| key.table == table) {
                if reference.on_delete.changes_rows() {
                    return Err(Unsupported::new("a DELETE that changes rows of other tables"));
                }
                let columns = reference.columns.as_slice();
                self.with_key(
                    of,
                    columns,
                    (table, &reference.references),
                    row,
                    &mut |function, key| function.look_for(of, columns, key, false),
                )?;
            }
        }
        Ok(())
    }

    /// Whether the values of the referencing columns can be used as keys without a cast.
    pub fn are_alike(&self, from: &Table, reference: &ForeignKey) -> bool {
        are_alike(from, &reference.columns, self.table(reference.table), &reference.references)
    }

    /// Refuses an update of columns that other tables reference.
    pub fn check_referred_columns(&self, table: usize, changed: &[usize]) -> Result<()> {
        let tables = &self.workload.catalog.tables;
        let mut keys = tables.iter().flat_map(|other| &other.foreign_keys);
        let is_referred_to = keys.any(|key| {
            key.table == table && key.references.iter().any(|column| changed.contains(column))
        });
        match is_referred_to {
            true => Err(Unsupported::new("an UPDATE of a key that other tables reference")),
            false => Ok(()),
        }
    }

    /// Prints `body` with the key that values of `own` columns form for another table's `columns`,
    /// unless one of them is null.
    fn with_key(
        &mut self,
        table: usize,
        columns: &[usize],
        (from, own): (usize, &[usize]),
        row: &[Code],
        body: &mut dyn FnMut(&mut Self, &str) -> Result<()>,
    ) -> Result<()> {
        let to = self.table(table);
        let (key, places) = match access_path(to, columns) {
            Some(AccessPath::Key(places)) => (to.schema.key(), places),
            Some(AccessPath::Index(index, places)) => {
                (to.indexes[index].columns.as_slice(), places)
            }
            None => {
                let what = format!("a foreign key from {}, which has no index for it", to.name);
                return Err(Unsupported::new(what));
            }
        };
        let mut values: Vec<Code> = places.iter().map(|&place| row[own[place]].clone()).collect();
        let mut ends = 0;
        for (value, &place) in values.iter_mut().zip(&places) {
            if value.is_nullable {
                let name = self.names.fresh(&self.table(from).schema.columns()[own[place]].name);
                self.records([&*value]);
                self.line(format!("if let Some({name}) = {} {{", value.text));
                *value =
                    Code { text: name, is_nullable: false, rows: BTreeSet::new(), ..value.clone() };
                ends += 1;
            }
        }
        if !are_alike(self.table(from), own, to, columns) {
            return Err(Unsupported::new("a foreign key between columns of different types"));
        }
        let key = key_of(to, key, &values)?;
        self.records([&key]);
        body(self, &key.text)?;
        (0..ends).for_each(|_| self.line("}"));
        Ok(())
    }

    /// Prints the check that a row with a key exists, or does not exist.
    fn look_for(
        &mut self,
        table: usize,
        columns: &[usize],
        key: &str,
        is_wanted: bool,
    ) -> Result<()> {
        let to = self.table(table);
        match access_path(to, columns) {
            Some(AccessPath::Key(_)) => {
                let read = format!("call.txn.read(tables.{}, &{key}).await?", identifier(&to.name));
                self.line(match is_wanted {
                    true => format!("known({read})?;"),
                    false => format!("check({read}.is_none())?;"),
                });
            }
            Some(AccessPath::Index(index, _)) => {
                let index = index_name(to, &to.indexes[index].name);
                let rows = self.names.fresh(&format!("{}_rows", to.name));
                let sign = if is_wanted { "!" } else { "" };
                self.line(format!("let mut {rows} = call.scratch.take_rows();"));
                self.line(format!("call.txn.lookup(tables.{index}, &{key}, &mut {rows}).await?;"));
                self.line(format!("check({sign}{rows}.is_empty())?;"));
                self.line(format!("call.scratch.give_rows({rows});"));
            }
            None => return Err(Unsupported::new("a foreign key without an index")),
        }
        Ok(())
    }
}

/// Whether values of the columns of one table are valid in those of another without a cast.
fn are_alike(from: &Table, own: &[usize], to: &Table, columns: &[usize]) -> bool {
    let type_of = |table: &Table, column: usize| table.schema.columns()[column].column_type;
    own.iter().zip(columns).all(|(&own, &other)| fits(type_of(from, own), type_of(to, other)))
}

/// Whether a value of one column type is valid in another without a cast.
fn fits(own: ColumnType, other: ColumnType) -> bool {
    use ColumnType as C;
    match (own, other) {
        (C::Int2, C::Int4 | C::Int8) | (C::Int4, C::Int8) => true,
        (C::Char(own), C::Char(other)) | (C::Varchar(own), C::Varchar(other)) => own <= other,
        (own, other) => own == other,
    }
}
