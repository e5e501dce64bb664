//! Window functions: calls, windows and their frames. `split` gives them their place in the query.

use super::aggregate::named as aggregate_named;
use super::coerce::Context;
use super::operator::comparison_type;
use super::scope::Scope;
use super::split::{is_constant, key_value};
use super::{Resolver, ident_name};
use crate::error::{Error, ErrorKind, Result};
use crate::expression::{BinaryOperator, Expr, ExprKind};
use crate::query::{OrderBy, OrderKey, Output};
use crate::types::{Numeric, SqlType};
use crate::window::{
    Frame, FrameBound, FrameRange, FrameUnit, Window, WindowCall, WindowFunction, WindowKey,
};
use sqlparser::ast::{
    self, NamedWindowDefinition, NamedWindowExpr, Spanned, WindowFrameBound, WindowFrameUnits,
    WindowSpec, WindowType,
};
use sqlparser::tokenizer::Span;
use std::rc::Rc;

/// Maximum number of windows that refer to each other.
const WINDOWS_MAX: usize = 64;

/// Where an expression is, for window functions.
#[derive(Clone)]
pub(super) enum WindowPlace {
    /// In a list of outputs or an order; the query has these windows.
    Allowed(Rc<[NamedWindowDefinition]>),
    /// The place, as in "in WHERE".
    Refused(&'static str),
}

impl Resolver<'_> {
    /// Runs `inside` with window functions allowed or refused.
    pub(super) fn with_windows<T>(
        &mut self,
        place: WindowPlace,
        inside: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = std::mem::replace(&mut self.windows, place);
        let result = inside(self);
        self.windows = before;
        result
    }

    /// A call with `OVER`.
    pub(super) fn window_call(
        &mut self,
        scope: &Scope<'_>,
        name: &str,
        (function, over): (&ast::Function, &WindowType),
        span: Span,
    ) -> Result<Expr> {
        let advice = "write the loop or sub-select that computes it";
        self.refuse(!self.names.has_own_plans, span, "a window function", advice)?;
        let named = match &self.windows {
            WindowPlace::Allowed(named) => named.clone(),
            WindowPlace::Refused(place) => return Err(self.refused_window(place, span)),
        };
        let is_known = WindowFunction::named(name).is_some() || aggregate_named(name).is_some();
        if !is_known {
            self.check_function(name, span)?;
            let sentence = format!("`{name}` is neither a window function nor an aggregate");
            let message = format!(
                "OVER specified, but {name} is not a window function nor an aggregate function"
            );
            return Err(self.type_error(span, sentence).in_postgres("42809", message));
        }
        self.with_windows(WindowPlace::Refused("inside a window function"), |resolver| {
            let spec = resolver.window_spec(over, &named, span)?;
            let (function, arguments, filter, sql_type) =
                resolver.windowed_call(scope, name, function, span)?;
            let window = resolver.window(scope, &spec, span)?;
            let call =
                WindowCall { function, arguments, filter, window, sql_type: sql_type.clone() };
            Ok(Expr::new(ExprKind::Window(Box::new(call)), sql_type))
        })
    }

    fn refused_window(&self, place: &str, span: Span) -> Error {
        let sentence = format!("a window function is not allowed {place}");
        let (sqlstate, message) = match place {
            "inside a window function" => {
                ("42P20", "window function calls cannot be nested".to_owned())
            }
            "inside an aggregate" => {
                let message = "aggregate function calls cannot contain window function calls";
                ("42803", message.to_owned())
            }
            place => ("42P20", format!("window functions are not allowed {place}")),
        };
        let error = self.type_error(span, sentence).in_postgres(sqlstate, message);
        error.advise("compute it in a sub-select in FROM")
    }

    /// The error of a window function without `OVER`.
    pub(super) fn window_is_missing(&self, name: &str, span: Span) -> Error {
        let sentence = format!("`{name}` needs a window");
        let message = format!("window function {name} requires an OVER clause");
        let error = self.type_error(span, sentence).in_postgres("42809", message);
        error.advise("write OVER (...) behind it")
    }

