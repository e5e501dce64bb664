//! Prints PL/pgSQL loops.
//!
//! Decision: docs/decisions/0247-generated-code-evaluates-everything-that-may-raise-an-error.md

use crate::ahead::assignments;
use crate::body::any;
use crate::chain::Chain;
use crate::code::{Code, Kind};
use crate::expression::of_array;
use crate::function::Function;
use crate::names::identifier;
use crate::unsupported::Unsupported;
use crate::variable::Place;
use procedure::node::{Node, Operator};
use sql::procedure::{Formula, Into, Over, Sql, Statement, StatementKind};
use std::cell::RefCell;
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, Unsupported>;

impl<'a> Function<'a> {
    /// Prints a loop, and sets FOUND after it.
    pub fn looped(
        &mut self,
        label: Option<&str>,
        over: &'a Over,
        body: &'a [Statement],
    ) -> Result<()> {
        let sets_found = !matches!(over, Over::Forever | Over::While(_));
        let Some(found) = self.found().filter(|_| sets_found) else {
            return self.go_through(label, over, body, None);
        };
        let has_begun = self.names.fresh("has_begun");
        self.line(format!("let mut {has_begun} = false;"));
        self.go_through(label, over, body, Some(&has_begun))?;
        self.line(format!("{found} = {has_begun};"));
        Ok(())
    }

    fn go_through(
        &mut self,
        label: Option<&str>,
        over: &'a Over,
        body: &'a [Statement],
        has_begun: Option<&str>,
    ) -> Result<()> {
        self.forget_texts_of_assigned(body);
        if self.run_in_lockstep(over, body)? {
            return Ok(());
        }
        let label = label.map_or(String::new(), |label| format!("'{}: ", identifier(label)));
        match over {
            Over::Forever => self.line(format!("{label}loop {{")),
            Over::While(condition) => {
                // The condition is evaluated again after rows have changed.
                self.variables.read_from_variables(&|_, _| true);
                let code = self.condition(condition)?;
                self.line(format!("{label}while {} {{", code.text));
            }
            Over::Range { variable, from, to, by: None, reverse } => {
                let (from, to) = (self.formula(from)?, self.formula(to)?);
                self.records([&from, &to]);
                let name = self.variables.at((*variable, None)).name.clone();
                let range = match reverse {
                    true => format!("({}..={}).rev()", to.known(), from.known()),
                    false => format!("{}..={}", from.known(), to.known()),
                };
                let mut assigned = BTreeSet::new();
                assignments(body, &mut assigned);
                let word = if assigned.contains(variable) { "mut " } else { "" };
                self.line(format!("{label}for {word}{name} in {range} {{"));
            }
            Over::Range { .. } => return Err(Unsupported::new("FOR with BY")),
            Over::Rows { into, sql } => {
                if !label.is_empty() {
                    return Err(Unsupported::new("a loop over rows with a label"));
                }
                return self.go_through_rows(into, sql, body, has_begun);
            }
            Over::Dynamic(..) => return Err(Unsupported::new("EXECUTE")),
            Over::Cursor(..) => return Err(Unsupported::new("a cursor")),
            Over::Elements { target, element, array } => {
                let list = self.formula(array)?;
                let Kind::List(kind) = &list.kind else {
                    return Err(Unsupported::new("FOREACH of a value that is not an array"));
                };
                let name = self.names.fresh("element");
                self.line(format!("{label}for &{name} in {} {{", list.known()));
                let value = Code::new(of_array(name, &array.expr.sql_type), (**kind).clone());
                let code = self.scope(&[&[value]], &[]).code(element)?;
                self.assign_target(target, &code, element)?;
            }
        }
        self.has_begun(has_begun);
        self.statements(body)?;
        self.line("}");
        Ok(())
    }

