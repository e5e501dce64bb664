//! Compiles resolved expressions to evaluation nodes.

use super::apply::{arithmetic, negation};
use super::call::{Chosen, choose};
use super::{AggregateCall, Formula, Moment, Node, Wanted};
use crate::conversion::Conversion;
use crate::error::Error;
use crate::float;
use crate::integer::Width;
use crate::like::Simple;
use crate::numeric;
use crate::real;
use crate::value::Value;
use sql::expression::{
    Aggregate, BinaryOperator, CastKind, Expr, ExprKind, SubqueryKind, UnaryOperator,
};
use sql::function::Function;
use sql::json_function::JsonFunction;
use sql::types::SqlType;

/// Compiles expressions to nodes, and collects the aggregates of a group if there is a group.
#[derive(Default)]
pub(super) struct Compiler<'a> {
    pub aggregates: Option<&'a mut Vec<AggregateCall>>,
}

/// Returns the width of an integer type.
pub(super) fn width(sql_type: &SqlType) -> Option<Width> {
    match sql_type {
        SqlType::Int2 => Some(Width::Two),
        SqlType::Int4 => Some(Width::Four),
        SqlType::Int8 => Some(Width::Eight),
        _ => None,
    }
}

fn has_column(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |expr| found |= matches!(expr.kind, ExprKind::Column(_)));
    found
}

fn fail(message: &str) -> Node {
    Node::Fail(Error::internal(message))
}

