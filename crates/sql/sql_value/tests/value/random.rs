//! Random expressions over variables whose values are likely to reveal differences.

use crate::grammar::{Random, TYPES, expression};
use crate::judge;
use crate::server::Server;
use crate::subject::{Row, Subject, types};
use crate::variables::{VARIABLES, values};
use sql::expression::CastKind;
use sql_value::{Conversion, Value};

const SEED: u64 = 0x5eed_0f7a_1e5a_11ed;
const ROWS: usize = 60;
const EXPRESSIONS: usize = 600;
/// Rows over which each expression is evaluated.
const EACH: usize = 2;

/// Whether two results are numbers that differ in their last digits only.
fn last_digit_apart(ours: &str, theirs: &str) -> bool {
    let number = |answer: &str| answer.strip_prefix("0=").and_then(|text| text.parse::<f64>().ok());
    match (number(ours), number(theirs)) {
        (Some(one), Some(other)) => {
            let is_long = ours.len() >= 18 && ours.len() == theirs.len();
            is_long && (one - other).abs() <= other.abs() * 1e-15
        }
        _ => false,
    }
}

/// Returns the reason if the difference between our result and PostgreSQL's is a known deviation.
fn known_difference(ours: &str, theirs: &str) -> Option<&'static str> {
    if ours.starts_with("! 22003 value overflows numeric format") {
        return Some("numeric has 38 digits, no NaN and no infinities");
    }
    let refuses = [
        "for type interval",
        "interval field value",
        "time zone displacement",
        "timestamp out of range",
    ];
    if theirs.starts_with('!') && refuses.iter().any(|refusal| theirs.contains(refusal)) {
        return Some(
            "texts that are half a date, half an interval are read otherwise, or refused with another code",
        );
    }
    if ours.starts_with("! 22008 date out of range for timestamp") {
        return Some("a date beyond all timestamps is compared with none");
    }
    if last_digit_apart(ours, theirs) {
        return Some("the last of sixteen digits of a float may differ");
    }
    // PostgreSQL reads a lone number as a day without a month.
    let is_no_time = ours.starts_with("! 22007") && theirs.starts_with("! 22008");
    is_no_time.then_some("texts that are no times are refused with another code")
}

fn rows(random: &mut Random) -> Vec<Vec<String>> {
    let variables = || TYPES.iter().flat_map(|(letter, _)| (1..=3).map(|n| values(*letter, n)));
    let row = |_| variables().map(|values| random.one_of(values).to_owned()).collect();
    (0..ROWS).map(row).collect()
}

/// Parses a literal as a value of the variable's type.
fn value(literal: &str, sql_type: &sql::SqlType) -> Value {
    if literal == "NULL" {
        return Value::Null;
    }
    let text = literal.trim_matches('\'').replace("''", "'");
    let conversion = Conversion::between(&sql::SqlType::Text, sql_type, CastKind::Explicit);
    conversion.apply(Value::text(&text)).expect("the value is one of its type")
}

#[test]
fn random_expressions_have_postgresqls_results() {
    let Some(server) = Server::start("value-random") else { return };
    let mut random = Random(SEED);
    let rows = rows(&mut random);
    let types = types(VARIABLES);
    let scopes: Vec<Row> = rows
        .iter()
        .map(|row| {
            let declared = row.iter().zip(&types[1..]);
            let values = declared.map(|(literal, sql_type)| value(literal, sql_type));
            Row(std::iter::once(Value::Null).chain(values).collect())
        })
        .collect();
    let mut before = format!("CREATE TABLE p (k integer, {VARIABLES});\n");
    for (at, row) in rows.iter().enumerate() {
        before.push_str(&format!("INSERT INTO p VALUES ({at}, {});\n", row.join(", ")));
    }
    let (mut asked, mut ours, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for (letter, _) in TYPES {
        for _ in 0..EXPRESSIONS {
            let text = expression(*letter, 3, &mut random);
            match Subject::read(VARIABLES, &text) {
                Ok(subject) => {
                    for _ in 0..EACH {
                        let row = random.below(ROWS);
                        ours.push(subject.answer(&scopes[row]));
                        asked.push((text.clone(), format!("FROM p WHERE k = {row}")));
                    }
                }
                Err(error) => refused.push(format!("{text}: {error}")),
            }
        }
    }
    refused.sort_by_key(String::len);
    refused.truncate(20);
    assert!(refused.is_empty(), "these are refused:\n{}", refused.join("\n"));
    let theirs = judge::answers(&server, &before, &asked);
    judge_all(&rows, &asked, &ours, &theirs);
}

fn judge_all(rows: &[Vec<String>], asked: &[(String, String)], ours: &[String], theirs: &[String]) {
    let (mut wrong, mut known, mut errors) = (Vec::new(), 0, 0);
    for ((case, ours), theirs) in asked.iter().zip(ours).zip(theirs) {
        errors += usize::from(theirs.starts_with('!'));
        if ours == theirs {
            continue;
        }
        if known_difference(ours, theirs).is_some() {
            known += 1;
            continue;
        }
        let row: usize = case.1.rsplit(' ').next().and_then(|row| row.parse().ok()).expect("a row");
        let used = variables_in(&case.0, &rows[row]);
        wrong.push(format!("{}\n    {used}\n    ours   {ours}\n    theirs {theirs}", case.0));
    }
    println!("{} answers, {errors} errors, {known} known differences", asked.len());
    assert!(errors * 2 < asked.len(), "most expressions have results");
    assert!(known * 50 < asked.len(), "known differences are rare, and not {known}");
    wrong.sort_by_key(String::len);
    let shown = wrong.iter().take(60).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} differ, seed {SEED:#x}:\n{shown}", wrong.len());
}

/// Lists the variables that an expression names, with their values.
fn variables_in(expression: &str, row: &[String]) -> String {
    let names = TYPES.iter().flat_map(|(letter, _)| (1..=3).map(move |n| format!("{letter}{n}")));
    let used = names.zip(row).filter(|(name, _)| expression.contains(name.as_str()));
    used.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}
