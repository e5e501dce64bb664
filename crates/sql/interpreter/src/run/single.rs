//! Executes nodes with one input or none, and appends.
//!
//! Decision: docs/decisions/0203-a-statement-about-one-row-by-key-is-plain-code-around.md

use super::{ALL, NodeContext, Run, evaluate_output};
use crate::error::{Result, plain};
use crate::plan::{List, Node, Outputs, SortKey, Term};
use crate::rows::Rows;
use crate::scope::Outer;
use fabric::Env;
use sql_value::Value;

impl<E: Env> Run<'_, '_, E> {
    /// Delivers the outputs of a node for the input rows that pass the filter.
    pub(super) async fn deliver_all(
        &mut self,
        (node, filter): (&Node, Option<&Term>),
        input: Rows,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        if filter.is_none() && matches!(node.outputs, Outputs::Same) {
            let mut input = input;
            input.keep(0, under.wanted);
            rows.append(&mut input);
            self.frame.scratch.give_back(input);
            return Ok(());
        }
        let most = rows.len().saturating_add(under.wanted);
        for at in 0..input.len() {
            if rows.len() >= most {
                break;
            }
            let id = input.id(at);
            self.deliver((node, filter), [input.row(at), &[]], id, under.outer, rows).await?;
        }
        self.frame.scratch.give_back(input);
        Ok(())
    }

    pub(super) async fn limit(
        &mut self,
        (limit, offset): (Option<&Term>, Option<&Term>),
        input: &Node,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        self.forget(node);
        let offset = self.count_of(offset, under.outer, ("2201X", "OFFSET")).await?.unwrap_or(0);
        let limit = self.count_of(limit, under.outer, ("2201W", "LIMIT")).await?.unwrap_or(ALL);
        let most = limit.min(under.wanted);
        let wanted = most.saturating_add(offset);
        let mut found = match most {
            0 => Rows::new(input.width),
            _ => self.rows_of(input, NodeContext { wanted, ..under }).await?,
        };
        found.keep(offset, most);
        self.deliver_all((node, None), found, under, rows).await
    }

    /// Evaluates a number of rows; `None` if it is absent or null.
    async fn count_of(
        &mut self,
        term: Option<&Term>,
        outer: Option<&Outer<'_>>,
        (sqlstate, clause): (&'static str, &str),
    ) -> Result<Option<usize>> {
        let Some(term) = term else { return Ok(None) };
        match self.free_value(term, outer).await? {
            Value::Int(count) if count < 0 => {
                Err(plain(sqlstate, format!("{clause} must not be negative")))
            }
            Value::Int(count) => Ok(Some(usize::try_from(count).unwrap_or(ALL))),
            _ => Ok(None),
        }
    }

    pub(super) async fn project(
        &mut self,
        (condition, filter): (Option<&Term>, Option<&Term>),
        input: Option<&Node>,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        self.forget(node);
        if under.wanted == 0 || !self.holds(condition, [&[], &[]], under.outer).await? {
            return Ok(());
        }
        let Some(input) = input else {
            return self.deliver((node, filter), [&[], &[]], None, under.outer, rows).await;
        };
        let wanted = if filter.is_some() { ALL } else { under.wanted };
        let found = self.rows_of(input, NodeContext { wanted, ..under }).await?;
        self.deliver_all((node, filter), found, under, rows).await
    }

    pub(super) async fn values(
        &mut self,
        lists: &[List],
        filter: Option<&Term>,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let most = rows.len().saturating_add(under.wanted);
        for list in lists {
            if rows.len() >= most {
                break;
            }
            let row = self.list_values(list, [&[], &[]], under.outer).await?;
            self.deliver((node, filter), [&row, &[]], None, under.outer, rows).await?;
        }
        Ok(())
    }

    /// Evaluates a list over intermediate rows.
    pub(super) async fn list_values(
        &mut self,
        list: &List,
        sources: [&[Value]; 2],
        outer: Option<&Outer<'_>>,
    ) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(list.outputs.len());
        for output in &list.outputs {
            let value = match output {
                crate::plan::Output::Term(term) if term.uses_sub_plans => {
                    self.value(&term.formula, sources, outer).await?
                }
                output => {
                    let view = self.view(sources.map(crate::scope::Source::Values), outer);
                    evaluate_output(output, &view)?
                }
            };
            values.push(value);
        }
        Ok(values)
    }

    pub(super) async fn unnest(
        &mut self,
        arrays: &[Term],
        filter: Option<&Term>,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        self.forget(node);
        let mut columns = Vec::with_capacity(arrays.len());
        for array in arrays {
            columns.push(match self.free_value(array, under.outer).await? {
                Value::Array(elements) => Some(elements),
                _ => None,
            });
        }
        let most = rows.len().saturating_add(under.wanted);
        let longest = columns.iter().flatten().map(|column| column.len()).max().unwrap_or(0);
        let mut row = vec![Value::Null; columns.len()];
        for at in 0..longest {
            if rows.len() >= most {
                break;
            }
            for (value, column) in row.iter_mut().zip(&columns) {
                let element = column.as_ref().and_then(|column| column.get(at));
                *value = element.cloned().unwrap_or(Value::Null);
            }
            self.deliver((node, filter), [&row, &[]], None, under.outer, rows).await?;
        }
        Ok(())
    }