    /// Function, arguments, filter and type.
    fn windowed_call(
        &mut self,
        scope: &Scope<'_>,
        name: &str,
        function: &ast::Function,
        span: Span,
    ) -> Result<(WindowFunction, Vec<Expr>, Option<Expr>, SqlType)> {
        if let Some(aggregate) = aggregate_named(name) {
            let call = self.aggregate(scope, aggregate, function, span)?;
            let ExprKind::Aggregate { aggregate, argument, distinct, filter } = call.kind else {
                return Err(self.type_error(span, "this aggregate has no window"));
            };
            let advice = "aggregate a sub-select with DISTINCT";
            self.refuse(distinct, span, "DISTINCT in a window function", advice)?;
            let arguments = argument.into_iter().map(|argument| *argument).collect();
            let filter = filter.map(|filter| *filter);
            return Ok((WindowFunction::Aggregate(aggregate), arguments, filter, call.sql_type));
        }
        let advice = "write CASE around the argument";
        self.refuse(function.filter.is_some(), span, "FILTER of this window function", advice)?;
        let Some(known) = WindowFunction::named(name) else {
            return Err(self.type_error(span, format!("`{name}` is no window function")));
        };
        let nodes = self.plain_arguments(name, &function.args, span)?;
        let values = nodes.iter().map(|node| self.expr(scope, node)).collect::<Result<Vec<_>>>()?;
        let (arguments, sql_type) = self.window_arguments(known, values, span)?;
        Ok((known, arguments, None, sql_type))
    }

    fn window_arguments(
        &mut self,
        function: WindowFunction,
        mut values: Vec<Expr>,
        span: Span,
    ) -> Result<(Vec<Expr>, SqlType)> {
        use WindowFunction as W;
        let counts = match function {
            W::RowNumber | W::Rank | W::DenseRank | W::PercentRank | W::CumeDist => 0..=0,
            W::Ntile | W::FirstValue | W::LastValue => 1..=1,
            W::NthValue => 2..=2,
            W::Lag | W::Lead => 1..=3,
            W::Aggregate(_) => 0..=1,
        };
        if !counts.contains(&values.len()) {
            let types: Vec<String> =
                values.iter().map(|value| value.sql_type.base().to_string()).collect();
            let name = function.name();
            let sentence = format!("`{name}` is called with another number of arguments");
            let message = format!("function {name}({}) does not exist", types.join(", "));
            return Err(self.type_error(span, sentence).in_postgres("42883", message));
        }
        if matches!(function, W::Ntile) {
            let count = values.remove(0);
            let count = self.convert(count, &SqlType::Int4, Context::Implicit, span)?;
            return Ok((vec![count], SqlType::Int4));
        }
        if values.len() == 3 {
            let default = values.remove(2);
            let value = values.remove(0);
            let mut both = self.unify(vec![value, default], function.name(), span)?;
            values.insert(0, both.remove(0));
            values.push(both.remove(0));
        }
        if let Some(distance) = values.get_mut(1) {
            let found = std::mem::replace(distance, Expr::boolean(ExprKind::Null));
            *distance = self.convert(found, &SqlType::Int4, Context::Implicit, span)?;
        }
        if let Some(value) = values.first_mut()
            && value.sql_type == SqlType::Unknown
        {
            let found = std::mem::replace(value, Expr::boolean(ExprKind::Null));
            *value = self.convert(found, &SqlType::Text, Context::Implicit, span)?;
        }
        let sql_type = match function {
            W::RowNumber | W::Rank | W::DenseRank => SqlType::Int8,
            W::PercentRank | W::CumeDist => SqlType::Float8,
            _ => values.first().map_or(SqlType::Text, |value| value.sql_type.clone()),
        };
        Ok((values, sql_type))
    }

    /// The definition of a window, with what it takes from those that it names.
    fn window_spec(
        &self,
        over: &WindowType,
        named: &[NamedWindowDefinition],
        span: Span,
    ) -> Result<WindowSpec> {
        match over {
            WindowType::NamedWindow(name) => self.named_window(&ident_name(name), named, 0, span),
            WindowType::WindowSpec(spec) => self.completed(spec, named, 0, span),
        }
    }

