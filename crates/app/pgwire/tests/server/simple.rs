//! The start of a session, and simple queries.

use crate::world::{World, answers, query, refused, send};
use pgwire::client::{Client, Target};
use pgwire::message::frontend::Frontend;

#[test]
fn a_session_starts_with_the_settings_that_drivers_need() {
    let world = World::new();
    let settings = [("client_encoding", "'utf-8'"), ("application_name", "psql")];
    let client = Client::connect(&world.target(), &settings).expect("it is accepted");
    let setting = |name: &str| {
        let own = client.settings.iter().find(|(own, _)| own == name);
        own.map(|(_, value)| value.as_str())
    };
    assert!(setting("server_version").is_some_and(|version| version.starts_with("15.")));
    assert_eq!(setting("client_encoding"), Some("UTF8"));
    assert_eq!(setting("application_name"), Some("psql"));
    assert_eq!(setting("session_authorization"), Some("ada"));
    for (name, value) in [
        ("standard_conforming_strings", "on"),
        ("integer_datetimes", "on"),
        ("DateStyle", "ISO, MDY"),
        ("IntervalStyle", "postgres"),
        ("server_encoding", "UTF8"),
    ] {
        assert_eq!(setting(name), Some(value), "{name}");
    }
}

#[test]
fn a_refused_session_has_a_reason() {
    let world = World::new();
    let missing = Target { database: "missing".to_owned(), ..world.target() };
    assert_eq!(refused(&missing, &[]), "3D000");
    let nobody = Target { user: String::new(), ..world.target() };
    assert_eq!(refused(&nobody, &[]), "28000");
    assert_eq!(refused(&world.target(), &[("client_encoding", "LATIN1")]), "22023");
    assert_eq!(refused(&world.target(), &[("replication", "database")]), "0A000");
}

#[test]
fn statements_answer_with_rows_tags_notices_and_settings() {
    let world = World::new();
    let mut client = world.client();
    let rows = ["columns n:23", "row 0", "row 1", "complete SELECT 2", "ready I"];
    assert_eq!(query(&mut client, "rows 2"), rows);
    assert_eq!(query(&mut client, " ; "), ["Empty", "ready I"]);
    assert_eq!(query(&mut client, "warn look"), ["notice look", "complete WARN", "ready I"]);
    let set = ["ParameterStatus(\"TimeZone\", \"UTC\")", "complete SET", "ready I"];
    assert_eq!(query(&mut client, "set UTC"), set);
    assert_eq!(query(&mut client, "nonsense"), ["error 42601", "ready I"]);
}

#[test]
fn several_statements_are_one_transaction() {
    let world = World::new();
    let mut client = world.client();
    let both = ["complete INSERT 0 1", "complete INSERT 0 1", "ready I"];
    assert_eq!(query(&mut client, "insert 1; insert 2"), both);
    assert_eq!(world.log(), ["begin_implicit", "insert 1", "insert 2", "committed"]);
    let half = ["complete INSERT 0 1", "error 42601", "ready I"];
    assert_eq!(query(&mut client, "insert 1; nonsense; insert 3"), half);
    assert_eq!(world.log(), ["begin_implicit", "insert 1", "nonsense", "rolled back"]);
    query(&mut client, "insert 1");
    assert_eq!(world.log(), ["alone insert 1"], "a single statement commits by itself");
}

#[test]
fn a_position_counts_from_the_begin_of_the_query() {
    let world = World::new();
    let mut client = world.client();
    client.put(&Frontend::Query("insert 1; refuse"));
    client.flush().expect("the server reads");
    let mut position = None;
    loop {
        match client.read().expect("the server answers") {
            pgwire::message::backend::Backend::Error(error) => position = error.position,
            pgwire::message::backend::Backend::Ready(_) => break,
            _ => {}
        }
    }
    assert_eq!(position, Some(13));
}

#[test]
fn a_transaction_block_fails_and_ends() {
    let world = World::new();
    let mut client = world.client();
    assert_eq!(query(&mut client, "begin"), ["complete BEGIN", "ready T"]);
    assert_eq!(query(&mut client, "nonsense"), ["error 42601", "ready E"]);
    assert_eq!(query(&mut client, "rows 1"), ["error 25P02", "ready E"]);
    assert_eq!(query(&mut client, "commit"), ["complete ROLLBACK", "ready I"]);
}

#[test]
fn rows_are_copied_in_and_out() {
    let world = World::new();
    let mut client = world.client();
    client.put(&Frontend::Query("copyin; insert 1"));
    client.put(&Frontend::CopyData(b"1\ta\n2"));
    client.flush().expect("the server reads");
    client.put(&Frontend::CopyData(b"\tb\n"));
    let copied = send(&mut client, &[Frontend::CopyDone]);
    assert_eq!(copied, ["CopyIn", "complete COPY 2", "complete INSERT 0 1", "ready I"]);
    let log = ["begin_implicit", "copyin", "copied \"1\\ta\\n2\\tb\\n\"", "insert 1", "committed"];
    assert_eq!(world.log(), log);
    let out = ["CopyOut", "data line 1", "data line 0", "CopyDone", "complete COPY", "ready I"];
    assert_eq!(query(&mut client, "copyout 2"), out);
}

#[test]
fn a_copy_ends_with_the_clients_or_the_servers_error() {
    let world = World::new();
    let mut client = world.client();
    let gave_up = send(&mut client, &[Frontend::Query("copyin"), Frontend::CopyFail("no")]);
    assert_eq!(gave_up, ["CopyIn", "error 57014", "ready I"]);
    // The client sends more before it has read the error.
    let bad = Frontend::CopyData(b"bad");
    let more = [Frontend::Query("copyin"), bad, Frontend::CopyData(b"1\n"), Frontend::CopyDone];
    assert_eq!(send(&mut client, &more), ["CopyIn", "error 22P04", "ready I"]);
    assert_eq!(query(&mut client, "insert 1"), ["complete INSERT 0 1", "ready I"]);
    let strange = send(&mut client, &[Frontend::Query("copyin"), Frontend::Query("rows 1")]);
    assert_eq!(strange, ["CopyIn", "error 08P01", "ready I"]);
    assert_eq!(query(&mut client, "insert 1"), ["complete INSERT 0 1", "ready I"]);
}

#[test]
fn queries_may_be_sent_before_their_predecessors_answers() {
    let world = World::new();
    let mut client = world.client();
    client.put(&Frontend::Query("rows 1"));
    assert_eq!(send(&mut client, &[Frontend::Query("insert 1")]).len(), 4);
    assert_eq!(answers(&mut client), ["complete INSERT 0 1", "ready I"]);
}
