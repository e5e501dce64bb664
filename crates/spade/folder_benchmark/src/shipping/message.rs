//! Encoding of calls and responses.
//!
//! ```text
//! call      folder u32, procedure u16, maximal number of retries u32, their nanoseconds u64
//!           (all ones: no limit), arguments
//! answer    count of aborts u16, their reasons u8 each, ending u8, and depending on that
//!   commit  rows u32, values to the end
//!   error   code, message, detail and hint as values
//!   abort   reason u8
//! value     kind u8; a number 8 bytes; a decimal its scale u8 and 8 bytes; a text or an array its
//!           length u32 and content
//! ```
//! All numbers are little-endian. The values of a result follow row by row.

use interpreter::{CallError, Retries};
use procedure_runtime::{Argument, Cell, Results};
use txn::Abort;

const NULL: u8 = 0;
const INT: u8 = 1;
const DECIMAL: u8 = 2;
const BOOL: u8 = 3;
const FLOAT: u8 = 4;
const TEXT: u8 = 5;
const INTS: u8 = 6;
const BOOLS: u8 = 7;
const TEXTS: u8 = 8;
const COMMITTED: u8 = 0;
const ERROR: u8 = 1;
const ABORTED: u8 = 2;
const UNKNOWN: u8 = 3;
/// Encodes "no time limit".
const NO_LIMIT: u64 = u64::MAX;
/// Maximal scale of a decimal.
const SCALE_MAX: u8 = 200;

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Arrived {
    /// The host's number of the folder.
    pub folder: u32,
    /// The procedure, counted from 0.
    pub procedure: usize,
    /// The retry policy.
    pub retries: Retries,
    arguments: Vec<Held>,
}

/// An argument of a received call.
#[derive(Clone, PartialEq, Debug)]
enum Held {
    Plain(Argument<'static>),
    Text(Vec<u8>),
    Ints(Vec<i64>),
    Bools(Vec<bool>),
    Texts(Vec<Vec<u8>>),
}

/// How an executed call ended.
pub(super) enum Ended {
    /// The rows are in the results.
    Committed,
    Failed(CallError),
}

impl Held {
    fn texts(&self) -> Vec<&[u8]> {
        match self {
            Self::Texts(texts) => texts.iter().map(Vec::as_slice).collect(),
            _ => Vec::new(),
        }
    }
}

pub(super) fn encode_call(
    folder: u32,
    procedure: u16,
    retries: Retries,
    arguments: &[Argument<'_>],
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(18 + 9 * arguments.len());
    bytes.extend_from_slice(&folder.to_le_bytes());
    bytes.extend_from_slice(&procedure.to_le_bytes());
    bytes.extend_from_slice(&retries.count_max.to_le_bytes());
    bytes.extend_from_slice(&retries.within_ns.unwrap_or(NO_LIMIT).to_le_bytes());
    arguments.iter().for_each(|argument| put(argument, &mut bytes));
    bytes
}

/// Decodes a call; `None` if it is malformed.
pub(super) fn decode_call(mut bytes: &[u8]) -> Option<Arrived> {
    let rest = &mut bytes;
    let folder = u32::from_le_bytes(chunk(rest)?);
    let procedure = u16::from_le_bytes(chunk(rest)?).into();
    let count_max = u32::from_le_bytes(chunk(rest)?);
    let within_ns = Some(u64::from_le_bytes(chunk(rest)?)).filter(|&ns| ns != NO_LIMIT);
    let retries = Retries { count_max, within_ns, ..Retries::default() };
    let mut arguments = Vec::new();
    while !rest.is_empty() {
        arguments.push(take(rest)?);
    }
    Some(Arrived { folder, procedure, retries, arguments })
}

impl Arrived {
    /// The elements of text arrays, for [`Arrived::arguments`].
    pub fn texts(&self) -> Vec<Vec<&[u8]>> {
        self.arguments.iter().map(Held::texts).collect()
    }

    pub fn arguments<'a>(&'a self, texts: &'a [Vec<&'a [u8]>]) -> Vec<Argument<'a>> {
        let borrowed = |(held, texts): (&'a Held, &'a Vec<&'a [u8]>)| match held {
            Held::Plain(argument) => *argument,
            Held::Text(text) => Argument::Text(text),
            Held::Ints(numbers) => Argument::Ints(numbers),
            Held::Bools(flags) => Argument::Bools(flags),
            Held::Texts(_) => Argument::Texts(texts),
        };
        self.arguments.iter().zip(texts).map(borrowed).collect()
    }
}

