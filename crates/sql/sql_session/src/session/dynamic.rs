//! Plans of `EXECUTE`: texts that a routine computes.
//!
//! They are planned for the catalog and the privileges of the statement that has called the
//! routine, and kept by their text and the types of their values.
//!
//! Decision: docs/decisions/0365-texts-of-execute-are-planned-by-the-session.md

use super::SqlSession;
use super::identity::Identity;
use super::named::refuse_full_names;
use super::prepared::Constants;
use crate::access::required::Rights;
use crate::catalog::Version;
use crate::command::{Command, parse};
use crate::error::SqlError;
use crate::host::Host;
use crate::planned::{PlannedAction, plan_text, with_calls};
use interpreter::{DynamicStatement, Effects, Planner};
use sql::{Field, SearchPath, SqlType, Surroundings};
use sql_value::style::Style;
use sql_value::{Error, Formula};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Maximum number of plans that a session keeps.
const PLANS_MAX: usize = 128;
/// Texts that are longer are planned each time.
const KEPT_BYTES_MAX: usize = 4_096;

/// The plans of a session's `EXECUTE` statements.
#[derive(Default)]
pub(crate) struct DynamicPlans {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    surroundings: Option<DynamicSurroundings>,
    /// The style in which constants of the plans were read.
    style: Option<Arc<Style>>,
    plans: BTreeMap<String, Arc<DynamicStatement>>,
}

/// The catalog and the role of the running call.
struct DynamicSurroundings {
    serials: (u64, u64, u64),
    version: Arc<Version>,
    granted: Arc<Version>,
    constants: Constants,
    path: SearchPath,
    role: i64,
}

impl DynamicPlans {
    /// A call begins that has `EXECUTE` statements.
    fn begin(
        &self,
        version: &Arc<Version>,
        granted: &Arc<Version>,
        identity: &Identity,
        style: Option<Arc<Style>>,
    ) {
        let serials = (version.serial, granted.serial, identity.serial);
        let mut state = self.state.lock().expect("no holder panics");
        let has_style = state.style.as_ref().map(Arc::as_ptr) == style.as_ref().map(Arc::as_ptr);
        if has_style && state.surroundings.as_ref().is_some_and(|of| of.serials == serials) {
            return;
        }
        state.plans.clear();
        state.style = style;
        state.surroundings = Some(DynamicSurroundings {
            serials,
            version: version.clone(),
            granted: granted.clone(),
            constants: identity.constants_in(version),
            path: identity.path_in(version),
            role: identity.acting(&granted.roles),
        });
    }
}

impl<H: Host> SqlSession<H> {
    /// A statement with these effects begins, which may call routines and have `EXECUTE`.
    pub(super) fn begin_calls(&mut self, version: &Arc<Version>, effects: &Effects) {
        if effects.has_texts() || effects.callees().next().is_some() {
            self.runner.set_callees(version.clone());
        }
        if effects.has_texts() {
            let (granted, style) = (self.sequences.granted(), self.settings.style());
            self.texts.begin(version, &granted, &self.identity, style);
        }
    }
}

impl Planner for DynamicPlans {
    fn plan(
        &self,
        text: &str,
        types: &[SqlType],
        wanted: Option<&[SqlType]>,
        is_result: bool,
    ) -> Result<Arc<DynamicStatement>, Box<Error>> {
        let key = format!("{types:?} {wanted:?} {is_result} {text}");
        let mut state = self.state.lock().expect("no holder panics");
        if let Some(plan) = state.plans.get(&key) {
            return Ok(plan.clone());
        }
        let Some(surroundings) = &state.surroundings else {
            return Err(Error::internal("EXECUTE outside of a call"));
        };
        let planned = surroundings
            .plan(text, types, wanted, is_result)
            .map_err(|error| Box::new(error.as_value()))?;
        let planned = Arc::new(planned);
        if text.len() <= KEPT_BYTES_MAX {
            if state.plans.len() >= PLANS_MAX {
                state.plans.clear();
            }
            state.plans.insert(key, planned.clone());
        }
        Ok(planned)
    }
}

