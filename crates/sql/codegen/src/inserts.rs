//! Batches inserts: several rows are inserted together at the first insert, in one round trip
//! instead of one each.
//!
//! Batching does not change the result of a procedure. The keys are known at the first insert, and
//! no statement reads these tables. Between the first and the last insert, the procedure can only
//! end with an error, which undoes all of them; procedures that could return, or leave a loop, are
//! not batched. A duplicate key deviates.
//!
//! Decision: docs/decisions/0217-rows-with-known-keys-are-inserted-together.md

use crate::access::key;
use crate::ahead::{assignments, round_at};
use crate::body::any;
use crate::code::Code;
use crate::function::Function;
use crate::names::identifier;
use crate::references::looks_for;
use crate::unsupported::Unsupported;
use procedure::node::{Insert, Node, Operator};
use sql::expression::{Expr, ExprKind};
use sql::procedure::{Block, Formula, Over, Sql, Statement, StatementKind};
use std::collections::{BTreeMap, BTreeSet};

type Result<T> = std::result::Result<T, Unsupported>;

/// Minimum number of rows for which batching pays off; a loop counts as two.
const ROWS_MIN: usize = 2;

/// Where statements find the rows inserted for them.
#[derive(Clone, Debug, Default)]
pub struct Inserts<'a> {
    /// The rows to insert when the statement of this number begins.
    group: Option<(u32, Group<'a>)>,
    places: BTreeMap<u32, String>,
}

/// Rows that are inserted together.
#[derive(Clone, Debug, Default)]
struct Group<'a> {
    singles: Vec<Added<'a>>,
    rounds: Vec<Round<'a>>,
}

/// A statement that inserts one row.
#[derive(Clone, Copy, Debug)]
struct Added<'a> {
    statement: u32,
    insert: &'a Insert,
    /// The columns of the primary key.
    key: &'a [usize],
}

/// A loop over a range, with the inserts of each iteration.
#[derive(Clone, Debug)]
struct Round<'a> {
    variable: usize,
    from: i64,
    to: &'a Formula,
    added: Vec<Added<'a>>,
}

impl Inserts<'_> {
    /// Returns the location of a statement's row, if it was inserted already.
    pub fn place(&self, statement: u32) -> Option<&str> {
        self.places.get(&statement).map(String::as_str)
    }
}

impl<'a> Function<'a> {
    /// Finds rows of the outermost block that can be inserted together.
    pub fn survey_inserts(&mut self, block: &'a Block) {
        for (at, statement) in block.statements.iter().enumerate() {
            if let StatementKind::Sql { sql, .. } = &statement.kind
                && self.added(sql, false).is_some()
            {
                let group = self.group(&block.statements[at..]);
                if group.singles.len() + 2 * group.rounds.len() >= ROWS_MIN {
                    self.inserts.group = Some((sql.number, group));
                }
                return;
            }
        }
    }

    /// Returns the rows that statements insert whose keys are known before the first insert.
    fn group(&self, statements: &'a [Statement]) -> Group<'a> {
        let mut assigned = BTreeSet::new();
        assignments(statements, &mut assigned);
        let mut group = Group::default();
        for statement in statements {
            match &statement.kind {
                _ if may_leave(std::slice::from_ref(statement)) => break,
                StatementKind::Sql { sql, .. } => {
                    let added = self.added(sql, false);
                    group.singles.extend(added.filter(|of| is_known(of, &assigned, None)));
                }
                StatementKind::Loop { over, body, .. } => {
                    group.rounds.extend(self.round_of_inserts(over, body, &assigned));
                }
                _ => {}
            }
        }
        group
    }

    fn round_of_inserts(
        &self,
        over: &'a Over,
        body: &'a [Statement],
        assigned: &BTreeSet<usize>,
    ) -> Option<Round<'a>> {
        let Over::Range { variable, from, to, by: None, reverse: false } = over else {
            return None;
        };
        let ExprKind::Integer(first) = from.expr.kind else { return None };
        let mut inside = BTreeSet::new();
        assignments(body, &mut inside);
        let is_fixed = to.number.is_none() && !names(&to.expr, &[], &mut |v| assigned.contains(&v));
        if !is_fixed || inside.contains(variable) {
            return None;
        }
        let statements = body.iter().filter_map(|statement| match &statement.kind {
            StatementKind::Sql { sql, .. } => self.added(sql, true),
            _ => None,
        });
        let added: Vec<Added<'a>> =
            statements.filter(|of| is_known(of, assigned, Some(*variable))).collect();
        (!added.is_empty()).then_some(Round { variable: *variable, from: first, to, added })
    }

