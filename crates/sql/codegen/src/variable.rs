//! The variables of a procedure.
//!
//! Decision: docs/decisions/0198-types-of-variables-are-found-by-printing-until-nothing.md

use crate::code::{Code, Kind, TEXT_BYTES_MAX};
use crate::names::Names;
use crate::needs::Need;
use crate::unsupported::Unsupported;
use sql::procedure::{ParameterMode, Procedure, Variable as Declared};
use sql::{Field, SqlType};
use std::collections::{BTreeMap, BTreeSet};

/// A variable, or a field of a record.
pub type Place = (usize, Option<usize>);

#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    pub name: String,
    /// Its Rust type, or why it cannot have one, which is an error only if it is read.
    pub kind: Result<Kind, Unsupported>,
    pub sql_type: SqlType,
    /// Maximum length of a text in bytes.
    pub bytes_max: Option<usize>,
    pub is_nullable: bool,
    /// Whether it is a parameter.
    pub is_argument: bool,
    /// Whether it is ever read.
    pub is_read: bool,
    /// Whether it may hold a decimal of a larger scale than PostgreSQL's.
    pub is_padded: bool,
}

/// Facts about variables, derived from their assignments.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Guess {
    /// Variables that may be null.
    pub nullable: BTreeSet<Place>,
    /// Variables that may be read before an assignment.
    pub unassigned: BTreeSet<Place>,
    /// Rust types and maximum lengths of variables whose SQL types do not determine them:
    /// parameters and results lose lengths and precision [PostgreSQL, CREATE FUNCTION].
    pub kinds: BTreeMap<Place, (Kind, Option<usize>)>,
    /// Variables that are assigned decimals of different scales.
    pub padded: BTreeSet<Place>,
    pub read: BTreeSet<Place>,
    /// Variables that are always assigned before they are read, which the Rust compiler does not
    /// see.
    pub started: BTreeSet<Place>,
    /// The columns needed of rows that are read together.
    pub needs: Vec<Need>,
    /// Variables that the code uses.
    pub own: BTreeSet<Place>,
}

impl Guess {
    /// Notes that `code` is assigned unchanged to `variable`.
    pub fn note(&mut self, place: Place, variable: &Variable, code: &Code) {
        if code.is_nullable {
            self.nullable.insert(place);
        }
        if code.text == "None" || variable.is_typed() {
            return;
        }
        let is_shorter = variable.kind.as_ref().is_ok_and(|kind| kind.scale() > code.kind.scale());
        if code.is_padded || is_shorter {
            self.padded.insert(place);
        }
        let noted = self.kinds.entry(place).or_insert_with(|| (code.kind.clone(), Some(0)));
        if let (Some(before), Some(now)) = (noted.0.scale(), code.kind.scale())
            && now > before
        {
            noted.0 = code.kind.clone();
        }
        noted.1 = noted.1.zip(code.bytes_max).map(|(before, now)| before.max(now));
    }
}

/// All variables of a procedure.
#[derive(Clone, PartialEq, Debug)]
pub struct Variables {
    all: Vec<Entry>,
    /// Texts that stay in rows, with the nesting depth of the block.
    in_rows: BTreeMap<Place, (usize, Code)>,
    /// Variables that are null, with the nesting depth at which that was found.
    null: BTreeMap<Place, usize>,
}

#[derive(Clone, PartialEq, Debug)]
struct Entry {
    is_record: bool,
    parts: Vec<Variable>,
}

impl Variables {
    /// Returns the variables of `procedure`, with what is known about them.
    pub fn new(procedure: &Procedure, names: &mut Names, guess: &Guess) -> Self {
        let is_input = |position: usize| {
            let mut parameters = procedure.parameters.iter();
            parameters.any(|p| p.variable == position && p.mode != ParameterMode::Out)
        };
        let mut entry = |(position, declared): (usize, &Declared)| {
            let mut part = |place: Place, name: &str, sql_type: &SqlType| {
                let known = guess.kinds.get(&place).cloned();
                // Until its first assignment, assume that a decimal has scale 0.
                let is_open =
                    matches!(sql_type, SqlType::Numeric(_)) && Kind::of(sql_type).is_err();
                let kind = match is_open && !is_input(place.0) {
                    true => Ok(Kind::Decimal(0)),
                    false => Kind::of(sql_type),
                };
                let typed = (kind, bytes_max(sql_type));
                // If the length of the assigned values is unknown, too, use the default size.
                let (kind, bytes_max) = known.map_or(typed, |(kind, bytes)| {
                    let is_open = kind == Kind::Text && bytes.is_none();
                    (Ok(kind), if is_open { Some(TEXT_BYTES_MAX) } else { bytes })
                });
                Variable {
                    name: names.fresh(name),
                    kind,
                    sql_type: sql_type.clone(),
                    bytes_max,
                    is_nullable: guess.nullable.contains(&place),
                    is_argument: is_input(position),
                    is_read: guess.read.contains(&place),
                    is_padded: guess.padded.contains(&place),
                }
            };
            let SqlType::Record(fields) = &declared.sql_type else {
                let single = part((position, None), &declared.name, &declared.sql_type);
                return Entry { is_record: false, parts: vec![single] };
            };
            let field = |(at, field): (usize, &Field)| {
                let name = format!("{}_{}", declared.name, field.name);
                part((position, Some(at)), &name, &field.sql_type)
            };
            Entry { is_record: true, parts: fields.iter().enumerate().map(field).collect() }
        };
        let all = procedure.variables.iter().enumerate().map(&mut entry).collect();
        Self { all, in_rows: BTreeMap::new(), null: BTreeMap::new() }
    }

