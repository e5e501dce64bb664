//! Parameters and result columns of procedures.

use super::error::Misuse;
use sql::procedure::{ParameterMode, Returns};
use sql::{Field, SqlType};

/// The interface of a procedure.
///
/// ```no_run
/// # use namdb::procedures::{Database, Options};
/// # let database = Database::open("workloads/tatp", &Options::default())?;
/// # let session = database.session()?;
/// # let mut call = session.call("get_subscriber_data")?;
/// let signature = call.signature();
/// println!("{} returns {} columns", signature.name, signature.columns.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Signature {
    /// Name of the procedure.
    pub name: String,
    /// Input parameters in order.
    pub parameters: Vec<Parameter>,
    /// Columns of the result rows; empty if it returns nothing.
    pub columns: Vec<Field>,
}

/// An input parameter.
///
/// ```no_run
/// # use namdb::procedures::{Database, Options};
/// # let database = Database::open("workloads/tatp", &Options::default())?;
/// # let session = database.session()?;
/// # let mut call = session.call("get_subscriber_data")?;
/// for parameter in call.signature().parameters.iter().filter(|parameter| !parameter.has_default) {
///     println!("{} is necessary", parameter.name);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Parameter {
    /// Name of the parameter; an unnamed one is called `$1` and so on.
    pub name: String,
    /// Type of the parameter.
    pub sql_type: SqlType,
    /// Whether a call may omit it, together with all later parameters.
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

    /// Finds a parameter's position by its name.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// let position = call.signature().parameter("subscriber_id")?;
    /// call.bind(position, 7)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If no parameter has this name.
    pub fn parameter(&self, name: &str) -> Result<usize, Misuse> {
        let found = self.parameters.iter().position(|parameter| parameter.name == name);
        found.ok_or_else(|| Misuse::NoParameter {
            procedure: self.name.clone(),
            name: name.to_owned(),
            known: listed(self.parameters.iter().map(|parameter| parameter.name.as_str())),
        })
    }

    /// Finds a result column's position by its name.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// let position = call.signature().column("vlr_location")?;
    /// println!("{:?}", call.bind(0, 7)?.execute()?.int(0, position)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If no column has this name.
    pub fn column(&self, name: &str) -> Result<usize, Misuse> {
        let found = self.columns.iter().position(|column| column.name == name);
        found.ok_or_else(|| Misuse::NoColumn {
            procedure: self.name.clone(),
            name: name.to_owned(),
            known: listed(self.columns.iter().map(|column| column.name.as_str())),
        })
    }
}

/// Names separated by commas, or `none`.
pub(crate) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