    /// Returns a statement that inserts one row into a table that no statement reads; `is_repeated`
    /// in a loop.
    fn added(&self, sql: &Sql, is_repeated: bool) -> Option<Added<'a>> {
        let procedure: &'a procedure::Procedure = self.procedure;
        let planned = procedure.statements.get(sql.number as usize - 1)?;
        let Operator::Insert(insert) = &planned.root.operator else { return None };
        let is_one = matches!(
            insert.input.operator,
            Operator::Project { condition: None, filter: None, input: None }
        );
        let is_looked_at = procedure.statements.iter().any(|other| {
            let plans = other.sub_plans.iter().map(|plan| &plan.root);
            plans.chain([&other.root]).any(|root| looks_at(root, insert.table))
        });
        // A later statement may reference this row: it finds the row also if it is inserted
        // earlier.
        let catalog = &self.workload.catalog;
        let is_looked_for = procedure.statements.iter().enumerate().any(|(at, other)| {
            let is_later = at + 1 > sql.number as usize && !is_repeated;
            !is_later && looks_for(catalog, &other.root, insert.table)
        });
        let is_wanted = is_one && !is_looked_at && !is_looked_for && planned.sub_plans.is_empty();
        let table = self.table(insert.table);
        let key = table.schema.key();
        let is_plain = !table.has_hidden_key() && !insert.ignores_duplicates;
        (is_wanted && is_plain).then_some(Added { statement: sql.number, insert, key })
    }

    /// Prints the inserts of a group if it begins with this statement.
    pub fn insert_together(&mut self) -> Result<()> {
        let Some((_, group)) = self.inserts.group.take_if(|(first, _)| *first == self.statement)
        else {
            return Ok(());
        };
        self.line("// Rows whose keys are known by now are inserted together.");
        self.line("call.scratch.inserts.clear();");
        for (position, added) in group.singles.iter().enumerate() {
            self.insert_for(added)?;
            let place = format!("call.scratch.inserted[{position}]");
            self.inserts.places.insert(added.statement, place);
        }
        let mut begin = group.singles.len().to_string();
        for (number, round) in group.rounds.iter().enumerate() {
            let variable = self.variables.at((round.variable, None)).name.clone();
            let to = self.scope(&[], &[]).code(&round.to.expr)?;
            self.records([&to]);
            let to = to.known();
            self.check_rounds(&round.to.expr, &to);
            if number > 0 {
                let name = self.names.fresh("begin");
                self.line(format!("let {name} = call.scratch.inserts.len();"));
                begin = name;
            }
            self.line(format!("for {variable} in {}..={to} {{", round.from));
            let stride = round.added.len();
            for (position, added) in round.added.iter().enumerate() {
                self.insert_for(added)?;
                let round_at = round_at(&variable, round.from, stride);
                let place = match position {
                    0 => format!("call.scratch.inserted[{begin} + {round_at}]"),
                    _ => format!("call.scratch.inserted[{begin} + {round_at} + {position}]"),
                };
                self.inserts.places.insert(added.statement, place);
            }
            self.line("}");
        }
        self.line(
            "call.txn.insert_many(&call.scratch.inserts, &mut call.scratch.inserted).await?;",
        );
        Ok(())
    }

    fn insert_for(&mut self, added: &Added<'a>) -> Result<()> {
        let insert = added.insert;
        let table = self.table(insert.table);
        let columns: Vec<Code> = self.supported_codes(&insert.input.outputs, &[], &[]);
        let values: Vec<Expr> =
            added.key.iter().map(|&column| insert.values[column].clone()).collect();
        let key = key(self.scope(&[&columns], &[]), table, table.schema.key(), &values)?;
        self.records([&key]);
        self.line(format!(
            "call.scratch.inserts.push((tables.{}, {}));",
            identifier(&table.name),
            key.text
        ));
        Ok(())
    }
}

/// Whether the key of an inserted row depends on none of these assigned variables, except the loop
/// variable.
fn is_known(added: &Added<'_>, assigned: &BTreeSet<usize>, looped: Option<usize>) -> bool {
    let is_open = |variable: usize| assigned.contains(&variable) && looped != Some(variable);
    let Added { insert, key, .. } = added;
    let mut values = key.iter().map(|&column| &insert.values[column]);
    !values.any(|value| names(value, &insert.input.outputs, &mut |v| is_open(v)))
}

/// Whether an expression over `columns` contains a variable that passes the test, or has no fixed
/// value.
fn names(expr: &Expr, columns: &[Expr], test: &mut dyn FnMut(usize) -> bool) -> bool {
    let mut found = false;
    expr.visit(&mut |part| match &part.kind {
        ExprKind::Variable(variable) => found |= test(*variable),
        ExprKind::Field { .. } | ExprKind::Subquery { .. } => found = true,
        ExprKind::Column(column) => match columns.get(column.column) {
            Some(of) => found |= names(of, &[], test),
            None => found = true,
        },
        _ => {}
    });
    found
}

/// Whether a plan reads a table.
fn looks_at(root: &Node, table: usize) -> bool {
    let mut found = false;
    root.walk(&mut |node| {
        found |= matches!(&node.operator, Operator::Scan(scan) if scan.table == table);
    });
    found
}

/// Whether statements may end a procedure or an iteration early, other than by an error.
fn may_leave(statements: &[Statement]) -> bool {
    any(statements, &|kind| matches!(kind, StatementKind::Leave { .. } | StatementKind::Return(_)))
}
