//! Prints PL/pgSQL statements.

use crate::chain::Chain;
use crate::code::Code;
use crate::found;
use crate::function::Function;
use crate::unsupported::Unsupported;
use procedure::node::Node;
use sql::SqlType;
use sql::expression::Expr;
use sql::procedure::{
    Block, Body, Formula, Into, Level, ParameterMode, Raise, Returns, Sql, Statement, StatementKind,
};

type Result<T> = std::result::Result<T, Unsupported>;

impl<'a> Function<'a> {
    pub fn body(&mut self) -> Result<()> {
        let routine = &self.procedure.routine;
        match &routine.body {
            Body::Block(block) => {
                self.block(block, true)?;
                if !ends(&block.statements) {
                    self.finish()?;
                }
                Ok(())
            }
            Body::Statements { statements, results } => {
                let Some((last, before)) = statements.split_last() else {
                    self.line("Ok(())");
                    return Ok(());
                };
                for sql in before {
                    self.statement = sql.number;
                    self.each(self.plan(sql)?, &[], &mut |function, columns| {
                        function.compute_all(columns)
                    })?;
                }
                let is_set = matches!(routine.returns, Returns::Rows(_));
                let gives = !matches!(routine.returns, Returns::Nothing);
                if gives && !is_set {
                    return Err(Unsupported::new("an SQL function that returns one row"));
                }
                self.statement = last.number;
                self.each(self.plan(last)?, &[], &mut |function, columns| {
                    if gives {
                        function.give(columns, results)
                    } else {
                        function.compute_all(columns)
                    }
                })?;
                self.line("Ok(())");
                Ok(())
            }
        }
    }

    /// Prints the end of a block that does not return.
    fn finish(&mut self) -> Result<()> {
        let routine = &self.procedure.routine;
        let has_outputs = routine.parameters.iter().any(|p| p.mode != ParameterMode::In);
        match &routine.returns {
            Returns::Nothing | Returns::Rows(_) => {}
            Returns::Value(SqlType::Void) => {}
            Returns::Value(_) | Returns::Row(_) if has_outputs => self.give_outputs()?,
            // Control reached the end without RETURN, which is an error.
            _ => {
                self.line("Err(Stop::Deviates)");
                return Ok(());
            }
        }
        self.line("Ok(())");
        Ok(())
    }

