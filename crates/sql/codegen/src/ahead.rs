//! Read-ahead: generated code first reads the rows whose keys follow from the arguments, in one
//! round trip instead of one per statement.
//!
//! Read-ahead does not change the result of a procedure. A transaction reads one snapshot at any
//! time, a row in its access set includes its own changes, and tables in which a procedure inserts
//! or deletes rows are excluded.
//!
//! A variable that starts as an argument, and changes only if some conditions on arguments hold,
//! gives a key ahead if these conditions do not hold.
//!
//! Decision: docs/decisions/0200-rows-named-by-arguments-are-read-together-first.md

use crate::access::key;
use crate::cast::without_casts;
use crate::chain::Chain;
use crate::code::Code;
use crate::expression::{Scope, atom};
use crate::function::Function;
use crate::names::identifier;
use crate::unsupported::Unsupported;
use procedure::node::{Access, Node, Operator};
use procedure::reference::{AccessPath, access_path};
use sql::SqlType;
use sql::catalog::ForeignKey;
use sql::expression::{BinaryOperator, Expr, ExprKind};
use sql::function::Function as Called;
use sql::procedure::{Block, Formula, Over, Sql, Statement, StatementKind, Target};
use std::collections::{BTreeMap, BTreeSet};

type Result<T> = std::result::Result<T, Unsupported>;

/// Minimum number of rows for which read-ahead pays off.
const ROWS_MIN: usize = 2;

/// Where statements find the rows that were read ahead.
#[derive(Clone, Debug, Default)]
pub struct Ahead {
    places: BTreeMap<u32, AheadRow>,
    ranges: BTreeMap<u32, String>,
    /// Rows referenced by inserted ones, by statement and foreign key.
    references: BTreeMap<(u32, usize), String>,
}

/// The location of a row that was read ahead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AheadRow {
    /// This expression.
    Read(String),
    /// The position in this variable, among the rows found; the row was not read if the variable
    /// has no position.
    Perhaps(String),
}

/// A row to read ahead.
struct Read<'a> {
    statement: u32,
    /// The foreign key for which the row is read, if the statement inserts a row that references
    /// it.
    reference: Option<usize>,
    table: usize,
    values: Vec<&'a Expr>,
    /// Read only if none of these conditions holds.
    unless: Vec<&'a Expr>,
}

/// The value of a variable, provided that none of some conditions holds.
#[derive(Clone)]
struct Settled<'a> {
    value: &'a Expr,
    unless: Vec<&'a Expr>,
}

/// A loop over a range, with the reads of each iteration.
struct Round<'a> {
    variable: usize,
    from: i64,
    to: &'a Formula,
    reads: Vec<Read<'a>>,
}

impl Ahead {
    /// Returns the location of a statement's row, if it was read ahead.
    pub fn place(&self, statement: u32) -> Option<&AheadRow> {
        self.places.get(&statement)
    }

    /// Returns the location of the row that an inserted row references, if it was read ahead.
    pub fn reference(&self, statement: u32, reference: usize) -> Option<&str> {
        self.references.get(&(statement, reference)).map(String::as_str)
    }

    /// Notes the location of a row that was read ahead.
    fn note(&mut self, read: &Read<'_>, place: String) {
        match read.reference {
            Some(reference) => {
                self.references.insert((read.statement, reference), place);
            }
            None => self.put(read.statement, place),
        }
    }

    /// Notes the location of a statement's row.
    pub fn put(&mut self, statement: u32, place: String) {
        self.places.insert(statement, AheadRow::Read(place));
    }

    /// Returns the list of a statement's rows, if they were read ahead.
    pub fn range(&self, statement: u32) -> Option<&str> {
        self.ranges.get(&statement).map(String::as_str)
    }

    /// Notes the list of a statement's rows.
    pub fn put_range(&mut self, statement: u32, list: String) {
        self.ranges.insert(statement, list);
    }
}

