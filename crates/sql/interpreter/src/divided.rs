//! `INSERT ... SELECT` by several transactions: one runs the query, others insert its rows.

use crate::plan::{Insert, Operator};
use crate::rows::Rows;
use crate::run::{NodeContext, Run};
use crate::single::{Runner, SingleStatement, StatementError, Tables};
use fabric::Env;
use sql_value::{Error, Value};
use std::ops::Range;
use txn::Transaction;

impl SingleStatement {
    /// Whether it inserts the rows of a query, and several transactions can insert them: it returns
    /// no rows, and no row depends on another one.
    pub fn is_divisible(&self) -> bool {
        let is_plain = !self.is_guarded() && !self.locks() && self.statement.root.width == 0;
        let is_plain = |insert: &Insert| is_plain && !insert.values.uses_sub_plans;
        matches!(
            &self.statement.root.operator,
            Operator::Insert(insert) if insert.input.is_some() && insert.update.is_none() && is_plain(insert)
        )
    }

    fn insert(&self) -> Result<&Insert, StatementError> {
        match &self.statement.root.operator {
            Operator::Insert(insert) => Ok(insert),
            _ => Err(StatementError::Sql(Error::internal("only an insert can be divided"))),
        }
    }
}

impl Runner {
    /// Runs the query of an `INSERT ... SELECT` and returns its rows. For `only_looks` see
    /// [`Runner::run`].
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub async fn input<E: Env>(
        &mut self,
        transaction: &mut Transaction<'_, E>,
        tables: &Tables,
        statement: &SingleStatement,
        parameters: &[Value],
        only_looks: bool,
    ) -> Result<Rows, StatementError> {
        let insert = statement.insert()?;
        let mut run = self.run_of(transaction, tables, statement, (parameters, only_looks));
        let mut rows = Rows::new(0);
        if let Some(input) = &insert.input {
            rows = run.rows_of(input, NodeContext::all(None)).await?;
        }
        Ok(rows)
    }

    /// Inserts some of the rows that [`Runner::input`] has returned; returns the number of inserted
    /// ones.
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub async fn insert_part<E: Env>(
        &mut self,
        transaction: &mut Transaction<'_, E>,
        tables: &Tables,
        statement: &SingleStatement,
        parameters: &[Value],
        (input, part): (&Rows, Range<usize>),
    ) -> Result<u64, StatementError> {
        let insert = statement.insert()?;
        let mut run = self.run_of(transaction, tables, statement, (parameters, false));
        Ok(run.insert_part(insert, input, part).await?)
    }

    /// Prepares for a part of a statement.
    pub(crate) fn run_of<'r, 'l, E: Env>(
        &'r mut self,
        txn: &'r mut Transaction<'l, E>,
        tables: &'r Tables,
        statement: &'r SingleStatement,
        (parameters, only_looks): (&[Value], bool),
    ) -> Run<'r, 'l, E> {
        let frame = &mut self.frame;
        frame.variables.clear();
        frame.variables.extend_from_slice(parameters);
        frame.only_looks = only_looks;
        frame.processed = 0;
        frame.begin_statement(&statement.statement);
        Run { txn, tables: &tables.bound, frame, statement: &statement.statement }
    }
}
