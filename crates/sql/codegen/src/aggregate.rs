//! Prints aggregates over all rows of a plan, as variables that accumulate the rows.

use crate::code::{Code, Kind};
use crate::function::Function;
use crate::node::Each;
use crate::unsupported::Unsupported;
use procedure::node::Node;
use sql::SqlType;
use sql::expression::{Aggregate, Expr, ExprKind};

type Result<T> = std::result::Result<T, Unsupported>;

/// An aggregate of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Gathered {
    aggregate: Aggregate,
    sql_type: SqlType,
    /// `None` for `count(*)`.
    pub argument: Option<Expr>,
    distinct: bool,
}

/// The variable that accumulates an aggregate.
pub struct Accumulator {
    pub name: String,
    is_list: bool,
}

/// Replaces aggregates in an expression by columns of `source`, and appends them to `into`.
pub fn gather(expr: &Expr, source: usize, into: &mut Vec<Gathered>) -> Expr {
    let mut inside = |expr: &Expr| Box::new(gather(expr, source, into));
    let kind = match &expr.kind {
        ExprKind::Aggregate { aggregate, argument, distinct, filter: None } => {
            let argument = argument.as_deref().cloned();
            let sql_type = expr.sql_type.clone();
            let gathered =
                Gathered { aggregate: *aggregate, sql_type, argument, distinct: *distinct };
            let known = into.iter().position(|other| *other == gathered);
            let column = known.unwrap_or_else(|| {
                into.push(gathered);
                into.len() - 1
            });
            ExprKind::Column(sql::expression::ColumnRef { level: 0, source, column })
        }
        ExprKind::Cast { operand, kind } => {
            ExprKind::Cast { operand: inside(operand), kind: *kind }
        }
        ExprKind::Unary { operator, operand } => {
            ExprKind::Unary { operator: *operator, operand: inside(operand) }
        }
        ExprKind::Binary { operator, left, right } => {
            let (left, right) = (inside(left), inside(right));
            ExprKind::Binary { operator: *operator, left, right }
        }
        ExprKind::Is { operand, test, negated } => {
            ExprKind::Is { operand: inside(operand), test: *test, negated: *negated }
        }
        ExprKind::Function { function, arguments } => {
            let arguments = arguments.iter().map(|argument| *inside(argument)).collect();
            ExprKind::Function { function: *function, arguments }
        }
        ExprKind::Case { branches, otherwise } => ExprKind::Case {
            branches: branches
                .iter()
                .map(|(test, value)| (*inside(test), *inside(value)))
                .collect(),
            otherwise: otherwise.as_deref().map(inside),
        },
        other => other.clone(),
    };
    Expr { kind, sql_type: expr.sql_type.clone() }
}

/// Whether the type of an aggregate depends on its argument.
fn needs_argument(of: &Gathered) -> bool {
    of.aggregate != Aggregate::Count
}

impl<'a> Function<'a> {
    /// Prints an aggregate over all rows as one group.
    pub fn aggregate(
        &mut self,
        node: &'a Node,
        input: &'a Node,
        outer: &[Vec<Code>],
        body: Each<'_, 'a>,
    ) -> Result<()> {
        let mut gathered = Vec::new();
        let outputs: Vec<Expr> =
            node.outputs.iter().map(|expr| gather(expr, 0, &mut gathered)).collect();
        let mut values = Vec::new();
        for of in &gathered {
            values.push(self.begin_aggregate(of)?);
        }
        self.each(input, outer, &mut |function, columns| {
            for (of, value) in gathered.iter().zip(&values) {
                function.take_in(of, &value.name, columns, outer)?;
            }
            Ok(())
        })?;
        let mut columns = Vec::new();
        for (of, value) in gathered.iter().zip(values) {
            let argument = match needs_argument(of) {
                true => Some(self.argument_of(of.argument.as_ref(), input, outer)?),
                false => None,
            };
            columns.push(self.end_aggregate(of, value, argument)?);
        }
        let outputs = self.codes(&outputs, &columns, outer)?;
        body(self, &outputs)
    }

