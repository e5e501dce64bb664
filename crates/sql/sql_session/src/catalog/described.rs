//! Sequences and routines, as a server shows them to its clients.

use super::snapshot::CatalogSnapshot;
use super::{DefinitionKind, Version};
use crate::lexer::{Kind, Token, tokens};
use sql::procedure::{ParameterMode, Procedure, Returns, RoutineKind};
use sql::{SqlType, Table};

/// A sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SequenceFacts {
    pub name: String,
    /// The number of its definition; `None` if it belongs to a column.
    pub oid: Option<i64>,
    /// The number of the table and of the column that it belongs to, from 1.
    pub owner: Option<(i64, i64)>,
    pub is_identity: bool,
    pub start: i64,
    pub sql_type: SqlType,
}

/// A function or procedure.
#[derive(Clone, PartialEq, Debug)]
pub struct RoutineFacts {
    pub oid: i64,
    pub signature: Procedure,
    /// `sql` or `plpgsql`.
    pub language: &'static str,
    /// The body between its quotes.
    pub source: String,
    /// A body without quotes, which begins with `BEGIN ATOMIC` or `RETURN`.
    pub sql_body: Option<String>,
    /// The type behind `RETURNS`.
    pub result: Option<String>,
    /// The schemas of `SET search_path`, as the setting is shown.
    pub search_path: Option<String>,
}

impl CatalogSnapshot {
    /// All sequences.
    pub fn sequence_facts(&self) -> Vec<SequenceFacts> {
        let version = self.version();
        let facts = version.sequences.iter().map(|(name, sequence)| {
            let (owner, number) = sequence.place;
            let table = version.position_of(owner).map(|at| &version.catalog.tables[at]);
            let columns = table.map(Table::visible).unwrap_or_default();
            let at = columns.iter().position(|column| i64::from(column.number) == number);
            let column = at.map(|at| &columns[at]);
            SequenceFacts {
                name: name.clone(),
                oid: (number == 0).then_some(owner),
                owner: at.map(|at| (owner, at as i64 + 1)),
                is_identity: column.is_some_and(|column| column.identity.is_some()),
                start: sequence.start,
                sql_type: column.map_or(SqlType::Int8, |column| column.sql_type.clone()),
            }
        });
        facts.collect()
    }

    /// All functions and procedures.
    pub fn routine_facts(&self) -> Vec<RoutineFacts> {
        let version = self.version();
        version.routines.iter().filter_map(|one| facts(version, one.id, &one.signature)).collect()
    }
}

fn facts(version: &Version, id: i64, signature: &Procedure) -> Option<RoutineFacts> {
    let is_it = |one: &&super::Definition| one.kind == DefinitionKind::Routine && one.id == id;
    let body = &version.definitions.iter().find(is_it)?.body;
    let tokens = tokens(body).ok()?;
    let find = |word: &str| tokens.iter().position(|token| token.is_word(word));
    let language = find("LANGUAGE").and_then(|at| tokens.get(at + 1));
    let is_plpgsql = language.is_some_and(|one| one.text.eq_ignore_ascii_case("plpgsql"));
    let text = tokens.windows(2).find(|pair| pair[0].is_word("AS") && pair[1].kind == Kind::Text);
    let source = text.and_then(|pair| pair[1].string());
    let sql_body = match source {
        Some(_) => None,
        None => find("ATOMIC")
            .map(|at| at - 1)
            .or(find("RETURN"))
            .map(|at| body[tokens[at].at..].trim_end().trim_end_matches(';').trim_end().to_owned()),
    };
    Some(RoutineFacts {
        oid: id,
        signature: signature.clone(),
        language: if is_plpgsql { "plpgsql" } else { "sql" },
        source: source.unwrap_or_default(),
        sql_body,
        result: find("RETURNS").map(|at| result(body, &tokens[at + 1..])),
        search_path: given_path(&tokens)
            .map(|names| names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")),
    })
}

/// The schemas of `SET search_path` in a routine's text; `None` without that, or for the present
/// path.
pub(crate) fn given_path(tokens: &[Token<'_>]) -> Option<Vec<String>> {
    let sets = |pair: &[Token<'_>]| pair[0].is_word("SET") && pair[1].is_word("search_path");
    let from = tokens.windows(2).position(sets)? + 3;
    if tokens.get(from - 1)?.is_word("FROM") {
        return None;
    }
    let mut names = Vec::new();
    for part in tokens.get(from..)?.chunks(2) {
        names.extend(part[0].string().or_else(|| part[0].name()));
        if part.get(1).is_none_or(|token| token.kind != Kind::Sign(',')) {
            break;
        }
    }
    Some(names.into_iter().filter(|name| !name.is_empty()).collect())
}

/// The type behind `RETURNS`, up to the next attribute.
fn result(body: &str, tokens: &[Token<'_>]) -> String {
    const NEXT: [&str; 17] = [
        "LANGUAGE",
        "AS",
        "IMMUTABLE",
        "STABLE",
        "VOLATILE",
        "STRICT",
        "CALLED",
        "RETURNS",
        "SECURITY",
        "PARALLEL",
        "COST",
        "ROWS",
        "SET",
        "LEAKPROOF",
        "BEGIN",
        "RETURN",
        "NOT",
    ];
    let mut depth = 0;
    let end = tokens.iter().position(|token| {
        depth += i32::from(token.kind == Kind::Sign('('));
        depth -= i32::from(token.kind == Kind::Sign(')'));
        depth == 0 && NEXT.iter().any(|word| token.is_word(word))
    });
    let own = &tokens[..end.unwrap_or(tokens.len())];
    match (own.first(), own.last()) {
        (Some(first), Some(last)) => body[first.at..last.end()].to_owned(),
        _ => String::new(),
    }
}

/// A name, in double quotes if it needs them.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain =
        |letter: char| letter == '_' || letter.is_ascii_digit() || letter.is_ascii_lowercase();
    let is_word = name.chars().all(is_plain)
        && !name.is_empty()
        && !name.starts_with(|one: char| one.is_ascii_digit());
    match is_word && !sql::is_reserved(name) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

impl RoutineFacts {
    pub fn is_procedure(&self) -> bool {
        self.signature.kind == RoutineKind::Procedure
    }

    /// The list of parameters as PostgreSQL prints it. Columns of `RETURNS TABLE` are no
    /// parameters.
    pub fn arguments(&self) -> String {
        let is_table = self
            .result
            .as_deref()
            .is_some_and(|of| of.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("table")));
        let shown = self.signature.parameters.iter().filter_map(|parameter| {
            let mode = match parameter.mode {
                ParameterMode::In if self.is_procedure() => "IN ",
                ParameterMode::In => "",
                ParameterMode::Out if is_table => return None,
                ParameterMode::Out => "OUT ",
                ParameterMode::InOut => "INOUT ",
            };
            let variable = &self.signature.variables[parameter.variable];
            let name = match variable.name.starts_with('$') {
                true => String::new(),
                false => format!("{} ", quoted(&variable.name)),
            };
            Some(format!("{mode}{name}{}", variable.sql_type.name()))
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// The type of the result as PostgreSQL prints it; `None` for procedures.
    pub fn result(&self) -> Option<String> {
        if self.is_procedure() {
            return None;
        }
        Some(match (&self.signature.returns, &self.result) {
            (Returns::Value(sql_type), _) => sql_type.name(),
            (Returns::Nothing, _) => "void".to_owned(),
            (_, Some(written)) => written.clone(),
            (Returns::Row(_), None) | (Returns::Rows(_), None) => "record".to_owned(),
        })
    }
}
