//! Parse, Bind, Describe, Execute, Close, Sync.

use crate::world::{World, bind, execute, parse, query, send};
use pgwire::message::frontend::{Frontend, Target};

const INT4: u32 = 23;
const TEXT: u32 = 25;

#[test]
fn a_statement_is_prepared_once_and_executed_often() {
    let world = World::new();
    let mut client = world.client();
    let described = send(
        &mut client,
        &[
            parse("s", "echo", &[INT4, TEXT]),
            Frontend::Describe(Target::Statement("s")),
            Frontend::Sync,
        ],
    );
    assert_eq!(described, ["message 1", "message t", "columns p:23,p:25", "ready I"]);
    for number in ["1", "2"] {
        let run = [
            bind("", "s", &[Some(number.as_bytes()), None], 0),
            Frontend::Describe(Target::Portal("")),
            execute("", 0),
            Frontend::Sync,
        ];
        let row = format!("row {number},null");
        let expected =
            ["message 2", "columns p:23,p:25", row.as_str(), "complete SELECT 1", "ready I"];
        assert_eq!(send(&mut client, &run), expected);
    }
    assert_eq!(world.log(), ["alone echo", "alone echo"]);
}

#[test]
fn values_travel_in_binary_format() {
    let world = World::new();
    let mut client = world.client();
    let parameters = [Some(&[0, 0, 0, 65][..]), Some(b"A".as_slice())];
    let run = [
        parse("", "echo", &[INT4, TEXT]),
        bind("", "", &parameters, 1),
        execute("", 0),
        Frontend::Sync,
    ];
    let expected = ["message 1", "message 2", "row \0\0\0A,A", "complete SELECT 1", "ready I"];
    assert_eq!(send(&mut client, &run), expected);
    let short = [bind("", "", &[Some(&[1]), None], 1), Frontend::Sync];
    assert_eq!(send(&mut client, &short), ["error 22P03", "ready I"], "a byte is no integer");
    query(&mut client, "rows 0");
    let removed = [bind("", "", &parameters, 1), Frontend::Sync];
    assert_eq!(send(&mut client, &removed), ["error 26000", "ready I"], "Query removes it");
}

#[test]
fn a_portal_returns_its_rows_in_parts() {
    let world = World::new();
    let mut client = world.client();
    query(&mut client, "begin");
    let first = [parse("", "rows 5", &[]), bind("p", "", &[], 0), execute("p", 2), Frontend::Sync];
    let part = ["message 1", "message 2", "row 0", "row 1", "message s", "ready T"];
    assert_eq!(send(&mut client, &first), part);
    let second = [execute("p", 2), execute("p", 2), execute("p", 2), Frontend::Sync];
    let rest = ["row 2", "row 3", "message s", "row 4", "complete SELECT 1"];
    let rest = rest.into_iter().chain(["complete SELECT 0", "ready T"]);
    assert_eq!(send(&mut client, &second), rest.collect::<Vec<_>>());
    let close = [Frontend::Close(Target::Portal("p")), execute("p", 0), Frontend::Sync];
    assert_eq!(send(&mut client, &close), ["message 3", "error 34000", "ready E"]);
    query(&mut client, "rollback");
}

#[test]
fn portals_end_with_their_transaction() {
    let world = World::new();
    let mut client = world.client();
    let first =
        [parse("s", "rows 5", &[]), bind("p", "s", &[], 0), execute("p", 2), Frontend::Sync];
    send(&mut client, &first);
    assert_eq!(send(&mut client, &[execute("p", 2), Frontend::Sync]), ["error 34000", "ready I"]);
    let again = [bind("p", "s", &[], 0), Frontend::Sync];
    assert_eq!(send(&mut client, &again), ["message 2", "ready I"], "the statement has remained");
}