impl<'a> Function<'a> {
    /// Prints the read-ahead after the declarations of the outermost block.
    pub fn read_ahead(&mut self, block: &'a Block) -> Result<()> {
        let mut survey = Survey {
            function: self,
            fixed: BTreeSet::new(),
            changed: BTreeSet::new(),
            settled: BTreeMap::new(),
            singles: Vec::new(),
            perhaps: Vec::new(),
            rounds: Vec::new(),
        };
        survey.run(block);
        let Survey { singles, perhaps, rounds, .. } = survey;
        if singles.len() + perhaps.len() + 2 * rounds.len() < ROWS_MIN {
            return Ok(());
        }
        self.line("// What the arguments name is read together.");
        self.line("call.scratch.reads.clear();");
        let mut distinct = Vec::new();
        for read in &singles {
            let position = self.read_once(read, &mut distinct)?;
            self.ahead.note(read, format!("call.scratch.found[{position}]"));
        }
        let mut begin = distinct.len().to_string();
        for (number, round) in rounds.iter().enumerate() {
            let variable = self.variables.at((round.variable, None)).name.clone();
            let to = self.scope(&[], &[]).code(&round.to.expr)?.known();
            self.check_rounds(&round.to.expr, &to);
            if number > 0 {
                let name = self.names.fresh("begin");
                self.line(format!("let {name} = call.scratch.reads.len();"));
                begin = name;
            }
            self.line(format!("for {variable} in {}..={to} {{", round.from));
            let mut distinct = Vec::new();
            let reads = round.reads.iter();
            let positions: Vec<usize> =
                reads.map(|read| self.read_once(read, &mut distinct)).collect::<Result<_>>()?;
            let round_at = round_at(&variable, round.from, distinct.len());
            for (read, position) in round.reads.iter().zip(positions) {
                let place = match position {
                    0 => format!("call.scratch.found[{begin} + {round_at}]"),
                    _ => format!("call.scratch.found[{begin} + {round_at} + {position}]"),
                };
                self.ahead.note(read, place);
            }
            self.line("}");
        }
        for read in &perhaps {
            self.perhaps_read_for(read)?;
        }
        let all = singles.iter().chain(&perhaps).chain(rounds.iter().flat_map(|of| &of.reads));
        let tables: BTreeSet<usize> = all.map(|read| read.table).collect();
        self.read_many(&tables, "call.scratch.found");
        Ok(())
    }

    /// Prints a check that a loop whose reads are batched does not have too many iterations.
    pub fn check_rounds(&mut self, to: &Expr, text: &str) {
        if !is_small(to) {
            self.line(format!("number::few({text})?;"));
        }
    }

    fn perhaps_read_for(&mut self, read: &Read<'a>) -> Result<()> {
        let place = self.names.fresh(&format!("{}_at", self.table(read.table).name));
        let mut conditions = Vec::new();
        for condition in &read.unless {
            let code = self.scope(&[], &[]).condition(condition)?;
            conditions.push(format!("!{}", atom(&code.text)));
        }
        for value in &read.values {
            let code = self.scope(&[], &[]).code(value)?;
            if code.is_nullable {
                conditions.push(format!("{}.is_some()", atom(&code.text)));
            }
        }
        self.line(format!("let {place} = if {} {{", conditions.join(" && ")));
        self.read_for(read)?;
        self.line("Some(call.scratch.reads.len() - 1)");
        self.line("} else { None };");
        self.ahead.places.insert(read.statement, AheadRow::Perhaps(place));
        Ok(())
    }

    fn read_for(&mut self, read: &Read<'a>) -> Result<()> {
        self.read_once(read, &mut Vec::new()).map(|_| ())
    }

    /// Adds a read unless these lines already contain it; returns its position among them.
    fn read_once(&mut self, read: &Read<'a>, lines: &mut Vec<String>) -> Result<usize> {
        let table = self.table(read.table);
        let values: Vec<Expr> = read.values.iter().map(|&value| value.clone()).collect();
        let key = key(self.scope(&[], &[]), table, table.schema.key(), &values)?;
        let name = identifier(&table.name);
        let line = format!("call.scratch.reads.push((tables.{name}, {}));", key.text);
        if let Some(position) = lines.iter().position(|other| *other == line) {
            return Ok(position);
        }
        self.line(&line);
        lines.push(line);
        Ok(lines.len() - 1)
    }
}

