//! Roles, and the roles of a session.

use crate::support::{Client, new_database};
use sql_session::{LocalHost, Login, SqlDatabase};

const DONE: &str = "SET";

fn roles(client: &Client) -> String {
    let roles = client.session.roles();
    roles.iter().map(|role| role.name.clone()).collect::<Vec<_>>().join(" ")
}

fn connect(database: &SqlDatabase<LocalHost>, user: &str) -> Client {
    let options = sql_session::SessionOptions { user: user.into(), ..Default::default() };
    Client { session: database.session(options) }
}

#[test]
fn roles_are_created_changed_and_dropped() {
    let database = new_database();
    let (mut ada, other) = (Client::of(&database), Client::of(&database));
    assert_eq!(roles(&ada), "ada");
    assert_eq!(ada.run("CREATE ROLE staff"), "CREATE ROLE");
    assert_eq!(ada.run("CREATE USER bob IN ROLE staff"), "CREATE ROLE");
    assert_eq!(roles(&other), "ada staff bob", "others see them at once");
    assert_eq!(ada.run("CREATE ROLE bob"), "42710: role \"bob\" already exists");
    let bob = &other.session.roles()[2];
    assert!(bob.can_login && !bob.is_superuser && bob.memberships.len() == 1);
    assert_eq!(ada.run("ALTER ROLE bob NOLOGIN CREATEROLE VALID UNTIL '2030-01-01'"), "ALTER ROLE");
    let bob = &other.session.roles()[2];
    assert!(!bob.can_login && bob.creates_roles && bob.valid_until.is_some());
    assert_eq!(ada.run("ALTER ROLE bob RENAME TO eve"), "ALTER ROLE");
    assert_eq!(roles(&other), "ada staff eve");
    assert_eq!(ada.run("BEGIN; DROP ROLE eve"), "BEGIN\nDROP ROLE");
    assert_eq!((roles(&ada), roles(&other)), ("ada staff".into(), "ada staff eve".into()));
    ada.run("ROLLBACK");
    assert_eq!(ada.run("DROP ROLE IF EXISTS eve, nobody"), "DROP ROLE");
    assert_eq!(ada.run("DROP ROLE eve"), "42704: role \"eve\" does not exist");
    assert_eq!(ada.run("DROP ROLE ada"), "55006: current user cannot be dropped");
    assert_eq!(roles(&other), "ada staff");
}

#[test]
fn passwords_are_stored_as_verifiers() {
    let database = new_database();
    let mut ada = Client::of(&database);
    ada.run("CREATE USER bob PASSWORD 'secret'; CREATE ROLE eve PASSWORD ''");
    let verifier = |at: usize| ada.session.roles()[at].verifier.clone();
    let stored = verifier(1).expect("bob has a password");
    assert!(stored.starts_with("SCRAM-SHA-256$4096:") && !stored.contains("secret"), "{stored}");
    assert_eq!(verifier(2), None);
    assert!(database.trusts_host() && database.has_passwords());
    assert!(matches!(database.login("bob", "db", true), Login::Password { refusal: None, .. }));
    assert!(matches!(database.login("ada", "db", true), Login::Trusted));
    assert!(matches!(database.login("ada", "db", false), Login::Nobody(_)));
    let mut ada = Client::of(&database);
    // As psql's \password sends it.
    ada.run(&format!("ALTER USER ada ENCRYPTED PASSWORD '{stored}'"));
    assert_eq!(ada.session.roles()[0].verifier.as_ref(), Some(&stored));
    assert!(!database.trusts_host());
    let md5 = format!("ALTER USER ada PASSWORD 'md5{}'", "0".repeat(32));
    assert_eq!(ada.run(&md5), "0A000: MD5 passwords are not supported");
}

