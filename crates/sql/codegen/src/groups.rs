//! Prints groups of rows of one table: rows in the order of the grouping keys, in which adjacent
//! rows with equal keys form a group. Groups come in that order, like the executor's.
//!
//! Decision: docs/decisions/0273-groups-are-adjacent-rows.md

use crate::aggregate::{Gathered, gather};
use crate::chain::Chain;
use crate::code::Code;
use crate::function::Function;
use crate::node::Each;
use crate::truth::same;
use crate::unsupported::Unsupported;
use procedure::node::{Node, Operator, SortKey};
use sql::expression::{Expr, ExprKind};

type Result<T> = std::result::Result<T, Unsupported>;

/// Groups of the rows of a chain.
pub struct Groups<'a> {
    /// The outputs, over the first row of each group and its aggregates.
    outputs: &'a [Expr],
    keys: &'a [Expr],
    filter: Option<&'a Expr>,
    chain: Chain<'a>,
    /// The order of the groups, if it is not the order of the rows.
    order: Option<Vec<SortKey>>,
}

impl<'a> Groups<'a> {
    /// Returns `node` as groups, if it is an aggregation, optionally sorted by its grouping keys.
    pub fn of(node: &'a Node) -> Option<Self> {
        match &node.operator {
            Operator::Aggregate { keys, is_sorted, filter, input } if !keys.is_empty() => {
                let order = (!is_sorted).then(|| keys.iter().map(ascending).collect());
                let chain = Chain::of(input).filter(is_whole)?;
                Some(Self { outputs: &node.outputs, keys, filter: filter.as_ref(), chain, order })
            }
            Operator::Unique { input } if is_same(&node.outputs) => {
                let chain = Chain::of(input).filter(is_whole)?;
                let outputs = input.outputs.as_slice();
                if !is_same(outputs) {
                    return None;
                }
                Some(Self { outputs, keys: outputs, filter: None, chain, order: None })
            }
            Operator::Sort { keys, input } if is_same(&node.outputs) => {
                let mut groups = Self::of(input)?;
                let mut order = Vec::new();
                for key in keys {
                    let ExprKind::Column(column) = &key.value.kind else { return None };
                    let value = groups.outputs.get(column.column)?;
                    groups.keys.iter().find(|known| *known == value)?;
                    order.push(SortKey { value: value.clone(), ..key.clone() });
                }
                order.extend(groups.keys.iter().map(ascending));
                groups.order = Some(order);
                Some(groups)
            }
            _ => None,
        }
    }
}

/// Whether a node delivers its input unchanged.
fn is_same(outputs: &[Expr]) -> bool {
    let mut columns = outputs.iter().enumerate();
    columns.all(|(at, expr)| match &expr.kind {
        ExprKind::Column(column) => column.level == 0 && column.source == 0 && column.column == at,
        _ => false,
    })
}

/// Whether all rows of a chain are used.
fn is_whole(chain: &Chain<'_>) -> bool {
    chain.limit.is_none() && chain.offset.is_none() && !chain.is_locked
}

fn ascending(value: &Expr) -> SortKey {
    SortKey { value: value.clone(), descending: false, nulls_first: false }
}

impl<'a> Function<'a> {
    /// Prints `body` for each group.
    pub fn groups(
        &mut self,
        groups: &Groups<'a>,
        outer: &[Vec<Code>],
        body: Each<'_, 'a>,
    ) -> Result<()> {
        let chain = &groups.chain;
        let mut gathered = Vec::new();
        let outputs: Vec<Expr> =
            groups.outputs.iter().map(|expr| gather(expr, 1, &mut gathered)).collect();
        let filter = groups.filter.map(|expr| gather(expr, 1, &mut gathered));
        let rows = self.rows(chain, false, outer)?;
        // The rows are sorted, so no other statement can reuse the list.
        self.again.is_wanted = false;
        if let Some(filter) = chain.filter_behind() {
            self.filter_rows(chain, &rows, filter, outer)?;
        }
        if let Some(order) = &groups.order {
            self.sort(chain, &rows, order, chain.outputs.len(), outer)?;
        }
        let (rest, group) = (self.names.fresh("rest"), self.names.fresh("group"));
        let first = self.row(chain.scan.table);
        self.line(format!("let mut {rest} = {rows}.as_slice();"));
        self.line(format!("while let Some(&{}) = {rest}.first() {{", first.id));
        let same = self.same_group(groups, outer)?;
        let alike = self.names.fresh("alike");
        self.line(format!(
            "let {alike} = {rest}.iter().take_while(|&&b| {{ let (left, right) = (call.txn.row({}), call.txn.row(b)); {same} }}).count();",
            first.id
        ));
        self.line(match gathered.is_empty() {
            true => format!("{rest} = &{rest}[{alike}..];"),
            false => format!("let {group};\n({group}, {rest}) = {rest}.split_at({alike});"),
        });
        let values = self.gather_group(chain, &gathered, &group, outer)?;
        let columns = self.columns(chain.scan.table, &first);
        let columns = self.chain_outputs(chain, &columns, outer, chain.outputs.len())?;
        let sources = [columns.as_slice(), values.as_slice()];
        let outputs: Vec<Code> = outputs
            .iter()
            .map(|expr| self.scope(&sources, outer).code(expr))
            .collect::<Result<_>>()?;
        self.filtered(filter.as_ref(), &sources, outer, &mut |function| body(function, &outputs))?;
        self.line(format!("}}\ncall.scratch.give_rows({rows});"));
        Ok(())
    }

    /// Returns a condition: whether the rows `left` and `right` belong to one group.
    fn same_group(&mut self, groups: &Groups<'a>, outer: &[Vec<Code>]) -> Result<String> {
        let chain = &groups.chain;
        let side = |function: &mut Self, record: &str| -> Result<Vec<Code>> {
            let row = crate::code::FoundRow { id: String::new(), record: record.to_owned() };
            let columns = function.columns(chain.scan.table, &row);
            let outputs = function.chain_outputs(chain, &columns, outer, chain.outputs.len())?;
            function.codes(groups.keys, &outputs, outer)
        };
        let (left, right) = (side(self, "left")?, side(self, "right")?);
        let mut tests = Vec::new();
        for (a, b) in left.iter().zip(&right) {
            if a.can_stop() {
                return Err(Unsupported::new("a grouping key that may fail"));
            }
            tests.push(same(a, b)?);
        }
        Ok(tests.join(" && "))
    }

    /// Prints the accumulation of a group's rows, and returns the results of its aggregates.
    fn gather_group(
        &mut self,
        chain: &Chain<'a>,
        gathered: &[Gathered],
        group: &str,
        outer: &[Vec<Code>],
    ) -> Result<Vec<Code>> {
        let accumulators: Vec<_> =
            gathered.iter().map(|of| self.begin_aggregate(of)).collect::<Result<_>>()?;
        let row = self.row(chain.scan.table);
        let columns = self.columns(chain.scan.table, &row);
        let columns = self.chain_outputs(chain, &columns, outer, chain.outputs.len())?;
        if !gathered.is_empty() {
            self.line(format!("for &{} in {group} {{", row.id));
            for (of, value) in gathered.iter().zip(&accumulators) {
                self.take_in(of, &value.name, &columns, outer)?;
            }
            self.line("}");
        }
        let mut values = Vec::new();
        for (of, value) in gathered.iter().zip(accumulators) {
            let argument = match &of.argument {
                Some(argument) => Some(self.scope(&[&columns], outer).code(argument)?),
                None => None,
            };
            values.push(self.end_aggregate(of, value, argument)?);
        }
        Ok(values)
    }
}
