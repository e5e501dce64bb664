//! The routines of a catalog, which the bodies of other routines call.

use super::{compiler, routine_names};
use crate::catalog::Catalog;
use crate::procedure::{Body, Procedure, Returns};
use crate::source::Source;
use crate::token::{Cursor, tokenize};
use std::mem::take;

/// The routines of a catalog with their texts. A call is replaced by the body of its routine, so
/// that a routine with calls is planned as one without.
///
/// Decision: docs/decisions/0363-calls-of-routines-are-replaced-by-their-bodies.md
#[derive(Clone, Debug, Default)]
pub struct Routines {
    callees: Vec<Callee>,
}

/// A routine that others call.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    /// The statement that has created it.
    pub(crate) source: Source,
    /// The routine without its body.
    pub(crate) signature: Procedure,
}

impl Routines {
    /// Reads the signatures of routines, each from the statement that has created it. A routine
    /// whose header has an error does not exist.
    pub fn read(sources: impl Iterator<Item = Source>, catalog: &Catalog) -> Self {
        Self { callees: sources.filter_map(|source| callee(source, catalog)).collect() }
    }

    /// These, with the routine that a further statement creates or replaces.
    #[must_use]
    pub fn with(&self, source: Source, catalog: &Catalog) -> Self {
        let mut callees = self.callees.clone();
        if let Some(new) = callee(source, catalog) {
            callees.retain(|callee| callee.signature.name != new.signature.name);
            callees.push(new);
        }
        Self { callees }
    }

    /// The signatures, by position.
    pub(crate) fn signatures(&self) -> Vec<&Procedure> {
        self.callees.iter().map(|callee| &callee.signature).collect()
    }

    pub(crate) fn get(&self, at: usize) -> &Callee {
        &self.callees[at]
    }
}

fn callee(source: Source, catalog: &Catalog) -> Option<Callee> {
    let tokens = tokenize(&source, 0, source.text()).ok()?;
    let names = routine_names(&tokens);
    let cursor = Cursor::new(&source, tokens, source.text().len());
    let mut compiler = compiler(&source, catalog, cursor, &names);
    compiler.names.has_own_plans = true;
    let header = compiler.header().ok()?;
    if header.returns == Returns::Rows(Vec::new()) {
        return records(source, catalog);
    }
    let signature = Procedure {
        name: header.name,
        line: 1,
        kind: header.kind,
        parameters: header.parameters,
        returns: header.returns,
        volatility: header.volatility,
        is_strict: header.is_strict,
        variables: take(&mut compiler.variables),
        body: Body::Statements { statements: Vec::new(), results: Vec::new() },
        statements: Vec::new(),
    };
    Some(Callee { source, signature })
}

/// A function that returns records: its columns are those of its body, which calls no others.
fn records(source: Source, catalog: &Catalog) -> Option<Callee> {
    let tokens = tokenize(&source, 0, source.text()).ok()?;
    let names = routine_names(&tokens);
    let cursor = Cursor::new(&source, tokens, source.text().len());
    let none = Routines::default();
    let mut compiler = compiler(&source, catalog, cursor, &names);
    compiler.names.has_own_plans = true;
    compiler.called = Some(&none);
    let signature = compiler.routine(&[]).ok()??;
    let is_known = signature.returns != Returns::Rows(Vec::new());
    let body = Body::Statements { statements: Vec::new(), results: Vec::new() };
    let signature = Procedure { body, statements: Vec::new(), ..signature };
    is_known.then_some(Callee { source, signature })
}