    fn named_window(
        &self,
        name: &str,
        named: &[NamedWindowDefinition],
        depth: usize,
        span: Span,
    ) -> Result<WindowSpec> {
        let at = named.iter().position(|NamedWindowDefinition(own, _)| ident_name(own) == name);
        let Some(at) = at.filter(|_| depth < WINDOWS_MAX) else {
            let sentence = format!("there is no window `{name}`");
            let error = self.error(span, ErrorKind::Name, sentence);
            return Err(error.in_postgres("42704", format!("window \"{name}\" does not exist")));
        };
        // A window sees those before it.
        match &named[at].1 {
            NamedWindowExpr::NamedWindow(other) => {
                self.named_window(&ident_name(other), &named[..at], depth + 1, span)
            }
            NamedWindowExpr::WindowSpec(spec) => {
                self.completed(spec, &named[..at], depth + 1, span)
            }
        }
    }

    fn completed(
        &self,
        spec: &WindowSpec,
        named: &[NamedWindowDefinition],
        depth: usize,
        span: Span,
    ) -> Result<WindowSpec> {
        let Some(name) = &spec.window_name else { return Ok(spec.clone()) };
        let name = ident_name(name);
        let base = self.named_window(&name, named, depth, span)?;
        let refuse = |sentence: String, message: String| {
            Err(self.type_error(span, sentence).in_postgres("42P20", message))
        };
        if !spec.partition_by.is_empty() {
            let sentence = format!("the window `{name}` has PARTITION BY or none already");
            let message = format!("cannot override PARTITION BY clause of window \"{name}\"");
            return refuse(sentence, message);
        }
        if !spec.order_by.is_empty() && !base.order_by.is_empty() {
            let sentence = format!("the window `{name}` has an ORDER BY already");
            let message = format!("cannot override ORDER BY clause of window \"{name}\"");
            return refuse(sentence, message);
        }
        if base.window_frame.is_some() {
            let sentence = format!("the window `{name}` has a frame, so others cannot extend it");
            let message = format!("cannot copy window \"{name}\" because it has a frame clause");
            return refuse(sentence, message);
        }
        let order_by = match spec.order_by.is_empty() {
            true => base.order_by,
            false => spec.order_by.clone(),
        };
        let window_frame = spec.window_frame.clone();
        Ok(WindowSpec { window_name: None, order_by, window_frame, ..base })
    }

    fn window(&mut self, scope: &Scope<'_>, spec: &WindowSpec, span: Span) -> Result<Window> {
        let mut partition = Vec::new();
        for node in &spec.partition_by {
            let value = self.text_unless_typed(scope, node)?;
            self.check_comparable(&value, false, node.span())?;
            partition.push(value);
        }
        let mut order = Vec::new();
        for key in &spec.order_by {
            self.refuse_foreign(key.with_fill.is_some(), span, "WITH FILL")?;
            let value = self.text_unless_typed(scope, &key.expr)?;
            self.check_comparable(&value, true, key.expr.span())?;
            let by = OrderBy::Expr(value);
            let OrderKey { by, descending, nulls_first } =
                self.order_key(by, &key.options, key.expr.span())?;
            let OrderBy::Expr(value) = by else { continue };
            order.push(WindowKey { value, descending, nulls_first });
        }
        let frame = self.frame(scope, spec, &order, span)?;
        Ok(Window { partition, order, frame })
    }

    fn text_unless_typed(&mut self, scope: &Scope<'_>, node: &ast::Expr) -> Result<Expr> {
        let value = self.expr(scope, node)?;
        match value.sql_type {
            SqlType::Unknown => self.convert(value, &SqlType::Text, Context::Implicit, node.span()),
            _ => Ok(value),
        }
    }

