//! The variables of a procedure in Rust.

use crate::code::{Code, Kind, TEXT_BYTES_MAX};
use crate::names::Names;
use crate::needs::Need;
use crate::unsupported::Unsupported;
use sql::procedure::{ParameterMode, Procedure, Variable as Declared};
use sql::{Field, SqlType};
use std::collections::{BTreeMap, BTreeSet};

/// A variable, or a field of a record.
pub type Place = (usize, Option<usize>);

/// A variable in Rust.
#[derive(Clone, PartialEq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What it holds; why it can hold nothing, if nobody may ask for it.
    pub kind: Result<Kind, Unsupported>,
    /// Its type.
    pub sql_type: SqlType,
    /// Most bytes of a text.
    pub bytes_max: Option<usize>,
    /// Whether it is an `Option`.
    pub is_nullable: bool,
    /// Whether it is what the caller gave.
    pub is_argument: bool,
    /// Whether anybody asks for it.
    pub is_read: bool,
    /// Whether it may hold a decimal with more digits behind the point than PostgreSQL has for it.
    pub is_padded: bool,
}

/// What is found out of variables from what is assigned to them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Guess {
    /// Those that may be null.
    pub nullable: BTreeSet<Place>,
    /// Those that somebody asks for where it may be that nothing was assigned to them.
    pub unassigned: BTreeSet<Place>,
    /// What those hold whose types do not tell, and most bytes of texts: parameters and results lose lengths and
    /// digits [PostgreSQL, CREATE FUNCTION].
    pub kinds: BTreeMap<Place, (Kind, Option<usize>)>,
    /// Those that are given decimals with now more, now fewer digits behind the point.
    pub padded: BTreeSet<Place>,
    /// Those that somebody asks for.
    pub read: BTreeSet<Place>,
    /// Those that are assigned where Rust does not see that they always are.
    pub started: BTreeSet<Place>,
    /// What is needed of rows that are read together.
    pub needs: Vec<Need>,
    /// Those that the text names.
    pub own: BTreeSet<Place>,
}

impl Guess {
    /// Notes that `code` is assigned to `variable` as it is.
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
    /// Texts that stand in rows, with how deep inside lists of statements.
    in_rows: BTreeMap<Place, (usize, Code)>,
    /// Variables that are null, with how deep inside lists of statements that was found.
    null: BTreeMap<Place, usize>,
}

#[derive(Clone, PartialEq, Debug)]
struct Entry {
    is_record: bool,
    parts: Vec<Variable>,
}

impl Variables {
    /// Those of `procedure`, as far as they are known.
    pub fn new(procedure: &Procedure, names: &mut Names, guess: &Guess) -> Self {
        let is_input = |position: usize| {
            let mut parameters = procedure.parameters.iter();
            parameters.any(|p| p.variable == position && p.mode != ParameterMode::Out)
        };
        let mut entry = |(position, declared): (usize, &Declared)| {
            let mut part = |place: Place, name: &str, sql_type: &SqlType| {
                let known = guess.kinds.get(&place).cloned();
                // Until something is assigned, a decimal may be taken to have no digits behind the point.
                let is_open =
                    matches!(sql_type, SqlType::Numeric(_)) && Kind::of(sql_type).is_err();
                let kind = match is_open && !is_input(place.0) {
                    true => Ok(Kind::Decimal(0)),
                    false => Kind::of(sql_type),
                };
                let typed = (kind, bytes_max(sql_type));
                // What is assigned does not tell how long it may be, either.
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

    /// Has whoever asks for a variable look into a row.
    pub fn stays(&mut self, place: Place, depth: usize, code: Code) {
        self.in_rows.insert(place, (depth, code));
    }

    /// Has whoever asks for a variable look at itself.
    pub fn moves(&mut self, place: Place) {
        self.in_rows.remove(&place);
        self.null.remove(&place);
    }

    /// Notes that a variable is null up to the end of the block, or until something is assigned to it.
    pub fn becomes_null(&mut self, place: Place, depth: usize) {
        self.null.insert(place, depth);
    }

    /// Whether a variable is known to be null.
    pub fn is_null(&self, place: Place) -> bool {
        self.null.contains_key(&place)
    }

    /// The same for all such places and depths.
    pub fn move_all(&mut self, test: &dyn Fn(Place, usize) -> bool) {
        self.in_rows.retain(|place, (depth, _)| !test(*place, *depth));
        self.null.retain(|place, depth| !test(*place, *depth));
    }

    /// A variable, or a field of one.
    pub fn at(&self, (variable, field): Place) -> &Variable {
        &self.all[variable].parts[field.unwrap_or(0)]
    }

    /// All places of a variable: one, or one for each field of a record.
    pub fn places(&self, variable: usize) -> Vec<Place> {
        let entry = &self.all[variable];
        let field = |field| (variable, entry.is_record.then_some(field));
        (0..entry.parts.len()).map(field).collect()
    }

    /// All places of all variables, in order.
    pub fn all(&self) -> impl Iterator<Item = (Place, &Variable)> {
        (0..self.all.len()).flat_map(|v| self.places(v)).map(|place| (place, self.at(place)))
    }

    /// The value of a variable.
    pub fn code(&self, variable: usize) -> Result<Code, Unsupported> {
        self.value((variable, None))
    }

    /// The value of a record's field.
    pub fn field_code(&self, variable: usize, field: usize) -> Result<Code, Unsupported> {
        self.value((variable, Some(field)))
    }

    fn value(&self, place: Place) -> Result<Code, Unsupported> {
        self.in_rows.get(&place).map_or_else(|| value(self.at(place)), |(_, code)| Ok(code.clone()))
    }
}

impl Variable {
    /// Whether the type alone tells what it holds, and how long a text may be.
    pub fn is_typed(&self) -> bool {
        match &self.sql_type {
            SqlType::Numeric(numeric) => numeric.scale().is_some(),
            text if text.is_text() => bytes_max(text).is_some(),
            _ => true,
        }
    }
}

/// What stands for the variable in expressions.
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

/// Most bytes of a value of a text type, if it says so.
pub fn bytes_max(sql_type: &SqlType) -> Option<usize> {
    match sql_type {
        SqlType::Varchar(Some(length)) | SqlType::Char(Some(length)) => Some(*length as usize),
        _ => None,
    }
}