impl Compiler<'_> {
    pub fn node(&mut self, expr: &Expr) -> Node {
        match &expr.kind {
            ExprKind::Null => Node::Constant(Value::Null),
            ExprKind::Bool(truth) => Node::Constant(Value::Bool(*truth)),
            ExprKind::Integer(number) => Node::Constant(Value::Int(*number)),
            ExprKind::Number(digits) => number(digits, &expr.sql_type),
            ExprKind::Text(text) => Node::Constant(Value::text(text)),
            ExprKind::Variable(variable) => Node::Variable(*variable),
            ExprKind::Field { variable, field } => {
                Node::Field { variable: *variable, field: *field }
            }
            ExprKind::Column(column) => Node::Column(*column),
            ExprKind::Element => Node::Element,
            ExprKind::Unary { operator, operand } => self.unary(*operator, operand),
            ExprKind::Binary { operator, left, right } => self.binary(*operator, left, right),
            ExprKind::Is { operand, test, negated } => Node::Is {
                test: *test,
                negated: *negated,
                of_row: matches!(operand.sql_type, SqlType::Record(_)),
                operand: self.boxed(operand),
            },
            ExprKind::Case { branches, otherwise } => self.case(branches, otherwise.as_deref()),
            ExprKind::Cast { operand, kind } => self.cast(operand, &expr.sql_type, *kind),
            ExprKind::Function { function, arguments } => self.function(*function, arguments),
            ExprKind::Aggregate { aggregate, argument, distinct, filter } => {
                self.aggregate(*aggregate, argument.as_deref(), *distinct, filter.as_deref())
            }
            ExprKind::Subscript { array, index } => Node::Subscript(self.pair(array, index)),
            ExprKind::Array(elements) => Node::Array(self.list(elements)),
            ExprKind::Row(fields) => Node::Row(self.list(fields)),
            ExprKind::SubPlan { kind, plan } => self.sub_plan(kind, *plan),
            ExprKind::Subquery { .. } => fail("a sub-select has no plan"),
            _ => self.predicate(expr),
        }
    }

    /// Compiles `BETWEEN`, `IN`, `LIKE` and the tests.
    fn predicate(&mut self, expr: &Expr) -> Node {
        match &expr.kind {
            ExprKind::Between { operand, low, high, negated } => Node::Between {
                operands: Box::new([self.node(operand), self.node(low), self.node(high)]),
                negated: *negated,
            },
            ExprKind::InList { operand, list, negated } => self.in_list(operand, list, *negated),
            ExprKind::AnyElement { operand, operator, array, all } => Node::AnyElement {
                operator: *operator,
                operands: self.pair(operand, array),
                all: *all,
            },
            ExprKind::Like { operand, pattern, ignores_case, negated } => {
                let operands = self.pair(operand, pattern);
                let simple = match &operands[1] {
                    Node::Constant(Value::Text(pattern)) if !ignores_case => Simple::of(pattern),
                    _ => None,
                };
                let width = match operand.sql_type {
                    SqlType::Char(length) => length.unwrap_or(0),
                    _ => 0,
                };
                let (ignores_case, negated) = (*ignores_case, *negated);
                Node::Like { operands, ignores_case, negated, width, simple }
            }
            _ => fail("an expression is of no kind that can be evaluated"),
        }
    }

    /// PostgreSQL evaluates list elements without columns first, as an array.
    fn in_list(&mut self, operand: &Expr, list: &[Expr], negated: bool) -> Node {
        let (eager, lazy): (Vec<&Expr>, Vec<&Expr>) = list.iter().partition(|e| !has_column(e));
        let (eager, lazy) =
            if eager.len() > 1 { (eager, lazy) } else { (Vec::new(), list.iter().collect()) };
        let mut nodes = |list: Vec<&Expr>| -> Vec<Node> {
            list.into_iter().map(|expr| self.node(expr)).collect()
        };
        let (mut eager, mut lazy) = (nodes(eager), nodes(lazy));
        let cannot_fail = |node: &Node| {
            matches!(node, Node::Constant(_) | Node::Variable(_) | Node::Field { .. })
        };
        if eager.iter().all(cannot_fail) {
            eager.append(&mut lazy);
            std::mem::swap(&mut eager, &mut lazy);
        }
        let (eager, lazy) = (eager.into(), lazy.into());
        Node::InList { operand: self.boxed(operand), eager, lazy, negated }
    }

    fn boxed(&mut self, expr: &Expr) -> Box<Node> {
        Box::new(self.node(expr))
    }

    fn pair(&mut self, left: &Expr, right: &Expr) -> Box<[Node; 2]> {
        Box::new([self.node(left), self.node(right)])
    }

    fn list(&mut self, expressions: &[Expr]) -> Box<[Node]> {
        expressions.iter().map(|expr| self.node(expr)).collect()
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expr) -> Node {
        match operator {
            UnaryOperator::Not => Node::Not(self.boxed(operand)),
            UnaryOperator::Negate => match negation(&operand.sql_type) {
                Some(apply) => Node::Unary { apply, operand: self.boxed(operand) },
                None => fail("a type has no negation"),
            },
        }
    }

    fn binary(&mut self, operator: BinaryOperator, left: &Expr, right: &Expr) -> Node {
        let operands = self.pair(left, right);
        match operator {
            BinaryOperator::And => return Node::And(operands),
            BinaryOperator::Or => return Node::Or(operands),
            BinaryOperator::Distinct => return Node::Distinct { negated: false, operands },
            BinaryOperator::NotDistinct => return Node::Distinct { negated: true, operands },
            _ => {}
        }
        let widths = (width(&left.sql_type), width(&right.sql_type));
        if operator.is_comparison() {
            let numerics = [left, right].iter().all(|e| matches!(e.sql_type, SqlType::Numeric(_)));
            return match widths {
                (Some(_), Some(_)) => Node::CompareIntegers { operator, operands },
                _ if numerics => Node::CompareNumerics { operator, operands },
                _ => Node::Compare { operator, operands },
            };
        }
        if let (Some(width), Some(_)) = widths {
            return Node::Integer { operator, width, operands };
        }
        if let (SqlType::Numeric(_), SqlType::Numeric(_)) = (&left.sql_type, &right.sql_type) {
            let apply = match operator {
                BinaryOperator::Add => numeric::add,
                BinaryOperator::Subtract => numeric::subtract,
                BinaryOperator::Multiply => numeric::multiply,
                BinaryOperator::Divide => numeric::divide,
                BinaryOperator::Modulo => numeric::modulo,
                _ => return fail("decimals have no such operator"),
            };
            return Node::Numeric { apply, operands };
        }
        match arithmetic(operator, &left.sql_type, &right.sql_type) {
            Some(apply) => Node::Binary { apply, operands },
            None => fail("types have no such operator"),
        }
    }

    fn case(&mut self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> Node {
        let branches = branches
            .iter()
            .map(|(condition, value)| (self.node(condition), self.node(value)))
            .collect();
        let otherwise = match otherwise {
            Some(otherwise) => self.boxed(otherwise),
            None => Box::new(Node::Constant(Value::Null)),
        };
        Node::Case { branches, otherwise }
    }

    fn cast(&mut self, operand: &Expr, to: &SqlType, kind: CastKind) -> Node {
        if let (ExprKind::Number(digits), SqlType::Float4 | SqlType::Float8) = (&operand.kind, to) {
            // The literal may have more digits than a decimal can hold.
            return number(digits, to);
        }
        let node = self.node(operand);
        converted(node, Conversion::between(&operand.sql_type, to, kind))
    }

    fn function(&mut self, function: Function, arguments: &[Expr]) -> Node {
        let types: Vec<SqlType> =
            arguments.iter().map(|argument| argument.sql_type.clone()).collect();
        match function {
            Function::Coalesce => return Node::Coalesce(self.list(arguments)),
            Function::Greatest => {
                return Node::Extreme { operands: self.list(arguments), greatest: true };
            }
            Function::Least => {
                return Node::Extreme { operands: self.list(arguments), greatest: false };
            }
            Function::Now => return Node::Moment(Moment::Transaction),
            Function::LocalTimestamp => return Node::Moment(Moment::Local),
            Function::ClockTimestamp => return Node::Moment(Moment::Clock),
            Function::LocalTime => return Node::Moment(Moment::TimeOfDay),
            Function::CurrentDate => return Node::Moment(Moment::Today),
            Function::Random => return Node::Moment(Moment::Random),
            function if function.is_of_session() => {
                return Node::Sequence { function, arguments: self.list(arguments) };
            }
            _ => {}
        }
        if let (Function::NullIf, [left, right]) = (function, arguments) {
            return Node::NullIf(self.pair(left, right));
        }
        let nodes = match function {
            Function::Json { function, is_binary } if function.takes_any() => {
                self.as_json(function, is_binary, arguments)
            }
            Function::ArrayToText => self.printed_elements(arguments),
            Function::Concat
            | Function::Format
            | Function::OctetLength
            | Function::QuoteLiteral
            | Function::QuoteNullable => {
                arguments.iter().map(|argument| self.printed(argument)).collect()
            }
            _ => self.list(arguments),
        };
        match (choose(function, &types), &*nodes) {
            (Some(Chosen::Unary(apply)), [operand]) => {
                Node::Unary { apply, operand: Box::new(operand.clone()) }
            }
            (Some(Chosen::Binary(apply)), [left, right]) => {
                Node::Binary { apply, operands: Box::new([left.clone(), right.clone()]) }
            }
            (Some(Chosen::Strict(apply)), _) => Node::Strict { apply, arguments: nodes },
            (Some(Chosen::Lenient(apply)), _) => Node::Lenient { apply, arguments: nodes },
            _ => fail("a function does not take these types"),
        }
    }

    /// Compiles an array, with its elements as they are printed, and further arguments.
    fn printed_elements(&mut self, arguments: &[Expr]) -> Box<[Node]> {
        let convert = |argument: &Expr| {
            let node = self.node(argument);
            match &argument.sql_type {
                SqlType::Array(element) => {
                    let print = Conversion::Print((**element).clone());
                    converted(node, Conversion::Elements(Box::new(print)))
                }
                _ => node,
            }
        };
        arguments.iter().map(convert).collect()
    }

    /// Compiles arguments of any type as JSON, and keys of objects as text.
    fn as_json(
        &mut self,
        function: JsonFunction,
        is_binary: bool,
        arguments: &[Expr],
    ) -> Box<[Node]> {
        let convert = |(at, argument): (usize, &Expr)| {
            let node = self.node(argument);
            let sql_type = argument.sql_type.clone();
            let is_key = function == JsonFunction::BuildObject && at % 2 == 0;
            let conversion = match (is_key, is_binary) {
                (true, _) => Conversion::Print(sql_type),
                (false, true) => Conversion::ToJsonb(sql_type),
                (false, false) => Conversion::ToJson(sql_type),
            };
            converted(node, conversion)
        };
        arguments.iter().enumerate().map(convert).collect()
    }

    /// Compiles an argument of `concat` or `octet_length`, which take values as they are printed:
    /// booleans as `t` and `f`, `character` with its trailing blanks.
    fn printed(&mut self, argument: &Expr) -> Node {
        match &argument.kind {
            ExprKind::Cast { operand, kind: CastKind::Assignment | CastKind::Implicit }
                if !matches!(operand.kind, ExprKind::Text(_)) =>
            {
                let node = self.node(operand);
                converted(node, Conversion::Print(operand.sql_type.clone()))
            }
            _ => self.node(argument),
        }
    }

    fn aggregate(
        &mut self,
        aggregate: Aggregate,
        argument: Option<&Expr>,
        distinct: bool,
        filter: Option<&Expr>,
    ) -> Node {
        let Some(aggregates) = &mut self.aggregates else {
            return fail("an aggregate outside of a group");
        };
        aggregates.push(AggregateCall {
            aggregate,
            argument: argument.map(Formula::compile),
            argument_type: argument.map_or(SqlType::Unknown, |one| one.sql_type.clone()),
            distinct,
            filter: filter.map(Formula::compile),
        });
        Node::Aggregate(aggregates.len() - 1)
    }

    fn sub_plan(&mut self, kind: &SubqueryKind, plan: usize) -> Node {
        let wanted = match kind {
            SubqueryKind::Scalar => Wanted::Scalar,
            SubqueryKind::Exists { negated } => Wanted::Exists { negated: *negated },
            SubqueryKind::In { operand, negated } => {
                Wanted::In { operand: self.boxed(operand), negated: *negated }
            }
            SubqueryKind::Array => Wanted::Array,
        };
        Node::SubPlan { plan, wanted }
    }
}

/// Adds a cast to a node; a constant is cast right away.
fn converted(node: Node, conversion: Conversion) -> Node {
    match (node, conversion) {
        (node, Conversion::Nothing) => node,
        (Node::Constant(value), conversion) => match conversion.apply(value) {
            Ok(value) => Node::Constant(value),
            Err(error) => Node::Fail(error),
        },
        (node, conversion) => Node::Convert { conversion, operand: Box::new(node) },
    }
}

fn number(digits: &str, sql_type: &SqlType) -> Node {
    let value = match sql_type {
        SqlType::Float4 => real::parse(digits).map(Value::Float),
        SqlType::Float8 => float::parse(digits).map(Value::Float),
        _ => numeric::parse(digits).map(Value::Numeric),
    };
    value.map_or_else(Node::Fail, Node::Constant)
}
