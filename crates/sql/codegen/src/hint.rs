//! Prefetch hints: which rows a call reads first, determined from its arguments alone. A caller
//! that knows its next call prefetches them while it executes the current one.
//!
//! Decision: docs/decisions/0220-generated-code-names-a-calls-keys-for-prefetching.md

use crate::access::key;
use crate::chain::Chain;
use crate::code::Kind;
use crate::function::Function;
use crate::names::identifier;
use crate::node::index_name;
use crate::workload::write;
use procedure::node::{Access, Node, Operator};
use sql::expression::{Expr, ExprKind};
use sql::procedure::{Body, Over, Sql, Statement, StatementKind};

/// Maximum number of rows to prefetch, and of iterations of a loop that prefetches: with more rows,
/// reading them together overlaps their cache misses anyway.
const ROWS_MAX: usize = 4;

/// The rows to prefetch.
#[derive(Default)]
struct Hints {
    rows: Vec<String>,
    lookups: Vec<String>,
    /// Loops that prefetch rows by the loop variable.
    loops: Vec<String>,
}

impl Function<'_> {
    /// Returns the function that prefetches the rows that a call reads first; empty if the
    /// arguments do not determine them, or determine too many.
    pub fn hint(&self) -> String {
        let mut hints = Hints::default();
        match &self.procedure.routine.body {
            Body::Block(block) => {
                for statement in &block.statements {
                    match &statement.kind {
                        StatementKind::Sql { sql, .. } | StatementKind::Perform(sql) => {
                            self.note(sql, &mut hints);
                        }
                        StatementKind::Loop { over, body, .. } => {
                            hints.loops.extend(self.note_loop(over, body));
                        }
                        _ => {}
                    }
                }
            }
            Body::Statements { statements, .. } => {
                statements.iter().for_each(|sql| self.note(sql, &mut hints));
            }
        }
        let Hints { rows, lookups, loops } = hints;
        if rows.len() + lookups.len() + loops.len() == 0 || rows.len() > ROWS_MAX {
            return String::new();
        }
        let mut body = String::new();
        for input in self.variables.all().map(|(_, variable)| variable) {
            let name = &input.name;
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            let is_named = rows
                .iter()
                .chain(&lookups)
                .chain(&loops)
                .any(|text| text.split(|letter| !is_part(letter)).any(|word| word == name));
            if input.is_argument && is_named {
                write(&mut body, format_args!("let {name} = arguments.{name};\n"));
            }
        }
        if !rows.is_empty() {
            write(&mut body, format_args!("lane.prefetch(&[{}]);\n", rows.join(", ")));
        }
        for lookup in &lookups {
            write(&mut body, format_args!("lane.prefetch_lookup({lookup});\n"));
        }
        loops.iter().for_each(|text| body.push_str(text));
        format!(
            "\n/// Prefetches the rows that a call with these arguments reads first.\n\
             pub fn prefetch<E: Env>(lane: &Lane<E>, tables: &Tables, arguments: &Arguments<'_>) -> Result<(), Stop> {{\n\
             {body}Ok(())\n}}\n"
        )
    }

    fn note(&self, sql: &Sql, hints: &mut Hints) {
        let planned = self.procedure.statements.get(sql.number as usize - 1);
        if let Some(planned) = planned {
            self.note_node(&planned.root, hints);
        }
    }

    fn note_node(&self, node: &Node, hints: &mut Hints) {
        match &node.operator {
            Operator::Update(update) => return self.note_node(&update.input, hints),
            Operator::Delete(delete) => return self.note_node(&delete.input, hints),
            Operator::Join(join) => {
                self.note_node(&join.outer, hints);
                return self.note_node(&join.inner, hints);
            }
            _ => {}
        }
        let Some(chain) = Chain::of(node) else { return };
        let table = self.table(chain.scan.table);
        let (columns, values) = match &chain.scan.access {
            Access::Key(values) => (table.schema.key(), values),
            Access::Lookup { index, key } => (table.indexes[*index].columns.as_slice(), key),
            _ => return,
        };
        let is_given = values.iter().all(|value| self.is_given(value, None));
        let Some(key) = is_given.then(|| key(self.scope(&[], &[]), table, columns, values)) else {
            return;
        };
        let Ok(key) = key else { return };
        match &chain.scan.access {
            Access::Lookup { index, .. } => {
                let index = index_name(table, &table.indexes[*index].name);
                hints.lookups.push(format!("tables.{index}, &{}", key.text));
            }
            _ => {
                let row = format!("(tables.{}, {})", identifier(&table.name), key.text);
                if !hints.rows.contains(&row) {
                    hints.rows.push(row);
                }
            }
        }
    }

    /// Returns a loop that prefetches the rows that the iterations of this one find by arguments
    /// and the loop variable.
    fn note_loop(&self, over: &Over, body: &[Statement]) -> Option<String> {
        let Over::Range { variable, from, to, by: None, reverse: false } = over else {
            return None;
        };
        let ExprKind::Integer(first) = from.expr.kind else { return None };
        if to.number.is_some() || !self.is_given(&to.expr, None) {
            return None;
        }
        let last = self.scope(&[], &[]).code(&to.expr).ok().filter(|code| !code.is_nullable)?;
        let mut rows = Vec::new();
        for statement in body {
            let (StatementKind::Sql { sql, .. } | StatementKind::Perform(sql)) = &statement.kind
            else {
                continue;
            };
            rows.extend(self.looped_row(sql, *variable));
        }
        let name = &self.variables.at((*variable, None)).name;
        (!rows.is_empty()).then(|| {
            format!(
                "for {name} in ({first}..={}).take({ROWS_MAX}) {{\nlane.prefetch(&[{}]);\n}}\n",
                last.text,
                rows.join(", ")
            )
        })
    }

    /// Returns the row that a statement of a loop finds by arguments and the loop variable.
    fn looped_row(&self, sql: &Sql, looped: usize) -> Option<String> {
        let planned = self.procedure.statements.get(sql.number as usize - 1)?;
        let chain = Chain::of(&planned.root)?;
        let Access::Key(values) = &chain.scan.access else { return None };
        let table = self.table(chain.scan.table);
        let is_given = values.iter().all(|value| self.is_given(value, Some(looped)));
        let key = is_given.then(|| key(self.scope(&[], &[]), table, table.schema.key(), values))?;
        Some(format!("(tables.{}, {})", identifier(&table.name), key.ok()?.text))
    }

    /// Whether a value depends only on arguments that are never null, and on the loop variable.
    fn is_given(&self, value: &Expr, looped: Option<usize>) -> bool {
        let mut is_given = true;
        value.visit(&mut |part| match part.kind {
            ExprKind::Variable(variable) if looped == Some(variable) => {}
            ExprKind::Variable(variable) => {
                let variable = self.variables.at((variable, None));
                // Arrays determine more rows than pay off.
                let is_list = matches!(variable.kind, Ok(Kind::List(_)));
                is_given &= variable.is_argument && !variable.is_nullable && !is_list;
            }
            ExprKind::Field { .. } | ExprKind::Column(_) | ExprKind::Subquery { .. } => {
                is_given = false;
            }
            _ => {}
        });
        is_given
    }
}
