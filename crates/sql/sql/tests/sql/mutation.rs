//! The corpus with random changes.

use crate::agreement::verdicts;
use crate::changes::{changed, changes, corpus, count, runner};
use crate::corpus::{Case, Kind, catalog};
use crate::server::Server;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use sql::{ErrorKind, Program, Source};

#[test]
fn no_text_makes_the_readers_panic() {
    let corpus = corpus(&["accepted", "rejected", "outside", "rejected_when_run"]);
    let tables = catalog();
    let inputs = (prop::sample::select(corpus), changes());
    let run = runner(count(3000)).run(&inputs, |(case, changes)| {
        let text = changed(&case.text, &changes);
        let source = Source::new("f", &text);
        let result = match case.kind {
            Kind::Schema => sql::read_schema(&source).map(|_| ()),
            Kind::Procedures => sql::read_procedures(&source, &tables).map(|_| ()),
        };
        if let Err(error) = result {
            let error = error.first();
            prop_assert!(error.line >= 1 && error.column >= 1, "{error}");
            prop_assert!(error.line as usize <= text.lines().count().max(1) + 1, "{error}");
            prop_assert!(!error.sentence.is_empty());
        }
        Ok(())
    });
    run.expect("every text is read or refused");
}

#[test]
fn deep_and_long_texts_are_refused() {
    let tables = catalog();
    let deep = |before: &str, after: &str, times: usize| {
        let body = format!("{}1{}", before.repeat(times), after.repeat(times));
        format!(
            "CREATE FUNCTION f() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RETURN {body}; END $$"
        )
    };
    let blocks = format!(
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ {}{} $$",
        "BEGIN ".repeat(5000),
        "END; ".repeat(5000)
    );
    let texts = [
        deep("(", ")", 1000),
        deep("1 + ", "", 1500),
        deep("NOT ", "", 1500),
        deep("- ", "", 1500),
        deep("abs(", ")", 800),
        deep("CASE WHEN true THEN ", " END", 800),
        deep("(SELECT ", ")", 800),
        deep("1 + ", "", 20_000),
        blocks,
    ];
    for text in texts {
        let error = sql::read_procedures(&Source::new("f", &text), &tables)
            .expect_err("it is too deep or too long");
        assert!(matches!(error.first().kind, ErrorKind::Outside | ErrorKind::Type), "{error}");
    }
    let long = "-".repeat(sql::source::FILE_BYTES_MAX + 1);
    let empty = Source::new("procedures.sql", "");
    assert!(Program::parse(&Source::new("schema.sql", &long), &empty).is_err());
}

/// PostgreSQL accepts the texts that this crate accepts, and refuses nearly all texts in which this
/// crate reports an error other than unsupported SQL.
#[test]
fn postgresql_agrees_on_changed_texts() {
    let Some(server) = Server::start("mutation") else { return };
    let corpus = corpus(&["accepted"]);
    let mut runner = runner(1);
    let inputs = (prop::sample::select(corpus), changes());
    let mut texts: Vec<Case> = Vec::new();
    for _ in 0..count(400) {
        let (case, changes) = inputs.new_tree(&mut runner).expect("a text is drawn").current();
        let text = changed(&case.text, &changes);
        // psql cannot send zero bytes, and its commands begin with a backslash.
        if !text.contains(['\0', '\\']) {
            texts.push(Case { text, ..case });
        }
    }
    let (mut taken, mut refused) = (Vec::new(), Vec::new());
    for chunk in texts.chunks(200) {
        for (case, verdict) in chunk.iter().zip(verdicts(&server, chunk, "")) {
            match (case.read(), verdict) {
                // PostgreSQL checks literals of dates and times at once, this crate at run time.
                (Ok(_), Err(error))
                    if !error.contains("for type date")
                        && !error.contains("for type timestamp") =>
                {
                    taken.push(format!("{}\n{}\n{error}\n", case.name, case.text));
                }
                (Err(error), Ok(())) if error.first().kind == ErrorKind::Syntax => {
                    refused.push(format!("{}\n{}\n{error}\n", case.name, case.text));
                }
                _ => {}
            }
        }
    }
    assert!(
        taken.is_empty(),
        "PostgreSQL refuses {} of {}:\n{}",
        taken.len(),
        texts.len(),
        taken.join("\n")
    );
    // PostgreSQL reports some errors only at run time: that `>> a` is not an operator, or that the
    // alias in `a b` makes no sense.
    let few = refused.len() * 100 <= texts.len().max(100);
    assert!(few, "PostgreSQL takes {} of {}:\n{}", refused.len(), texts.len(), refused.join("\n"));
}
