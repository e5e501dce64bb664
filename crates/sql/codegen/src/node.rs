//! Prints plans as nested loops around the code for each row.

use crate::access::{ends, key};
use crate::ahead::AheadRow;
use crate::chain::Chain;
use crate::code::{Code, FoundRow, Kind};
use crate::expression::{Scope, slice};
use crate::function::Function;
use crate::groups::Groups;
use crate::names::identifier;
use crate::unsupported::Unsupported;
use procedure::node::{Access, Join, JoinKind, JoinMethod, Node, Operator, Range, SortKey};
use sql::expression::{Expr, ExprKind};
use sql::{Catalog, Table};
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, Unsupported>;
/// Prints the code for a row, given its columns.
pub type Each<'b, 'a> = &'b mut dyn FnMut(&mut Function<'a>, &[Code]) -> Result<()>;
/// As [`Each`], for an outer and an inner row.
type EachPair<'b, 'a> = &'b mut dyn FnMut(&mut Function<'a>, &[Code], &[Code]) -> Result<()>;
/// As [`Each`], with the table's row itself.
pub type EachRow<'b, 'a> = &'b mut dyn FnMut(&mut Function<'a>, &FoundRow, &[Code]) -> Result<()>;

impl<'a> Function<'a> {
    /// Prints `body` for each row that `node` delivers. `outer` has the rows of the levels above,
    /// innermost first.
    pub fn each(&mut self, node: &'a Node, outer: &[Vec<Code>], body: Each<'_, 'a>) -> Result<()> {
        if let Some(chain) = Chain::of(node) {
            return self
                .each_row(&chain, outer, &mut |function, _, columns| body(function, columns));
        }
        if let Some(groups) = Groups::of(node) {
            return self.groups(&groups, outer, body);
        }
        match &node.operator {
            Operator::Project { condition: None, filter: None, input: None } => {
                let columns = self.codes(&node.outputs, &[], outer)?;
                body(self, &columns)
            }
            Operator::Project { condition: None, filter, input: Some(input) } => {
                self.each(input, outer, &mut |function, columns| {
                    let outputs = function.codes(&node.outputs, columns, outer)?;
                    function.filtered(filter.as_ref(), &[columns], outer, &mut |function| {
                        body(function, &outputs)
                    })
                })
            }
            Operator::Join(join) => self.join(node, join, outer, body),
            Operator::Aggregate { keys, filter: None, input, .. } if keys.is_empty() => {
                self.aggregate(node, input, outer, body)
            }
            Operator::Insert(_) | Operator::Update(_) | Operator::Delete(_) => {
                self.change(node, outer, body)
            }
            other => Err(Unsupported::new(format!("a plan with {}", name_of(other)))),
        }
    }

    /// As [`Function::each`], for the rows of one table.
    pub fn each_row(
        &mut self,
        chain: &Chain<'a>,
        outer: &[Vec<Code>],
        body: EachRow<'_, 'a>,
    ) -> Result<()> {
        let takes_first = std::mem::take(&mut self.takes_first);
        let row = self.row(chain.scan.table);
        if let Access::Key(values) = &chain.scan.access
            && chain.is_single()
        {
            let source = self.row_source(chain.scan.table, values, outer)?;
            return self.one_row(chain, &row, &source, outer, body);
        }
        let takes_first = takes_first && chain.filter_behind().is_none();
        let is_ahead = outer.is_empty() && self.ahead.range(self.statement).is_some();
        let rows = self.rows(chain, takes_first, outer)?;
        let (skip, take) = self.bounds(chain, outer)?;
        if takes_first {
            self.line(format!("let {} = {rows}.iter(){skip}{take}.next().copied();", row.id));
            if !is_ahead {
                self.line(format!("call.scratch.give_rows({rows});"));
            }
            let source = row.id.clone();
            return self.one_row(chain, &row, &source, outer, body);
        }
        let is_wanted_again = std::mem::take(&mut self.again.is_wanted);
        self.line(format!("for &{} in {rows}.iter(){skip}{take} {{", row.id));
        self.row_body(chain, &row, outer, body)?;
        self.line("}");
        match is_wanted_again {
            true => self.again.rows = Some(rows),
            false if is_ahead => {}
            false => self.line(format!("call.scratch.give_rows({rows});")),
        }
        Ok(())
    }

