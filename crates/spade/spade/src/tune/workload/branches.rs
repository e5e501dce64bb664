//! How often a procedure takes each branch, evaluated on drawn arguments where they decide it.
//!
//! Decision: docs/decisions/0215-branches-are-decided-by-drawn-arguments.md

use super::draws::{Drawn, mean};
use procedure::operations::Branch;
use sql::expression::{BinaryOperator, Expr, ExprKind, Test, UnaryOperator};
use sql::function::Function;
use sql::procedure::{Block, Body, Formula, Over, Procedure, Statement, StatementKind, Target};
use sql_value::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Maximal depth of the evaluation.
const STEPS_MAX: u32 = 16;
/// PL/pgSQL's variable that says whether the last statement found a row.
const FOUND: &str = "found";

/// How a share was determined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Basis {
    /// By evaluating conditions on drawn arguments.
    Drawn,
    /// By assuming that statements find rows and values are not null.
    Found,
    /// Unknown: all branches are equally likely.
    Equal,
}

pub struct Branches<'a> {
    drawn: Drawn<'a>,
    routine: &'a Procedure,
    /// Conditions by source line.
    conditions: BTreeMap<u32, Vec<&'a Expr>>,
    /// Assignments to each variable; `None` for values from rows, loops or elements.
    assigned: BTreeMap<usize, Vec<Option<&'a Expr>>>,
}

impl<'a> Branches<'a> {
    pub fn new(routine: &'a Procedure, drawn: Drawn<'a>) -> Self {
        let (conditions, assigned) = (BTreeMap::new(), BTreeMap::new());
        let mut branches = Self { drawn, routine, conditions, assigned };
        if let Body::Block(block) = &routine.body {
            branches.block(block);
        }
        branches
    }

