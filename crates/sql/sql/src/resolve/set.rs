//! Queries other than plain `SELECT`: operations on sets, and `VALUES`.

use super::coerce::{Context, common_type};
use super::scope::Scope;
use super::{Resolver, Untyped};
use crate::error::{ErrorKind, Result};
use crate::query::{Select, SelectBody, SetOperation, field};
use crate::types::{Field, SqlType};
use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier};
use sqlparser::tokenizer::Span;

impl Resolver<'_> {
    pub(super) fn set_body(
        &mut self,
        parent: Option<&Scope<'_>>,
        body: &SetExpr,
        span: Span,
    ) -> Result<SelectBody> {
        match body {
            SetExpr::Values(values) => {
                self.untyped = Untyped::Text;
                self.refuse_foreign(
                    values.explicit_row || values.value_keyword,
                    span,
                    "VALUES ROW",
                )?;
                self.values(parent, values, span)
            }
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let is_here = self.names.has_own_plans || *op == SetOperator::Union;
                let advice = "write EXISTS or NOT EXISTS";
                self.refuse(!is_here, span, &op.to_string(), advice)?;
                let operation = match op {
                    SetOperator::Union => SetOperation::Union,
                    SetOperator::Intersect => SetOperation::Intersect,
                    SetOperator::Except => SetOperation::Except,
                    SetOperator::Minus => {
                        let error = self.error(span, ErrorKind::Syntax, "PostgreSQL has no MINUS");
                        return Err(error.advise("write EXCEPT"));
                    }
                };
                let all = match set_quantifier {
                    SetQuantifier::All => true,
                    SetQuantifier::None | SetQuantifier::Distinct => false,
                    _ => {
                        return Err(self.error(
                            span,
                            ErrorKind::Syntax,
                            "PostgreSQL has no set operation BY NAME",
                        ));
                    }
                };
                self.untyped = Untyped::Open;
                let left = self.side(parent, left, span)?;
                self.untyped = Untyped::Open;
                let right = self.side(parent, right, span)?;
                self.united((operation, all), left, right, span)
            }
            SetExpr::Table(_) => Err(self.outside(span, "TABLE", "write SELECT * FROM")),
            _ => Err(self.error(span, ErrorKind::Syntax, "a query is expected here")),
        }
    }

    pub(super) fn side(
        &mut self,
        parent: Option<&Scope<'_>>,
        side: &SetExpr,
        span: Span,
    ) -> Result<Select> {
        let inside = |resolver: &mut Self| match side {
            SetExpr::Query(query) => resolver.select(parent, query),
            SetExpr::Select(select) => {
                let (body, order) = resolver.plain(parent, select, None)?;
                Ok(Select {
                    body,
                    order,
                    limit: None,
                    offset: None,
                    lock: None,
                    locked: Vec::new(),
                })
            }
            other => {
                let body = resolver.set_body(parent, other, span)?;
                Ok(Select {
                    body,
                    order: Vec::new(),
                    limit: None,
                    offset: None,
                    lock: None,
                    locked: Vec::new(),
                })
            }
        };
        self.nested(|| span, inside)
    }

    /// Gives the outputs of a side that have no type the type common to both.
    fn settle(&self, side: &mut Select, columns: &[Field], span: Span) -> Result<()> {
        let SelectBody::Plain(plain) = &mut side.body else { return Ok(()) };
        for (output, column) in plain.outputs.iter_mut().zip(columns) {
            if output.expr.sql_type == SqlType::Unknown {
                let expr = output.expr.clone();
                output.expr = self.convert(expr, &column.sql_type, Context::Implicit, span)?;
            }
        }
        Ok(())
    }

    pub(super) fn united(
        &self,
        (operation, all): (SetOperation, bool),
        mut left: Select,
        mut right: Select,
        span: Span,
    ) -> Result<SelectBody> {
        let (ours, theirs) = (left.fields(), right.fields());
        if ours.len() != theirs.len() {
            let name = operation.name();
            let sentence = format!("both sides of {name} must have the same number of columns");
            let message = format!("each {name} query must have the same number of columns");
            return Err(self.type_error(span, sentence).in_postgres("42601", message));
        }
        let common = |(ours, theirs): (&Field, &Field)| {
            let types = [ours.sql_type.clone(), theirs.sql_type.clone()];
            let sql_type = common_type(&types).ok_or_else(|| {
                let name = operation.name();
                let sentence = format!(
                    "column `{}` of {name} is {} on one side and {} on the other",
                    ours.name, types[0], types[1]
                );
                self.type_error(span, sentence).advise("convert one with CAST")
            })?;
            Ok(Field { name: ours.name.clone(), sql_type })
        };
        let columns = ours.iter().zip(&theirs).map(common).collect::<Result<Vec<_>>>()?;
        self.settle(&mut left, &columns, span)?;
        self.settle(&mut right, &columns, span)?;
        let (left, right) = (Box::new(left), Box::new(right));
        Ok(SelectBody::Set { operation, columns, all, left, right })
    }

    fn values(
        &mut self,
        parent: Option<&Scope<'_>>,
        values: &ast::Values,
        span: Span,
    ) -> Result<SelectBody> {
        let scope = Scope::within(parent);
        let mut rows = Vec::new();
        for row in &values.rows {
            let nodes = row.content.iter();
            rows.push(nodes.map(|node| self.expr(&scope, node)).collect::<Result<Vec<_>>>()?);
        }
        let width = rows.first().map_or(0, Vec::len);
        if width == 0 || rows.iter().any(|row| row.len() != width) {
            return Err(self.error(
                span,
                ErrorKind::Syntax,
                "the rows of VALUES must have the same number of columns",
            ));
        }
        let mut columns = Vec::new();
        for at in 0..width {
            let column = rows.iter().map(|row| row[at].clone()).collect();
            let column = self.unify(column, "VALUES", span)?;
            columns.push(field(&format!("column{}", at + 1), column[0].sql_type.clone()));
            rows.iter_mut().zip(column).for_each(|(row, value)| row[at] = value);
        }
        Ok(SelectBody::Values { columns, rows })
    }
}