    fn frame(
        &mut self,
        scope: &Scope<'_>,
        spec: &WindowSpec,
        order: &[WindowKey],
        span: Span,
    ) -> Result<Frame> {
        let Some(frame) = &spec.window_frame else {
            let (start, end) = (FrameBound::UnboundedPreceding, FrameBound::CurrentRow);
            return Ok(Frame { unit: FrameUnit::Range(None), start, end });
        };
        let end = frame.end_bound.as_ref().unwrap_or(&WindowFrameBound::CurrentRow);
        self.check_bounds(&frame.start_bound, end, span)?;
        if frame.units == WindowFrameUnits::Range {
            return self.range_frame(scope, (&frame.start_bound, end), order, span);
        }
        if frame.units == WindowFrameUnits::Groups && order.is_empty() {
            let message = "GROUPS mode requires an ORDER BY clause";
            return Err(self
                .type_error(span, "a frame of GROUPS needs an ORDER BY")
                .in_postgres("42P20", message));
        }
        let word = frame.units.to_string();
        let start = self.frame_bound(scope, &frame.start_bound, true, &word, span)?;
        let end = self.frame_bound(scope, end, false, &word, span)?;
        let unit = match frame.units {
            WindowFrameUnits::Groups => FrameUnit::Groups,
            _ => FrameUnit::Rows,
        };
        Ok(Frame { unit, start, end })
    }

    fn check_bounds(
        &self,
        start: &WindowFrameBound,
        end: &WindowFrameBound,
        span: Span,
    ) -> Result<()> {
        use WindowFrameBound as Bound;
        let message = match (start, end) {
            (Bound::Following(None), _) => "frame start cannot be UNBOUNDED FOLLOWING",
            (_, Bound::Preceding(None)) => "frame end cannot be UNBOUNDED PRECEDING",
            (Bound::CurrentRow, Bound::Preceding(_)) => {
                "frame starting from current row cannot have preceding rows"
            }
            (Bound::Following(_), Bound::Preceding(_)) => {
                "frame starting from following row cannot have preceding rows"
            }
            (Bound::Following(_), Bound::CurrentRow) => {
                "frame starting from following row cannot end with current row"
            }
            _ => return Ok(()),
        };
        let error = self.type_error(span, "the frame of a window ends before it starts");
        Err(error.in_postgres("42P20", message))
    }

    /// A bound of rows or groups.
    fn frame_bound(
        &mut self,
        scope: &Scope<'_>,
        bound: &WindowFrameBound,
        is_start: bool,
        word: &str,
        span: Span,
    ) -> Result<FrameBound> {
        let distance = match bound {
            WindowFrameBound::CurrentRow => return Ok(FrameBound::CurrentRow),
            WindowFrameBound::Preceding(None) | WindowFrameBound::Following(None) => {
                let (first, last) =
                    (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing);
                return Ok(if is_start { first } else { last });
            }
            WindowFrameBound::Preceding(Some(distance))
            | WindowFrameBound::Following(Some(distance)) => distance,
        };
        let value = self.distance(scope, distance, word)?;
        let value = self.convert(value, &SqlType::Int8, Context::Implicit, span)?;
        Ok(match bound {
            WindowFrameBound::Preceding(_) => FrameBound::Preceding(value),
            _ => FrameBound::Following(value),
        })
    }

    /// A distance, which sees no row.
    fn distance(&mut self, scope: &Scope<'_>, node: &ast::Expr, word: &str) -> Result<Expr> {
        let value = self.expr(scope, node)?;
        if !is_constant(&value) {
            let sentence = format!("the distance of {word} may not depend on rows");
            let message = format!("argument of {word} must not contain variables");
            return Err(self.type_error(node.span(), sentence).in_postgres("42P10", message));
        }
        Ok(value)
    }