    /// The share of calls that take a branch when they reach it.
    pub fn share(&self, branch: &Branch) -> (f64, Basis) {
        let equal = (1.0 / branch.count.max(1) as f64, Basis::Equal);
        let Some(conditions) = self.conditions.get(&branch.line) else { return equal };
        let taken = |call: Option<&'a [Value]>| {
            let mut basis = Basis::Drawn;
            for (number, condition) in conditions.iter().enumerate() {
                let holds = match self.value(condition, call, 0) {
                    Some(Value::Bool(holds)) => holds,
                    Some(_) => false,
                    None => {
                        basis = Basis::Found;
                        self.usual(condition)?
                    }
                };
                if holds {
                    return Some((number, basis));
                }
            }
            Some((conditions.len(), basis))
        };
        let calls = self.drawn.calls.iter().map(|call| taken(Some(call)));
        let mut all: Vec<_> = calls.collect();
        if all.is_empty() {
            all.push(taken(None));
        }
        let Some(all) = all.into_iter().collect::<Option<Vec<_>>>() else { return equal };
        let is_it = |(number, _): &(usize, Basis)| f64::from(u8::from(*number == branch.branch));
        let share = mean(all.iter().map(is_it)).unwrap_or(equal.0);
        let is_drawn = all.iter().all(|(_, basis)| *basis == Basis::Drawn);
        (share, if is_drawn { Basis::Drawn } else { Basis::Found })
    }

    /// The default of a condition that no argument decides: statements find rows, values are not
    /// null.
    fn usual(&self, condition: &Expr) -> Option<bool> {
        match &condition.kind {
            ExprKind::Variable(variable) => {
                (self.routine.variables.get(*variable)?.name == FOUND).then_some(true)
            }
            ExprKind::Unary { operator: UnaryOperator::Not, operand } => {
                self.usual(operand).map(|holds| !holds)
            }
            ExprKind::Is { test: Test::Null, negated, .. } => Some(*negated),
            _ => None,
        }
    }

    fn value(&self, expr: &Expr, call: Option<&[Value]>, steps: u32) -> Option<Value> {
        if steps > STEPS_MAX {
            return None;
        }
        let value = |expr: &Expr| self.value(expr, call, steps + 1);
        match &expr.kind {
            ExprKind::Null => Some(Value::Null),
            ExprKind::Bool(truth) => Some(Value::Bool(*truth)),
            ExprKind::Integer(number) => Some(Value::Int(*number)),
            ExprKind::Text(text) => Some(Value::text(text)),
            ExprKind::Variable(variable) => {
                let argument = self.drawn.argument(*variable);
                match (argument, self.assigned.get(variable).map(Vec::as_slice)) {
                    (Some(at), None) => call?.get(at).cloned(),
                    (None, Some([Some(only)])) => value(only),
                    _ => None,
                }
            }
            ExprKind::Cast { operand, .. } => match value(operand)? {
                same @ (Value::Int(_) | Value::Bool(_) | Value::Text(_) | Value::Null) => {
                    Some(same)
                }
                _ => None,
            },
            // All elements have the same distribution.
            ExprKind::Subscript { array, .. } => match value(array)? {
                Value::Array(elements) => elements.first().cloned(),
                _ => None,
            },
            ExprKind::Function {
                function: Function::Cardinality | Function::ArrayLength,
                arguments,
            } => match value(arguments.first()?)? {
                Value::Array(elements) => Some(Value::Int(elements.len() as i64)),
                _ => None,
            },
            ExprKind::Unary { operator: UnaryOperator::Not, operand } => match value(operand)? {
                Value::Bool(truth) => Some(Value::Bool(!truth)),
                _ => Some(Value::Null),
            },
            ExprKind::Is { operand, test, negated } => {
                let operand = value(operand)?;
                let holds = match test {
                    Test::Null => operand == Value::Null,
                    Test::True => operand == Value::Bool(true),
                    Test::False => operand == Value::Bool(false),
                };
                Some(Value::Bool(holds != *negated))
            }
            ExprKind::Binary { operator, left, right } => {
                binary(*operator, value(left), value(right))
            }
            _ => None,
        }
    }

    fn block(&mut self, block: &'a Block) {
        for (variable, value) in &block.declarations {
            // A declared variable without a value is null until it is assigned.
            value.iter().for_each(|value| self.assign(*variable, value));
        }
        self.statements(&block.statements);
    }

    fn assign(&mut self, variable: usize, value: &'a Formula) {
        self.assigned.entry(variable).or_default().push(Some(&value.expr));
    }

    /// Marks a target whose value depends on rows.
    fn unknown(&mut self, target: &Target) {
        let (Target::Variable(variable)
        | Target::Field { variable, .. }
        | Target::Element { variable, .. }) = target;
        self.assigned.entry(*variable).or_default().push(None);
    }

    fn over(&mut self, over: &Over) {
        match over {
            Over::Forever | Over::While(_) => {}
            Over::Range { variable, .. } => self.unknown(&Target::Variable(*variable)),
            Over::Rows { into, .. } => {
                into.targets.iter().for_each(|(target, _)| self.unknown(target));
            }
            Over::Dynamic(_, into) | Over::Cursor(_, into) => {
                into.targets.iter().for_each(|(target, _)| self.unknown(target));
            }
            Over::Elements { target, .. } => self.unknown(target),
        }
    }

    fn statements(&mut self, statements: &'a [Statement]) {
        for Statement { line, kind } in statements {
            match kind {
                StatementKind::Block(block) => self.block(block),
                StatementKind::Assign { target: Target::Variable(variable), value } => {
                    self.assign(*variable, value);
                }
                StatementKind::Assign { target, .. } => self.unknown(target),
                StatementKind::Sql { into: Some(into), .. } => {
                    into.targets.iter().for_each(|(target, _)| self.unknown(target));
                }
                StatementKind::Execute(_, Some(into)) => {
                    into.targets.iter().for_each(|(target, _)| self.unknown(target));
                }
                StatementKind::GetRowCount(targets) => {
                    targets.iter().for_each(|(target, _)| self.unknown(target));
                }
                StatementKind::If { branches, otherwise } => {
                    self.branches(*line, branches);
                    self.statements(otherwise);
                }
                StatementKind::Case { operand, branches, otherwise } => {
                    if let Some((variable, value)) = operand {
                        self.assign(*variable, value);
                    }
                    self.branches(*line, branches);
                    self.statements(otherwise.as_deref().unwrap_or_default());
                }
                StatementKind::Loop { over, body, .. } => {
                    self.over(over);
                    self.statements(body);
                }
                _ => {}
            }
        }
    }

    fn branches(&mut self, line: u32, branches: &'a [(Formula, Vec<Statement>)]) {
        let conditions = branches.iter().map(|(condition, _)| &condition.expr).collect();
        self.conditions.insert(line, conditions);
        branches.iter().for_each(|(_, body)| self.statements(body));
    }
}

/// Evaluates an operator whose operands may be unknown.
fn binary(operator: BinaryOperator, left: Option<Value>, right: Option<Value>) -> Option<Value> {
    let is = |value: &Option<Value>, truth| *value == Some(Value::Bool(truth));
    match operator {
        BinaryOperator::And if is(&left, false) || is(&right, false) => Some(Value::Bool(false)),
        BinaryOperator::Or if is(&left, true) || is(&right, true) => Some(Value::Bool(true)),
        BinaryOperator::And | BinaryOperator::Or => match (left?, right?) {
            (Value::Bool(left), Value::Bool(right)) => Some(Value::Bool(match operator {
                BinaryOperator::And => left && right,
                _ => left || right,
            })),
            _ => Some(Value::Null),
        },
        _ if operator.is_comparison() => {
            let order = match (left?, right?) {
                (Value::Null, _) | (_, Value::Null) => return Some(Value::Null),
                (Value::Int(left), Value::Int(right)) => left.cmp(&right),
                (Value::Bool(left), Value::Bool(right)) => left.cmp(&right),
                (Value::Text(left), Value::Text(right)) => left.as_bytes().cmp(right.as_bytes()),
                _ => return None,
            };
            Some(Value::Bool(match operator {
                BinaryOperator::Equal | BinaryOperator::NotDistinct => order == Ordering::Equal,
                BinaryOperator::NotEqual | BinaryOperator::Distinct => order != Ordering::Equal,
                BinaryOperator::Less => order == Ordering::Less,
                BinaryOperator::LessOrEqual => order != Ordering::Greater,
                BinaryOperator::Greater => order == Ordering::Greater,
                _ => order != Ordering::Less,
            }))
        }
        _ => None,
    }
}
