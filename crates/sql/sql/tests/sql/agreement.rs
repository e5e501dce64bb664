//! PostgreSQL and this crate accept and refuse the same texts, except unsupported SQL.

use crate::corpus::{Case, Kind, cases, text};
use crate::server::Server;

/// PostgreSQL's verdict on each case: accepted, or its message. `run` is executed after each case.
pub fn verdicts(server: &Server, cases: &[Case], run: &str) -> Vec<Result<(), String>> {
    let schema = text("schema.sql");
    let mut script = String::from("\\set ON_ERROR_STOP off\nSET client_min_messages = error;\n");
    for (at, case) in cases.iter().enumerate() {
        let before = if case.kind == Kind::Procedures { &*schema } else { "" };
        // Each text is quoted, so that an error in it does not affect the script.
        script.push_str(&format!("\\echo @@{at}\nBEGIN;\n{before}\n\\echo @@ready\n"));
        script.push_str(&format!("{}\n;\n{run}\nROLLBACK;\n", quoted(&case.text)));
    }
    script.push_str("\\echo @@end\n");
    let said = server.psql(&script);
    let mut verdicts = Vec::new();
    for at in 0..cases.len() {
        let from = said.find(&format!("@@{at}\n")).expect("each case has its mark");
        let rest = &said[from..];
        let rest = &rest[..rest[2..].find("\n@@").map_or(rest.len(), |_| next_case(rest, at))];
        let (before, answer) = rest.split_once("@@ready\n").expect("the schema is created");
        assert!(!before.contains("ERROR"), "the schema of the corpus: {before}");
        let error = answer.lines().find(|line| line.contains("ERROR:"));
        verdicts.push(error.map_or(Ok(()), |line| Err(line.to_owned())));
    }
    verdicts
}

fn next_case(rest: &str, at: usize) -> usize {
    let next = rest.find(&format!("@@{}\n", at + 1)).or_else(|| rest.find("@@end\n"));
    next.unwrap_or(rest.len())
}

/// Quotes a text as the argument of `EXECUTE` in a `DO` block, which accepts any text, also one
/// with open quotes.
fn quoted(text: &str) -> String {
    let mut tag = String::from("outermost");
    while text.contains(&format!("${tag}$")) {
        tag.push('_');
    }
    format!("DO ${tag}_do$ BEGIN EXECUTE ${tag}${text}${tag}$; END ${tag}_do$")
}

fn compare(server: &Server, name: &str, kind: Kind, run: &str, accepts: bool) {
    let cases = cases(name, kind);
    for (case, verdict) in cases.iter().zip(verdicts(server, &cases, run)) {
        match verdict {
            Ok(()) => assert!(accepts, "{name}: PostgreSQL takes `{}`", case.name),
            Err(error) => assert!(!accepts, "{name}: PostgreSQL refuses `{}`: {error}", case.name),
        }
    }
}

#[test]
fn postgresql_agrees_on_every_case() {
    let Some(server) = Server::start("agreement") else { return };
    for kind in [Kind::Schema, Kind::Procedures] {
        compare(&server, "accepted", kind, "", true);
        compare(&server, "rejected", kind, "", false);
        compare(&server, "outside", kind, "", true);
    }
    compare(&server, "rejected_when_run", Kind::Procedures, "", true);
    compare(&server, "rejected_when_run", Kind::Procedures, "SELECT f();", false);
}

/// PostgreSQL can prepare every statement inside the accepted procedures, and its column types are
/// ours.
#[test]
fn postgresql_prepares_every_embedded_statement() {
    let Some(server) = Server::start("prepares") else { return };
    let mut script = text("schema.sql");
    let mut count = 0;
    for case in cases("accepted", Kind::Procedures) {
        for statement in
            case.read().expect("it is accepted").iter().flat_map(|procedure| &procedure.statements)
        {
            count += 1;
            let types = statement.parameter_types.join(", ");
            let types = if types.is_empty() { types } else { format!("({types})") };
            script.push_str(&format!("\nPREPARE s{count} {types} AS {};\n", statement.text));
        }
    }
    assert!(count > 40, "the corpus has statements");
    let said = server.psql(&script);
    assert!(!said.contains("ERROR"), "{said}");
}
