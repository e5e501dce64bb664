//! Rows that the arguments name, which are read together before everything else: one round trip, where the statements one
//! after another would take one each.
//!
//! That changes nothing of what a procedure does. A transaction reads one snapshot whenever it reads, a row that was read
//! is the same one with the transaction's own changes, and tables of which a procedure inserts or deletes rows are left out.

use crate::access::key;
use crate::chain::Chain;
use crate::code::Code;
use crate::expression::Scope;
use crate::function::Function;
use crate::names::identifier;
use crate::unsupported::Unsupported;
use procedure::node::{Access, Node, Operator};
use sql::expression::{Expr, ExprKind};
use sql::procedure::{Block, Formula, Over, Sql, Statement, StatementKind};
use std::collections::{BTreeMap, BTreeSet};

type Result<T> = std::result::Result<T, Unsupported>;

/// Fewest rows that are worth it.
const ROWS_MIN: usize = 2;

/// Where statements find the rows that were read for them.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    places: BTreeMap<u32, String>,
}

/// What is read.
struct Read<'a> {
    statement: u32,
    table: usize,
    values: &'a [Expr],
}

/// A loop over a range, with what is read in each round.
struct Round<'a> {
    variable: usize,
    from: i64,
    to: &'a Formula,
    reads: Vec<Read<'a>>,
}

impl Ahead {
    /// The place of the row that a statement wants, if it was read.
    pub fn place(&self, statement: u32) -> Option<&str> {
        self.places.get(&statement).map(String::as_str)
    }
}

impl<'a> Function<'a> {
    /// Prints the reading of all rows that are named by what is known behind the declarations of the outermost block.
    pub fn read_ahead(&mut self, block: &'a Block) -> Result<()> {
        let mut survey = Survey {
            function: self,
            fixed: BTreeSet::new(),
            changed: BTreeSet::new(),
            singles: Vec::new(),
            rounds: Vec::new(),
        };
        survey.run(block);
        let Survey { singles, rounds, .. } = survey;
        if singles.len() + 2 * rounds.len() < ROWS_MIN {
            return Ok(());
        }
        self.line("// What the arguments name is read together.");
        self.line("call.scratch.reads.clear();");
        for (position, read) in singles.iter().enumerate() {
            self.read_for(read)?;
            self.ahead.places.insert(read.statement, format!("call.scratch.found[{position}]"));
        }
        let mut begin = singles.len().to_string();
        for (number, round) in rounds.iter().enumerate() {
            let variable = self.variables.at((round.variable, None)).name.clone();
            let to = self.scope(&[], &[]).code(&round.to.expr)?.known();
            if number > 0 {
                let name = self.names.fresh("begin");
                self.line(format!("let {name} = call.scratch.reads.len();"));
                begin = name;
            }
            self.line(format!("for {variable} in {}..={to} {{", round.from));
            let stride = round.reads.len();
            for (position, read) in round.reads.iter().enumerate() {
                self.read_for(read)?;
                let round_at = round_at(&variable, round.from, stride);
                let place = match position {
                    0 => format!("call.scratch.found[{begin} + {round_at}]"),
                    _ => format!("call.scratch.found[{begin} + {round_at} + {position}]"),
                };
                self.ahead.places.insert(read.statement, place);
            }
            self.line("}");
        }
        self.line("call.txn.read_many(&call.scratch.reads, &mut call.scratch.found).await?;");
        Ok(())
    }

    fn read_for(&mut self, read: &Read<'a>) -> Result<()> {
        let table = self.table(read.table);
        let key = key(self.scope(&[], &[]), table, table.schema.key(), read.values)?;
        self.line(format!(
            "call.scratch.reads.push((tables.{}, {}));",
            identifier(&table.name),
            key.text
        ));
        Ok(())
    }
}

/// Looks for statements whose rows are known early.
struct Survey<'f, 'a> {
    function: &'f Function<'a>,
    /// Variables that keep the value that they have behind the declarations.
    fixed: BTreeSet<usize>,
    /// Tables that lose or gain rows.
    changed: BTreeSet<usize>,
    singles: Vec<Read<'a>>,
    rounds: Vec<Round<'a>>,
}

