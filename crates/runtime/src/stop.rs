//! Why a procedure ends early.

use std::borrow::Cow;
use txn::{Abort, TxnError};

/// Why a generated procedure ended before its end. Results carry it through every step of one, so that it is two words, which travel in
/// registers.
#[derive(Debug)]
pub enum Stop {
    /// Something that only the executor of plans deals with.
    Deviates,
    /// An error that the procedure raised.
    Raised(Box<Raised>),
    /// The transaction cannot go on.
    Engine(Box<TxnError>),
}

/// An error as SQL has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Raised {
    /// Its code, five characters.
    pub sqlstate: &'static str,
    /// Its sentence.
    pub message: Cow<'static, str>,
    /// More about it.
    pub detail: Option<String>,
}

impl Stop {
    /// `RAISE EXCEPTION` with a message that is known beforehand.
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
    /// A key that is there already is SQL's business, and so is a value that does not fit: the executor tells of them in
    /// PostgreSQL's words, unless the code can itself ([`duplicate`]).
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

/// Why a row was not inserted whose primary key are these numbers, in these columns with commas between them: a key that is
/// there already is told of as PostgreSQL does.
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

/// A value where null was not expected.
///
/// `Option::ok_or` would make a stop beforehand, and drop it each time.
#[inline(always)]
pub fn known<T>(value: Option<T>) -> Result<T, Stop> {
    match value {
        Some(value) => Ok(value),
        None => Err(Stop::Deviates),
    }
}

/// What a row has to satisfy; the executor tells which condition of SQL it is that a row does not.
#[inline(always)]
pub fn check(holds: bool) -> Result<(), Stop> {
    if holds { Ok(()) } else { Err(Stop::Deviates) }
}

/// An element of an array, counted from 1; beyond its bounds there is null, which was not expected.
#[inline(always)]
pub fn element<T: Copy>(list: &[T], position: i64) -> Result<T, Stop> {
    let at = usize::try_from(position.wrapping_sub(1)).map_err(|_| Stop::Deviates)?;
    known(list.get(at).copied())
}

/// A number of rows, which is not negative.
#[inline(always)]
pub fn count(value: i64) -> Result<usize, Stop> {
    usize::try_from(value).map_err(|_| Stop::Deviates)
}