    fn go_through_rows(
        &mut self,
        into: &'a Into,
        sql: &'a Sql,
        body: &'a [Statement],
        has_begun: Option<&str>,
    ) -> Result<()> {
        self.statement = sql.number;
        let plan = self.plan(sql)?;
        if self.changed_by(body).iter().any(|&table| reads(plan, table)) {
            return Err(Unsupported::new("a loop over rows of a table that it changes"));
        }
        // Other plans become several Rust loops, or none.
        let is_one_loop = Chain::of(plan).is_some_and(|chain| !chain.is_single());
        if leaves(body) && !is_one_loop {
            return Err(Unsupported::new("EXIT or CONTINUE in a loop over rows of several tables"));
        }
        let places = self.places_without_rows(into)?;
        let flag = match (has_begun, places.is_empty()) {
            (Some(flag), _) => Some(flag.to_owned()),
            (None, true) => None,
            (None, false) => Some(self.names.fresh("has_begun")),
        };
        if let (None, Some(flag)) = (has_begun, &flag) {
            self.line(format!("let mut {flag} = false;"));
        }
        let begin = self.out.len();
        self.each(plan, &[], &mut |function, columns| {
            // Rows are read in batches: a later row may fail before an earlier one is processed.
            let found = function.out[begin..].replace(".await?", "");
            if may_end_or_fail(body) && (found.contains('?') || columns.iter().any(may_fail)) {
                let what = "a loop that may end early, over rows that may fail";
                return Err(Unsupported::new(what));
            }
            function.has_begun(flag.as_deref());
            function.assign_into(into, columns)?;
            function.statements(body)
        })?;
        if let Some(flag) = flag.filter(|_| !places.is_empty()) {
            self.line(format!("if !{flag} {{"));
            self.set_null(&places);
            self.line("}");
        }
        Ok(())
    }

    /// Returns the tables that statements change.
    fn changed_by(&self, body: &[Statement]) -> BTreeSet<usize> {
        let numbers = RefCell::new(BTreeSet::new());
        any(body, &|kind| {
            match kind {
                StatementKind::Sql { sql, .. }
                | StatementKind::Perform(sql)
                | StatementKind::ReturnQuery(sql, _)
                | StatementKind::Loop { over: Over::Rows { sql, .. }, .. } => {
                    numbers.borrow_mut().insert(sql.number);
                }
                _ => {}
            }
            false
        });
        let mut tables = BTreeSet::new();
        for number in numbers.into_inner() {
            let Some(planned) = self.procedure.statements.get(number as usize - 1) else {
                continue;
            };
            planned.root.walk(&mut |node| {
                tables.extend(match &node.operator {
                    Operator::Insert(insert) => Some(insert.table),
                    Operator::Update(update) => Some(update.table),
                    Operator::Delete(delete) => Some(delete.table),
                    _ => None,
                });
            });
        }
        tables
    }

    /// Returns the targets that may be read although there were no rows.
    fn places_without_rows(&self, into: &Into) -> Result<Vec<Place>> {
        let mut nullable = Vec::new();
        for (target, _) in &into.targets {
            let may_be_read = |place: &Place| self.guess.unassigned.contains(place);
            nullable.extend(self.places(target)?.into_iter().filter(may_be_read));
        }
        Ok(nullable)
    }

    fn has_begun(&mut self, flag: Option<&str>) {
        if let Some(flag) = flag {
            self.line(format!("{flag} = true;"));
        }
    }

    pub fn leave(
        &mut self,
        label: Option<&str>,
        continues: bool,
        when: Option<&Formula>,
    ) -> Result<()> {
        let word = if continues { "continue" } else { "break" };
        let target = label.map_or(String::new(), |label| format!(" '{}", identifier(label)));
        match when {
            Some(condition) => {
                let code = self.condition(condition)?;
                self.records([&code]);
                self.line(format!("if {} {{ {word}{target}; }}", code.text));
            }
            None => self.line(format!("{word}{target};")),
        }
        Ok(())
    }
}

/// Whether a plan reads a table.
fn reads(plan: &Node, table: usize) -> bool {
    let mut found = false;
    plan.walk(&mut |node| {
        found |= matches!(&node.operator, Operator::Scan(scan) if scan.table == table);
    });
    found
}

/// Whether statements may end the procedure or a loop, or fail with a duplicate key.
fn may_end_or_fail(statements: &[Statement]) -> bool {
    any(statements, &|kind| match kind {
        StatementKind::Return(_) | StatementKind::Raise(_) | StatementKind::Leave { .. } => true,
        StatementKind::Sql { sql, .. } => matches!(sql.query, sql::query::Query::Insert(_)),
        _ => false,
    })
}

fn may_fail(code: &Code) -> bool {
    code.can_stop() || code.kind == Kind::Unknown
}

fn leaves(statements: &[Statement]) -> bool {
    any(statements, &|kind| matches!(kind, StatementKind::Leave { .. }))
}