impl DynamicSurroundings {
    fn plan(
        &self,
        text: &str,
        types: &[SqlType],
        wanted: Option<&[SqlType]>,
        is_result: bool,
    ) -> Result<DynamicStatement, SqlError> {
        require_query(text)?;
        let (version, granted) = (&*self.version, &*self.granted);
        let routines = version.signatures();
        let surroundings = Surroundings { routines: &routines, constants: &self.constants };
        let knowledge = version.knowledge();
        let text = (text, &self.path);
        let planned = plan_text(knowledge, &version.tables, surroundings, text, types)?;
        let planned = with_calls(planned, version);
        if planned.parameters.len() > types.len() {
            let message = format!("there is no parameter ${}", types.len() + 1);
            return Err(SqlError::new("42P02", message));
        }
        planned.check(Rights { version, granted, role: self.role })?;
        let PlannedAction::Query(query) = planned.action else {
            let message = "EXECUTE of a call is not supported";
            let hint = "Call the routine in a statement of this one, without EXECUTE.";
            return Err(SqlError::unsupported(message).hint(hint));
        };
        let outputs = query.query.outputs();
        if let Some(wanted) = wanted.filter(|_| is_result) {
            require_types(&outputs, wanted)?;
        }
        let casts = sql::variable_casts(&version.catalog, &outputs, wanted.unwrap_or_default())
            .map_err(|error| SqlError::new(error.sqlstate(), error.sentence))?;
        let casts = casts.iter().map(Formula::compile).collect();
        Ok(DynamicStatement { statement: query.statement, columns: outputs, casts })
    }
}

/// Requires that the columns of a result have the types of the function's rows.
fn require_types(outputs: &[Field], wanted: &[SqlType]) -> Result<(), SqlError> {
    let mismatch = |detail: String| {
        SqlError::new("42804", "structure of query does not match function result type")
            .detail(detail)
    };
    if outputs.len() != wanted.len() {
        let (found, expected) = (outputs.len(), wanted.len());
        let detail = format!(
            "Number of returned columns ({found}) does not match expected column count ({expected})."
        );
        return Err(mismatch(detail));
    }
    for (at, (found, wanted)) in outputs.iter().zip(wanted).enumerate() {
        if found.sql_type.base() != wanted.base() {
            let detail = format!(
                "Returned type {} does not match expected type {} in column {}.",
                found.sql_type.name(),
                wanted.name(),
                at + 1
            );
            return Err(mismatch(detail));
        }
    }
    Ok(())
}

/// Refuses commands, and several statements.
fn require_query(text: &str) -> Result<(), SqlError> {
    refuse_full_names(text)?;
    let refused = |what: String, hint: &str| Err(SqlError::unsupported(what).hint(hint));
    let several = "EXECUTE of several statements is not supported";
    match crate::statements(text)?.len() {
        0 => return Ok(()),
        1 => {}
        _ => return refused(several.to_owned(), "Write an EXECUTE for each of them."),
    }
    match parse(text)? {
        Command::Query | Command::Call => Ok(()),
        Command::Begin(_)
        | Command::Commit { .. }
        | Command::Rollback { .. }
        | Command::Savepoint(_)
        | Command::Release(_)
        | Command::RollbackTo(_) => {
            let hint = "Use a BEGIN block with an EXCEPTION clause instead.";
            refused("EXECUTE of transaction commands is not implemented".to_owned(), hint)
        }
        Command::Advisory(_) | Command::Sleep(_) | Command::SetConfig { .. } => {
            let what = "EXECUTE of a function of the session is not supported";
            refused(what.to_owned(), "Let the client call it.")
        }
        _ => {
            let word = text.split_whitespace().next().unwrap_or_default().to_uppercase();
            let what = format!("EXECUTE of {word} is not supported");
            refused(
                what,
                "EXECUTE runs SELECT, INSERT, UPDATE and DELETE; the client sends others.",
            )
        }
    }
}
