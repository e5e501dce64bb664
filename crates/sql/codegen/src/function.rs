//! The state of printing a procedure.

use crate::again::Again;
use crate::ahead::Ahead;
use crate::code::{Code, FoundRow, Kind};
use crate::expression::Scope;
use crate::inserts::Inserts;
use crate::names::{Names, constant, identifier};
use crate::rounds::Rounds;
use crate::unsupported::Unsupported;
use crate::variable::{Guess, Variables};
use procedure::Procedure;
use procedure::node::Workload;
use sql::expression::Expr;
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, Unsupported>;

/// A procedure that is being printed.
pub struct Function<'a> {
    pub workload: &'a Workload,
    pub procedure: &'a Procedure,
    /// Its variables, with what is known about them so far.
    pub variables: Variables,
    /// The facts that this pass has found about the variables.
    pub guess: Guess,
    pub names: Names,
    /// The code printed so far.
    pub out: String,
    /// The rows that were read ahead.
    pub ahead: Ahead,
    /// The rows that are inserted together.
    pub inserts: Inserts<'a>,
    /// The loops whose iterations run in lockstep.
    pub rounds: Rounds<'a>,
    /// The tables whose rows are read together.
    pub read_together: BTreeSet<usize>,
    /// Whether to keep the next list of rows for the next statement, and the list that was kept.
    pub again: Again,
    /// Whether only the first row of the statement is used.
    pub takes_first: bool,
    /// Code for a missing row of the next statement, if the procedure does not continue without it.
    pub otherwise: Option<String>,
    /// Rows that are available until the end of their blocks, with their tables.
    pub available_rows: Vec<(usize, FoundRow)>,
    /// Nesting depth of the current list of statements.
    pub depth: usize,
    /// The records that are available.
    available: BTreeSet<FoundRow>,
    /// Number of the current statement.
    pub statement: u32,
    /// The tables whose columns are used.
    pub modules: BTreeSet<usize>,
}

impl<'a> Function<'a> {
    pub fn new(workload: &'a Workload, procedure: &'a Procedure, guess: &Guess) -> Self {
        let mut names = Names::default();
        let variables = Variables::new(&procedure.routine, &mut names, guess);
        let guess = guess.clone();
        Self {
            workload,
            procedure,
            variables,
            guess,
            names,
            out: String::new(),
            ahead: Ahead::default(),
            inserts: Inserts::default(),
            rounds: Rounds::default(),
            read_together: BTreeSet::new(),
            again: Again::default(),
            takes_first: false,
            otherwise: None,
            available_rows: Vec::new(),
            depth: 0,
            available: BTreeSet::new(),
            statement: 0,
            modules: BTreeSet::new(),
        }
    }

    /// Appends a line. Records become unavailable when a block begins or ends, a row changes, or
    /// the code awaits.
    pub fn line(&mut self, text: impl AsRef<str>) {
        let text = text.as_ref();
        let ends_records = ["{", "}", ".await", "txn.update", "txn.delete"];
        if ends_records.iter().any(|end| text.contains(end)) {
            self.available.clear();
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// Returns the scope of expressions over these sources.
    pub fn scope<'s>(&'s self, sources: &'s [&'s [Code]], outer: &'s [Vec<Code>]) -> Scope<'s> {
        Scope { variables: &self.variables, sources, outer }
    }

    pub fn codes(&self, exprs: &[Expr], source: &[Code], outer: &[Vec<Code>]) -> Result<Vec<Code>> {
        exprs.iter().map(|expr| self.scope(&[source], outer).code(expr)).collect()
    }

    /// Prints the records of the rows that fragments read, unless they are available.
    pub fn records<'c>(&mut self, codes: impl IntoIterator<Item = &'c Code>) {
        let rows: BTreeSet<FoundRow> =
            codes.into_iter().flat_map(|code| code.rows.iter().cloned()).collect();
        for row in rows {
            if self.available.contains(&row) {
                continue;
            }
            self.line(format!("let {} = call.txn.row({});", row.record, row.id));
            self.available.insert(row);
        }
    }

    /// Returns the name of a column's slot, and imports its module.
    pub fn slot(&mut self, table: usize, column: usize) -> String {
        self.modules.insert(table);
        self.slot_name(table, column)
    }

    /// As [`Function::slot`], if the module is imported already.
    pub fn slot_name(&self, table: usize, column: usize) -> String {
        let of = &self.workload.catalog.tables[table];
        format!("{}::{}", identifier(&of.name), constant(&of.schema.columns()[column].name))
    }

    /// Returns the columns of a table's row that are visible to SQL.
    pub fn columns(&mut self, table: usize, row: &FoundRow) -> Vec<Code> {
        let of = &self.workload.catalog.tables[table];
        let column = |column: usize| {
            let described = &of.schema.columns()[column];
            let slot = self.slot(table, column);
            let record = &row.record;
            let is_key = of.schema.key().contains(&column);
            let kind = match Kind::of_column(described.column_type) {
                Ok(Kind::Text) if of.schema.long_cell(column).is_some() => Kind::Unreadable,
                kind => kind.unwrap_or(Kind::Unreadable),
            };
            let value = match kind {
                Kind::Bool => format!("{record}.int_in({slot}) != 0"),
                Kind::Float => format!("f64::from_bits({record}.int_in({slot}) as u64)"),
                Kind::Text if is_key => {
                    let length = described.column_type.length_max();
                    format!("&text::of_key::<{length}>({record}, {slot})")
                }
                Kind::Text => format!("{record}.bytes_in({slot})"),
                _ => format!("{record}.int_in({slot})"),
            };
            let is_nullable = described.nullable && !is_key;
            let text = match is_nullable {
                true => format!("(!{record}.is_null_in({slot})).then(|| {value})"),
                false => value,
            };
            let length = described.column_type.length_max();
            let bytes_max = (kind == Kind::Text).then_some(length as usize);
            let rows = BTreeSet::from([row.clone()]);
            Code { is_nullable, rows, bytes_max, ..Code::new(text, kind) }
        };
        (0..of.columns.len()).map(column).collect()
    }

    /// Chooses names for a row of a table.
    pub fn row(&mut self, table: usize) -> FoundRow {
        let name = &self.workload.catalog.tables[table].name;
        let id = self.names.fresh(&format!("{name}_row"));
        FoundRow { record: self.names.fresh(name), id }
    }
}