    /// Prints finding the row of `source`: as `let else` if there is code for a missing row,
    /// otherwise as an `if` around the code for the row.
    fn one_row(
        &mut self,
        chain: &Chain<'a>,
        row: &FoundRow,
        source: &str,
        outer: &[Vec<Code>],
        body: EachRow<'_, 'a>,
    ) -> Result<()> {
        if let Some(otherwise) = self.otherwise.take() {
            self.line(format!("let Some({}) = {source} else {{ {otherwise} }};", row.id));
            self.note_available_row(chain.scan.table, row);
            return self.row_body(chain, row, outer, body);
        }
        self.line(format!("if let Some({}) = {source} {{", row.id));
        self.row_body(chain, row, outer, body)?;
        self.line("}");
        Ok(())
    }

    /// Returns the expression that finds a row by its key.
    fn row_source(
        &mut self,
        table: usize,
        values: &'a [Expr],
        outer: &[Vec<Code>],
    ) -> Result<String> {
        let place = self.ahead.place(self.statement).filter(|_| outer.is_empty()).cloned();
        if let Some(AheadRow::Read(place)) = place {
            return Ok(place);
        }
        let of = self.table(table);
        let key = key(self.scope(&[], outer), of, of.schema.key(), values)?;
        self.records([&key]);
        let read = format!("call.txn.read(tables.{}, &{}).await?", identifier(&of.name), key.text);
        let Some(AheadRow::Perhaps(at)) = place else { return Ok(read) };
        let found = self.names.fresh(&format!("{}_found", of.name));
        self.line(format!(
            "let {found} = match {at} {{ Some(at) => call.scratch.found[at], None => {read} }};"
        ));
        Ok(found)
    }

    /// Prints the code for a row: its filter, its lock, and `body`.
    pub fn row_body(
        &mut self,
        chain: &Chain<'a>,
        row: &FoundRow,
        outer: &[Vec<Code>],
        body: EachRow<'_, 'a>,
    ) -> Result<()> {
        let columns = self.columns(chain.scan.table, row);
        let filter = chain.filter_behind();
        let outputs = self.chain_outputs(chain, &columns, outer, chain.outputs.len())?;
        self.filtered(filter, &[&columns], outer, &mut |function| {
            if chain.is_locked {
                function.line(format!("call.txn.update({});", row.id));
            }
            body(function, row, &outputs)
        })
    }

    /// Returns the outputs of a chain's first nodes.
    pub fn chain_outputs(
        &self,
        chain: &Chain<'a>,
        columns: &[Code],
        outer: &[Vec<Code>],
        nodes: usize,
    ) -> Result<Vec<Code>> {
        let mut outputs = columns.to_vec();
        for exprs in &chain.outputs[..nodes] {
            outputs = self.supported_codes(exprs, &outputs, outer);
        }
        Ok(outputs)
    }

    /// Returns the code of expressions over one source; an unsupported one is an error only where
    /// it is used.
    pub fn supported_codes(
        &self,
        exprs: &[Expr],
        source: &[Code],
        outer: &[Vec<Code>],
    ) -> Vec<Code> {
        exprs.iter().map(|expr| code_or_unsupported(self.scope(&[source], outer), expr)).collect()
    }