/// Finds the statements whose keys are known early.
struct Survey<'f, 'a> {
    function: &'f Function<'a>,
    /// Variables that keep their value after the declarations.
    fixed: BTreeSet<usize>,
    /// Tables that lose or gain rows.
    changed: BTreeSet<usize>,
    /// Assigned variables, with their values at the current point of the survey.
    settled: BTreeMap<usize, Settled<'a>>,
    singles: Vec<Read<'a>>,
    /// Rows that are read conditionally.
    perhaps: Vec<Read<'a>>,
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
                    if let Some(read) = self.keyed(sql, None) {
                        let is_sure = read.unless.is_empty();
                        if is_sure { &mut self.singles } else { &mut self.perhaps }.push(read);
                    }
                    self.singles.extend(self.referred(sql, None));
                }
                StatementKind::Loop { over, body, .. } => self.round(over, body),
                _ => {}
            }
            self.settle(statement);
        }
    }

    /// Updates the values of variables after a statement.
    fn settle(&mut self, statement: &'a Statement) {
        match &statement.kind {
            StatementKind::Assign { target: Target::Variable(variable), value }
                if value.number.is_none() && self.is_fixed(&value.expr, None) =>
            {
                let settled = Settled { value: &value.expr, unless: Vec::new() };
                self.settled.insert(*variable, settled);
            }
            StatementKind::If { branches, otherwise } => {
                let mut assigned = BTreeSet::new();
                assignments(otherwise, &mut assigned);
                assigned.iter().for_each(|variable| drop(self.settled.remove(variable)));
                for (condition, inside) in branches {
                    self.settle_branch(condition, inside);
                }
            }
            _ => {
                let mut assigned = BTreeSet::new();
                assignments(std::slice::from_ref(statement), &mut assigned);
                assigned.iter().for_each(|variable| drop(self.settled.remove(variable)));
            }
        }
    }

    fn settle_branch(&mut self, condition: &'a Formula, inside: &[Statement]) {
        let expr = &condition.expr;
        let is_known = condition.number.is_none()
            && self.is_fixed(expr, None)
            && self.is_never_null(expr)
            && self.cannot_fail(expr);
        let mut assigned = BTreeSet::new();
        assignments(inside, &mut assigned);
        for variable in assigned {
            match self.settled.get_mut(&variable) {
                Some(settled) if is_known => settled.unless.push(expr),
                _ => drop(self.settled.remove(&variable)),
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
                reads.extend(self.referred(sql, Some(*variable)));
            }
        }
        if !reads.is_empty() {
            self.rounds.push(Round { variable: *variable, from: first, to, reads });
        }
    }

    /// Returns the row of a statement whose key depends only on fixed variables and the loop
    /// variable.
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
        let mut read = Read {
            statement: sql.number,
            reference: None,
            table,
            values: Vec::new(),
            unless: Vec::new(),
        };
        for value in values {
            if self.is_fixed(value, looped) && self.is_never_null(value) {
                read.values.push(value);
                continue;
            }
            let ExprKind::Variable(variable) = value.kind else { return None };
            let settled = self.settled.get(&variable).filter(|_| looped.is_none())?;
            // The statement itself handles unconditional nulls best.
            if settled.unless.is_empty() && !self.is_never_null(settled.value) {
                return None;
            }
            read.values.push(settled.value);
            let new = settled.unless.iter().filter(|expr| !read.unless.contains(expr));
            let new: Vec<&Expr> = new.copied().collect();
            read.unless.extend(new);
        }
        let is_wanted = !self.changed.contains(&table) && planned.sub_plans.is_empty();
        is_wanted.then_some(read)
    }

    /// Returns the rows that an inserted row references, by keys that depend only on fixed
    /// variables and the loop variable.
    fn referred(&self, sql: &'a Sql, looped: Option<usize>) -> Vec<Read<'a>> {
        let procedure: &'a procedure::Procedure = self.function.procedure;
        let Some(planned) = procedure.statements.get(sql.number as usize - 1) else {
            return Vec::new();
        };
        let Operator::Insert(insert) = &planned.root.operator else { return Vec::new() };
        let is_one = matches!(
            insert.input.operator,
            Operator::Project { condition: None, filter: None, input: None }
        );
        if !is_one || !planned.sub_plans.is_empty() {
            return Vec::new();
        }
        let value = |column: usize| -> Option<&'a Expr> {
            let value = &insert.values[column];
            let value = match value.kind {
                ExprKind::Column(of) => insert.input.outputs.get(of.column)?,
                _ => value,
            };
            (self.is_fixed(value, looped) && self.is_never_null(value)).then_some(value)
        };
        let from = self.function.table(insert.table);
        let read = |(at, reference): (usize, &ForeignKey)| {
            let to = self.function.table(reference.table);
            let Some(AccessPath::Key(places)) = access_path(to, &reference.references) else {
                return None;
            };
            let values: Option<Vec<&Expr>> =
                places.iter().map(|&place| value(reference.columns[place])).collect();
            let is_there = !self.changed.contains(&reference.table);
            let (statement, table) = (sql.number, reference.table);
            let values = values.filter(|_| is_there && self.function.are_alike(from, reference))?;
            Some(Read { statement, reference: Some(at), table, values, unless: Vec::new() })
        };
        from.foreign_keys.iter().enumerate().filter_map(read).collect()
    }

    /// Whether a condition can be evaluated without an error and without deviating.
    fn cannot_fail(&self, condition: &Expr) -> bool {
        let scope = Scope { variables: &self.function.variables, sources: &[], outer: &[] };
        scope.condition(condition).is_ok_and(|code| !code.text.contains('?'))
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

/// Whether a number is bounded for any arguments, or by the length of an argument.
fn is_small(number: &Expr) -> bool {
    match &without_casts(number).kind {
        ExprKind::Integer(_) => true,
        ExprKind::Function { function, .. } => {
            matches!(function, Called::Cardinality | Called::ArrayLength | Called::ArrayUpper)
        }
        ExprKind::Binary { operator: BinaryOperator::Divide, left, .. } => is_small(left),
        _ => without_casts(number).sql_type == SqlType::Int2,
    }
}

/// Returns the first position of an iteration's rows, in a loop that counts from `from`.
pub fn round_at(variable: &str, from: i64, stride: usize) -> String {
    let round = match from {
        0 => format!("{variable} as usize"),
        _ => format!("({variable} - {from}) as usize"),
    };
    if stride == 1 { round } else { format!("{stride} * {round}") }
}

/// Collects the variables that statements assign.
pub fn assignments(statements: &[Statement], into: &mut BTreeSet<usize>) {
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
