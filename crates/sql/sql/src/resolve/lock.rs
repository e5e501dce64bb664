//! `FOR UPDATE` and its kin: the sources whose rows a query locks, and how.

use super::{Resolver, ident_name, object_parts};
use crate::error::{ErrorKind, Result};
use crate::query::{From, FromKind, IfLocked, LockStrength, Plain, RowLock, SelectBody};
use sqlparser::ast;
use sqlparser::tokenizer::Span;

impl Resolver<'_> {
    pub(super) fn lock(
        &mut self,
        query: &ast::Query,
        body: &SelectBody,
        span: Span,
    ) -> Result<Option<RowLock>> {
        if query.locks.is_empty() {
            return Ok(None);
        }
        let has_windows =
            |plain: &Plain| matches!(plain.sources[..], [From { kind: FromKind::Windows(_), .. }]);
        let lockable = matches!(body, SelectBody::Plain(plain)
            if !plain.is_grouped && !plain.distinct && !has_windows(plain));
        if !lockable {
            let sentence = "rows that are grouped, distinct, numbered or united cannot be locked";
            let with = match body {
                SelectBody::Set { .. } => "UNION/INTERSECT/EXCEPT",
                SelectBody::Values { .. } => "VALUES",
                SelectBody::Plain(plain) if plain.distinct => "DISTINCT clause",
                SelectBody::Plain(plain) if plain.is_grouped => "GROUP BY clause",
                SelectBody::Plain(_) => "window functions",
            };
            let message = format!("FOR UPDATE is not allowed with {with}");
            return Err(self.type_error(span, sentence).in_postgres("0A000", message));
        }
        let strength = query.locks.iter().map(|lock| match lock.lock_type {
            ast::LockType::Update => LockStrength::Update,
            ast::LockType::Share => LockStrength::Share,
        });
        let has = |wanted| query.locks.iter().any(|lock| lock.nonblock == Some(wanted));
        let if_locked = match (has(ast::NonBlock::Nowait), has(ast::NonBlock::SkipLocked)) {
            (true, _) => IfLocked::Fail,
            (false, true) => IfLocked::Skip,
            (false, false) => IfLocked::Wait,
        };
        let strength = strength.max().unwrap_or(LockStrength::Update);
        Ok(Some(RowLock { strength, if_locked }))
    }

    /// The sources whose rows `FOR UPDATE` and its kin lock: those that they name, or all tables
    /// and sub-selects.
    pub(super) fn locked(
        &self,
        query: &ast::Query,
        body: &SelectBody,
        span: Span,
    ) -> Result<Vec<usize>> {
        let SelectBody::Plain(plain) = body else { return Ok(Vec::new()) };
        let has_rows = |source: &From| {
            !source.is_common
                && matches!(
                    source.kind,
                    FromKind::Table(_) | FromKind::Query(_) | FromKind::Lateral(_)
                )
        };
        let mut locked = Vec::new();
        for lock in &query.locks {
            let Some(of) = &lock.of else {
                locked.extend((0..plain.sources.len()).filter(|at| has_rows(&plain.sources[*at])));
                continue;
            };
            let parts = object_parts(of).unwrap_or_default();
            let name = parts.first().map(|part| ident_name(part)).unwrap_or_default();
            let found = plain.sources.iter().position(|source| source.alias == name);
            let Some(at) = found.filter(|_| parts.len() == 1) else {
                let sentence = format!("`{of}` is no table of this query, so it cannot be locked");
                let message =
                    format!("relation \"{of}\" in FOR UPDATE clause not found in FROM clause");
                let error = self.error(span, ErrorKind::Name, sentence);
                return Err(error.in_postgres("42P01", message));
            };
            if !has_rows(&plain.sources[at]) {
                let what = match plain.sources[at].is_common {
                    true => "a WITH query",
                    false => "a function",
                };
                let sentence = format!("the rows of `{name}` cannot be locked: it is {what}");
                let message = format!("FOR UPDATE cannot be applied to {what}");
                return Err(self.type_error(span, sentence).in_postgres("0A000", message));
            }
            locked.push(at);
        }
        locked.sort_unstable();
        locked.dedup();
        Ok(locked)
    }
}
