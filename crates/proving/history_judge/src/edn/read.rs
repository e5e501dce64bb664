//! Reads a history from EDN.

use super::scanner::{Scanner, TextPosition};
use crate::error::ParseError;
use crate::history::{Ended, Event, History, HistoryBuilder, KeyId, Outcome, Step};
use std::collections::BTreeMap;
use std::ops::Range;

/// Reads a history; the error says in one sentence why the text is not one.
pub fn read_edn(text: &[u8]) -> Result<History, ParseError> {
    let mut reader = Reader {
        scanner: Scanner::new(text),
        builder: HistoryBuilder::new(),
        open: BTreeMap::new(),
        body: Body::default(),
    };
    reader.file()?;
    reader.leave_open()?;
    Ok(reader.builder.finish())
}

/// The type of a map of the history.
#[derive(Clone, Copy)]
enum Type {
    Invoke,
    Ended(Outcome),
}

/// The relevant entries of a map.
#[derive(Default)]
struct Entries {
    r#type: Option<Type>,
    process: Process,
    value: Option<TextPosition>,
    versions: Option<TextPosition>,
    time_ns: Option<i64>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Process {
    /// Not recorded: such transactions belong to no session.
    #[default]
    Missing,
    Number(i64),
    /// Not a client, such as `:nemesis`.
    Other,
}

/// The operations of one map, in reused buffers.
#[derive(Default)]
struct Body {
    steps: Vec<RawStep>,
    elements: Vec<i64>,
    versions: Vec<Option<i64>>,
}

struct RawStep {
    key: KeyId,
    does: Does,
    place: TextPosition,
}

#[derive(Clone)]
enum Does {
    Append(i64),
    Write(i64),
    ReadList(Range<usize>),
    ReadValue(i64),
    ReadNil,
}

/// A transaction that has begun.
struct Begun {
    event: Event,
    line: u32,
    body: Body,
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    builder: HistoryBuilder,
    open: BTreeMap<Process, Begun>,
    body: Body,
}

impl Reader<'_> {
    /// Reads maps one after another, or in one vector or list.
    fn file(&mut self) -> Result<(), ParseError> {
        self.scanner.skip_space()?;
        let closing = match self.scanner.peek() {
            Some(b'[') => Some(b']'),
            Some(b'(') => Some(b')'),
            _ => None,
        };
        if closing.is_some() {
            self.scanner.advance();
        }
        loop {
            self.scanner.skip_space()?;
            match (self.scanner.peek(), closing) {
                (None, None) => return Ok(()),
                (None, Some(_)) => {
                    return self.scanner.error("the history has no end: a bracket is missing");
                }
                (Some(byte), Some(closing)) if byte == closing => break,
                _ => self.map()?,
            }
        }
        self.scanner.advance();
        self.scanner.skip_space()?;
        match self.scanner.peek() {
            None => Ok(()),
            Some(_) => self.scanner.error("there is text after the end of the history"),
        }
    }