pub(super) fn encode_rows(results: &Results) -> Vec<u8> {
    let mut bytes = (results.rows() as u32).to_le_bytes().to_vec();
    results.cells().for_each(|cell| put_cell(&cell, &mut bytes));
    bytes
}

/// Encodes the response of an executed call with the rows of its result.
///
/// # Errors
/// The engine refused a statement, so that the call was not executed.
pub(super) fn encode_answer(
    ended: Result<Vec<u8>, CallError>,
    aborts: &[Abort],
) -> Result<Vec<u8>, CallError> {
    // Only the last `u16::MAX` aborts fit; earlier ones are dropped.
    let told = &aborts[aborts.len().saturating_sub(usize::from(u16::MAX))..];
    let mut bytes = Vec::with_capacity(8 + told.len());
    bytes.extend_from_slice(&(told.len() as u16).to_le_bytes());
    bytes.extend(told.iter().map(|&reason| number(reason)));
    match ended {
        Ok(rows) => {
            bytes.push(COMMITTED);
            bytes.extend_from_slice(&rows);
        }
        Err(CallError::Sql(error)) => {
            bytes.push(ERROR);
            let sql_value::Error { sqlstate, message, detail, hint } = &*error;
            let words = [Some(&**sqlstate), Some(message), detail.as_deref(), hint.as_deref()];
            for word in words {
                let cell = word.map_or(Cell::Null, |word| Cell::Text(word.as_bytes()));
                put_cell(&cell, &mut bytes);
            }
        }
        Err(CallError::Aborted(reason)) => bytes.extend_from_slice(&[ABORTED, number(reason)]),
        Err(CallError::Unknown) => bytes.push(UNKNOWN),
        Err(other) => return Err(other),
    }
    Ok(bytes)
}

/// Decodes a response; `None` if it is malformed. Stores rows in `results`, and the reasons of
/// aborted attempts in `aborts`.
pub(super) fn decode_answer(
    mut bytes: &[u8],
    results: &mut Results,
    aborts: &mut Vec<Abort>,
) -> Option<Ended> {
    let rest = &mut bytes;
    results.clear();
    aborts.clear();
    for _ in 0..u16::from_le_bytes(chunk(rest)?) {
        aborts.push(reason(rest)?);
    }
    let [ending] = chunk(rest)?;
    let failure = match ending {
        COMMITTED => {
            let rows = u32::from_le_bytes(chunk(rest)?);
            (0..rows).for_each(|_| results.row());
            while !rest.is_empty() {
                take_cell(rest, results)?;
            }
            return Some(Ended::Committed);
        }
        ERROR => {
            let (sqlstate, message) = (word(rest)??.into(), word(rest)??);
            let (detail, hint) = (word(rest)?, word(rest)?);
            CallError::Sql(Box::new(sql_value::Error { sqlstate, message, detail, hint }))
        }
        ABORTED => CallError::Aborted(reason(rest)?),
        UNKNOWN => CallError::Unknown,
        _ => return None,
    };
    rest.is_empty().then_some(Ended::Failed(failure))
}

fn number(reason: Abort) -> u8 {
    let known = Abort::ALL.iter().position(|one| *one == reason);
    known.expect("all reasons are listed") as u8
}

fn reason(rest: &mut &[u8]) -> Option<Abort> {
    let [number] = chunk(rest)?;
    Abort::ALL.get(usize::from(number)).copied()
}

