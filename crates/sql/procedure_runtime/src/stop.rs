//! Why a procedure stops early.

use std::borrow::Cow;
use txn::{Abort, TxnError};

/// Why a generated procedure stopped early. Each step returns it in its result, so it takes two
/// words and is returned in registers.
#[derive(Debug)]
pub enum Stop {
    /// Only the executor of plans handles this case.
    Deviates,
    /// The procedure raised an error.
    Raised(Box<Raised>),
    /// The engine failed, and the transaction cannot continue.
    Engine(Box<TxnError>),
}

/// An SQL error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Raised {
    /// Five characters.
    pub sqlstate: &'static str,
    pub message: Cow<'static, str>,
    pub detail: Option<String>,
}

impl Stop {
    /// `RAISE EXCEPTION` with a constant message.
    #[cold]
    pub fn raised(sqlstate: &'static str, message: &'static str) -> Self {
        Raised { sqlstate, message: Cow::Borrowed(message), detail: None }.into()
    }
}

const _: () = assert!(size_of::<Stop>() <= 16);

impl From<Raised> for Stop {
    fn from(raised: Raised) -> Self {
        Self::Raised(Box::new(raised))
    }
}

impl From<TxnError> for Stop {
    /// A duplicate key or a value that does not fit is an SQL error: the executor reports it in
    /// PostgreSQL's words, unless generated code can do so itself ([`duplicate`]).
    #[cold]
    fn from(error: TxnError) -> Self {
        match error {
            TxnError::DuplicateKey { .. } | TxnError::Schema(_) => Self::Deviates,
            other => Self::Engine(Box::new(other)),
        }
    }
}

impl From<Abort> for Stop {
    fn from(abort: Abort) -> Self {
        Self::Engine(Box::new(abort.into()))
    }
}

/// Returns why a row was not inserted: a duplicate key is reported as PostgreSQL does. `key` has
/// the values of the primary key, and `columns` its columns, separated by commas.
#[cold]
pub fn duplicate(
    error: TxnError,
    constraint: &'static str,
    columns: &'static str,
    key: &[i64],
) -> Stop {
    if !matches!(error, TxnError::DuplicateKey { .. }) {
        return error.into();
    }
    let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    let shown: Vec<String> = key.iter().map(i64::to_string).collect();
    let detail = format!("Key ({columns})=({}) already exists.", shown.join(", "));
    Raised { sqlstate: "23505", message: message.into(), detail: Some(detail) }.into()
}

/// Returns a value that was expected not to be null.
///
/// `Option::ok_or` would construct the error in advance, and drop it each time.
#[inline(always)]
pub fn known<T>(value: Option<T>) -> Result<T, Stop> {
    match value {
        Some(value) => Ok(value),
        None => Err(Stop::Deviates),
    }
}

/// Deviates if a row violates a constraint; the executor reports which.
#[inline(always)]
pub fn check(holds: bool) -> Result<(), Stop> {
    if holds { Ok(()) } else { Err(Stop::Deviates) }
}

/// Returns an element of an array, counted from 1; out of bounds it would be null, which deviates.
#[inline(always)]
pub fn element<T: Copy>(list: &[T], position: i64) -> Result<T, Stop> {
    let at = usize::try_from(position.wrapping_sub(1)).map_err(|_| Stop::Deviates)?;
    known(list.get(at).copied())
}

/// Returns a number of rows; a negative number deviates.
#[inline(always)]
pub fn count(value: i64) -> Result<usize, Stop> {
    usize::try_from(value).map_err(|_| Stop::Deviates)
}
