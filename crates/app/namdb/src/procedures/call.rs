//! A procedure call: bind arguments, execute, read rows.
//!
//! Decision: docs/decisions/0221-the-outcome-of-a-call-is-a-value-and-misuse-is-an-error.md

use super::argument::Argument;
use super::error::{CallFailure, Misuse};
use super::rows::{At, Rows};
use super::session::{Procedure, Session};
use super::signature::{Parameter, Signature};
use interpreter::Retries;
use procedure_runtime::Results;
use std::sync::Arc;
use std::time::Duration;

/// A call of a procedure. It can be executed several times; arguments stay bound in between.
/// [`Call::execute`] has an example.
pub struct Call {
    session: Session,
    signature: Arc<Signature>,
    procedure: Procedure,
    arguments: Vec<Option<Argument>>,
    retries: Retries,
    results: Results,
    places: Vec<usize>,
    retried: u32,
}

impl Call {
    pub(super) fn new(session: Session, signature: Arc<Signature>, procedure: Procedure) -> Self {
        Self {
            session,
            arguments: vec![None; signature.parameters.len()],
            signature,
            procedure,
            retries: Retries::default(),
            results: Results::default(),
            places: Vec::new(),
            retried: 0,
        }
    }

    /// The procedure's parameters and result columns.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// assert_eq!(call.signature().parameters.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Binds a value to a parameter, given by position (from 0) or by name.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// call.bind(0, 7)?.execute()?;
    /// call.bind("subscriber_id", 8)?.execute()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the parameter does not exist or does not accept the value. Then nothing is bound.
    pub fn bind<'n>(
        &mut self,
        parameter: impl Into<At<'n>>,
        value: impl Into<Argument>,
    ) -> Result<&mut Self, Misuse> {
        let position = match parameter.into() {
            At::Position(position) => position,
            At::Name(name) => self.signature.parameter(name)?,
        };
        let value = value.into();
        let Signature { name, parameters, .. } = &*self.signature;
        let Some(Parameter { name: parameter, sql_type, .. }) = parameters.get(position) else {
            let (procedure, count) = (name.clone(), parameters.len());
            return Err(Misuse::NoPosition { procedure, position, count });
        };
        if !value.fits(sql_type) {
            return Err(Misuse::WrongArgument {
                procedure: name.clone(),
                parameter: parameter.clone(),
                wanted: sql_type.base().name(),
                given: value.kind(),
            });
        }
        self.arguments[position] = Some(value);
        Ok(self)
    }

    /// Removes all bound values.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// call.bind(0, 7)?;
    /// assert!(call.unbind().execute().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unbind(&mut self) -> &mut Self {
        self.arguments.fill(None);
        self
    }

    /// Deadline: no attempt begins later than this after the start of the call; a running attempt
    /// is not interrupted. Without it, a call with conflicts is retried for about one second.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// call.within(std::time::Duration::from_millis(200)).bind(0, 7)?.execute()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn within(&mut self, time: Duration) -> &mut Self {
        self.retries.within_ns = Some(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        self
    }

    /// Maximal number of retries on conflicts. Default 200.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// call.retry(10).bind(0, 7)?.execute()?;
    /// println!("{} retries", call.retries());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retry(&mut self, count_max: u32) -> &mut Self {
        self.retries.count_max = count_max;
        self
    }

    /// Executes the procedure as one transaction, retries it on conflicts, and returns its rows.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// let rows = call.bind(0, 7)?.execute()?;
    /// println!("number {:?}", rows.text(0, "sub_nbr")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the transaction did not commit or may not have committed: see [`CallFailure`].
    pub fn execute(&mut self) -> Result<Rows<'_>, CallFailure> {
        self.results.clear();
        self.places.clear();
        self.retried = 0;
        let count = self.count()?;
        let parameters = &self.signature.parameters[..count];
        let given = || self.arguments[..count].iter().flatten().zip(parameters);
        let texts: Vec<Vec<&[u8]>> = given().map(|(value, of)| value.texts(&of.sql_type)).collect();
        let arguments: Vec<procedure_runtime::Argument<'_>> = given()
            .zip(&texts)
            .map(|((value, of), texts)| value.borrowed(&of.sql_type, texts))
            .collect();
        let mut session = self.session.inner.borrow_mut();
        let ended = session.call(self.procedure, &arguments, self.retries, &mut self.results);
        drop(session);
        self.retried = ended.retries;
        if let Some(failure) = ended.failure {
            return Err(failure);
        }
        self.results.places(&mut self.places);
        Ok(self.rows())
    }

    /// The rows of the last execution; empty if it did not commit.
    ///
    /// ```no_run
    /// # use namdb::procedures::{Database, Options};
    /// # let database = Database::open("workloads/tatp", &Options::default())?;
    /// # let session = database.session()?;
    /// # let mut call = session.call("get_subscriber_data")?;
    /// call.bind(0, 7)?.execute()?;
    /// assert_eq!(call.rows().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows(&self) -> Rows<'_> {
        Rows { signature: &self.signature, results: &self.results, places: &self.places }
    }

    /// Number of retries of the last execution.
    /// [`Call::retry`] has an example.
    pub fn retries(&self) -> u32 {
        self.retried
    }

    /// Number of leading parameters with a value; the defaults supply the others.
    fn count(&self) -> Result<usize, Misuse> {
        let count = self.arguments.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let parameters = self.signature.parameters.iter().zip(&self.arguments).enumerate();
        let missing = parameters.filter(|(at, (of, value))| match value {
            Some(_) => false,
            None => *at < count || !of.has_default,
        });
        match missing.map(|(_, (of, _))| of).next() {
            None => Ok(count),
            Some(of) => Err(Misuse::Unbound {
                procedure: self.signature.name.clone(),
                parameter: of.name.clone(),
            }),
        }
    }
}