impl<'a> Survey<'_, 'a> {
    fn run(&mut self, block: &'a Block) {
        let routine = &self.function.procedure.routine;
        let mut assigned = BTreeSet::new();
        assignments(&block.statements, &mut assigned);
        self.fixed.extend(
            routine.parameters.iter().map(|p| p.variable).filter(|v| !assigned.contains(v)),
        );
        for (variable, initial) in &block.declarations {
            let is_known =
                initial.as_ref().is_some_and(|formula| self.is_fixed(&formula.expr, None));
            if is_known && !assigned.contains(variable) {
                self.fixed.insert(*variable);
            }
        }
        for planned in &self.function.procedure.statements {
            if let Operator::Insert(insert) = &planned.root.operator {
                self.changed.insert(insert.table);
            }
            if let Operator::Delete(delete) = &planned.root.operator {
                self.changed.insert(delete.table);
            }
        }
        for statement in &block.statements {
            match &statement.kind {
                StatementKind::Sql { sql, .. } | StatementKind::Perform(sql) => {
                    let read = self.keyed(sql, None);
                    self.singles.extend(read);
                }
                StatementKind::Loop { over, body, .. } => self.round(over, body),
                _ => {}
            }
        }
    }

    fn round(&mut self, over: &'a Over, body: &'a [Statement]) {
        let Over::Range { variable, from, to, by: None, reverse: false } = over else { return };
        let ExprKind::Integer(first) = from.expr.kind else { return };
        let mut inside = BTreeSet::new();
        assignments(body, &mut inside);
        if to.number.is_some() || !self.is_fixed(&to.expr, None) || inside.contains(variable) {
            return;
        }
        let mut reads = Vec::new();
        for statement in body {
            if let StatementKind::Sql { sql, .. } | StatementKind::Perform(sql) = &statement.kind {
                reads.extend(self.keyed(sql, Some(*variable)));
            }
        }
        if !reads.is_empty() {
            self.rounds.push(Round { variable: *variable, from: first, to, reads });
        }
    }

    /// The row that a statement finds by a key of what is fixed, or of the variable of a loop.
    fn keyed(&self, sql: &'a Sql, looped: Option<usize>) -> Option<Read<'a>> {
        let procedure: &'a procedure::Procedure = self.function.procedure;
        let planned = procedure.statements.get(sql.number as usize - 1)?;
        let node: &'a Node = match &planned.root.operator {
            Operator::Update(update) => &update.input,
            Operator::Delete(delete) => &delete.input,
            _ => &planned.root,
        };
        let chain = Chain::of(node).filter(Chain::is_single)?;
        let Access::Key(values) = &chain.scan.access else { return None };
        let table = chain.scan.table;
        let is_known =
            values.iter().all(|value| self.is_fixed(value, looped) && self.is_never_null(value));
        let is_wanted = is_known && !self.changed.contains(&table) && planned.sub_plans.is_empty();
        is_wanted.then_some(Read { statement: sql.number, table, values })
    }

    fn is_never_null(&self, value: &Expr) -> bool {
        let scope = Scope { variables: &self.function.variables, sources: &[], outer: &[] };
        scope.code(value).is_ok_and(|code: Code| !code.is_nullable)
    }

    fn is_fixed(&self, expr: &Expr, looped: Option<usize>) -> bool {
        let mut is_fixed = true;
        expr.visit(&mut |part| match part.kind {
            ExprKind::Variable(variable) => {
                is_fixed &= self.fixed.contains(&variable) || looped == Some(variable);
            }
            ExprKind::Field { .. } | ExprKind::Column(_) | ExprKind::Subquery { .. } => {
                is_fixed = false
            }
            _ => {}
        });
        is_fixed
    }
}

/// Where the places of a round begin, of a loop that counts from `from`.
pub fn round_at(variable: &str, from: i64, stride: usize) -> String {
    let round = match from {
        0 => format!("{variable} as usize"),
        _ => format!("({variable} - {from}) as usize"),
    };
    if stride == 1 { round } else { format!("{stride} * {round}") }
}

/// The variables that statements assign.
pub fn assignments(statements: &[Statement], into: &mut BTreeSet<usize>) {
    use sql::procedure::Target;
    let place = |target: &Target| match target {
        Target::Variable(variable) => *variable,
        Target::Field { variable, .. } | Target::Element { variable, .. } => *variable,
    };
    for statement in statements {
        match &statement.kind {
            StatementKind::Block(block) => {
                into.extend(block.declarations.iter().map(|(variable, _)| *variable));
                assignments(&block.statements, into);
            }
            StatementKind::Assign { target, .. } => {
                into.insert(place(target));
            }
            StatementKind::Sql { into: Some(targets), .. } => {
                into.extend(targets.targets.iter().map(|(target, _)| place(target)));
            }
            StatementKind::If { branches, otherwise } => {
                branches.iter().for_each(|(_, inside)| assignments(inside, into));
                assignments(otherwise, into);
            }
            StatementKind::Case { operand, branches, otherwise } => {
                into.extend(operand.iter().map(|(variable, _)| *variable));
                branches.iter().for_each(|(_, inside)| assignments(inside, into));
                otherwise.iter().for_each(|inside| assignments(inside, into));
            }
            StatementKind::Loop { over, body, .. } => {
                match over {
                    Over::Rows { into: targets, .. } => {
                        into.extend(targets.targets.iter().map(|(target, _)| place(target)));
                    }
                    Over::Elements { target, .. } => {
                        into.insert(place(target));
                    }
                    _ => {}
                }
                assignments(body, into);
            }
            StatementKind::GetRowCount(targets) => {
                into.extend(targets.iter().map(|(target, _)| place(target)));
            }
            _ => {}
        }
    }
}
