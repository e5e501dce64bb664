//! From the startup packet to the first ReadyForQuery.

use super::stream::Stream;
use super::{Connection, Mode};
use crate::error::{Result, SqlError, fatal, sqlstate};
use crate::message::backend;
use crate::message::startup::{Startup, VERSION_3_0};
use crate::server::arrival::Welcome;
use crate::server::cancel::Registration;
use crate::server::shared::Shared;
use crate::session::{Database, Session, SessionOptions};
use crate::wire::Wire;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The settings that clients learn at the start, with the values of sessions that do not have
/// them [PostgreSQL 15, section 55.2.7].
const REPORTED: [(&str, &str); 13] = [
    ("application_name", ""),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("default_transaction_read_only", "off"),
    ("in_hot_standby", "off"),
    ("integer_datetimes", "on"),
    ("IntervalStyle", "postgres"),
    ("is_superuser", "on"),
    ("server_encoding", "UTF8"),
    ("server_version", "15.0"),
    ("session_authorization", ""),
    ("standard_conforming_strings", "on"),
    ("TimeZone", "Etc/UTC"),
];

impl<S: Session> Connection<S> {
    /// Opens the session of a client. `input` is what the client has sent behind its startup
    /// packet. `None` if the client was refused or is gone.
    pub fn start<D: Database<Session = S>>(
        database: &D,
        wire: Wire,
        input: Vec<u8>,
        welcome: Welcome,
        shared: &Arc<Shared>,
        registration: Registration,
    ) -> Option<Self> {
        let mut stream = Stream::new(wire, input, shared.limits.linger).ok()?;
        let Welcome { startup, mut options, login, is_local } = welcome;
        let mut wanted = options.settings.iter().map(|(name, _)| name);
        let restricted = wanted.find(|name| sql_session::is_for_superusers(name)).cloned();
        options.settings.splice(0..0, shared.limits.settings.iter().cloned());
        let opened = database.session_after(&login, is_local, options);
        let session = match opened.and_then(|session| may_set(session, restricted.as_deref())) {
            Ok(session) => session,
            Err(refusal) => {
                refuse(&mut stream, &refusal);
                return None;
            }
        };
        let output = &mut stream.output;
        let unknown = startup.parameters.iter().map(|(name, _)| name.as_str());
        let unknown: Vec<_> = unknown.filter(|name| name.starts_with("_pq_.")).collect();
        if startup.version > VERSION_3_0 || !unknown.is_empty() {
            backend::negotiate_version(output, VERSION_3_0, &unknown);
        }
        backend::authentication_ok(output);
        let user = startup.parameter("user").unwrap_or_default();
        for (name, default) in REPORTED {
            let value = session.setting(name);
            let value = value.as_deref().unwrap_or(match name {
                "session_authorization" => user,
                _ => default,
            });
            backend::parameter_status(output, name, value);
        }
        let (process, secret) = registration.key();
        backend::backend_key_data(output, process, secret);
        let mut connection = Self {
            stream,
            session,
            shared: shared.clone(),
            statements: BTreeMap::new(),
            portals: BTreeMap::new(),
            mode: Mode::Ready,
            is_implicit: false,
            has_failed: false,
            registration,
        };
        connection.session.set_interrupt(connection.registration.interrupt().clone());
        // Settings of the startup packet were just reported.
        connection.session.take_changed_settings();
        connection.ready();
        Some(connection)
    }
}

/// Refuses a session whose startup packet has a setting that its role may not change.
fn may_set<S: Session>(session: S, setting: Option<&str>) -> Result<S> {
    match setting.filter(|_| session.setting("is_superuser").is_some_and(|is| is == "off")) {
        None => Ok(session),
        Some(name) => {
            let message = format!("permission denied to set parameter \"{name}\"");
            Err(fatal("42501", message))
        }
    }
}

/// Sends the reason why a client is refused.
pub fn refuse(stream: &mut Stream, refusal: &SqlError) {
    backend::error_response(&mut stream.output, refusal);
    // A client that is gone misses nothing.
    let _ = stream.flush();
    stream.end();
}

