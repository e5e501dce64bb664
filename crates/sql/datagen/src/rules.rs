//! Checks rows against the schema: NOT NULL, precision, CHECK, keys and foreign keys.

use crate::number;
use crate::population::Population;
use sql::expression::{ColumnRef, Expr, ExprKind};
use sql::{Catalog, Table};
use sql_value::{Formula, Nothing, Scope, Stop, Value, output};

/// Maximum number of characters of a value in a message.
const SHOWN_MAX: usize = 64;

/// The constraints of a table.
#[derive(Debug)]
pub(crate) struct Rules {
    is_nullable: Vec<bool>,
    /// Columns with a precision, and the smallest number of units that exceeds it.
    precise: Vec<(usize, u128)>,
    checks: Vec<Check>,
    /// The columns that identify a row: the primary key, or all columns without one.
    known_by: Vec<usize>,
    /// The primary key's name; empty if there is none.
    pub key_name: String,
    pub references: Vec<Reference>,
    /// Names and columns of the other unique keys.
    uniques: Vec<(String, Vec<usize>)>,
}

/// A CHECK constraint.
#[derive(Debug)]
struct Check {
    name: String,
    condition: Formula,
    /// The columns that it uses.
    columns: Vec<usize>,
}

/// A foreign key.
#[derive(Debug)]
pub(crate) struct Reference {
    pub name: String,
    pub columns: Vec<usize>,
    /// Number of the referenced table.
    pub table: usize,
    /// The referenced columns, which are a primary or unique key.
    pub references: Vec<usize>,
    /// The name of the unique index; `None` for the primary key.
    pub index: Option<String>,
}

impl Rules {
    pub fn new(catalog: &Catalog, table: &Table) -> Self {
        let check = |check: &sql::catalog::Check| Check {
            name: check.name.clone(),
            condition: Formula::compile(&check.condition),
            columns: columns_of(&check.condition),
        };
        let reference = |key: &sql::catalog::ForeignKey| {
            let to = &catalog.tables[key.table];
            let index = to.indexes.iter().find(|index| {
                index.unique
                    && index.columns.len() == key.references.len()
                    && index.columns.iter().all(|column| key.references.contains(column))
            });
            let is_key = to.primary_key.len() == key.references.len()
                && to.primary_key.iter().all(|column| key.references.contains(column));
            Reference {
                name: key.name.clone(),
                columns: key.columns.clone(),
                table: key.table,
                references: key.references.clone(),
                index: index.filter(|_| !is_key).map(|index| index.name.clone()),
            }
        };
        let unique = table.indexes.iter().filter(|index| index.unique);
        let columns = table.columns.iter().enumerate();
        let precise =
            columns.filter_map(|(at, column)| Some((at, number::beyond(&column.sql_type)?)));
        Self {
            is_nullable: table.columns.iter().map(|column| column.nullable).collect(),
            precise: precise.collect(),
            checks: table.checks.iter().map(check).collect(),
            known_by: match table.has_hidden_key() {
                true => (0..table.columns.len()).collect(),
                false => table.primary_key.clone(),
            },
            key_name: table.primary_key_name.clone(),
            references: table.foreign_keys.iter().map(reference).collect(),
            uniques: unique.map(|index| (index.name.clone(), index.columns.clone())).collect(),
        }
    }
}

/// The columns that a condition uses.
fn columns_of(condition: &Expr) -> Vec<usize> {
    let mut columns = Vec::new();
    condition.visit(&mut |expression| {
        if let ExprKind::Column(column) = &expression.kind
            && !columns.contains(&column.column)
        {
            columns.push(column.column);
        }
    });
    columns
}

/// The scope of a row's conditions.
struct OneRow<'r> {
    values: &'r [Value],
    nothing: Nothing,
}

impl Scope for OneRow<'_> {
    fn variable(&self, variable: usize) -> &Value {
        self.nothing.variable(variable)
    }

    fn column(&self, column: ColumnRef) -> sql_value::Result<Value> {
        Ok(self.values.get(column.column).cloned().unwrap_or(Value::Null))
    }

    fn element(&self) -> &Value {
        self.nothing.element()
    }

    fn sub_plan(&self, plan: usize) -> Option<&[Value]> {
        self.nothing.sub_plan(plan)
    }

    fn aggregate(&self, aggregate: usize) -> &Value {
        self.nothing.aggregate(aggregate)
    }

    fn now(&self) -> i64 {
        self.nothing.now()
    }

    fn clock(&self) -> i64 {
        self.nothing.clock()
    }

    fn random(&self) -> f64 {
        self.nothing.random()
    }
}

