//! Calls of the catalog's routines that run while their statement runs: for each row, under a
//! condition, or in the routine itself.
//!
//! Decision: docs/decisions/0373-calls-over-rows-run-in-the-interpreter.md

use super::Resolver;
use super::call_place::CallPlace;
use super::scope::Scope;
use crate::error::Result;
use crate::expression::{ColumnRef, Expr, ExprKind, SubqueryKind};
use crate::procedure::{Procedure, Returns, Volatility};
use crate::query::{From, FromKind, Join, Output, Plain, RoutineCall, Select, SelectBody, field};
use crate::types::{Field, SqlType};
use sqlparser::ast::FunctionArg;
use sqlparser::tokenizer::Span;
use std::mem::replace;

/// The name of the source and its column, which statements do not use.
const HIDDEN: &str = "?result of a call?";

impl Resolver<'_> {
    /// A call as a value: a sub-select with the call in `FROM`.
    pub(super) fn row_call(
        &mut self,
        scope: &Scope<'_>,
        signature: &Procedure,
        arguments: &[FunctionArg],
        span: Span,
    ) -> Result<Expr> {
        let sql_type = match &signature.returns {
            Returns::Nothing => SqlType::Void,
            Returns::Value(sql_type) => sql_type.clone(),
            Returns::Row(_) | Returns::Rows(_) => {
                let what = "a function that returns rows in an expression";
                return Err(self.outside(span, what, "write the call in FROM"));
            }
        };
        let inside = Scope::within(Some(scope));
        let mut call = self.row_source(&inside, signature, arguments, span)?;
        call.is_value = true;
        let is_of_group =
            |part: &Expr| matches!(part.kind, ExprKind::Aggregate { .. } | ExprKind::Window(_));
        for argument in &call.arguments {
            let mut found = false;
            argument.visit(&mut |part| found |= is_of_group(part));
            let what =
                "an aggregate or window function as an argument of a function of the catalog";
            let advice = "compute it in a sub-select in FROM, and call the function outside";
            self.refuse(found, span, what, advice)?;
        }
        let columns = vec![field(HIDDEN, sql_type.clone())];
        let source = From {
            alias: HIDDEN.to_owned(),
            columns,
            kind: FromKind::Call(Box::new(call)),
            is_common: true,
        };
        let column = ExprKind::Column(ColumnRef { level: 0, source: 0, column: 0 });
        let expr = Expr::new(column, sql_type.clone());
        let plain = Plain {
            sources: vec![source],
            joins: vec![Join::Source(0)],
            filter: None,
            group: Vec::new(),
            is_grouped: false,
            having: None,
            distinct: false,
            outputs: vec![Output { name: signature.name.clone(), expr }],
        };
        let query = Box::new(Select {
            body: SelectBody::Plain(plain),
            order: Vec::new(),
            limit: None,
            offset: None,
            lock: None,
            locked: Vec::new(),
        });
        Ok(Expr::new(ExprKind::Subquery { kind: SubqueryKind::Scalar, query }, sql_type))
    }

    /// A call in `FROM`, whose arguments see `scope`.
    pub(super) fn row_source(
        &mut self,
        scope: &Scope<'_>,
        signature: &Procedure,
        arguments: &[FunctionArg],
        span: Span,
    ) -> Result<RoutineCall> {
        let inside = |resolver: &mut Self| resolver.matched(scope, signature, arguments, span);
        let before = self.calls.as_mut().map(|calls| replace(&mut calls.is_within, true));
        let matched = self.at_place(CallPlace::Rows, inside);
        if let (Some(calls), Some(before)) = (&mut self.calls, before) {
            calls.is_within = before;
        }
        let matched = matched?;
        Ok(RoutineCall {
            routine: signature.name.clone(),
            arguments: matched.into_iter().map(|argument| argument.value).collect(),
            is_volatile: signature.volatility == Volatility::Volatile,
            is_value: false,
        })
    }

    /// The only column of the rows that the routine called `name` returns; `None` if it returns
    /// others.
    pub(super) fn set_column(&self, name: &str) -> Option<&Field> {
        let own = self.routines.iter().find(|routine| routine.name == name)?;
        match &own.returns {
            Returns::Rows(fields) => match &fields[..] {
                [only] => Some(only),
                _ => None,
            },
            _ => None,
        }
    }
}