fn put(argument: &Argument<'_>, bytes: &mut Vec<u8>) {
    match *argument {
        Argument::Null => put_cell(&Cell::Null, bytes),
        Argument::Int(number) => put_cell(&Cell::Int(number), bytes),
        Argument::Decimal(units, scale) => put_cell(&Cell::Decimal(units, scale), bytes),
        Argument::Bool(flag) => bytes.extend_from_slice(&[BOOL, u8::from(flag)]),
        Argument::Float(number) => put_cell(&Cell::Float(number), bytes),
        Argument::Text(text) => put_cell(&Cell::Text(text), bytes),
        Argument::Ints(numbers) => {
            put_head(INTS, numbers.len(), bytes);
            numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
        }
        Argument::Bools(flags) => {
            put_head(BOOLS, flags.len(), bytes);
            bytes.extend(flags.iter().map(|&flag| u8::from(flag)));
        }
        Argument::Texts(texts) => {
            put_head(TEXTS, texts.len(), bytes);
            texts.iter().for_each(|text| put_cell(&Cell::Text(text), bytes));
        }
    }
}

fn put_cell(cell: &Cell<'_>, bytes: &mut Vec<u8>) {
    match *cell {
        Cell::Null => bytes.push(NULL),
        Cell::Int(number) => {
            bytes.push(INT);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        Cell::Decimal(units, scale) => {
            bytes.extend_from_slice(&[DECIMAL, scale]);
            bytes.extend_from_slice(&units.to_le_bytes());
        }
        Cell::Float(number) => {
            bytes.push(FLOAT);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        Cell::Text(text) => {
            put_head(TEXT, text.len(), bytes);
            bytes.extend_from_slice(text);
        }
    }
}

/// # Panics
/// If the length exceeds that of a message.
fn put_head(kind: u8, length: usize, bytes: &mut Vec<u8>) {
    bytes.push(kind);
    let length = u32::try_from(length).expect("messages are shorter");
    bytes.extend_from_slice(&length.to_le_bytes());
}

fn take(rest: &mut &[u8]) -> Option<Held> {
    let [kind] = chunk(rest)?;
    Some(match kind {
        NULL => Held::Plain(Argument::Null),
        INT => Held::Plain(Argument::Int(i64::from_le_bytes(chunk(rest)?))),
        DECIMAL => {
            let (units, scale) = decimal(rest)?;
            Held::Plain(Argument::Decimal(units, scale))
        }
        BOOL => Held::Plain(Argument::Bool(flag(rest)?)),
        FLOAT => Held::Plain(Argument::Float(f64::from_le_bytes(chunk(rest)?))),
        TEXT => Held::Text(text(rest)?.to_vec()),
        INTS => Held::Ints(elements(rest, |rest| Some(i64::from_le_bytes(chunk(rest)?)))?),
        BOOLS => Held::Bools(elements(rest, flag)?),
        TEXTS => Held::Texts(elements(rest, |rest| match chunk(rest)? {
            [TEXT] => Some(text(rest)?.to_vec()),
            _ => None,
        })?),
        _ => return None,
    })
}

fn take_cell(rest: &mut &[u8], results: &mut Results) -> Option<()> {
    let [kind] = chunk(rest)?;
    match kind {
        NULL => results.null(),
        INT => results.int(i64::from_le_bytes(chunk(rest)?)),
        DECIMAL => {
            let (units, scale) = decimal(rest)?;
            results.decimal(units, scale);
        }
        FLOAT => results.float(f64::from_le_bytes(chunk(rest)?)),
        TEXT => results.text(text(rest)?),
        _ => return None,
    }
    Some(())
}

fn decimal(rest: &mut &[u8]) -> Option<(i64, u8)> {
    let [scale] = chunk(rest)?;
    let units = i64::from_le_bytes(chunk(rest)?);
    (scale <= SCALE_MAX).then_some((units, scale))
}

fn flag(rest: &mut &[u8]) -> Option<bool> {
    let [flag] = chunk(rest)?;
    Some(flag != 0)
}

fn text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_le_bytes(chunk(rest)?) as usize;
    let (text, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(text)
}

/// Decodes a text or a null.
fn word(rest: &mut &[u8]) -> Option<Option<String>> {
    match chunk(rest)? {
        [NULL] => Some(None),
        [TEXT] => Some(Some(std::str::from_utf8(text(rest)?).ok()?.to_owned())),
        _ => None,
    }
}

/// Decodes as many elements as the length says. Each takes at least one byte, so that a wrong
/// length allocates no memory.
fn elements<T>(rest: &mut &[u8], element: impl Fn(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let count = u32::from_le_bytes(chunk(rest)?) as usize;
    (count <= rest.len()).then_some(())?;
    (0..count).map(|_| element(rest)).collect()
}

fn chunk<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (chunk, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGUMENTS: [Argument<'static>; 9] = [
        Argument::Int(-7),
        Argument::Text(b"a text"),
        Argument::Null,
        Argument::Decimal(-12_345, 2),
        Argument::Ints(&[1, i64::MIN]),
        Argument::Bool(true),
        Argument::Bools(&[true, false]),
        Argument::Texts(&[b"", b"two"]),
        Argument::Float(0.5),
    ];

    #[test]
    fn calls_are_decoded_as_encoded_and_truncated_ones_refused() {
        let retries = Retries { count_max: 200, within_ns: Some(7), ..Retries::default() };
        let bytes = encode_call(3, 4, retries, &ARGUMENTS);
        let call = decode_call(&bytes).expect("it is one");
        assert_eq!((call.folder, call.procedure, call.retries), (3, 4, retries));
        assert_eq!(call.arguments(&call.texts()), ARGUMENTS);
        for end in 0..bytes.len() {
            let cut = decode_call(&bytes[..end]);
            let is_shorter = |call: Arrived| call.arguments.len() < ARGUMENTS.len();
            assert!(cut.is_none_or(is_shorter), "{end} bytes");
        }
        let mut endless = encode_call(3, 4, Retries::default(), &[]);
        assert_eq!(decode_call(&endless).map(|call| call.retries), Some(Retries::default()));
        endless.extend_from_slice(&[INTS, 255, 255, 255, 255]);
        assert_eq!(decode_call(&endless), None);
    }

    #[test]
    fn responses_are_decoded_as_encoded() {
        let mut given = Results::default();
        given.row();
        given.int(5);
        given.text(b"five");
        given.row();
        given.decimal(-120, 2);
        given.null();
        let aborts = [Abort::WriteConflict, Abort::Contended];
        let bytes = encode_answer(Ok(encode_rows(&given)), &aborts).expect("it has ended");
        let (mut results, mut told) = (Results::default(), Vec::new());
        let ended = decode_answer(&bytes, &mut results, &mut told);
        assert!(matches!(ended, Some(Ended::Committed)));
        assert_eq!((results.rows(), &told[..]), (2, &aborts[..]));
        assert!(results.cells().eq(given.cells()));

        let mut refused = sql_value::Error::new("P0001", "no such account");
        refused.hint = Some("open one".to_owned());
        let errors = [CallError::Sql(refused), CallError::Aborted(Abort::User), CallError::Unknown];
        for error in errors {
            let bytes = encode_answer(Err(error.clone()), &[]).expect("it has ended");
            let ended = decode_answer(&bytes, &mut results, &mut told);
            assert!(matches!(ended, Some(Ended::Failed(told)) if told == error));
            assert_eq!((results.rows(), told.len()), (0, 0));
        }
        for garbage in
            [&[0, 0, 9][..], &[1, 0, 200, 0, 0, 0, 0, 0], &[0, 0, 0, 1, 0, 0, 0, DECIMAL, 201, 0]]
        {
            assert!(decode_answer(garbage, &mut results, &mut told).is_none(), "{garbage:?}");
        }
        let engine = txn::TxnError::Abort(Abort::OutOfMemory);
        assert!(encode_answer(Err(CallError::Engine(engine)), &[]).is_err());
    }
}