    /// Returns the plan of a statement.
    pub fn plan(&self, sql: &Sql) -> Result<&'a Node> {
        let procedure: &'a procedure::Procedure = self.procedure;
        let planned = procedure.statements.get(sql.number as usize - 1);
        let planned = planned.ok_or_else(|| Unsupported::new("a statement without a plan"))?;
        if !planned.sub_plans.is_empty() {
            return Err(Unsupported::new("a sub-select"));
        }
        Ok(&planned.root)
    }

    /// Prints a block; the outermost one begins with the read-ahead.
    fn block(&mut self, block: &'a Block, is_outermost: bool) -> Result<()> {
        if block.label.is_some() {
            return Err(Unsupported::new("a block with a label"));
        }
        for (variable, initial) in &block.declarations {
            let declared = &self.procedure.routine.variables[*variable];
            if declared.is_not_null && initial.is_none() {
                return Err(Unsupported::new("a NOT NULL variable"));
            }
            if let Some(formula) = initial {
                let code = self.formula(formula)?;
                self.assign_all(*variable, &code, &formula.expr)?;
            } else if !is_outermost {
                let places = self.variables.places(*variable);
                self.set_null(&places);
            }
        }
        if is_outermost {
            self.begin_with_nulls(block);
            self.read_ahead(block)?;
            self.survey_inserts(block);
            self.survey_rounds(block);
        }
        self.statements(&block.statements)
    }

    /// Prints a sequence of statements, up to the end of the current step of a loop.
    pub fn statements(&mut self, statements: &'a [Statement]) -> Result<()> {
        self.depth += 1;
        let printed = self.one_by_one(statements);
        // Rows of a block are not available after it.
        let depth = self.depth;
        self.variables.read_from_variables(&|_, of| of >= depth);
        self.depth -= 1;
        printed
    }

    fn one_by_one(&mut self, statements: &'a [Statement]) -> Result<()> {
        let mut at = 0;
        while let Some(statement) = statements.get(at) {
            if self.end_step(&statements[at..])? {
                return Ok(());
            }
            at += 1;
            self.keep_rows_for_next(statement, statements.get(at));
            let printed = if let StatementKind::Sql { sql, into } = &statement.kind
                && let Some(test) =
                    statements.get(at).and_then(|next| found::test(&self.procedure.routine, next))
            {
                at += 1;
                self.sql(sql, into.as_ref(), Some(test))
            } else {
                self.statement(statement)
            };
            printed.map_err(|unsupported| unsupported.at(statement.line))?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'a Statement) -> Result<()> {
        match &statement.kind {
            StatementKind::Block(block) => self.block(block, false),
            StatementKind::Assign { target, value } => {
                let code = self.formula(value)?;
                self.assign_target(target, &code, &value.expr)
            }
            StatementKind::Sql { sql, into } => self.sql(sql, into.as_ref(), None),
            StatementKind::Perform(sql) => self.sql(sql, None, None),
            StatementKind::If { branches, otherwise } => {
                self.branches(branches)?;
                if !otherwise.is_empty() {
                    self.line("else {");
                    self.statements(otherwise)?;
                    self.line("}");
                }
                Ok(())
            }
            StatementKind::Case { operand, branches, otherwise } => {
                if let Some((variable, value)) = operand {
                    let code = self.formula(value)?;
                    self.assign_all(*variable, &code, &value.expr)?;
                }
                self.branches(branches)?;
                self.line("else {");
                match otherwise {
                    Some(statements) => self.statements(statements)?,
                    None => self.line("return Err(Stop::Deviates);"),
                }
                self.line("}");
                Ok(())
            }
            StatementKind::Loop { label, over, body } => self.looped(label.as_deref(), over, body),
            StatementKind::Leave { label, continues, when } => {
                self.leave(label.as_deref(), *continues, when.as_ref())
            }
            StatementKind::Return(value) => self.ret(value.as_ref()),
            StatementKind::ReturnNext(Some(_)) => Err(Unsupported::new("RETURN NEXT with a value")),
            StatementKind::ReturnNext(None) => self.give_outputs(),
            StatementKind::ReturnQuery(sql, results) => self.return_query(sql, results),
            StatementKind::Raise(raise) => self.raise(raise),
            StatementKind::Execute(..) | StatementKind::ReturnExecute(..) => {
                Err(Unsupported::new("EXECUTE"))
            }
            StatementKind::RollBack => Err(Unsupported::new("ROLLBACK")),
            StatementKind::Cursor(_) => Err(Unsupported::new("a cursor")),
            StatementKind::Protected(_)
            | StatementKind::Reraise
            | StatementKind::GetDiagnostics(_) => Err(Unsupported::new("a block with EXCEPTION")),
            StatementKind::Called(_) => Err(Unsupported::new("a call of a routine")),
            StatementKind::GetRowCount(_) => Err(Unsupported::new("GET DIAGNOSTICS")),
            StatementKind::Nothing => Ok(()),
        }
    }

    /// Prints a query whose rows are returned, and sets `FOUND`.
    fn return_query(&mut self, sql: &'a Sql, results: &'a [Expr]) -> Result<()> {
        self.statement = sql.number;
        let node = self.plan(sql)?;
        let Some(found) = self.found() else {
            return self.each(node, &[], &mut |function, columns| function.give(columns, results));
        };
        let gives = self.names.fresh("gives_rows");
        self.line(format!("let mut {gives} = false;"));
        self.each(node, &[], &mut |function, columns| {
            function.line(format!("{gives} = true;"));
            function.give(columns, results)
        })?;
        self.line(format!("{found} = {gives};"));
        Ok(())
    }

    /// Returns the value of a PL/pgSQL expression.
    pub fn formula(&self, formula: &Formula) -> Result<Code> {
        if formula.number.is_some() {
            return Err(Unsupported::new("an expression with a sub-select"));
        }
        self.scope(&[], &[]).code(&formula.expr)
    }

    /// Returns a PL/pgSQL condition.
    pub fn condition(&self, formula: &Formula) -> Result<Code> {
        if formula.number.is_some() {
            return Err(Unsupported::new("a condition with a sub-select"));
        }
        self.scope(&[], &[]).condition(&formula.expr)
    }

    fn branches(&mut self, branches: &'a [(Formula, Vec<Statement>)]) -> Result<()> {
        let conditions = branches.iter().map(|(condition, _)| self.condition(condition));
        let conditions: Vec<Code> = conditions.collect::<Result<_>>()?;
        self.records(&conditions);
        for (position, ((_, statements), code)) in branches.iter().zip(&conditions).enumerate() {
            let word = if position == 0 { "if" } else { "else if" };
            self.line(format!("{word} {} {{", code.text));
            self.statements(statements)?;
            self.line("}");
        }
        Ok(())
    }

    /// Prints an SQL statement with its targets, and the test of `FOUND` that follows it.
    fn sql(
        &mut self,
        sql: &'a Sql,
        into: Option<&'a Into>,
        test: Option<found::FoundTest<'a>>,
    ) -> Result<()> {
        let node = self.plan(sql)?;
        self.statement = sql.number;
        if into.is_some_and(|into| into.is_strict) {
            return Err(Unsupported::new("INTO STRICT"));
        }
        self.insert_together()?;
        match presence(node) {
            _ if into.is_none() && test.is_none() && self.found().is_none() => {
                self.each(node, &[], &mut |function, columns| function.compute_all(columns))
            }
            Presence::Always => {
                self.each(node, &[], &mut |function, columns| function.assign_row(into, columns))?;
                self.set_found(true);
                test.map_or(Ok(()), |test| self.statements(test.present))
            }
            Presence::Once => {
                self.takes_first = matches!(&sql.query, sql::query::Query::Select(_));
                let inside = test.filter(|test| !ends(test.absent));
                let goes_on = self.continues_without_row(into, test)?;
                if !goes_on {
                    self.otherwise = Some(self.absent_text(into, test)?);
                }
                self.each(node, &[], &mut |function, columns| {
                    function.assign_row(into, columns)?;
                    function.set_found(true);
                    inside.map_or(Ok(()), |test| function.statements(test.present))
                })?;
                if goes_on {
                    self.absent("else {", into, test)?;
                }
                let behind = test.filter(|_| inside.is_none());
                behind.map_or(Ok(()), |test| self.statements(test.present))
            }
            Presence::Often => self.first(sql, node, into, test),
        }
    }

    /// Returns the variable FOUND if it is read elsewhere than in tests right after a statement.
    pub fn found(&self) -> Option<String> {
        let found = found::variable(&self.procedure.routine)?;
        let variable = self.variables.at((found, None));
        variable.is_read.then(|| variable.name.clone())
    }

    fn set_found(&mut self, is_found: bool) {
        if let Some(name) = self.found() {
            self.line(format!("{name} = {is_found};"));
        }
    }

    /// Prints a statement that may return several rows; a query takes the first one.
    fn first(
        &mut self,
        sql: &'a Sql,
        node: &'a Node,
        into: Option<&'a Into>,
        test: Option<found::FoundTest<'a>>,
    ) -> Result<()> {
        for (target, _) in into.iter().flat_map(|into| &into.targets) {
            let places = self.places(target)?;
            self.guess.started.extend(places);
        }
        let is_found = self.names.fresh("is_found");
        let is_query = matches!(&sql.query, sql::query::Query::Select(_));
        self.line(format!("let mut {is_found} = false;"));
        self.each(node, &[], &mut |function, columns| {
            match is_query {
                // Rows after the first are ignored.
                true => function.line(format!("if !{is_found} {{")),
                // A second row is an error.
                false if into.is_some() => {
                    function.line(format!("if {is_found} {{ return Err(Stop::Deviates); }}"));
                }
                false => {}
            }
            function.assign_row(into, columns)?;
            function.set_found(true);
            function.line(format!("{is_found} = true;"));
            if is_query {
                function.line("}");
            }
            Ok(())
        })?;
        match test.filter(|test| !ends(test.absent)) {
            Some(test) => {
                self.line(format!("if {is_found} {{"));
                self.statements(test.present)?;
                self.line("}");
                self.absent("else {", into, Some(test))
            }
            None => {
                self.absent(&format!("if !{is_found} {{"), into, test)?;
                test.map_or(Ok(()), |test| self.statements(test.present))
            }
        }
    }

    /// Whether a procedure continues after a statement that found no row.
    fn continues_without_row(
        &self,
        into: Option<&Into>,
        test: Option<found::FoundTest<'a>>,
    ) -> Result<bool> {
        if let Some(test) = test {
            return Ok(!ends(test.absent));
        }
        for (target, _) in into.iter().flat_map(|into| &into.targets) {
            let places = self.places(target)?;
            let mut targets = places.iter().map(|place| self.variables.at(*place));
            if targets.any(|variable| variable.is_read && !variable.is_nullable) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Prints the case without a row.
    fn absent(
        &mut self,
        word: &str,
        into: Option<&'a Into>,
        test: Option<found::FoundTest<'a>>,
    ) -> Result<()> {
        self.line(word);
        let text = self.absent_text(into, test)?;
        self.line(format!("{text}}}"));
        Ok(())
    }

    fn absent_text(
        &mut self,
        into: Option<&'a Into>,
        test: Option<found::FoundTest<'a>>,
    ) -> Result<String> {
        let begin = self.out.len();
        self.set_found(false);
        let absent = test.map_or(&[][..], |test| test.absent);
        if let Some(into) = into
            && !ends(absent)
        {
            self.missing(into, test.is_none())?;
        }
        self.statements(absent)?;
        Ok(self.out.split_off(begin))
    }

    /// Sets the targets to null in the case without a row; if one cannot be null and may be read,
    /// the call deviates.
    fn missing(&mut self, into: &Into, is_asked: bool) -> Result<()> {
        let mut null = Vec::new();
        for (target, _) in &into.targets {
            for place in self.places(target)? {
                let variable = self.variables.at(place);
                match (variable.is_read, variable.is_nullable) {
                    (false, _) => {}
                    (true, true) => null.push(place),
                    (true, false) if is_asked => {
                        self.line("return Err(Stop::Deviates);");
                        return Ok(());
                    }
                    (true, false) => {}
                }
            }
        }
        null.into_iter().for_each(|place| self.print_null(place));
        Ok(())
    }

    fn ret(&mut self, value: Option<&Formula>) -> Result<()> {
        let routine = &self.procedure.routine;
        match value {
            Some(value) if matches!(routine.returns, Returns::Value(_)) => {
                let code = self.formula(value)?;
                self.records([&code]);
                self.line("call.results.row();");
                self.cell(&code)?;
            }
            Some(_) => return Err(Unsupported::new("RETURN of a row")),
            None if matches!(routine.returns, Returns::Rows(_) | Returns::Nothing) => {}
            None if matches!(routine.returns, Returns::Value(SqlType::Void)) => {}
            None => self.give_outputs()?,
        }
        self.line("return Ok(());");
        Ok(())
    }

    fn raise(&mut self, raise: &Raise) -> Result<()> {
        if raise.level != Level::Exception {
            return Err(Unsupported::new("RAISE other than EXCEPTION"));
        }
        // With iterations in lockstep, another iteration may have failed first.
        let is_plain = raise.detail.is_none() && raise.hint.is_none() && !self.rounds.is_inside;
        match raise.message.as_slice() {
            [message] if is_plain => {
                self.line(format!("return Err(Stop::raised({:?}, {message:?}));", raise.sqlstate));
            }
            _ => self.line("return Err(Stop::Deviates);"),
        }
        Ok(())
    }
}

/// How many rows a plan returns.
enum Presence {
    Always,
    /// At most one, and its code is an `if` that an `else` can follow.
    Once,
    Often,
}

fn presence(node: &Node) -> Presence {
    use procedure::node::Operator;
    let once = |is_once: bool| if is_once { Presence::Once } else { Presence::Often };
    let single = |node: &Node| {
        let chain = Chain::of(node);
        once(chain.is_some_and(|chain| chain.is_single() && chain.scan.filter.is_none()))
    };
    match &node.operator {
        Operator::Aggregate { keys, filter: None, .. } if keys.is_empty() => Presence::Always,
        Operator::Project { input: None, condition: None, filter: None } => Presence::Always,
        Operator::Insert(insert) => match presence(&insert.input) {
            Presence::Always if insert.ignores_duplicates => Presence::Once,
            presence => presence,
        },
        Operator::Update(update) => single(&update.input),
        Operator::Delete(delete) => single(&delete.input),
        // A query takes the first row.
        _ => once(Chain::of(node).is_some_and(|chain| chain.filter_behind().is_none())),
    }
}

/// Whether control never reaches the end of the statements.
fn ends(statements: &[Statement]) -> bool {
    statements.last().is_some_and(|last| match &last.kind {
        StatementKind::Return(_) => true,
        StatementKind::Raise(raise) => raise.level == Level::Exception,
        StatementKind::Leave { when: None, .. } => true,
        StatementKind::If { branches, otherwise } => {
            ends(otherwise) && branches.iter().all(|(_, statements)| ends(statements))
        }
        _ => false,
    })
}

/// Whether a statement, or one nested in it, passes a test.
pub fn any(statements: &[Statement], test: &dyn Fn(&StatementKind) -> bool) -> bool {
    statements.iter().any(|statement| {
        test(&statement.kind)
            || match &statement.kind {
                StatementKind::Block(block) => any(&block.statements, test),
                StatementKind::If { branches, otherwise } => {
                    branches.iter().any(|(_, inside)| any(inside, test)) || any(otherwise, test)
                }
                StatementKind::Case { branches, otherwise, .. } => {
                    branches.iter().any(|(_, inside)| any(inside, test))
                        || otherwise.as_ref().is_some_and(|inside| any(inside, test))
                }
                StatementKind::Loop { body, .. } => any(body, test),
                _ => false,
            }
    })
}