#[test]
fn only_some_roles_change_others() {
    let database = new_database();
    let mut ada = Client::of(&database);
    ada.run("CREATE USER maker CREATEROLE; CREATE USER bob; CREATE ROLE staff; CREATE ROLE chief");
    ada.run("GRANT staff TO bob WITH ADMIN OPTION");
    let (mut maker, mut bob) = (connect(&database, "maker"), connect(&database, "bob"));
    assert_eq!(maker.run("CREATE ROLE x"), "CREATE ROLE");
    let refused = "42501: must be superuser to create superusers";
    assert_eq!(maker.run("CREATE ROLE y SUPERUSER"), refused);
    let refused = "42501: must be superuser to alter superuser roles or change superuser attribute";
    assert_eq!(maker.run("ALTER ROLE maker SUPERUSER"), refused);
    assert_eq!(maker.run("ALTER ROLE ada PASSWORD 'x'"), refused);
    assert_eq!(maker.run("DROP ROLE ada"), "42501: must be superuser to drop superusers");
    assert_eq!(maker.run("GRANT ada TO maker"), "42501: must be superuser to alter superusers");
    assert_eq!(bob.run("CREATE ROLE y"), "42501: permission denied to create role");
    assert_eq!(bob.run("ALTER ROLE x LOGIN"), "42501: permission denied");
    assert_eq!(bob.run("ALTER ROLE bob CREATEROLE"), "42501: permission denied");
    assert_eq!(bob.run("ALTER ROLE bob PASSWORD 'mine'"), "ALTER ROLE");
    assert_eq!(bob.run("DROP ROLE x"), "42501: permission denied to drop role");
    assert_eq!(bob.run("GRANT staff TO x"), "GRANT ROLE");
    let refused = "42501: must have admin option on role \"chief\"";
    assert_eq!(bob.run("GRANT chief TO bob"), refused);
    let cycle = "0LP01: role \"bob\" is a member of role \"staff\"";
    assert_eq!(ada.run("GRANT bob TO staff"), cycle);
    assert_eq!(bob.run("REVOKE staff FROM x"), "REVOKE ROLE");
    assert_eq!(ada.run("ALTER ROLE ada NOSUPERUSER"), "42501: permission denied to alter role");
}

#[test]
fn a_session_takes_other_roles() {
    let database = new_database();
    let mut ada = Client::of(&database);
    ada.run("CREATE ROLE staff; CREATE USER bob IN ROLE staff; CREATE ROLE other");
    let mut bob = connect(&database, "bob");
    let who = "SELECT current_user, session_user";
    assert_eq!(bob.run("SET ROLE staff"), DONE);
    assert_eq!(bob.run(who), "staff|bob\nSELECT 1");
    assert_eq!(bob.run("SHOW role"), "staff\nSHOW");
    assert_eq!(bob.run("SET ROLE other"), "42501: permission denied to set role \"other\"");
    assert_eq!(bob.run("SET ROLE nobody"), "22023: role \"nobody\" does not exist");
    assert_eq!(bob.run("RESET ALL; SELECT current_user"), "RESET\nstaff\nSELECT 1");
    assert_eq!(bob.run("RESET ROLE"), "RESET");
    assert_eq!(bob.run(who), "bob|bob\nSELECT 1");
    let refused = "42501: permission denied to set session authorization";
    assert_eq!(bob.run("SET SESSION AUTHORIZATION ada"), refused);
    assert_eq!(ada.run("SET SESSION AUTHORIZATION bob"), DONE);
    assert_eq!(ada.run(who), "bob|bob\nSELECT 1");
    assert_eq!(ada.session.setting("is_superuser").as_deref(), Some("off"));
    assert_eq!(ada.run("CREATE ROLE x"), "42501: permission denied to create role");
    // It is the user that has connected who is a superuser.
    assert_eq!(ada.run("SET SESSION AUTHORIZATION other"), DONE);
    assert_eq!(ada.run("DISCARD ALL"), "DISCARD ALL");
    assert_eq!(ada.run(who), "ada|ada\nSELECT 1");
    assert_eq!(ada.session.setting("is_superuser").as_deref(), Some("on"));
}