    fn range_frame(
        &mut self,
        scope: &Scope<'_>,
        bounds: (&WindowFrameBound, &WindowFrameBound),
        order: &[WindowKey],
        span: Span,
    ) -> Result<Frame> {
        use WindowFrameBound as Bound;
        let is_far =
            |bound: &Bound| matches!(bound, Bound::Preceding(Some(_)) | Bound::Following(Some(_)));
        if !is_far(bounds.0) && !is_far(bounds.1) {
            let start = self.frame_bound(scope, bounds.0, true, "RANGE", span)?;
            let end = self.frame_bound(scope, bounds.1, false, "RANGE", span)?;
            return Ok(Frame { unit: FrameUnit::Range(None), start, end });
        }
        let [key] = order else {
            let sentence = "a RANGE with distances needs exactly one key in ORDER BY";
            let message =
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column";
            return Err(self.type_error(span, sentence).in_postgres("42P20", message));
        };
        let (start, first) = self.range_bound(scope, bounds.0, true, key, span)?;
        let (end, last) = self.range_bound(scope, bounds.1, false, key, span)?;
        // All are compared in one type.
        let common = [&first, &last]
            .into_iter()
            .flatten()
            .try_fold(key.value.sql_type.clone(), |common, value| {
                comparison_type(&common, &value.sql_type)
            })
            .ok_or_else(|| self.type_error(span, "the distances of RANGE have different types"))?;
        let compared = |value: Expr| self.convert(value, &common, Context::Implicit, span);
        let range = FrameRange {
            key: compared(key.value.clone())?,
            start: first.map(compared).transpose()?,
            end: last.map(compared).transpose()?,
        };
        Ok(Frame { unit: FrameUnit::Range(Some(Box::new(range))), start, end })
    }

    /// A bound of a range, and the key's value there.
    fn range_bound(
        &mut self,
        scope: &Scope<'_>,
        bound: &WindowFrameBound,
        is_start: bool,
        key: &WindowKey,
        span: Span,
    ) -> Result<(FrameBound, Option<Expr>)> {
        let (node, is_before) = match bound {
            WindowFrameBound::Preceding(Some(node)) => (node, true),
            WindowFrameBound::Following(Some(node)) => (node, false),
            _ => return Ok((self.frame_bound(scope, bound, is_start, "RANGE", span)?, None)),
        };
        let of_key = key.value.sql_type.base();
        let wanted = match &of_key {
            time if time.is_time() => SqlType::Interval,
            number if number.is_number() || *number == SqlType::Interval => number.clone(),
            other => {
                let sentence = format!("a RANGE with distances cannot be over {other}");
                let message = format!(
                    "RANGE with offset PRECEDING/FOLLOWING is not supported for column type {other}"
                );
                return Err(self.type_error(span, sentence).in_postgres("0A000", message));
            }
        };
        let mut distance = self.distance(scope, node, "RANGE")?;
        if distance.sql_type == SqlType::Unknown {
            distance = self.convert(distance, &wanted, Context::Implicit, span)?;
        }
        let operator = match is_before != key.descending {
            true => BinaryOperator::Subtract,
            false => BinaryOperator::Add,
        };
        // The bound may be out of the key's range.
        let wide = |value: Expr| match value.sql_type.is_integer() {
            true => self.convert(value, &SqlType::Numeric(Numeric::Open), Context::Implicit, span),
            false => Ok(value),
        };
        let (of_row, by) = match of_key.is_integer() {
            true => (wide(key.value.clone())?, wide(distance.clone())?),
            false => (key.value.clone(), distance.clone()),
        };
        let value = self.binary(operator, of_row, by, span)?;
        let bound = match is_before {
            true => FrameBound::Preceding(distance),
            false => FrameBound::Following(distance),
        };
        Ok((bound, Some(value)))
    }

    /// Refuses `DISTINCT ON` keys that are not the first ones of the order.
    pub(super) fn check_first_keys(
        &self,
        keys: &[Expr],
        outputs: &[Output],
        order: &[OrderKey],
        span: Span,
    ) -> Result<()> {
        let value = |key: &OrderKey| key_value(key, outputs);
        let count = order.iter().take_while(|key| keys.contains(&value(key))).count();
        let first: Vec<Expr> = order[..count].iter().map(value).collect();
        if count == order.len() || keys.iter().all(|key| first.contains(key)) {
            return Ok(());
        }
        let sentence = "ORDER BY must begin with the expressions of DISTINCT ON";
        let message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
        Err(self.type_error(span, sentence).in_postgres("42P10", message))
    }
}