    pub(super) async fn series(
        &mut self,
        bounds: &[Term],
        filter: Option<&Term>,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        self.forget(node);
        let mut values = Vec::with_capacity(bounds.len());
        for bound in bounds {
            values.push(self.free_value(bound, under.outer).await?);
        }
        let Some(mut series) = Series::new(&values)? else { return Ok(()) };
        let most = rows.len().saturating_add(under.wanted);
        while rows.len() < most
            && let Some(number) = series.next()
        {
            self.deliver((node, filter), [&[number], &[]], None, under.outer, rows).await?;
        }
        Ok(())
    }

    pub(super) async fn append(
        &mut self,
        inputs: &[Node],
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let most = rows.len().saturating_add(under.wanted);
        for input in inputs {
            let wanted = most - rows.len().min(most);
            if wanted == 0 {
                break;
            }
            let under = NodeContext { wanted, ..under };
            let found = self.rows_of(input, under).await?;
            self.deliver_all((node, None), found, under, rows).await?;
        }
        Ok(())
    }

    /// The inputs are sorted, so that each needs to deliver at most as many rows as are needed in
    /// total.
    pub(super) async fn merge_append(
        &mut self,
        keys: &[SortKey],
        inputs: &[Node],
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let mut all = Rows::new(inputs.first().map_or(0, |input| input.width));
        for input in inputs {
            all.append(&mut self.rows_of(input, under).await?);
        }
        let sorted = self.sorted(keys, all, under.outer).await?;
        self.deliver_all((node, None), sorted, under, rows).await
    }

    pub(super) async fn shared(
        &mut self,
        plan: usize,
        filter: Option<&Term>,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let shared = self.shared_rows(plan, under.outer).await?;
        let most = rows.len().saturating_add(under.wanted);
        for row in shared.iter() {
            if rows.len() >= most {
                break;
            }
            self.deliver((node, filter), [row, &[]], None, under.outer, rows).await?;
        }
        Ok(())
    }

    /// Writes the rows unchanged, so that the commit fails if another transaction has changed one
    /// of them.
    pub(super) async fn lock(
        &mut self,
        input: &Node,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let found = self.rows_of(input, under).await?;
        for at in 0..found.len() {
            if let Some(id) = found.id(at) {
                self.txn.update(id);
            }
        }
        self.deliver_all((node, None), found, under, rows).await
    }

    pub(super) async fn unique(
        &mut self,
        input: &Node,
        node: &Node,
        under: NodeContext<'_>,
        rows: &mut Rows,
    ) -> Result<()> {
        let found = self.rows_of(input, NodeContext { wanted: ALL, ..under }).await?;
        let most = rows.len().saturating_add(under.wanted);
        for at in 0..found.len() {
            if rows.len() >= most {
                break;
            }
            let row = found.row(at);
            if at > 0 && sql_value::order::order_all(found.row(at - 1), row).is_eq() {
                continue;
            }
            self.deliver((node, None), [row, &[]], found.id(at), under.outer, rows).await?;
        }
        Ok(())
    }
}

struct Series {
    next: Option<i64>,
    last: i64,
    step: i64,
}

impl Series {
    /// `None` if a bound is null: the series is empty.
    fn new(bounds: &[Value]) -> Result<Option<Self>> {
        let mut numbers = [1; 3];
        for (number, bound) in numbers.iter_mut().zip(bounds) {
            let Value::Int(bound) = bound else { return Ok(None) };
            *number = *bound;
        }
        let [first, last, step] = numbers;
        match step {
            0 => Err(plain("22023", "step size cannot equal zero")),
            step => Ok(Some(Self { next: Some(first), last, step })),
        }
    }

    fn next(&mut self) -> Option<Value> {
        let number = self.next?;
        let is_over = if self.step > 0 { number > self.last } else { number < self.last };
        self.next = number.checked_add(self.step).filter(|_| !is_over);
        (!is_over).then_some(Value::Int(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bounds: &[i64]) -> Vec<Value> {
        let bounds: Vec<Value> = bounds.iter().map(|bound| Value::Int(*bound)).collect();
        let mut series = Series::new(&bounds).expect("a step that leads on").expect("no nulls");
        std::iter::from_fn(|| series.next()).collect()
    }

    #[test]
    fn series_go_up_and_down_and_may_be_empty() {
        let whole = |numbers: &[i64]| numbers.iter().map(|n| Value::Int(*n)).collect::<Vec<_>>();
        assert_eq!(numbers(&[1, 3]), whole(&[1, 2, 3]));
        assert_eq!(numbers(&[5, 1, -2]), whole(&[5, 3, 1]));
        assert_eq!(numbers(&[2, 1]), whole(&[]));
        assert_eq!(numbers(&[i64::MAX - 1, i64::MAX]), whole(&[i64::MAX - 1, i64::MAX]));
        assert!(Series::new(&[Value::Int(1), Value::Int(2), Value::Int(0)]).is_err());
    }
}
