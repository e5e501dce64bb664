//! `WITH`: each use of a named query is resolved as a sub-select in `FROM`.

use super::call_place::CallPlace;
use super::from::FromClause;
use super::{Resolver, ident_name, object_parts};
use crate::error::Result;
use crate::query::{FromKind, Join};
use crate::types::Field;
use sqlparser::ast::{self, ObjectName, SetExpr, Spanned, TableAlias};
use sqlparser::tokenizer::Span;
use std::rc::Rc;

/// A query with a name.
pub(crate) struct NamedQuery {
    pub(super) name: String,
    /// New names of its first columns.
    pub(super) columns: Vec<String>,
    pub(super) query: ast::Query,
    pub(super) stage: Stage,
}

/// The meaning of the name of a query.
pub(super) enum Stage {
    /// The query.
    Query,
    /// The query, which may name itself.
    Recursive,
    /// The rows of the last step: the place is inside of its recursive term.
    Step { number: usize, columns: Vec<Field> },
    /// Nothing: PostgreSQL has this error.
    Refused(String),
}

impl Resolver<'_> {
    /// Makes the queries of `WITH` visible.
    pub(super) fn name_queries(&mut self, query: &ast::Query) -> Result<()> {
        let Some(with) = &query.with else { return Ok(()) };
        let span = query.span();
        let advice = "write the query as a sub-select in FROM, or one statement after the other";
        self.refuse(!self.names.has_own_plans, span, "WITH", advice)?;
        for named in &with.cte_tables {
            let changes = matches!(
                &*named.query.body,
                SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_)
            );
            let advice = "write one statement after the other";
            self.refuse(changes, span, "a change of rows in WITH", advice)?;
            self.check_name(&named.alias.name)?;
            self.named_queries.push(Rc::new(NamedQuery {
                name: ident_name(&named.alias.name),
                columns: named.alias.columns.iter().map(|one| ident_name(&one.name)).collect(),
                query: (*named.query).clone(),
                stage: if with.recursive { Stage::Recursive } else { Stage::Query },
            }));
        }
        Ok(())
    }

    /// Adds a query of `WITH` to `FROM`; `None` if no visible one has this name.
    pub(super) fn named_source(
        &mut self,
        clause: &mut FromClause<'_>,
        name: &ObjectName,
        alias: Option<&TableAlias>,
        span: Span,
    ) -> Option<Result<Join>> {
        let parts = object_parts(name)?;
        let [own] = &parts[..] else { return None };
        let own = ident_name(own);
        let at = self.named_queries.iter().rposition(|named| named.name == own)?;
        // It sees the queries before it, and not itself.
        let behind = self.named_queries.split_off(at);
        let named = behind[0].clone();
        let source = self.source_of(&named, span);
        self.named_queries.extend(behind);
        Some(source.and_then(|(kind, mut columns)| {
            for (column, name) in columns.iter_mut().zip(&named.columns) {
                column.name = name.clone();
            }
            let join = self.add_source(clause, kind, columns, Some(own), alias, span)?;
            if let Some(source) = clause.sources.last_mut() {
                source.is_common = true;
            }
            Ok(join)
        }))
    }

    fn source_of(&mut self, named: &NamedQuery, span: Span) -> Result<(FromKind, Vec<Field>)> {
        match &named.stage {
            Stage::Refused(text) => return Err(self.recursion_error(text, span)),
            Stage::Step { number, columns } => {
                return Ok((FromKind::WorkTable(*number), columns.clone()));
            }
            Stage::Recursive => {
                let inside = |resolver: &mut Self| resolver.recursive_query(named, span);
                if let Some(found) = self.at_place(CallPlace::Rows, inside)? {
                    return Ok(found);
                }
            }
            Stage::Query => {}
        }
        // PostgreSQL runs it once for all its uses.
        let query = self.at_place(CallPlace::Rows, |resolver| {
            resolver.with_aggregates(None, |resolver| resolver.select(None, &named.query))
        })?;
        let columns = query.fields();
        Ok((FromKind::Query(Box::new(query)), columns))
    }
}
