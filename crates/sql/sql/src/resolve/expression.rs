//! Expressions, by kind.

use super::Resolver;
use super::call_place::CallPlace;
use super::coerce::{Context, common_type};
use super::operator::comparison_type;
use super::scope::Scope;
use crate::error::{ErrorKind, Result};
use crate::expression::{BinaryOperator, Expr, ExprKind, SubqueryKind, Test, UnaryOperator};
use crate::spelling::symmetric_bound;
use crate::types::SqlType;
use sqlparser::ast::{self, AccessExpr, Spanned, Subscript};
use sqlparser::tokenizer::Span;

impl Resolver<'_> {
    pub(crate) fn expr(&mut self, scope: &Scope<'_>, expr: &ast::Expr) -> Result<Expr> {
        self.nested(|| expr.span(), |resolver| resolver.expr_here(scope, expr))
    }

    fn expr_here(&mut self, scope: &Scope<'_>, expr: &ast::Expr) -> Result<Expr> {
        use ast::Expr as Node;
        let span = expr.span();
        match expr {
            Node::Identifier(ident) => self.identifier(scope, ident),
            Node::CompoundIdentifier(idents) => self.compound(scope, idents),
            Node::Value(value) => self.literal(value),
            Node::Nested(inner) => self.expr(scope, inner),
            Node::BinaryOp { left, op, right } => self.binary_node(scope, left, op, right, span),
            Node::UnaryOp { op, expr } => self.unary_node(scope, op, expr, span),
            Node::IsNull(operand) => self.test(scope, operand, Test::Null, false),
            Node::IsNotNull(operand) => self.test(scope, operand, Test::Null, true),
            Node::IsTrue(operand) => self.test(scope, operand, Test::True, false),
            Node::IsNotTrue(operand) => self.test(scope, operand, Test::True, true),
            Node::IsFalse(operand) => self.test(scope, operand, Test::False, false),
            Node::IsNotFalse(operand) => self.test(scope, operand, Test::False, true),
            Node::IsDistinctFrom(left, right) => {
                self.compare_nodes(scope, BinaryOperator::Distinct, left, right, span)
            }
            Node::IsNotDistinctFrom(left, right) => {
                self.compare_nodes(scope, BinaryOperator::NotDistinct, left, right, span)
            }
            Node::Between { expr, negated, low, high } => {
                self.between(scope, expr, low, high, *negated, span)
            }
            Node::InList { expr, list, negated } => self.in_list(scope, expr, list, *negated, span),
            Node::InSubquery { expr, subquery, negated } => {
                self.in_subquery(scope, expr, subquery, *negated, span)
            }
            Node::AnyOp { left, compare_op, right, .. } => {
                self.any_element(scope, left, compare_op, right, false, span)
            }
            Node::AllOp { left, compare_op, right } => {
                self.any_element(scope, left, compare_op, right, true, span)
            }
            Node::Case { operand, conditions, else_result, .. } => {
                self.case(scope, operand.as_deref(), conditions, else_result.as_deref(), span)
            }
            Node::Exists { subquery, negated } => self.exists(scope, subquery, *negated),
            Node::Subquery(query) => self.scalar_subquery(scope, query, span),
            Node::CompoundFieldAccess { root, access_chain } => {
                self.subscripts(scope, root, access_chain, span)
            }
            Node::Array(array) => self.array(scope, array, span),
            Node::Tuple(values) => self.row(scope, values),
            Node::Function(function) => self.call(scope, function, span),
            other => self.special(scope, other, span),
        }
    }

    fn binary_node(
        &mut self,
        scope: &Scope<'_>,
        left: &ast::Expr,
        op: &ast::BinaryOperator,
        right: &ast::Expr,
        span: Span,
    ) -> Result<Expr> {
        let operator = self.operator(op, span)?;
        let compares = |node: &ast::Expr| match node {
            ast::Expr::BinaryOp { op, .. } => is_comparison(op),
            _ => false,
        };
        if operator.is_comparison() && (compares(left) || compares(right)) {
            let sentence = "a comparison of a comparison needs parentheses";
            return Err(self.error(span, ErrorKind::Syntax, sentence));
        }
        if operator.is_comparison()
            && let (Some(left), Some(right)) = (self.written_row(left), self.written_row(right))
        {
            let (left, right) = (self.row_values(scope, left)?, self.row_values(scope, right)?);
            return self.row_comparison(operator, left, right, span);
        }
        let left = self.expr(scope, left)?;
        let right = self.right_side(scope, operator, &left, right)?;
        self.binary(operator, left, right, span)
    }

    fn operator(&self, op: &ast::BinaryOperator, span: Span) -> Result<BinaryOperator> {
        use ast::BinaryOperator as Op;
        Ok(match op {
            Op::Plus => BinaryOperator::Add,
            Op::Minus => BinaryOperator::Subtract,
            Op::Multiply => BinaryOperator::Multiply,
            Op::Divide => BinaryOperator::Divide,
            Op::Modulo => BinaryOperator::Modulo,
            Op::StringConcat => BinaryOperator::Concatenate,
            Op::Eq => BinaryOperator::Equal,
            Op::NotEq => BinaryOperator::NotEqual,
            Op::Lt => BinaryOperator::Less,
            Op::LtEq => BinaryOperator::LessOrEqual,
            Op::Gt => BinaryOperator::Greater,
            Op::GtEq => BinaryOperator::GreaterOrEqual,
            Op::And => BinaryOperator::And,
            Op::Or => BinaryOperator::Or,
            Op::BitwiseAnd => BinaryOperator::BitAnd,
            Op::BitwiseOr => BinaryOperator::BitOr,
            Op::PGBitwiseXor => BinaryOperator::BitXor,
            Op::PGBitwiseShiftLeft => BinaryOperator::ShiftLeft,
            Op::PGBitwiseShiftRight => BinaryOperator::ShiftRight,
            Op::Arrow => BinaryOperator::Get,
            Op::LongArrow => BinaryOperator::GetText,
            Op::HashArrow => BinaryOperator::GetPath,
            Op::HashLongArrow => BinaryOperator::GetPathText,
            Op::AtArrow => BinaryOperator::Contains,
            Op::ArrowAt => BinaryOperator::Contained,
            Op::PGOverlap => BinaryOperator::Overlaps,
            Op::Question => BinaryOperator::HasKey,
            Op::QuestionPipe => BinaryOperator::HasAny,
            Op::QuestionAnd => BinaryOperator::HasAll,
            Op::HashMinus => BinaryOperator::DeletePath,
            Op::Xor
            | Op::DuckIntegerDivide
            | Op::MyIntegerDivide
            | Op::Regexp
            | Op::Glob
            | Op::Match => {
                let sentence = format!("PostgreSQL has no operator `{op}`");
                return Err(self.error(span, ErrorKind::Syntax, sentence));
            }
            other => {
                let what = format!("the operator `{other}`");
                return Err(self.outside(span, &what, "write arithmetic, comparisons or LIKE"));
            }
        })
    }

    fn unary_node(
        &mut self,
        scope: &Scope<'_>,
        op: &ast::UnaryOperator,
        operand: &ast::Expr,
        span: Span,
    ) -> Result<Expr> {
        if let (ast::UnaryOperator::Minus, ast::Expr::Value(value)) = (op, operand)
            && let ast::Value::Number(digits, false) = &value.value
        {
            return self.negative_number(digits, value.span);
        }
        let resolved = self.expr(scope, operand)?;
        match op {
            ast::UnaryOperator::Minus => self.negate(resolved, span),
            ast::UnaryOperator::PGAbs if self.names.has_own_plans => {
                self.signature_call("abs", vec![resolved], span)
            }
            ast::UnaryOperator::Plus if resolved.sql_type.is_number() => Ok(resolved),
            ast::UnaryOperator::Not => {
                let operand = Box::new(self.truth(resolved, operand.span())?);
                Ok(Expr::boolean(ExprKind::Unary { operator: UnaryOperator::Not, operand }))
            }
            ast::UnaryOperator::Plus => Err(self
                .type_error(span, format!("the operator + {} does not exist", resolved.sql_type))),
            other => {
                let what = format!("the operator `{other}`");
                Err(self.outside(span, &what, "write arithmetic, comparisons or LIKE"))
            }
        }
    }

    /// A minus sign before a number is part of it: -2147483648 is an `integer`.
    fn negative_number(&mut self, digits: &str, span: Span) -> Result<Expr> {
        if let Ok(number) = format!("-{digits}").parse::<i64>() {
            let sql_type =
                if i32::try_from(number).is_ok() { SqlType::Int4 } else { SqlType::Int8 };
            return Ok(Expr::new(ExprKind::Integer(number), sql_type));
        }
        let number = self.number(digits, span)?;
        Ok(Expr::new(ExprKind::Number(format!("-{digits}")), number.sql_type))
    }

    fn test(
        &mut self,
        scope: &Scope<'_>,
        operand: &ast::Expr,
        test: Test,
        negated: bool,
    ) -> Result<Expr> {
        let resolved = self.expr(scope, operand)?;
        let wanted = match test {
            Test::Null if resolved.sql_type == SqlType::Unknown => SqlType::Text,
            Test::Null => resolved.sql_type.clone(),
            Test::True | Test::False => SqlType::Bool,
        };
        let operand =
            Box::new(self.convert(resolved, &wanted, Context::Implicit, operand.span())?);
        Ok(Expr::boolean(ExprKind::Is { operand, test, negated }))
    }

    fn compare_nodes(
        &mut self,
        scope: &Scope<'_>,
        operator: BinaryOperator,
        left: &ast::Expr,
        right: &ast::Expr,
        span: Span,
    ) -> Result<Expr> {
        let left = self.expr(scope, left)?;
        let right = self.expr(scope, right)?;
        self.comparison(operator, left, right, span)
    }

    /// Converts all values to the type in which the first one is compared with the others.
    fn comparable(&self, values: Vec<Expr>, span: Span) -> Result<Vec<Expr>> {
        let first = values.first().map_or(SqlType::Unknown, |value| value.sql_type.clone());
        let mut common = first;
        for value in values.iter().skip(1) {
            let Some(wider) = comparison_type(&common, &value.sql_type) else {
                let sentence = format!("{common} cannot be compared with {}", value.sql_type);
                return Err(self.type_error(span, sentence).advise("convert one side with CAST"));
            };
            common = wider;
        }
        values
            .into_iter()
            .map(|value| self.convert(value, &common, Context::Implicit, span))
            .collect()
    }

    fn between(
        &mut self,
        scope: &Scope<'_>,
        operand: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        negated: bool,
        span: Span,
    ) -> Result<Expr> {
        if let Some(low) = symmetric_bound(low) {
            let first = self.between(scope, operand, low, high, negated, span)?;
            let second = self.between(scope, operand, high, low, negated, span)?;
            let operator = if negated { BinaryOperator::And } else { BinaryOperator::Or };
            return self.binary(operator, first, second, span);
        }
        // PostgreSQL compares the operand twice, unless the lower bound decides.
        let operand = self.at_place(CallPlace::Rows, |resolver| resolver.expr(scope, operand))?;
        let low = self.expr(scope, low)?;
        let high = self.at_place(CallPlace::Rows, |resolver| resolver.expr(scope, high))?;
        let values = vec![operand, low, high];
        let mut values = self.comparable(values, span)?.into_iter().map(Box::new);
        let (Some(operand), Some(low), Some(high)) = (values.next(), values.next(), values.next())
        else {
            return Err(self.error(span, ErrorKind::Syntax, "BETWEEN needs two bounds"));
        };
        Ok(Expr::boolean(ExprKind::Between { operand, low, high, negated }))
    }

    fn in_list(
        &mut self,
        scope: &Scope<'_>,
        operand: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        span: Span,
    ) -> Result<Expr> {
        if list.is_empty() {
            return Err(self.error(
                span,
                ErrorKind::Syntax,
                "a list after IN needs at least one value",
            ));
        }
        if let Some(operand) = self.written_row(operand) {
            return self.row_in_list(scope, operand, list, negated, span);
        }
        let nodes = std::iter::once(operand).chain(list);
        let values = nodes.map(|node| self.expr(scope, node)).collect::<Result<Vec<_>>>()?;
        let mut values = self.comparable(values, span)?;
        let operand = Box::new(values.remove(0));
        Ok(Expr::boolean(ExprKind::InList { operand, list: values, negated }))
    }

    fn in_subquery(
        &mut self,
        scope: &Scope<'_>,
        operand: &ast::Expr,
        query: &ast::Query,
        negated: bool,
        span: Span,
    ) -> Result<Expr> {
        if let Some(row) = self.written_row(operand) {
            return self.row_in_query(scope, (row, operand.span()), query, negated, span);
        }
        let resolved = self.expr(scope, operand)?;
        let query = self.select(Some(scope), query)?;
        let fields = query.fields();
        let [field] = &fields[..] else {
            return Err(self.type_error(span, "a query after IN must return exactly one column"));
        };
        let Some(common) = comparison_type(&resolved.sql_type, &field.sql_type) else {
            let sentence =
                format!("{} cannot be compared with {}", resolved.sql_type, field.sql_type);
            return Err(self.type_error(span, sentence).advise("convert one side with CAST"));
        };
        let operand = Box::new(self.convert(resolved, &common, Context::Implicit, span)?);
        let kind = SubqueryKind::In { operand, negated };
        Ok(Expr::boolean(ExprKind::Subquery { kind, query: Box::new(query) }))
    }

    fn any_element(
        &mut self,
        scope: &Scope<'_>,
        left: &ast::Expr,
        op: &ast::BinaryOperator,
        right: &ast::Expr,
        all: bool,
        span: Span,
    ) -> Result<Expr> {
        let operator = self.operator(op, span)?;
        if let (ast::Expr::Subquery(query), BinaryOperator::Equal, false) = (right, operator, all) {
            return self.in_subquery(scope, left, query, false, span);
        }
        if matches!(right, ast::Expr::Subquery(_)) {
            return Err(self.outside(
                span,
                "a comparison with all rows of a query",
                "write IN or EXISTS",
            ));
        }
        let operand = self.expr(scope, left)?;
        let array = self.expr(scope, right)?;
        let element = match &array.sql_type {
            SqlType::Array(element) => (**element).clone(),
            SqlType::Unknown => operand.sql_type.clone(),
            _ => return Err(self.type_error(span, "ANY and ALL need an array")),
        };
        let common =
            comparison_type(&operand.sql_type, &element).filter(|_| operator.is_comparison());
        let Some(common) = common else {
            let sentence = format!(
                "the operator {} {} {element} does not exist",
                operand.sql_type,
                operator.sign()
            );
            return Err(self.type_error(span, sentence).advise("convert one side with CAST"));
        };
        let operand = Box::new(self.convert(operand, &common, Context::Implicit, span)?);
        let wanted = SqlType::Array(Box::new(common));
        let array = Box::new(self.convert(array, &wanted, Context::Explicit, span)?);
        Ok(Expr::boolean(ExprKind::AnyElement { operand, operator, array, all }))
    }

    fn case(
        &mut self,
        scope: &Scope<'_>,
        operand: Option<&ast::Expr>,
        conditions: &[ast::CaseWhen],
        otherwise: Option<&ast::Expr>,
        span: Span,
    ) -> Result<Expr> {
        let mut tests: Vec<Expr> = Vec::new();
        let mut values = Vec::new();
        let operand = operand.map(|node| self.expr(scope, node)).transpose()?;
        for branch in conditions {
            let node = &branch.condition;
            let test = self.branch(&tests, None, |resolver| {
                let condition = resolver.expr(scope, node)?;
                match operand.clone() {
                    Some(operand) => {
                        resolver.comparison(BinaryOperator::Equal, operand, condition, span)
                    }
                    None => resolver.truth(condition, node.span()),
                }
            })?;
            let result = |resolver: &mut Self| resolver.expr(scope, &branch.result);
            values.push(self.branch(&tests, Some(&test), result)?);
            tests.push(test);
        }
        let has_else = otherwise.is_some();
        if let Some(node) = otherwise {
            values.push(self.branch(&tests, None, |resolver| resolver.expr(scope, node))?);
        }
        let mut values = self.unify(values, "CASE", span)?;
        let sql_type = values.first().map_or(SqlType::Text, |value| value.sql_type.clone());
        let otherwise = if has_else { values.pop().map(Box::new) } else { None };
        let branches = tests.into_iter().zip(values).collect();
        Ok(Expr::new(ExprKind::Case { branches, otherwise }, sql_type))
    }

    /// Converts all values to their common type.
    pub(super) fn unify(&self, values: Vec<Expr>, what: &str, span: Span) -> Result<Vec<Expr>> {
        let types: Vec<SqlType> = values.iter().map(|value| value.sql_type.clone()).collect();
        let Some(common) = common_type(&types) else {
            let mut names: Vec<String> = types.iter().map(SqlType::name).collect();
            names.dedup();
            let sentence =
                format!("the values of {what} have incompatible types: {}", names.join(", "));
            return Err(self.type_error(span, sentence).advise("convert them with CAST"));
        };
        let convert = |value| self.convert(value, &common, Context::Implicit, span);
        let values = values.into_iter().map(convert).collect::<Result<Vec<_>>>()?;
        // A cast keeps its own type, which has the length and precision that it applies.
        let typed = |value: Expr| match value.kind {
            ExprKind::Cast { .. } => value,
            _ => Expr { sql_type: common.clone(), ..value },
        };
        Ok(values.into_iter().map(typed).collect())
    }

    fn exists(&mut self, scope: &Scope<'_>, query: &ast::Query, negated: bool) -> Result<Expr> {
        let place = match self.call_place() {
            CallPlace::Once => CallPlace::Exists,
            _ => CallPlace::Rows,
        };
        let select = |resolver: &mut Self| resolver.select(Some(scope), query);
        let query = Box::new(self.at_place(place, select)?);
        let kind = SubqueryKind::Exists { negated };
        Ok(Expr::boolean(ExprKind::Subquery { kind, query }))
    }

    fn scalar_subquery(
        &mut self,
        scope: &Scope<'_>,
        query: &ast::Query,
        span: Span,
    ) -> Result<Expr> {
        let query = self.select(Some(scope), query)?;
        let fields = query.fields();
        let [field] = &fields[..] else {
            return Err(
                self.type_error(span, "a query used as a value must return exactly one column")
            );
        };
        let sql_type = field.sql_type.clone();
        let kind = ExprKind::Subquery { kind: SubqueryKind::Scalar, query: Box::new(query) };
        Ok(Expr::new(kind, sql_type))
    }

    pub(super) fn array_of_query(
        &mut self,
        scope: &Scope<'_>,
        query: &ast::Query,
        span: Span,
    ) -> Result<Expr> {
        let query = Box::new(self.select(Some(scope), query)?);
        let fields = query.fields();
        let [field] = &fields[..] else {
            return Err(
                self.type_error(span, "a query used as an array must return exactly one column")
            );
        };
        let sql_type = SqlType::Array(Box::new(field.sql_type.clone()));
        Ok(Expr::new(ExprKind::Subquery { kind: SubqueryKind::Array, query }, sql_type))
    }

    fn subscripts(
        &mut self,
        scope: &Scope<'_>,
        root: &ast::Expr,
        chain: &[AccessExpr],
        span: Span,
    ) -> Result<Expr> {
        let (root, chain) = match (root, chain) {
            // The parser splits `record.field[i]` and `label.array[i]` into several accesses.
            (
                ast::Expr::Identifier(first),
                [AccessExpr::Dot(ast::Expr::Identifier(second)), rest @ ..],
            ) => (self.compound(scope, &[first.clone(), second.clone()])?, rest),
            _ => (self.expr(scope, root)?, chain),
        };
        if let [
            AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, stride: None }),
        ] = chain
        {
            let bounds = [lower_bound, upper_bound].map(Option::as_ref);
            return self.slice(scope, root, bounds, span);
        }
        let [AccessExpr::Subscript(Subscript::Index { index })] = chain else {
            let advice = "write array[index], with one index";
            return Err(self.outside(span, "this form of access to an array or record", advice));
        };
        let SqlType::Array(element) = root.sql_type.clone() else {
            let sentence = format!("{} has no elements", root.sql_type);
            return Err(self.type_error(span, sentence));
        };
        let index_span = index.span();
        let index = self.expr(scope, index)?;
        let index = self.convert(index, &SqlType::Int4, Context::Assignment, index_span)?;
        let kind = ExprKind::Subscript { array: Box::new(root), index: Box::new(index) };
        Ok(Expr::new(kind, *element))
    }

    /// `array[low:high]`
    fn slice(
        &mut self,
        scope: &Scope<'_>,
        array: Expr,
        bounds: [Option<&ast::Expr>; 2],
        span: Span,
    ) -> Result<Expr> {
        let sql_type = array.sql_type.clone();
        if !matches!(sql_type, SqlType::Array(_)) {
            let sentence = format!("{sql_type} has no elements");
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                sql_type.base()
            );
            return Err(self.type_error(span, sentence).in_postgres("42804", message));
        }
        let ends = [i64::from(i32::MIN) + 1, i64::from(i32::MAX)];
        let mut arguments = vec![array];
        for (bound, end) in bounds.into_iter().zip(ends) {
            arguments.push(match bound {
                Some(node) => {
                    let bound = self.expr(scope, node)?;
                    self.convert(bound, &SqlType::Int4, Context::Assignment, span)?
                }
                None => Expr::new(ExprKind::Integer(end), SqlType::Int4),
            });
        }
        let function = crate::function::Function::ArraySlice;
        Ok(Expr::new(ExprKind::Function { function, arguments }, sql_type))
    }

    fn array(&mut self, scope: &Scope<'_>, array: &ast::Array, span: Span) -> Result<Expr> {
        self.refuse_foreign(!array.named, span, "array without the word ARRAY in front")?;
        let nodes = array.elem.iter();
        let values = nodes.map(|node| self.expr(scope, node)).collect::<Result<Vec<_>>>()?;
        if values.iter().any(|value| matches!(value.sql_type, SqlType::Array(_))) {
            return Err(self.outside(span, "an array of several dimensions", "use several arrays"));
        }
        if values.is_empty() {
            return Ok(Expr::new(ExprKind::Array(values), SqlType::Unknown));
        }
        let values = self.unify(values, "an array", span)?;
        let element = values[0].sql_type.clone();
        Ok(Expr::new(ExprKind::Array(values), SqlType::Array(Box::new(element))))
    }

    pub(super) fn row(&mut self, scope: &Scope<'_>, nodes: &[ast::Expr]) -> Result<Expr> {
        let mut values = Vec::new();
        for node in nodes {
            let value = self.expr(scope, node)?;
            let sql_type = if value.sql_type == SqlType::Unknown {
                SqlType::Text
            } else {
                value.sql_type.clone()
            };
            values.push(self.convert(value, &sql_type, Context::Implicit, node.span())?);
        }
        let field = |(at, value): (usize, &Expr)| {
            crate::query::field(&format!("f{}", at + 1), value.sql_type.clone())
        };
        let fields = values.iter().enumerate().map(field).collect();
        Ok(Expr::new(ExprKind::Row(values), SqlType::Record(fields)))
    }
}

fn is_comparison(op: &ast::BinaryOperator) -> bool {
    use ast::BinaryOperator as Op;
    matches!(op, Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq)
}