    /// Makes reads of a variable use a row instead.
    pub fn read_from_row(&mut self, place: Place, depth: usize, code: Code) {
        self.in_rows.insert(place, (depth, code));
    }

    /// Makes reads of a variable use the variable itself.
    pub fn read_from_variable(&mut self, place: Place) {
        self.in_rows.remove(&place);
        self.null.remove(&place);
    }

    /// Notes that a variable is null until the end of the block, or until its next assignment.
    pub fn becomes_null(&mut self, place: Place, depth: usize) {
        self.null.insert(place, depth);
    }

    /// Whether a variable is known to be null.
    pub fn is_null(&self, place: Place) -> bool {
        self.null.contains_key(&place)
    }

    /// As [`Variables::read_from_variable`], for all places and depths that pass the test.
    pub fn read_from_variables(&mut self, test: &dyn Fn(Place, usize) -> bool) {
        self.in_rows.retain(|place, (depth, _)| !test(*place, *depth));
        self.null.retain(|place, depth| !test(*place, *depth));
    }

    /// Returns a variable, or a field of one.
    pub fn at(&self, (variable, field): Place) -> &Variable {
        &self.all[variable].parts[field.unwrap_or(0)]
    }

    /// Returns the places of a variable: one, or one per field of a record.
    pub fn places(&self, variable: usize) -> Vec<Place> {
        let entry = &self.all[variable];
        let field = |field| (variable, entry.is_record.then_some(field));
        (0..entry.parts.len()).map(field).collect()
    }

    /// Iterates over all places in order.
    pub fn all(&self) -> impl Iterator<Item = (Place, &Variable)> {
        (0..self.all.len()).flat_map(|v| self.places(v)).map(|place| (place, self.at(place)))
    }

    /// Returns the value of a variable.
    pub fn code(&self, variable: usize) -> Result<Code, Unsupported> {
        self.value((variable, None))
    }

    /// Returns the value of a record's field.
    pub fn field_code(&self, variable: usize, field: usize) -> Result<Code, Unsupported> {
        self.value((variable, Some(field)))
    }

    fn value(&self, place: Place) -> Result<Code, Unsupported> {
        self.in_rows.get(&place).map_or_else(|| value(self.at(place)), |(_, code)| Ok(code.clone()))
    }
}

impl Variable {
    /// Whether the SQL type determines the Rust type, and the maximum length of a text.
    pub fn is_typed(&self) -> bool {
        match &self.sql_type {
            SqlType::Numeric(numeric) => numeric.scale().is_some(),
            text if text.is_text() => bytes_max(text).is_some(),
            _ => true,
        }
    }
}

/// Returns the expression that reads a variable.
fn value(variable: &Variable) -> Result<Code, Unsupported> {
    let kind = variable.kind.clone()?;
    let name = &variable.name;
    let is_owned_text = kind == Kind::Text && !variable.is_argument;
    let text = match (is_owned_text, variable.is_nullable) {
        (true, true) => format!("{name}.as_deref()"),
        (true, false) => format!("&{name}"),
        (false, _) => name.clone(),
    };
    let Variable { is_nullable, is_padded, .. } = *variable;
    let code = Code { is_nullable, is_padded, ..Code::new(text, kind) };
    Ok(code.at_most(variable.bytes_max))
}

/// Returns the maximum length of a text type in bytes, if it has one.
pub fn bytes_max(sql_type: &SqlType) -> Option<usize> {
    match sql_type {
        SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) => Some(*length as usize),
        _ => None,
    }
}