impl Population {
    /// The violation of a row by itself with its remedy in `workload.toml`; `None` if the row is
    /// valid.
    pub(crate) fn fault(&self, table: usize, row: &[Value]) -> Option<String> {
        let rules = &self.tables[table].rules;
        let mut columns = rules.is_nullable.iter().zip(row);
        if let Some(at) = columns.position(|(is_nullable, value)| !is_nullable && value.is_null()) {
            let name = &self.tables[table].names[at];
            let change = self.change(table, &[at]);
            return Some(format!("its {name} is null, and the column is NOT NULL; {change}"));
        }
        // Rows store the units of a decimal without its precision, so this is the only check.
        let is_beyond = |&&(at, beyond): &&(usize, u128)| match row.get(at) {
            Some(Value::Numeric(number)) => number.units.unsigned_abs() >= beyond,
            _ => false,
        };
        if let Some(&(at, _)) = rules.precise.iter().find(is_beyond) {
            let (shown, change) = (self.shown(table, &[at], row), self.change(table, &[at]));
            let sql_type = &self.tables[table].types[at];
            return Some(format!("its {shown} is out of range for {sql_type}; {change}"));
        }
        let scope = OneRow { values: row, nothing: Nothing { now: self.scale.now_us } };
        rules.checks.iter().find_map(|check| {
            let problem = match check.condition.evaluate(&scope) {
                Ok(Value::Bool(false)) => "does not hold".to_owned(),
                Ok(_) => return None,
                Err(Stop::Error(error)) => format!("raises an error, {error}"),
                Err(Stop::Needs(_)) => "has a sub-select".to_owned(),
            };
            let (name, shown) = (&check.name, self.shown(table, &check.columns, row));
            let change = self.change(table, &check.columns);
            Some(format!("its check {name} {problem} for {shown}; {change}"))
        })
    }

    /// The message about a duplicate primary key.
    pub(crate) fn same_key(&self, table: usize) -> String {
        let rules = &self.tables[table].rules;
        if rules.key_name.is_empty() {
            return "the table has rows of an earlier load; load into an empty database".to_owned();
        }
        let change = self.distinct(table, &rules.known_by);
        format!("another row has this key already, and {} is unique; {change}", rules.key_name)
    }

    /// The message about duplicate values in a unique index.
    pub(crate) fn same_values(&self, table: usize, index: &str, row: &[Value]) -> String {
        let columns = &self.unique_columns(table, index);
        let (shown, change) = (self.shown(table, columns, row), self.distinct(table, columns));
        format!("another row has {shown} already, and {index} is unique; {change}")
    }

    /// The message about a dangling reference.
    pub(crate) fn dangles(&self, table: usize, reference: &Reference, row: &[Value]) -> String {
        let name = &reference.name;
        let to = &self.tables[reference.table];
        let shown = self.shown(table, &reference.columns, row);
        let columns = reference.references.iter().map(|&at| to.names[at].as_str());
        let columns: Vec<&str> = columns.collect();
        let change = self.change(table, &reference.columns);
        format!(
            "no row of {} has the {} that {shown} references by the foreign key {name}; {change}, \
             for example by `for_each`",
            to.name,
            columns.join(", "),
        )
    }

    /// The columns of a unique index.
    pub(crate) fn unique_columns(&self, table: usize, index: &str) -> Vec<usize> {
        let uniques = &self.tables[table].rules.uniques;
        let found = uniques.iter().find(|(name, _)| name == index);
        found.map_or(Vec::new(), |(_, columns)| columns.clone())
    }

    /// A row's identification in messages.
    pub(crate) fn named(&self, table: usize, row: &[Value]) -> String {
        self.shown(table, &self.tables[table].rules.known_by, row)
    }

    fn change(&self, table: usize, columns: &[usize]) -> String {
        format!("change the draw of {} in workload.toml", self.lines(table, columns))
    }

    fn distinct(&self, table: usize, columns: &[usize]) -> String {
        let lines = self.lines(table, columns);
        format!(
            "draw {lines} in workload.toml without duplicates, by `sequence` or `distinct = true`"
        )
    }

    /// The lines of `workload.toml` that draw the columns.
    fn lines(&self, table: usize, columns: &[usize]) -> String {
        let Self { tables, .. } = self;
        let (name, names) = (&tables[table].name, &tables[table].names);
        let lines: Vec<String> =
            columns.iter().map(|&at| format!("`columns.{}`", names[at])).collect();
        match lines.as_slice() {
            [] => format!("the columns of [tables.{name}]"),
            lines => format!("{} of [tables.{name}]", lines.join(" or ")),
        }
    }

    /// Columns with their values: `(a, b) = (1, x)`.
    fn shown(&self, table: usize, columns: &[usize], row: &[Value]) -> String {
        let Self { tables, .. } = self;
        let table = &tables[table];
        let names: Vec<&str> = columns.iter().map(|&at| table.names[at].as_str()).collect();
        let value = |&at: &usize| match &row[at] {
            Value::Null => "null".to_owned(),
            value => shortened(&output::text(value, &table.types[at])),
        };
        let values: Vec<String> = columns.iter().map(value).collect();
        format!("({}) = ({})", names.join(", "), values.join(", "))
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