#[test]
fn an_error_skips_messages_up_to_sync() {
    let world = World::new();
    let mut client = world.client();
    let messages = [
        parse("", "insert 1", &[]),
        bind("", "", &[], 0),
        execute("", 0),
        parse("", "refuse", &[]),
        bind("", "", &[], 0),
        execute("", 0),
        Frontend::Sync,
        parse("", "rows 1", &[]),
        Frontend::Sync,
    ];
    let expected = ["message 1", "message 2", "complete INSERT 0 1", "error 42601", "ready I"];
    assert_eq!(send(&mut client, &messages), expected);
    assert_eq!(crate::world::answers(&mut client), ["message 1", "ready I"]);
    assert_eq!(world.log(), ["begin_implicit", "insert 1", "rolled back"]);
}

#[test]
fn pipelined_statements_are_one_transaction() {
    let world = World::new();
    let mut client = world.client();
    let mut messages = Vec::new();
    for _ in 0..2 {
        messages.extend([parse("", "insert 1", &[]), bind("", "", &[], 0), execute("", 0)]);
    }
    messages.push(Frontend::Sync);
    assert_eq!(send(&mut client, &messages).len(), 7);
    assert_eq!(world.log(), ["begin_implicit", "insert 1", "insert 1", "committed"]);
}

#[test]
fn names_are_checked() {
    let world = World::new();
    let mut client = world.client();
    let mut state = |messages: &[Frontend<'_>]| {
        let mut answers = send(&mut client, messages);
        answers.pop();
        answers.pop()
    };
    let expect = |answer: Option<String>, sqlstate: &str| {
        assert_eq!(answer.as_deref(), Some(format!("error {sqlstate}").as_str()));
    };
    let sync = || Frontend::Sync;
    expect(state(&[bind("", "none", &[], 0), sync()]), "26000");
    expect(state(&[parse("a", "rows 1", &[]), parse("a", "rows 1", &[]), sync()]), "42P05");
    expect(state(&[bind("p", "a", &[], 0), bind("p", "a", &[], 0), sync()]), "42P03");
    expect(state(&[bind("", "a", &[None], 0), sync()]), "08P01");
    expect(state(&[bind("", "a", &[], 7), sync()]), "22023");
    expect(state(&[execute("none", 0), sync()]), "34000");
    expect(state(&[Frontend::Describe(Target::Portal("none")), sync()]), "34000");
    let closed = [Frontend::Close(Target::Statement("a")), bind("", "a", &[], 0), sync()];
    expect(state(&closed), "26000");
    let twice = [parse("", "insert 1", &[]), bind("", "", &[], 0), execute("", 0), execute("", 0)];
    let twice: Vec<_> = twice.into_iter().chain([sync()]).collect();
    expect(state(&twice), "55000");
}

#[test]
fn flush_sends_what_there_is() {
    let world = World::new();
    let mut client = world.client();
    client.put(&parse("", "rows 1", &[]));
    client.put(&Frontend::Describe(Target::Statement("")));
    client.put(&Frontend::Flush);
    client.flush().expect("the server reads");
    let answers: Vec<_> =
        (0..3).map(|_| crate::world::short(&client.read().expect("it answers"))).collect();
    assert_eq!(answers, ["message 1", "message t", "columns n:23"]);
    assert_eq!(send(&mut client, &[Frontend::Sync]), ["ready I"]);
}

#[test]
fn rows_are_copied_by_execute() {
    let world = World::new();
    let mut client = world.client();
    let messages = [
        parse("", "copyin", &[]),
        bind("", "", &[], 0),
        execute("", 0),
        // libpq sends Sync here already; it is ignored.
        Frontend::Sync,
        Frontend::CopyData(b"1\n"),
        Frontend::CopyDone,
        Frontend::Sync,
    ];
    let expected = ["message 1", "message 2", "CopyIn", "complete COPY 1", "ready I"];
    assert_eq!(send(&mut client, &messages), expected);
    let failing = [
        parse("", "copyin", &[]),
        bind("", "", &[], 0),
        execute("", 0),
        Frontend::CopyFail("no"),
        Frontend::CopyData(b"1\n"),
        Frontend::Sync,
    ];
    let expected = ["message 1", "message 2", "CopyIn", "error 57014", "ready I"];
    assert_eq!(send(&mut client, &failing), expected);
}