    /// Prints `body` under a condition.
    pub fn filtered(
        &mut self,
        filter: Option<&Expr>,
        sources: &[&[Code]],
        outer: &[Vec<Code>],
        body: &mut dyn FnMut(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let Some(filter) = filter else { return body(self) };
        let condition = self.scope(sources, outer).condition(filter)?;
        self.records([&condition]);
        self.line(format!("if {} {{", condition.text));
        body(self)?;
        self.line("}");
        Ok(())
    }

    /// Prints a list of a chain's rows, in order; if they are sorted or limited, they are also
    /// filtered.
    pub fn rows(
        &mut self,
        chain: &Chain<'a>,
        takes_first: bool,
        outer: &[Vec<Code>],
    ) -> Result<String> {
        let filter = chain.scan.filter.as_ref().filter(|_| chain.filter_behind().is_none());
        let ahead = self.ahead.range(self.statement).filter(|_| outer.is_empty());
        let rows = match ahead.map(str::to_owned) {
            Some(ahead) => ahead,
            None => self.found_rows(chain, takes_first, outer)?,
        };
        if let Some(filter) = filter {
            self.filter_rows(chain, &rows, filter, outer)?;
        }
        if let Some((keys, nodes)) = chain.sort {
            self.sort(chain, &rows, keys, nodes, outer)?;
        }
        Ok(rows)
    }

    /// Prints filtering the list of a chain's rows.
    pub fn filter_rows(
        &mut self,
        chain: &Chain<'a>,
        rows: &str,
        filter: &Expr,
        outer: &[Vec<Code>],
    ) -> Result<()> {
        let row = self.row(chain.scan.table);
        let columns = self.columns(chain.scan.table, &row);
        let condition = self.scope(&[&columns], outer).condition(filter)?;
        if condition.text.contains('?') {
            return Err(Unsupported::new(
                "a condition that may fail on rows that are sorted, limited or grouped",
            ));
        }
        self.line(format!("{rows}.retain(|&{}| {{", row.id));
        self.records([&condition]);
        self.line(format!("{} }});", condition.text));
        Ok(())
    }

    /// Prints a list of the rows that a scan finds, before the filter.
    fn found_rows(
        &mut self,
        chain: &Chain<'a>,
        takes_first: bool,
        outer: &[Vec<Code>],
    ) -> Result<String> {
        let table = self.table(chain.scan.table);
        let rows = self.names.fresh(&format!("{}_rows", table.name));
        let known = self.again.rows.take();
        let source = known.as_deref().unwrap_or("call.scratch.take_rows()");
        self.line(format!("let mut {rows} = {source};"));
        let limit = self.limit(chain, takes_first, outer)?;
        match known {
            Some(_) if limit == "usize::MAX" => {}
            Some(_) => self.line(format!("{rows}.truncate({limit});")),
            None => self.find(chain, &rows, &limit, outer)?,
        }
        Ok(rows)
    }

    /// Returns the maximum number of rows that the scan of a chain must find.
    pub fn limit(
        &self,
        chain: &Chain<'a>,
        takes_first: bool,
        outer: &[Vec<Code>],
    ) -> Result<String> {
        let is_filtered = chain.scan.filter.is_some() && chain.filter_behind().is_none();
        let is_bounded_there = chain.sort.is_none() && !is_filtered && chain.offset.is_none();
        Ok(match chain.limit {
            Some(limit) if is_bounded_there => {
                format!("count({})?", self.row_count(limit, outer)?.known())
            }
            None if is_bounded_there && takes_first => "1".to_owned(),
            _ => "usize::MAX".to_owned(),
        })
    }

    /// Returns a number of rows to skip or to take.
    fn row_count(&self, expr: &Expr, outer: &[Vec<Code>]) -> Result<Code> {
        let code = self.scope(&[], outer).code(expr)?;
        match code.rows.is_empty() {
            true => Ok(code),
            false => Err(Unsupported::new("a number of rows that depends on a column")),
        }
    }

    /// Returns a range of a table's keys, or of an index.
    pub fn range(
        &mut self,
        table: usize,
        range: &Range,
        limit: &str,
        outer: &[Vec<Code>],
    ) -> Result<String> {
        let table = self.table(table);
        let (columns, source) = match range.index {
            Some(index) => {
                let index = &table.indexes[index];
                let name = index_name(table, &index.name);
                (index.columns.as_slice(), format!("ScanSource::Index(tables.{name})"))
            }
            None => {
                let name = identifier(&table.name);
                (table.schema.key(), format!("ScanSource::Table(tables.{name})"))
            }
        };
        let ends = ends(self.scope(&[], outer), table, columns, range)?;
        self.records(&ends.parts);
        let (low, high, reverse) = (ends.low, ends.high, range.is_backward);
        Ok(format!(
            "Scan {{ source: {source}, low: {low}, high: {high}, reverse: {reverse}, limit: {limit} }}"
        ))
    }

    /// Prints filling a list with the rows that a scan finds.
    fn find(
        &mut self,
        chain: &Chain<'a>,
        rows: &str,
        limit: &str,
        outer: &[Vec<Code>],
    ) -> Result<()> {
        let scan = chain.scan;
        let table = self.table(scan.table);
        let name = identifier(&table.name);
        match &scan.access {
            Access::Key(values) => {
                let key = key(self.scope(&[], outer), table, table.schema.key(), values)?;
                self.records([&key]);
                self.line(format!(
                    "{rows}.extend(call.txn.read(tables.{name}, &{}).await?);",
                    key.text
                ));
            }
            Access::Lookup { index, key: values } => {
                let index = &table.indexes[*index];
                let key = key(self.scope(&[], outer), table, &index.columns, values)?;
                self.records([&key]);
                let index = index_name(table, &index.name);
                self.line(format!(
                    "call.txn.lookup(tables.{index}, &{}, &mut {rows}).await?;",
                    key.text
                ));
                if limit != "usize::MAX" {
                    self.line(format!("{rows}.truncate({limit});"));
                }
            }
            Access::Range(range) => {
                let range = self.range(scan.table, range, limit, outer)?;
                self.line(format!("let range = {range};"));
                self.line(format!("call.txn.scan(&range, &mut {rows}).await?;"));
            }
            _ => return Err(Unsupported::new("a scan of a whole table, or by several keys")),
        }
        Ok(())
    }

    /// Prints sorting a chain's rows by keys over the outputs of its first nodes.
    pub fn sort(
        &mut self,
        chain: &Chain<'a>,
        rows: &str,
        keys: &[SortKey],
        nodes: usize,
        outer: &[Vec<Code>],
    ) -> Result<()> {
        let side = |function: &mut Self, id: &str, record: &str| -> Result<Vec<Code>> {
            let row = FoundRow { id: id.to_owned(), record: record.to_owned() };
            let columns = function.columns(chain.scan.table, &row);
            let outputs = function.chain_outputs(chain, &columns, outer, nodes)?;
            keys.iter().map(|key| function.scope(&[&outputs], outer).code(&key.value)).collect()
        };
        let left = side(self, "a", "left")?;
        let right = side(self, "b", "right")?;
        let mut orders = Vec::new();
        for ((key, a), b) in keys.iter().zip(&left).zip(&right) {
            if a.text.contains('?') || a.kind == Kind::Float {
                return Err(Unsupported::new("a sort key that may fail, or is a float"));
            }
            let (first, second) = if key.descending { (b, a) } else { (a, b) };
            // In Rust, `None` comes first.
            let is_other = key.nulls_first == key.descending;
            let operand = |code: &Code| match code.kind {
                _ if code.is_nullable && is_other => {
                    let text = crate::expression::atom(&code.text);
                    format!("&({text}.is_none(), {text})")
                }
                Kind::Text if !code.is_nullable => slice(&code.text),
                _ => format!("&{}", crate::expression::atom(&code.text)),
            };
            orders.push(format!("Ord::cmp({}, {})", operand(first), operand(second)));
        }
        self.line(format!("{rows}.sort_by(|&a, &b| {{"));
        self.line("let (left, right) = (call.txn.row(a), call.txn.row(b));");
        let (first, rest) =
            orders.split_first().ok_or_else(|| Unsupported::new("a sort without keys"))?;
        let rest: String = rest.iter().map(|order| format!(".then_with(|| {order})")).collect();
        self.line(format!("{first}{rest} }});"));
        Ok(())
    }

    /// Returns the offset and the limit, as calls on an iterator.
    pub fn bounds(&mut self, chain: &Chain<'a>, outer: &[Vec<Code>]) -> Result<(String, String)> {
        let is_limited_by_scan =
            chain.sort.is_none() && chain.scan.filter.is_none() && chain.offset.is_none();
        let bound = |function: &Self, expr: Option<&Expr>, name: &str| -> Result<String> {
            let Some(expr) = expr else { return Ok(String::new()) };
            let code = function.row_count(expr, outer)?;
            Ok(format!(".{name}(count({})?)", code.known()))
        };
        let skip = bound(self, chain.offset, "skip")?;
        let take = bound(self, chain.limit.filter(|_| !is_limited_by_scan), "take")?;
        Ok((skip, take))
    }

    fn join(
        &mut self,
        node: &'a Node,
        join: &'a Join,
        outer: &[Vec<Code>],
        body: Each<'_, 'a>,
    ) -> Result<()> {
        if join.method != JoinMethod::NestedLoop || join.kind != JoinKind::Inner {
            return Err(Unsupported::new("a join other than a nested loop"));
        }
        let mut pair = |function: &mut Self, outside: &[Code], inside: &[Code]| -> Result<()> {
            let sources = [outside, inside];
            let scope = function.scope(&sources, outer);
            let outputs: Vec<Code> =
                node.outputs.iter().map(|expr| code_or_unsupported(scope, expr)).collect();
            function.filtered(join.join_filter.as_ref(), &sources, outer, &mut |function| {
                function.filtered(join.filter.as_ref(), &sources, outer, &mut |function| {
                    body(function, &outputs)
                })
            })
        };
        if let (Some(first), Some(second)) = (Chain::of(&join.outer), Chain::of(&join.inner))
            && !first.is_single()
            && first.scan.filter.is_none()
            && second.is_single()
            && !second.is_locked
        {
            return self.join_by_key(&first, &second, outer, &mut pair);
        }
        self.each(&join.outer, outer, &mut |function, outside| {
            let scopes: Vec<Vec<Code>> =
                std::iter::once(outside.to_vec()).chain(outer.iter().cloned()).collect();
            function
                .each(&join.inner, &scopes, &mut |function, inside| pair(function, outside, inside))
        })
    }

    /// Prints a join whose inner rows are found by key: all are read in one round trip.
    fn join_by_key(
        &mut self,
        first: &Chain<'a>,
        second: &Chain<'a>,
        outer: &[Vec<Code>],
        pair: EachPair<'_, 'a>,
    ) -> Result<()> {
        let Access::Key(values) = &second.scan.access else {
            return Err(Unsupported::new("a join whose inner rows are not found by key"));
        };
        let rows = self.rows(first, false, outer)?;
        let (skip, take) = self.bounds(first, outer)?;
        let outside = self.row(first.scan.table);
        let inside = self.row(second.scan.table);
        let columns = self.columns(first.scan.table, &outside);
        let outputs = self.chain_outputs(first, &columns, outer, first.outputs.len())?;
        let scopes: Vec<Vec<Code>> =
            std::iter::once(outputs.clone()).chain(outer.iter().cloned()).collect();
        let table = self.table(second.scan.table);
        let key = key(self.scope(&[], &scopes), table, table.schema.key(), values)?;
        let name = identifier(&table.name);
        let found = self.names.fresh(&format!("{}_found", table.name));
        self.line(format!("let mut {found} = call.scratch.take_found();"));
        self.line("call.scratch.reads.clear();");
        self.line(format!("for &{} in {rows}.iter(){skip}{take} {{", outside.id));
        self.records([&key]);
        self.line(format!("call.scratch.reads.push((tables.{name}, {})); }}", key.text));
        self.read_many(&BTreeSet::from([second.scan.table]), &found);
        let (one, other) = (&outside.id, &inside.id);
        self.line(format!("for (&{one}, &{other}) in {rows}.iter(){skip}{take}.zip(&{found}) {{"));
        self.line(format!("let Some({other}) = {other} else {{ continue }};"));
        self.row_body(second, &inside, &scopes, &mut |function, _, columns| {
            pair(function, &outputs, columns)
        })?;
        self.line("}");
        self.line(format!("call.scratch.give_found({found});"));
        self.line(format!("call.scratch.give_rows({rows});"));
        Ok(())
    }

    /// Returns a table of the catalog.
    pub fn table(&self, table: usize) -> &'a Table {
        let catalog: &'a Catalog = &self.workload.catalog;
        &catalog.tables[table]
    }
}