#[test]
fn the_role_ends_with_its_transaction() {
    let database = new_database();
    let mut ada = Client::of(&database);
    ada.run("CREATE ROLE staff");
    let prepared = fabric::run_now(ada.session.prepare("SELECT current_user", &[]));
    let prepared = prepared.expect("it is a query");
    ada.run("BEGIN");
    assert_eq!(ada.run("SET LOCAL ROLE staff"), DONE);
    assert_eq!(ada.run("SELECT current_user"), "staff\nSELECT 1");
    ada.run("COMMIT");
    assert_eq!(ada.run("SELECT current_user"), "ada\nSELECT 1");
    ada.run("BEGIN; SET ROLE staff");
    ada.run("ROLLBACK");
    assert_eq!(ada.run("SELECT current_user"), "ada\nSELECT 1");
    ada.run("SET ROLE staff");
    let outcome = fabric::run_now(ada.session.execute(&prepared, &[])).expect("it runs");
    assert!(format!("{outcome:?}").contains("staff"), "a plan does not keep a role: {outcome:?}");
}

#[test]
fn a_client_chooses_no_role_by_its_settings() {
    let database = new_database();
    Client::of(&database).run("CREATE USER bob");
    let settings = ["role", "Session_Authorization", "is_superuser"];
    let settings = settings.map(|name| (name.to_owned(), "ada".to_owned())).to_vec();
    let options =
        sql_session::SessionOptions { user: "bob".into(), settings, ..Default::default() };
    let mut bob = Client { session: database.session(options) };
    assert_eq!(bob.run("SELECT current_user, session_user"), "bob|bob\nSELECT 1");
    assert_eq!(bob.run("SET is_superuser = on").get(..5), Some("55P02"));
    assert_eq!(bob.run("SET session_authorization = 'ada'").get(..5), Some("42501"));
    assert_eq!(bob.session.setting("is_superuser").as_deref(), Some("off"));
}

/// A client may take its time between the answer of the lobby and its session.
#[test]
fn sessions_look_at_their_role_again() {
    let database = new_database();
    let mut ada = Client::of(&database);
    let open = |login: &Login| {
        let options = sql_session::SessionOptions { user: "bob".into(), ..Default::default() };
        match database.session_after(login, true, options) {
            Ok(session) => session.current_user().to_owned(),
            Err(refusal) => format!("{}: {}", refusal.sqlstate, refusal.message),
        }
    };
    let gone = "28000: role \"bob\" does not exist";
    ada.run("CREATE USER bob");
    let trusted = database.login("bob", "", true);
    assert!(matches!(trusted, Login::Trusted));
    assert_eq!(open(&trusted), "bob");
    ada.run("ALTER ROLE bob RENAME TO eve");
    assert_eq!(open(&trusted), gone);
    ada.run("ALTER ROLE eve RENAME TO bob; ALTER ROLE bob PASSWORD 'a'");
    let wrong = "28P01: password authentication failed for user \"bob\"";
    assert_eq!(open(&trusted), wrong, "a password is needed now");
    ada.run("ALTER ROLE ada PASSWORD 'a'");
    let proved = database.login("bob", "", true);
    assert_eq!(open(&proved), "bob");
    ada.run("ALTER ROLE bob NOLOGIN");
    assert_eq!(open(&proved), "28000: role \"bob\" is not permitted to log in");
    ada.run("ALTER ROLE bob LOGIN VALID UNTIL '2001-01-01'");
    assert_eq!(open(&proved), wrong);
    ada.run("ALTER ROLE bob VALID UNTIL 'infinity'; REVOKE CONNECT ON DATABASE \"\" FROM PUBLIC");
    assert_eq!(open(&proved), "42501: permission denied for database \"\"");
    ada.run("GRANT CONNECT ON DATABASE \"\" TO PUBLIC");
    assert_eq!(open(&proved), "bob");
    ada.run("ALTER ROLE bob PASSWORD 'b'");
    assert_eq!(open(&proved), wrong, "it was another password");
    ada.run("DROP ROLE bob");
    assert_eq!(open(&proved), gone);
    ada.run("CREATE TABLE t (a int)");
    let refused = connect(&database, "bob").run("SELECT * FROM t");
    assert_eq!(refused, "28000: role \"bob\" does not exist", "a name without a role is nobody");
}
