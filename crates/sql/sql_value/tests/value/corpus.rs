//! Runs the expressions of `corpus/expressions.txt`. Each is followed by a line with its result:
//! `= text`, `null`, or `! code message`.

use crate::judge;
use crate::server::Server;
use crate::subject::{Row, Subject};

const CORPUS: &str = include_str!("../corpus/expressions.txt");

/// Returns the expressions with their expected results.
fn cases() -> Vec<(&'static str, String)> {
    let lines: Vec<&str> =
        CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with("--")).collect();
    assert_eq!(lines.len() % 2, 0, "each expression has a result");
    let answer = |line: &str| match line.strip_prefix("= ") {
        Some(text) => format!("0={text}"),
        None if line == "null" => "1=".to_owned(),
        None if line == "=" => "0=".to_owned(),
        None => line.to_owned(),
    };
    lines.chunks_exact(2).map(|pair| (pair[0], answer(pair[1]))).collect()
}

#[test]
fn our_results_match_the_corpus() {
    let mut wrong = Vec::new();
    for (expression, expected) in cases() {
        let ours = match Subject::read("", expression) {
            Ok(subject) => subject.answer(&Row::default()),
            Err(error) => format!("refused: {error}"),
        };
        if ours != expected {
            wrong.push(format!("{expression}\n    expected {expected}\n    got      {ours}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn postgresql_results_match_the_corpus() {
    let Some(server) = Server::start("value-corpus") else { return };
    let cases = cases();
    assert!(cases.len() > 250, "the corpus has {} cases", cases.len());
    let asked: Vec<(String, String)> =
        cases.iter().map(|(expression, _)| ((*expression).to_owned(), String::new())).collect();
    let answers = judge::answers(&server, "", &asked);
    let pairs = cases.iter().zip(answers).filter(|((_, expected), theirs)| expected != theirs);
    let wrong: Vec<String> = pairs
        .map(|((expression, expected), theirs)| {
            format!("{expression}\n    expected {expected}\n    got      {theirs}")
        })
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
