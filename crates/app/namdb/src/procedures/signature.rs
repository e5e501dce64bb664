//! What procedures take and give.

use super::error::Misuse;
use sql::procedure::{ParameterMode, Returns};
use sql::{Field, SqlType};

/// A procedure as its callers see it.
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// Its name.
    pub name: String,
    /// What it is given, in order.
    pub parameters: Vec<Parameter>,
    /// The columns of the rows that it gives; none if it gives nothing.
    pub columns: Vec<Field>,
}

/// A parameter.
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Its name; one without is called `$1` and so on.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// Whether it may be left out, if all behind it are.
    pub has_default: bool,
}

impl Signature {
    pub(crate) fn of(procedure: &sql::Procedure) -> Self {
        let parameters = procedure.parameters.iter();
        let inputs = parameters.filter(|parameter| parameter.mode != ParameterMode::Out);
        let parameters = inputs.map(|parameter| {
            let variable = &procedure.variables[parameter.variable];
            Parameter {
                name: variable.name.clone(),
                sql_type: variable.sql_type.clone(),
                has_default: parameter.default.is_some(),
            }
        });
        let columns = match &procedure.returns {
            Returns::Nothing => Vec::new(),
            Returns::Value(sql_type) => {
                vec![Field { name: procedure.name.clone(), sql_type: sql_type.clone() }]
            }
            Returns::Row(fields) | Returns::Rows(fields) => fields.clone(),
        };
        Self { name: procedure.name.clone(), parameters: parameters.collect(), columns }
    }

    /// The position of a parameter.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn parameter(&self, name: &str) -> Result<usize, Misuse> {
        let found = self.parameters.iter().position(|parameter| parameter.name == name);
        found.ok_or_else(|| Misuse::NoParameter {
            procedure: self.name.clone(),
            name: name.to_owned(),
            known: listed(self.parameters.iter().map(|parameter| parameter.name.as_str())),
        })
    }

    /// The position of a column of its rows.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn column(&self, name: &str) -> Result<usize, Misuse> {
        let found = self.columns.iter().position(|column| column.name == name);
        found.ok_or_else(|| Misuse::NoColumn {
            procedure: self.name.clone(),
            name: name.to_owned(),
            known: listed(self.columns.iter().map(|column| column.name.as_str())),
        })
    }
}

/// Names with commas between, or a word for none.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