/// Returns the code of an expression, or an empty text that names the reason if it is unsupported.
fn code_or_unsupported(scope: Scope<'_>, expr: &Expr) -> Code {
    let kind = match expr.kind {
        ExprKind::Column(column) if scope.is_unreadable(column) => Kind::Unreadable,
        _ => Kind::Unknown,
    };
    scope.code(expr).unwrap_or_else(|_| Code::new("", kind))
}

/// Returns the name of an index in the module of the tables.
pub fn index_name(table: &Table, index: &str) -> String {
    identifier(&format!("{}_by_{index}", table.name))
}

fn name_of(operator: &Operator) -> &'static str {
    match operator {
        Operator::Sort { .. } => "a sort of computed rows",
        Operator::Limit { .. } => "a LIMIT of computed rows",
        Operator::Aggregate { .. } => "groups",
        Operator::Unique { .. } => "DISTINCT",
        Operator::Values { .. } => "VALUES of several rows",
        Operator::Unnest { .. } | Operator::Series { .. } => "a set-returning function",
        Operator::Append { .. } | Operator::MergeAppend { .. } => "UNION",
        Operator::SetOperation { .. } => "INTERSECT and EXCEPT",
        Operator::Window { .. } => "window functions",
        Operator::Shared { .. } => "WITH",
        _ => "this kind of node",
    }
}