    fn map(&mut self) -> Result<(), ParseError> {
        let start = self.scanner.place();
        self.scanner.skip_tag()?;
        if !self.scanner.take(b'{') {
            return self
                .scanner
                .error("a map such as {:type :ok, :value [...], :process 1} belongs here");
        }
        let entries = self.entries(start)?;
        if entries.process == Process::Other {
            return Ok(());
        }
        let Some(r#type) = entries.r#type else {
            return Err(start.error("this map has no :type; it is :invoke, :ok, :fail or :info"));
        };
        let end = self.scanner.place();
        let mut body = std::mem::take(&mut self.body);
        self.body_at(&entries, &mut body)?;
        self.scanner.return_to(end);
        match r#type {
            Type::Invoke => self.invoke(start, &entries, body),
            Type::Ended(outcome) => self.complete(start, &entries, outcome, body),
        }
    }

    fn entries(&mut self, start: TextPosition) -> Result<Entries, ParseError> {
        let mut entries = Entries::default();
        loop {
            self.scanner.skip_space()?;
            if self.scanner.take(b'}') {
                return Ok(entries);
            }
            if self.scanner.peek().is_none() {
                return Err(start.error("this map has no end"));
            }
            let name = self.scanner.token();
            if name.is_empty() {
                // A string or a collection as a name is not one of the relevant entries.
                self.scanner.skip_form()?;
            }
            self.scanner.skip_space()?;
            match name {
                b":type" => entries.r#type = Some(self.type_of_event()?),
                b":process" => entries.process = self.process()?,
                b":time" => {
                    entries.time_ns = self.scanner.integer();
                    if entries.time_ns.is_none() {
                        self.scanner.skip_form()?;
                    }
                }
                b":value" => {
                    entries.value = Some(self.scanner.place());
                    self.scanner.skip_form()?;
                }
                b":versions" => {
                    entries.versions = Some(self.scanner.place());
                    self.scanner.skip_form()?;
                }
                _ => self.scanner.skip_form()?,
            }
        }
    }

    fn type_of_event(&mut self) -> Result<Type, ParseError> {
        let place = self.scanner.place();
        match self.scanner.token() {
            b":invoke" => Ok(Type::Invoke),
            b":ok" => Ok(Type::Ended(Outcome::Committed)),
            b":fail" => Ok(Type::Ended(Outcome::Aborted)),
            b":info" => Ok(Type::Ended(Outcome::Unknown)),
            _ => Err(place.error("a :type is :invoke, :ok, :fail or :info")),
        }
    }

    fn process(&mut self) -> Result<Process, ParseError> {
        if let Some(number) = self.scanner.integer() {
            return Ok(Process::Number(number));
        }
        let start = self.scanner.place();
        if self.scanner.token() == b"nil" {
            return Ok(Process::Missing);
        }
        self.scanner.return_to(start);
        self.scanner.skip_form()?;
        Ok(Process::Other)
    }

    /// Reads the operations of a map, after the whole map has been scanned.
    fn body_at(&mut self, entries: &Entries, body: &mut Body) -> Result<(), ParseError> {
        body.steps.clear();
        body.elements.clear();
        body.versions.clear();
        if let Some(place) = entries.value {
            self.scanner.return_to(place);
            self.operations(body)?;
        }
        if let Some(place) = entries.versions {
            self.scanner.return_to(place);
            self.versions(&mut body.versions)?;
            if body.versions.len() != body.steps.len() {
                return Err(place.error(format!(
                    "there are {} versions for {} operations; give one for each, or nil",
                    body.versions.len(),
                    body.steps.len()
                )));
            }
        }
        Ok(())
    }

    fn operations(&mut self, body: &mut Body) -> Result<(), ParseError> {
        const WANTED: &str = "a :value is a vector of operations: [:append k v], [:r k [v ...]], [:w k v] or [:r k v]";
        let start = self.scanner.place();
        if !self.scanner.take(b'[') {
            return match self.scanner.token() {
                b"nil" => Ok(()),
                _ => Err(start.error(WANTED)),
            };
        }
        loop {
            self.scanner.skip_space()?;
            if self.scanner.take(b']') {
                return Ok(());
            }
            if !self.scanner.take(b'[') {
                return self.scanner.error(WANTED);
            }
            self.operation(body)?;
        }
    }

    fn operation(&mut self, body: &mut Body) -> Result<(), ParseError> {
        self.scanner.skip_space()?;
        let place = self.scanner.place();
        let does = self.scanner.token();
        self.scanner.skip_space()?;
        let key = self.key()?;
        self.scanner.skip_space()?;
        let does = match does {
            b":append" => Does::Append(self.written()?),
            b":w" => Does::Write(self.written()?),
            b":r" => self.read(&mut body.elements)?,
            _ => return Err(place.error("an operation is :append, :r or :w")),
        };
        self.scanner.skip_space()?;
        if !self.scanner.take(b']') {
            return self.scanner.error("an operation has three parts: its kind, key, value");
        }
        body.steps.push(RawStep { key, does, place });
        Ok(())
    }

    fn key(&mut self) -> Result<KeyId, ParseError> {
        if let Some(number) = self.scanner.integer() {
            return Ok(self.builder.integer_key(number));
        }
        let place = self.scanner.place();
        let name = match self.scanner.peek() {
            Some(b'"') => self.scanner.string()?,
            _ => self.scanner.token(),
        };
        match std::str::from_utf8(name) {
            Ok("" | "nil") => {
                Err(place.error("a key is a number, a keyword, a string or a symbol"))
            }
            Ok(name) => Ok(self.builder.key(name)),
            Err(_) => Err(place.error("this key is not UTF-8")),
        }
    }

    fn written(&mut self) -> Result<i64, ParseError> {
        match self.scanner.integer() {
            Some(value) => Ok(value),
            None => self.scanner.error("a value is an integer of 64 bits"),
        }
    }

    fn read(&mut self, elements: &mut Vec<i64>) -> Result<Does, ParseError> {
        if let Some(value) = self.scanner.integer() {
            return Ok(Does::ReadValue(value));
        }
        let place = self.scanner.place();
        if !self.scanner.take(b'[') && !self.scanner.take(b'(') {
            return match self.scanner.token() {
                b"nil" => Ok(Does::ReadNil),
                _ => Err(place.error("a read returns nil, an integer, or a vector of integers")),
            };
        }
        let first = elements.len();
        loop {
            self.scanner.skip_space()?;
            if self.scanner.take(b']') || self.scanner.take(b')') {
                return Ok(Does::ReadList(first..elements.len()));
            }
            elements.push(self.written()?);
        }
    }

    fn versions(&mut self, versions: &mut Vec<Option<i64>>) -> Result<(), ParseError> {
        const WANTED: &str = "the :versions are a vector of integers and nil";
        if !self.scanner.take(b'[') {
            return self.scanner.error(WANTED);
        }
        loop {
            self.scanner.skip_space()?;
            if self.scanner.take(b']') {
                return Ok(());
            }
            let place = self.scanner.place();
            versions.push(match self.scanner.integer() {
                Some(version) => Some(version),
                None if self.scanner.token() == b"nil" => None,
                None => return Err(place.error(WANTED)),
            });
        }
    }

    fn invoke(
        &mut self,
        start: TextPosition,
        entries: &Entries,
        body: Body,
    ) -> Result<(), ParseError> {
        let event = self.builder.event(entries.time_ns);
        let begun = Begun { event, line: start.line(), body };
        match self.open.insert(entries.process, begun) {
            None => Ok(()),
            Some(before) => Err(start.error(format!(
                "this process begins a transaction before the one of line {} has ended",
                before.line
            ))),
        }
    }

    fn complete(
        &mut self,
        start: TextPosition,
        entries: &Entries,
        outcome: Outcome,
        body: Body,
    ) -> Result<(), ParseError> {
        let begun = self.open.remove(&entries.process);
        // If an end repeats no operations, the operations are those of the beginning, and its reads
        // are unknown.
        match &begun {
            Some(begun) if body.steps.is_empty() => {
                add(&mut self.builder, outcome, &begun.body, false)?;
            }
            _ => add(&mut self.builder, outcome, &body, true)?,
        }
        let completed = Some(self.builder.event(entries.time_ns));
        self.builder.end(Ended {
            process: entries.process.number(),
            invoked: begun.as_ref().map(|begun| begun.event),
            completed,
            line: start.line(),
        });
        self.body = body;
        Ok(())
    }

    /// A transaction without an end may have taken effect.
    fn leave_open(&mut self) -> Result<(), ParseError> {
        for (process, begun) in std::mem::take(&mut self.open) {
            add(&mut self.builder, Outcome::Unknown, &begun.body, false)?;
            let (process, invoked) = (process.number(), Some(begun.event));
            self.builder.end(Ended { process, invoked, completed: None, line: begun.line });
        }
        Ok(())
    }
}

impl Process {
    fn number(self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Missing | Self::Other => None,
        }
    }
}

fn add(
    builder: &mut HistoryBuilder,
    outcome: Outcome,
    body: &Body,
    has_reads: bool,
) -> Result<(), ParseError> {
    builder.begin(outcome);
    for (index, step) in body.steps.iter().enumerate() {
        let does = match &step.does {
            Does::Append(value) => Step::Append(*value),
            Does::Write(value) => Step::Write(*value),
            _ if !has_reads => Step::Unread,
            Does::ReadList(range) => Step::ReadList(&body.elements[range.clone()]),
            Does::ReadValue(value) => Step::ReadValue(*value),
            Does::ReadNil => Step::ReadInitial,
        };
        let version = body.versions.get(index).copied().flatten();
        builder
            .step(step.key, does, version)
            .map_err(|mixed| step.place.error(mixed.to_string()))?;
    }
    Ok(())
}
