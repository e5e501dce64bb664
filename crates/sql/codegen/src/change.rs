//! Prints inserts, updates and deletes.

use crate::access::key_of;
use crate::chain::Chain;
use crate::code::{Code, FoundRow, Kind};
use crate::function::Function;
use crate::names::identifier;
use crate::node::Each;
use crate::unsupported::Unsupported;
use layout::ColumnType;
use procedure::node::{Delete, Insert, Node, Operator, Update};
use sql::Table;
use sql::expression::Expr;

type Result<T> = std::result::Result<T, Unsupported>;

impl<'a> Function<'a> {
    /// Prints a change, and `body` for each changed row.
    pub fn change(
        &mut self,
        node: &'a Node,
        outer: &[Vec<Code>],
        body: Each<'_, 'a>,
    ) -> Result<()> {
        match &node.operator {
            Operator::Insert(insert) => self.insert(node, insert, outer, body),
            Operator::Update(update) => self.update(node, update, outer, body),
            Operator::Delete(delete) => self.delete(node, delete, outer, body),
            _ => Err(Unsupported::new("this kind of change")),
        }
    }

    fn insert(
        &mut self,
        node: &'a Node,
        insert: &'a Insert,
        outer: &[Vec<Code>],
        body: Each<'_, 'a>,
    ) -> Result<()> {
        self.check_unique(insert.table)?;
        let table = self.table(insert.table);
        let ignores = insert.ignores_duplicates;
        let has_others = table.has_hidden_key() || table.indexes.iter().any(|index| index.unique);
        if ignores && (has_others || self.otherwise.is_some()) {
            return Err(Unsupported::new("ON CONFLICT with several unique keys, or none"));
        }
        let name = identifier(&table.name);
        self.each(&insert.input, outer, &mut |function, columns| {
            let row = function.row(insert.table);
            let mut values = function.codes(&insert.values, columns, outer)?;
            function.bind_checked_values(insert.table, &mut values, None)?;
            function.check_row(insert.table, &values, None)?;
            let key_columns = if table.has_hidden_key() { &[] } else { table.schema.key() };
            let key_values: Vec<Code> = key_columns.iter().map(|&at| values[at].clone()).collect();
            let key = key_of(table, key_columns, &key_values)?;
            if ignores {
                function.records([&key]);
                let read = format!("call.txn.read(tables.{name}, &{}).await?", key.text);
                function.line(format!("if {read}.is_none() {{"));
            }
            function.check_references(insert.table, &values, None)?;
            let others = (0..table.columns.len()).filter(|column| !key_columns.contains(column));
            let mut sets = Vec::new();
            for column in others {
                sets.push(function.ready(insert.table, column, &values[column])?);
            }
            let source = match function.inserts.place(function.statement) {
                Some(place) => place.to_owned(),
                None if table.has_hidden_key() => {
                    let drawn = function.names.fresh("drawn_key");
                    function.line(format!("let {drawn} = call.drawn_key();"));
                    format!("call.txn.insert(tables.{name}, &{drawn}).await?")
                }
                None => {
                    function.records([&key]);
                    let told = duplicate_error(table, &key_values).filter(|_| !ignores);
                    let told = told.unwrap_or_default();
                    format!("call.txn.insert(tables.{name}, &{}).await{told}?", key.text)
                }
            };
            function.line(format!("let {} = {source};", row.id));
            function.set(&row, insert.table, &sets);
            function.returning(node, insert.table, &row, columns, outer, body)?;
            if ignores {
                function.line("}");
            }
            Ok(())
        })
    }

    fn update(
        &mut self,
        node: &'a Node,
        update: &'a Update,
        outer: &[Vec<Code>],
        body: Each<'_, 'a>,
    ) -> Result<()> {
        self.check_unique(update.table)?;
        let table = self.table(update.table);
        let assigned: Vec<usize> = update.assignments.iter().map(|(column, _)| *column).collect();
        if assigned.iter().any(|column| table.schema.key().contains(column)) {
            return Err(Unsupported::new("an UPDATE of a primary key"));
        }
        self.check_referred_columns(update.table, &assigned)?;
        let chain = self.changed(&update.input)?;
        self.each_row(&chain, outer, &mut |function, row, delivered| {
            let columns = function.columns(update.table, row);
            let mut new = columns.clone();
            for (column, value) in &update.assignments {
                new[*column] = function.scope(&[&columns, delivered], outer).code(value)?;
            }
            function.bind_checked_values(update.table, &mut new, Some(&assigned))?;
            function.check_row(update.table, &new, Some(&assigned))?;
            function.check_references(update.table, &new, Some(&assigned))?;
            let mut sets = Vec::new();
            for &column in &assigned {
                sets.push(function.ready(update.table, column, &new[column])?);
            }
            function.set(row, update.table, &sets);
            function.returning(node, update.table, row, delivered, outer, body)
        })
    }