    /// Prints the declaration of an aggregate's variable.
    pub fn begin_aggregate(&mut self, of: &Gathered) -> Result<Accumulator> {
        let (wanted, initial, is_list) = match (of.aggregate, of.distinct) {
            (Aggregate::Count, true) => ("values", "call.scratch.take_numbers()", true),
            (Aggregate::Count, false) => ("counted", "0_i64", false),
            (Aggregate::Sum, false) => ("sum", "None::<i64>", false),
            (Aggregate::Min, _) => ("least", "None::<i64>", false),
            (Aggregate::Max, _) => ("greatest", "None::<i64>", false),
            _ => return Err(Unsupported::aggregate(of.aggregate, of.distinct)),
        };
        let name = self.names.fresh(wanted);
        self.line(format!("let mut {name} = {initial};"));
        Ok(Accumulator { name, is_list })
    }

    /// Prints adding a row to an aggregate. Nulls are ignored.
    pub fn take_in(
        &mut self,
        of: &Gathered,
        name: &str,
        columns: &[Code],
        outer: &[Vec<Code>],
    ) -> Result<()> {
        let Some(argument) = &of.argument else {
            self.line(format!("{name} += 1;"));
            return Ok(());
        };
        let code = self.scope(&[columns], outer).code(argument)?;
        if code.kind.scale().is_none() && of.aggregate != Aggregate::Count {
            return Err(Unsupported::new("an aggregate of values other than numbers"));
        }
        self.records([&code]);
        let value = match code.is_nullable {
            true => {
                self.line(format!("if let Some(value) = {} {{", code.text));
                "value".to_owned()
            }
            false => code.text.clone(),
        };
        let is_compared = matches!(of.aggregate, Aggregate::Min | Aggregate::Max);
        let value = match is_compared && code.can_stop() && !code.is_nullable {
            true => {
                self.line(format!("let value = {value};"));
                "value".to_owned()
            }
            false => value,
        };
        match (of.aggregate, of.distinct) {
            (Aggregate::Count, true) if code.kind.scale().is_some() => {
                self.line(format!("{name}.push({value});"))
            }
            (Aggregate::Count, true) => {
                return Err(Unsupported::new("count(DISTINCT) of values other than numbers"));
            }
            (Aggregate::Count, false) => {
                if !code.is_nullable {
                    self.compute(&code)?;
                }
                self.line(format!("{name} += 1;"));
            }
            (Aggregate::Sum, _) => {
                self.line(format!("{name} = Some(number::add({name}.unwrap_or(0), {value})?);"));
            }
            (Aggregate::Min, _) => self
                .line(format!("{name} = Some({name}.map_or({value}, |v: i64| v.min({value})));")),
            _ => self
                .line(format!("{name} = Some({name}.map_or({value}, |v: i64| v.max({value})));")),
        }
        if code.is_nullable {
            self.line("}");
        }
        Ok(())
    }

    /// Returns the result of an aggregate after the last row.
    pub fn end_aggregate(
        &mut self,
        of: &Gathered,
        value: Accumulator,
        argument: Option<Code>,
    ) -> Result<Code> {
        let name = value.name;
        if value.is_list {
            let count = self.names.fresh("counted");
            self.line(format!("{name}.sort_unstable();"));
            self.line(format!("{name}.dedup();"));
            self.line(format!("let {count} = {name}.len() as i64;"));
            self.line(format!("call.scratch.give_numbers({name});"));
            return Ok(Code::new(count, Kind::Int));
        }
        if of.aggregate == Aggregate::Count {
            return Ok(Code::new(name, Kind::Int));
        }
        let Some(Code { kind, is_padded, .. }) = argument else {
            return Err(Unsupported::new("an aggregate without an argument"));
        };
        // A sum of integers may be a decimal of scale 0.
        let kind = match (kind, &of.sql_type) {
            (Kind::Int, SqlType::Numeric(_)) => Kind::Decimal(0),
            (kind, _) => kind,
        };
        Ok(Code { is_nullable: true, is_padded, ..Code::new(name, kind) })
    }

    /// Returns the value of an expression over a node's rows.
    fn argument_of(
        &mut self,
        expr: Option<&Expr>,
        input: &'a Node,
        outer: &[Vec<Code>],
    ) -> Result<Code> {
        let expr = expr.ok_or_else(|| Unsupported::new("an aggregate without an argument"))?;
        let mut found = None;
        let before = (self.out.len(), self.names.clone(), self.again.clone());
        self.each(input, outer, &mut |function, columns| {
            found = Some(function.scope(&[columns], outer).code(expr)?);
            Ok(())
        })?;
        self.out.truncate(before.0);
        (self.names, self.again) = (before.1, before.2);
        found.ok_or_else(|| Unsupported::new("an aggregate without an argument"))
    }
}
