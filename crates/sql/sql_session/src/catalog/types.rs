//! Enumerated types among the definitions.
//!
//! The body of a definition has the labels with their places. Texts of other definitions name a
//! type by its number, so that it may get another name. A type that was dropped stays, in no
//! schema, while such texts have columns that are gone.

use super::{Definition, DefinitionKind};
use crate::lexer::tokens;
use sql::expression::{Expr, ExprKind};
use sql::namespace::{nowhere, own_name, split, type_number};
use sql::{EnumType, Schemas, SqlType, Table, Types};
use sql_value::{input, output};
use std::fmt::Write;
use std::sync::Arc;

/// The definition of a type.
pub(crate) fn definition(of: &EnumType) -> Definition {
    let mut body = "ENUM".to_owned();
    for (place, label) in &of.labels {
        // Writing to a string cannot fail.
        let _ = write!(body, " ({place}) '{}'", label.replace('\'', "''"));
    }
    for (at, (place, label)) in of.former.iter().enumerate() {
        let word = if at == 0 { " FORMER" } else { "" };
        let _ = write!(body, "{word} ({place}) '{}'", label.replace('\'', "''"));
    }
    Definition {
        id: of.oid.into(),
        kind: DefinitionKind::Type,
        table: 0,
        name: of.name.clone(),
        physical: String::new(),
        body,
    }
}

fn read(one: &Definition) -> EnumType {
    let (mut labels, mut former, mut is_former) = (Vec::new(), Vec::new(), false);
    let (mut place, mut sign) = (0, 1);
    for token in tokens(&one.body).unwrap_or_default() {
        match token.string() {
            Some(label) if is_former => former.push((sign * place, label)),
            Some(label) => labels.push((sign * place, label)),
            None if token.is_word("FORMER") => is_former = true,
            None if token.text == "(" => sign = 1,
            None if token.text == "-" => sign = -1,
            None => place = token.text.parse().unwrap_or(place),
        }
    }
    EnumType { oid: one.id as u32, name: one.name.clone(), labels, former, reads_former: false }
}

/// The types that definitions make.
pub(crate) fn read_types(definitions: &[Definition], schemas: &Schemas) -> Types {
    let types = definitions.iter().filter(|one| one.kind == DefinitionKind::Type);
    Types::new(schemas.clone(), types.map(|one| Arc::new(read(one))).collect())
}

/// Replaces former labels in a table that was read from definitions.
pub(crate) fn settle(table: &mut Table, types: &Types) {
    for column in &mut table.columns {
        settle_type(&mut column.sql_type, types);
        column.default.iter_mut().for_each(settle_value);
    }
    table.checks.iter_mut().for_each(|check| settle_value(&mut check.condition));
    table.computed.iter_mut().for_each(settle_value);
}

/// The type with its present labels only, which clients may use.
pub(crate) fn settle_type(sql_type: &mut SqlType, types: &Types) {
    match sql_type {
        SqlType::Enum(of) if of.reads_former => {
            if let Some(present) = types.numbered(of.oid) {
                *of = present.clone();
            }
        }
        SqlType::Array(element) => settle_type(element, types),
        _ => {}
    }
}

fn settle_value(value: &mut Expr) {
    if let ExprKind::Cast { operand, .. } = &mut value.kind {
        settle_constant(operand, &value.sql_type);
    }
    value.for_each_child_mut(&mut |child| settle_value(child));
}

/// Gives a constant that is cast to a type the present labels.
fn settle_constant(constant: &mut Expr, sql_type: &SqlType) {
    match (&mut constant.kind, sql_type) {
        (ExprKind::Text(text), SqlType::Enum(of)) => {
            if let Some(label) = of.place(text).and_then(|place| of.label(place)) {
                label.clone_into(text);
            }
        }
        (ExprKind::Text(text), SqlType::Array(element))
            if matches!(**element, SqlType::Enum(_)) =>
        {
            if let Ok(values) = input::read(text, sql_type) {
                *text = output::text(&values, sql_type).into();
            }
        }
        (ExprKind::Array(elements), SqlType::Array(element)) => {
            elements.iter_mut().for_each(|one| settle_constant(one, element));
        }
        _ => {}
    }
}

/// Whether the text of a definition has a label of a type, also anywhere in the text of an array:
/// to keep a label that is only a part of another one costs little. `only` are kinds of
/// definitions; all if there are none.
pub(crate) fn names_label(
    definitions: &[Definition],
    oid: u32,
    label: &str,
    only: &[DefinitionKind],
) -> bool {
    let number = type_number(oid);
    // As in the text of an array.
    let escaped = label.replace('\\', "\\\\").replace('"', "\\\"");
    let has = |text: &str| text == label || (text.contains('{') && text.contains(&escaped));
    let mut all = definitions.iter().filter(|one| only.is_empty() || only.contains(&one.kind));
    all.any(|one| {
        one.body.contains(&number)
            // A text that cannot be read may have any label.
            && tokens(&one.body).map_or(true, |all| {
                all.iter().any(|token| token.string().is_some_and(|text| has(&text)))
            })
    })
}

/// Whether a type was dropped.
pub(crate) fn is_dropped(full: &str) -> bool {
    split(full).0 == split(&nowhere("")).0
}

/// Drops the definition of a type; keeps its number for texts that have it.
pub(crate) fn drop_type(one: &mut Definition) {
    one.name = nowhere(own_name(&one.name));
}

/// Removes dropped types that no text names any more.
pub(crate) fn forget_types(definitions: &mut Vec<Definition>) {
    let is_gone = |one: &Definition| {
        let number = type_number(one.id as u32);
        one.kind == DefinitionKind::Type
            && is_dropped(&one.name)
            && !definitions.iter().any(|other| other.body.contains(&number))
    };
    let gone: Vec<i64> = definitions.iter().filter(|one| is_gone(one)).map(|one| one.id).collect();
    definitions.retain(|one| one.kind != DefinitionKind::Type || !gone.contains(&one.id));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_stored_as_they_are() {
        let labels = ["a'b".to_owned(), "c\nd".to_owned(), String::new()];
        let mut of = EnumType::new(16_390, "t", &labels);
        assert!(of.insert(0, "-1") && of.insert(0, "(2)"));
        of.former.push((-7, "former".to_owned()));
        let again = read(&definition(&of));
        assert_eq!((again.oid, &again.name, &again.labels), (16_390, &of.name, &of.labels));
        assert_eq!(again.former, of.former);
        assert!(again.labels[0].0 < 0);
    }

    #[test]
    fn dropped_types_stay_while_texts_name_them() {
        let of = EnumType::new(16_390, "t", &["a".to_owned()]);
        let mut gone = definition(&of);
        drop_type(&mut gone);
        let text = format!("CREATE TABLE u (a \"{}\")", type_number(16_390));
        let table =
            Definition { id: 16_391, kind: DefinitionKind::Table, body: text, ..gone.clone() };
        let mut definitions = vec![gone, table];
        forget_types(&mut definitions);
        assert_eq!(definitions.len(), 2);
        definitions.pop();
        forget_types(&mut definitions);
        assert!(definitions.is_empty());
    }
}