    fn delete(
        &mut self,
        node: &'a Node,
        delete: &'a Delete,
        outer: &[Vec<Code>],
        body: Each<'_, 'a>,
    ) -> Result<()> {
        let chain = self.changed(&delete.input)?;
        self.each_row(&chain, outer, &mut |function, row, delivered| {
            let old = function.columns(delete.table, row);
            function.check_referrers(delete.table, &old)?;
            function.returning(node, delete.table, row, delivered, outer, body)?;
            function.line(format!("call.txn.delete({});", row.id));
            Ok(())
        })
    }

    /// Returns the rows to change; all are found before the first change.
    fn changed(&self, input: &'a Node) -> Result<Chain<'a>> {
        Chain::of(input).ok_or_else(|| Unsupported::new("a change of rows that a join finds"))
    }

    /// Returns the statement that sets a column; its value is computed before the row changes.
    fn ready(&mut self, table: usize, column: usize, code: &Code) -> Result<Setting> {
        let slot = self.slot(table, column);
        if self.table(table).schema.long_cell(column).is_some() {
            return Err(Unsupported::new("a column that is stored out of line"));
        }
        let Code { text: value, is_nullable, .. } = self.settled(table, column, code)?;
        if value == "None" {
            return Ok(Setting { test: None, call: format!("set_null_in({slot})") });
        }
        let call = |value: &str| match code.kind {
            Kind::Text => format!("set_bytes_in({slot}, {value})"),
            Kind::Bool => format!("set_int_in({slot}, i64::from({value}))"),
            Kind::Float => format!("set_int_in({slot}, {value}.to_bits() as i64)"),
            _ => format!("set_int_in({slot}, {value})"),
        };
        match is_nullable {
            true => Ok(Setting {
                test: Some((value, format!("set_null_in({slot})"))),
                call: call("value"),
            }),
            false => Ok(Setting { test: None, call: call(&value) }),
        }
    }

    fn set(&mut self, row: &FoundRow, table: usize, sets: &[Setting]) {
        if sets.is_empty() {
            return;
        }
        let changed = self.names.fresh(&format!("new_{}", self.table(table).name));
        self.line(format!("let mut {changed} = call.txn.update({});", row.id));
        for Setting { test, call } in sets {
            match test {
                Some((value, null)) => self.line(format!(
                    "match {value} {{ Some(value) => {changed}.{call}, None => {changed}.{null} }}"
                )),
                None => self.line(format!("{changed}.{call};")),
            }
        }
    }

    fn returning(
        &mut self,
        node: &'a Node,
        table: usize,
        row: &FoundRow,
        delivered: &[Code],
        outer: &[Vec<Code>],
        body: Each<'_, 'a>,
    ) -> Result<()> {
        let columns = self.columns(table, row);
        let sources = [columns.as_slice(), delivered];
        let code = |expr: &Expr| self.scope(&sources, outer).code(expr);
        let outputs: Vec<Code> = node.outputs.iter().map(code).collect::<Result<_>>()?;
        body(self, &outputs)
    }
}

/// How a column is set.
struct Setting {
    /// The condition of a nullable value, and what to do if it is null.
    test: Option<(String, String)>,
    /// The call that sets a value that is not null.
    call: String,
}

/// Returns the conversion of a duplicate primary key to an SQL error, if all key columns are
/// numbers that are known then.
fn duplicate_error(table: &Table, key: &[Code]) -> Option<String> {
    let is_plain = |&column: &usize| {
        let column_type = table.schema.columns()[column].column_type;
        matches!(column_type, ColumnType::Int2 | ColumnType::Int4 | ColumnType::Int8)
    };
    if table.has_hidden_key() || !table.schema.key().iter().all(is_plain) {
        return None;
    }
    // The error handler can neither deviate nor read rows.
    let is_at_hand =
        |code: &Code| !code.is_nullable && code.rows.is_empty() && !code.text.contains('?');
    let names = table.schema.key().iter().map(|&column| table.columns[column].name.as_str());
    let names: Vec<&str> = names.collect();
    key.iter().all(is_at_hand).then(|| {
        let numbers: Vec<&str> = key.iter().map(|code| code.text.as_str()).collect();
        format!(
            ".map_err(|error| duplicate(error, {:?}, {:?}, &[{}]))",
            table.primary_key_name,
            names.join(", "),
            numbers.join(", ")
        )
    })
}
