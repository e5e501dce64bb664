//! Inserts, updates and deletes as Rust.

use crate::access::key;
use crate::chain::Chain;
use crate::code::{Code, Kind, Row};
use crate::expression::Scope;
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
    /// Prints the change, and `body` for each changed row.
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
        self.check_table(insert.table)?;
        self.check_unique(insert.table)?;
        if insert.ignores_duplicates {
            return Err(Unsupported::new("ON CONFLICT"));
        }
        let table = self.table(insert.table);
        let name = identifier(&table.name);
        self.each(&insert.input, outer, &mut |function, columns| {
            let row = function.row(insert.table);
            let key_columns = table.schema.key();
            let key_values: Vec<Expr> =
                key_columns.iter().map(|&column| insert.values[column].clone()).collect();
            let key = key(function.scope(&[columns], outer), table, key_columns, &key_values)?;
            let others = (0..table.columns.len()).filter(|column| !key_columns.contains(column));
            let mut sets = Vec::new();
            for column in others {
                let code = function.scope(&[columns], outer).code(&insert.values[column])?;
                sets.push(function.ready(insert.table, column, &code)?);
            }
            let source = match function.inserts.place(function.statement) {
                Some(place) => place.to_owned(),
                None => {
                    function.records([&key]);
                    let sources = [columns];
                    let scope = function.scope(&sources, outer);
                    let told = told_duplicate(scope, table, &key_values).unwrap_or_default();
                    format!("call.txn.insert(tables.{name}, &{}).await{told}?", key.text)
                }
            };
            function.line(format!("let {} = {source};", row.id));
            function.set(&row, insert.table, &sets);
            function.returning(node, insert.table, &row, columns, outer, body)
        })
    }

    fn update(
        &mut self,
        node: &'a Node,
        update: &'a Update,
        outer: &[Vec<Code>],
        body: Each<'_, 'a>,
    ) -> Result<()> {
        self.check_table(update.table)?;
        self.check_unique(update.table)?;
        let table = self.table(update.table);
        if update.assignments.iter().any(|(column, _)| table.schema.key().contains(column)) {
            return Err(Unsupported::new("an UPDATE of a primary key"));
        }
        let chain = self.changed(&update.input)?;
        self.each_row(&chain, outer, &mut |function, row, delivered| {
            let columns = function.columns(update.table, row);
            let mut sets = Vec::new();
            for (column, value) in &update.assignments {
                let code = function.scope(&[&columns, delivered], outer).code(value)?;
                sets.push(function.ready(update.table, *column, &code)?);
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
        self.check_table(delete.table)?;
        let chain = self.changed(&delete.input)?;
        self.each_row(&chain, outer, &mut |function, row, delivered| {
            function.returning(node, delete.table, row, delivered, outer, body)?;
            function.line(format!("call.txn.delete({});", row.id));
            Ok(())
        })
    }

    /// The rows that are changed, which are found before the first of them is.
    fn changed(&self, input: &'a Node) -> Result<Chain<'a>> {
        Chain::of(input).ok_or_else(|| Unsupported::new("a change of rows that a join finds"))
    }

    /// Whoever changes a table with conditions on its rows or references has to check them, which the executor does.
    fn check_table(&self, table: usize) -> Result<()> {
        let catalog = &self.workload.catalog;
        let of = &catalog.tables[table];
        let is_referred_to = catalog
            .tables
            .iter()
            .any(|other| other.foreign_keys.iter().any(|key| key.table == table));
        if of.has_hidden_key()
            || !of.foreign_keys.is_empty()
            || !of.checks.is_empty()
            || is_referred_to
        {
            return Err(Unsupported::new(format!(
                "a change of table {}, which has no primary key, a CHECK or a reference",
                of.name
            )));
        }
        Ok(())
    }

    /// The statement that sets a column, with its value at hand before the row is changed.
    fn ready(&mut self, table: usize, column: usize, code: &Code) -> Result<Setting> {
        let described = &self.table(table).schema.columns()[column];
        let slot = self.slot(table, column);
        if self.table(table).schema.long_word(column).is_some() {
            return Err(Unsupported::new("a column that is kept out of line"));
        }
        if code.text == "None" {
            let call =
                if described.nullable { format!("set_null_in({slot})") } else { String::new() };
            return match call.is_empty() {
                true => Err(Unsupported::new("a null in a column that has none")),
                false => Ok(Setting { test: None, call }),
            };
        }
        let is_kept = code.is_nullable && described.nullable;
        let value = if is_kept { code.text.clone() } else { code.known() };
        let is_text = code.kind == Kind::Text;
        // Texts of rows are copied, since their rows are about to change.
        let is_plain = code.rows.is_empty() && !value.contains(['(', ' ']);
        let value = match (is_text, is_plain) {
            (_, true) => value,
            (true, false) => {
                let bytes = code.bytes_max.unwrap_or(described.column_type.length_max() as usize);
                let text = match is_kept {
                    true => format!("{value}.map(Text::<{bytes}>::new).transpose()?"),
                    false => format!("Text::<{bytes}>::new({value})?"),
                };
                let name = self.bound(&described.name, code, text);
                if is_kept { format!("{name}.as_deref()") } else { format!("&{name}") }
            }
            (false, false) => self.bound(&described.name, code, value),
        };
        let call = |value: &str| match code.kind {
            Kind::Text => format!("set_bytes_in({slot}, {value})"),
            Kind::Bool => format!("set_int_in({slot}, i64::from({value}))"),
            Kind::Float => format!("set_int_in({slot}, {value}.to_bits() as i64)"),
            _ => format!("set_int_in({slot}, {value})"),
        };
        match is_kept {
            true => Ok(Setting {
                test: Some((value, format!("set_null_in({slot})"))),
                call: call("value"),
            }),
            false => Ok(Setting { test: None, call: call(&value) }),
        }
    }

    /// Binds a value to a name.
    fn bound(&mut self, wanted: &str, code: &Code, value: String) -> String {
        let name = self.names.fresh(wanted);
        self.records([code]);
        self.line(format!("let {name} = {value};"));
        name
    }

    fn set(&mut self, row: &Row, table: usize, sets: &[Setting]) {
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
        row: &Row,
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
    /// A value that may be null, and what is done then.
    test: Option<(String, String)>,
    /// What is done with it, or with a value that is not null.
    call: String,
}

/// What makes an error of SQL of a primary key that is there already, if all of it are numbers at hand.
fn told_duplicate(scope: Scope<'_>, table: &Table, key: &[Expr]) -> Option<String> {
    let is_plain = |&column: &usize| {
        let column_type = table.schema.columns()[column].column_type;
        matches!(column_type, ColumnType::Int2 | ColumnType::Int4 | ColumnType::Int8)
    };
    if table.has_hidden_key() || !table.schema.key().iter().all(is_plain) {
        return None;
    }
    let numbers: Vec<Code> =
        key.iter().map(|value| scope.code(value).ok()).collect::<Option<_>>()?;
    // Whatever may end the call ends it before, and rows cannot be looked at while one is inserted.
    let is_at_hand =
        |code: &Code| !code.is_nullable && code.rows.is_empty() && !code.text.contains('?');
    let names = table.schema.key().iter().map(|&column| table.columns[column].name.as_str());
    let names: Vec<&str> = names.collect();
    numbers.iter().all(is_at_hand).then(|| {
        let numbers: Vec<&str> = numbers.iter().map(|code| code.text.as_str()).collect();
        format!(
            ".map_err(|error| duplicate(error, {:?}, {:?}, &[{}]))",
            table.primary_key_name,
            names.join(", "),
            numbers.join(", ")
        )
    })
}