/// The options of a session from the parameters of a startup packet.
pub(crate) fn session_options(startup: &Startup) -> Result<SessionOptions> {
    if startup.version >> 16 != 3 {
        let (major, minor) = (startup.version >> 16, startup.version & 0xffff);
        let message = format!("unsupported frontend protocol {major}.{minor}: server supports 3.0");
        return Err(fatal(sqlstate::FEATURE_NOT_SUPPORTED, message));
    }
    let user = startup.parameter("user").filter(|user| !user.is_empty()).ok_or_else(|| {
        let message = "no PostgreSQL user name specified in startup packet";
        fatal(sqlstate::INVALID_AUTHORIZATION, message)
    })?;
    let database = startup.parameter("database").filter(|name| !name.is_empty()).unwrap_or(user);
    let mut settings = Vec::new();
    for (name, value) in &startup.parameters {
        match name.as_str() {
            "user" | "database" => {}
            "replication" if matches!(value.as_str(), "false" | "off" | "no" | "0") => {}
            "replication" => {
                let message = "replication connections are not supported";
                return Err(fatal(sqlstate::FEATURE_NOT_SUPPORTED, message));
            }
            "options" => command_line_settings(value, &mut settings)?,
            "role" | "session_authorization" => return Err(refused_role(name)),
            "client_encoding" => settings.push((name.clone(), encoding(value)?)),
            name if name.starts_with("_pq_.") => {}
            _ => settings.push((name.clone(), value.clone())),
        }
    }
    Ok(SessionOptions { user: user.to_owned(), database: database.to_owned(), settings })
}

/// Roles change by statements, which check them.
fn refused_role(name: &str) -> SqlError {
    let message = format!("the setting \"{name}\" in a startup packet is not supported");
    fatal(sqlstate::FEATURE_NOT_SUPPORTED, message).hint("Write SET ROLE in the session.")
}

/// The name of an encoding. Drivers write it in quotes and in different spellings.
fn encoding(value: &str) -> Result<String> {
    let letters = value.chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    match name.as_str() {
        "utf8" | "unicode" => Ok("UTF8".to_owned()),
        // The client converts nothing, and PostgreSQL's server would not either.
        "sqlascii" => Ok("SQL_ASCII".to_owned()),
        _ => {
            let message = format!("invalid value for parameter \"client_encoding\": \"{value}\"");
            let mut refusal = fatal(sqlstate::INVALID_PARAMETER_VALUE, message);
            refusal.hint = Some("Texts are UTF8 here: set client_encoding to UTF8.".to_owned());
            Err(refusal)
        }
    }
}

/// Settings of the form `-c name=value` or `--name=value`; a backslash escapes the next character.
fn command_line_settings(options: &str, settings: &mut Vec<(String, String)>) -> Result<()> {
    let invalid = |word: &str| {
        let message = format!("invalid command-line argument for server process: {word}");
        fatal("42601", message)
    };
    let mut words = words(options).into_iter();
    while let Some(word) = words.next() {
        let setting = match word.as_str() {
            "-c" => words.next().ok_or_else(|| invalid("-c"))?,
            word => match word.strip_prefix("--").or_else(|| word.strip_prefix("-c")) {
                Some(setting) => setting.to_owned(),
                None => return Err(invalid(word)),
            },
        };
        let (name, value) = setting.split_once('=').ok_or_else(|| invalid(&setting))?;
        // Dashes of options are underscores of settings.
        let name = name.replace('-', "_");
        if ["role", "session_authorization"].contains(&&*name.to_lowercase()) {
            return Err(refused_role(&name));
        }
        settings.push((name, value.to_owned()));
    }
    Ok(())
}

fn words(options: &str) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut letters = options.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(letters.next()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn startup(version: u32, parameters: &[(&str, &str)]) -> Startup {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Startup { version, parameters: parameters.iter().map(owned).collect() }
    }

    #[test]
    fn drivers_parameters_become_options() {
        let parameters = [
            ("user", "ada"),
            ("client_encoding", "'utf-8'"),
            ("options", "-c geqo=off --search-path=a\\ b"),
            ("extra_float_digits", "3"),
            ("replication", "false"),
            ("_pq_.future", "1"),
        ];
        let options = session_options(&startup(VERSION_3_0, &parameters)).expect("it is accepted");
        assert_eq!((options.user.as_str(), options.database.as_str()), ("ada", "ada"));
        let settings: Vec<_> =
            options.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let expected =
            ["client_encoding=UTF8", "geqo=off", "search_path=a b", "extra_float_digits=3"];
        assert_eq!(settings, expected);
    }

    #[test]
    fn strange_startups_are_refused_with_a_reason() {
        let refused = |version: u32, parameters: &[(&str, &str)]| {
            let refusal = session_options(&startup(version, parameters)).expect_err("refused");
            refusal.sqlstate.to_string()
        };
        assert_eq!(refused(2 << 16, &[("user", "ada")]), "0A000");
        assert_eq!(refused(VERSION_3_0, &[("database", "x")]), "28000");
        assert_eq!(refused(VERSION_3_0, &[("user", "a"), ("replication", "database")]), "0A000");
        assert_eq!(refused(VERSION_3_0, &[("user", "a"), ("client_encoding", "LATIN1")]), "22023");
        for options in ["x", "-c", "-c x", "-x=1"] {
            assert_eq!(refused(VERSION_3_0, &[("user", "a"), ("options", options)]), "42601");
        }
    }
}
