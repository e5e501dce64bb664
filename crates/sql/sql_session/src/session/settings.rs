//! Settings of a session: `SET`, `SHOW`, `RESET`.
//!
//! Few of them have an effect: the isolation levels, `synchronous_commit`, the time-outs,
//! `work_mem`, the style of values, and the names that a client shows. The others are accepted
//! because drivers send them; text is always UTF-8.

use super::identity::{Actor, IS_SUPERUSER, ROLE, SESSION_USER};
use super::style;
use super::units::{MEMORY, TIME};
use crate::command::IsolationLevel;
use crate::error::SqlError;
use sql_value::style::Style;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A setting with its default, and whether servers report changes of it to their clients.
struct Known {
    name: &'static str,
    default: &'static str,
    is_reported: bool,
}

const fn known(name: &'static str, default: &'static str) -> Known {
    Known { name, default, is_reported: false }
}

const fn reported(name: &'static str, default: &'static str) -> Known {
    Known { name, default, is_reported: true }
}

/// The version of PostgreSQL whose behaviour this is.
pub(crate) const SERVER_VERSION: &str = "15.8";

const KNOWN: [Known; 48] = [
    reported("application_name", ""),
    known("array_nulls", "on"),
    known("backslash_quote", "safe_encoding"),
    known("bytea_output", "hex"),
    known("check_function_bodies", "on"),
    reported("client_encoding", "UTF8"),
    known("client_min_messages", "notice"),
    reported("DateStyle", "ISO, MDY"),
    known("default_table_access_method", "heap"),
    known("default_tablespace", ""),
    known("deadlock_timeout", "1s"),
    known("default_text_search_config", "pg_catalog.simple"),
    known("default_transaction_deferrable", "off"),
    known("default_transaction_isolation", "read committed"),
    reported("default_transaction_read_only", "off"),
    known("default_with_oids", "off"),
    known("escape_string_warning", "on"),
    known("extra_float_digits", "1"),
    known("force_parallel_mode", "off"),
    known("idle_in_transaction_session_timeout", "0"),
    known("idle_session_timeout", "0"),
    reported("in_hot_standby", "off"),
    reported("integer_datetimes", "on"),
    reported("IntervalStyle", "postgres"),
    reported("is_superuser", "on"),
    known("lc_collate", "C"),
    known("lc_ctype", "C.UTF-8"),
    known("lock_timeout", "0"),
    known("log_min_duration_statement", "-1"),
    known("maintenance_work_mem", "65536"),
    known("max_identifier_length", "63"),
    known("max_index_keys", "32"),
    known("quote_all_identifiers", "off"),
    known("role", "none"),
    known("row_security", "on"),
    known("search_path", "\"$user\", public"),
    reported("server_encoding", "UTF8"),
    reported("server_version", SERVER_VERSION),
    known("server_version_num", "150008"),
    reported("session_authorization", ""),
    reported("standard_conforming_strings", "on"),
    known("statement_timeout", "0"),
    known("synchronize_seqscans", "on"),
    known("synchronous_commit", "on"),
    reported("TimeZone", "UTC"),
    known("transaction_timeout", "0"),
    known("work_mem", "256MB"),
    known("xmloption", "content"),
];

/// Settings that cannot be set.
const FIXED: [&str; 9] = [
    "in_hot_standby",
    "integer_datetimes",
    "is_superuser",
    "lc_collate",
    "lc_ctype",
    "max_identifier_length",
    "server_encoding",
    "server_version",
    "server_version_num",
];

/// Whether only superusers may change a setting, as in PostgreSQL: the log is not the client's.
pub fn is_for_superusers(name: &str) -> bool {
    name.eq_ignore_ascii_case("log_min_duration_statement")
}

/// Settings whose values are durations.
const DURATIONS: [&str; 7] = [
    "deadlock_timeout",
    "idle_in_transaction_session_timeout",
    "idle_session_timeout",
    "lock_timeout",
    "log_min_duration_statement",
    "statement_timeout",
    "transaction_timeout",
];

/// The smallest value of `work_mem`, as in PostgreSQL.
const WORK_MEMORY_KB_MIN: i64 = 64;

/// The values that statements need, so that none is looked up by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Effects {
    pub isolation: IsolationLevel,
    pub is_read_only: bool,
    /// Whether commits wait for the disk.
    pub is_synchronous: bool,
    /// Time-outs in milliseconds; 0 means none.
    pub idle_in_transaction_ms: u64,
    pub idle_session_ms: u64,
    pub lock_ms: u64,
    pub statement_ms: u64,
    pub transaction_ms: u64,
    /// Statements that took as long are logged; a negative number logs no statement.
    pub log_min_ms: i64,
    /// The memory that a statement may hold, in bytes.
    pub work_memory: usize,
}

impl Default for Effects {
    fn default() -> Self {
        Self {
            isolation: IsolationLevel::ReadCommitted,
            is_read_only: false,
            is_synchronous: true,
            idle_in_transaction_ms: 0,
            idle_session_ms: 0,
            lock_ms: 0,
            statement_ms: 0,
            transaction_ms: 0,
            log_min_ms: -1,
            work_memory: interpreter::WORK_MEMORY,
        }
    }
}

/// The settings of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Values that are not the defaults, by name in lower case.
    session: BTreeMap<String, String>,
    /// Those of `SET LOCAL`, until the transaction ends.
    local: BTreeMap<String, String>,
    /// The roles that `session` names.
    actors: Actors,
    /// Those that `local` names.
    local_actors: Option<Actors>,
    /// `session` and its roles as they were when the transaction began.
    at_begin: Option<(BTreeMap<String, String>, Actors)>,
    /// The values at the start, to which `RESET` returns.
    start: BTreeMap<String, String>,
    /// Names of reported settings that have changed.
    changed: Vec<&'static str>,
    effects: Effects,
    /// How values are written, if not in the default style.
    style: Option<Arc<Style>>,
}

/// The roles of a session. They come back with the settings that name them: by then, the names may
/// be those of others.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Actors {
    /// `SET SESSION AUTHORIZATION`
    pub session: Actor,
    /// `SET ROLE`
    pub role: Option<Actor>,
}

/// The settings as of a savepoint.
pub(crate) struct SavedSettings {
    session: BTreeMap<String, String>,
    local: BTreeMap<String, String>,
    actors: Actors,
    local_actors: Option<Actors>,
}

impl Settings {
    /// The settings at the start of a session of a user.
    pub fn new(user: Actor, is_superuser: bool, given: &[(String, String)]) -> Self {
        let mut settings = Self::default();
        settings.session.insert(SESSION_USER.to_owned(), user.name.clone());
        settings.actors = Actors { session: user, role: None };
        let truth = if is_superuser { "on" } else { "off" };
        settings.session.insert(IS_SUPERUSER.to_owned(), truth.to_owned());
        for (name, value) in given {
            // A client that cannot be served as it wishes learns so from the reported values.
            // The roles are no settings that a client may choose.
            let lower = name.to_lowercase();
            if lower != ROLE && lower != SESSION_USER {
                let _ = settings.set(name, Some(value.clone()), false);
            }
        }
        settings.changed.clear();
        settings.start = settings.session.clone();
        settings
    }

    /// The value of a setting.
    pub fn get(&self, name: &str) -> Option<&str> {
        let name = name.to_lowercase();
        let own = self.local.get(&name).or_else(|| self.session.get(&name));
        own.map(String::as_str).or_else(|| find(&name).map(|known| known.default))
    }

    /// Sets a setting; without a value, to its default.
    pub fn set(
        &mut self,
        name: &str,
        value: Option<String>,
        is_local: bool,
    ) -> Result<(), SqlError> {
        let lower = name.to_lowercase();
        let known = find(&lower);
        if known.is_none() && !lower.contains('.') && !is_planner_setting(&lower) {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            return Err(SqlError::new("42704", message));
        }
        if FIXED.contains(&&*lower) {
            let message = format!("parameter \"{name}\" cannot be changed");
            return Err(SqlError::new("55P02", message));
        }
        let start = self.start.get(&lower).cloned();
        let value = match value {
            Some(value) => Some(match style::accepted(&lower, &value, self)? {
                Some(shown) => shown,
                None => accepted(&lower, value)?,
            }),
            None => start,
        };
        let list = if is_local { &mut self.local } else { &mut self.session };
        match value {
            Some(value) => list.insert(lower, value),
            None => list.remove(&lower),
        };
        self.changed.extend(known.filter(|known| known.is_reported).map(|known| known.name));
        self.take_effect();
        Ok(())
    }

    fn take_effect(&mut self) {
        let style = style::style(self);
        if style != self.style {
            self.style = style;
        }
        let level = self.get("default_transaction_isolation").and_then(IsolationLevel::named);
        let ms = |name| {
            let value = self.get(name).unwrap_or_default();
            TIME.read(name, value, -1).unwrap_or(0)
        };
        let limit = |name| u64::try_from(ms(name)).unwrap_or(0);
        let work_memory = self.get("work_mem").unwrap_or_default();
        let work_memory = MEMORY.read("work_mem", work_memory, WORK_MEMORY_KB_MIN).ok();
        self.effects = Effects {
            isolation: level.unwrap_or(IsolationLevel::ReadCommitted),
            is_read_only: self.get("default_transaction_read_only") == Some("on"),
            is_synchronous: self.get("synchronous_commit") != Some("off"),
            idle_in_transaction_ms: limit("idle_in_transaction_session_timeout"),
            idle_session_ms: limit("idle_session_timeout"),
            lock_ms: limit("lock_timeout"),
            statement_ms: limit("statement_timeout"),
            transaction_ms: limit("transaction_timeout"),
            log_min_ms: ms("log_min_duration_statement"),
            work_memory: work_memory.map_or(interpreter::WORK_MEMORY, |kb| (kb as usize) << 10),
        };
    }

    /// The roles that count now.
    pub fn actors(&self) -> &Actors {
        self.local_actors.as_ref().unwrap_or(&self.actors)
    }

    /// `SET ROLE`
    pub fn put_role(&mut self, role: Option<Actor>, is_local: bool) {
        self.put(ROLE, role.as_ref().map_or("none", |role| &role.name), is_local);
        if is_local {
            self.local_actors = Some(Actors { role, ..self.actors().clone() });
            return;
        }
        if let Some(local) = &mut self.local_actors {
            local.role.clone_from(&role);
        }
        self.actors.role = role;
    }

    /// `SET SESSION AUTHORIZATION`, which ends `SET ROLE`.
    pub fn put_session_user(&mut self, session: Actor, is_local: bool) {
        self.put(SESSION_USER, &session.name, is_local);
        self.put(ROLE, "none", is_local);
        let actors = Actors { session, role: None };
        if is_local {
            self.local_actors = Some(actors);
        } else {
            (self.actors, self.local_actors) = (actors, None);
        }
    }

    /// Stores a setting of the session's roles, without checks.
    pub fn put(&mut self, name: &'static str, value: &str, is_local: bool) {
        let list = if is_local { &mut self.local } else { &mut self.session };
        list.insert(name.to_owned(), value.to_owned());
        if !is_local {
            self.local.remove(name);
        }
        let known = find(name).filter(|known| known.is_reported);
        self.changed.extend(known.map(|known| known.name));
    }

    /// `RESET ALL`, which keeps the roles.
    pub fn reset_all(&mut self) {
        let kept = [ROLE, SESSION_USER, IS_SUPERUSER];
        let is_kept = |name: &str| kept.contains(&name);
        let own = std::mem::take(&mut self.session);
        self.session = self.start.clone();
        self.session.retain(|name, _| !is_kept(name));
        self.session.extend(own.into_iter().filter(|(name, _)| is_kept(name)));
        self.local.retain(|name, _| is_kept(name));
        self.report_all();
        self.take_effect();
    }

    fn report_all(&mut self) {
        self.changed.extend(KNOWN.iter().filter(|known| known.is_reported).map(|known| known.name));
    }

    /// A transaction begins.
    pub fn begin(&mut self) {
        self.at_begin = Some((self.session.clone(), self.actors.clone()));
    }

    /// The transaction ends; `SET LOCAL` ends with it, and after a roll-back every `SET`. Returns
    /// whether settings have changed by that.
    pub fn end(&mut self, has_committed: bool) -> bool {
        let before = self.at_begin.take();
        let is_changed = |(session, actors): &(BTreeMap<_, _>, Actors)| {
            *session != self.session || *actors != self.actors
        };
        let undone = before.filter(|before| !has_committed && is_changed(before));
        if undone.is_some() || !self.local.is_empty() || self.local_actors.is_some() {
            if let Some((session, actors)) = undone {
                (self.session, self.actors) = (session, actors);
            }
            self.local.clear();
            self.local_actors = None;
            self.report_all();
            self.take_effect();
            return true;
        }
        false
    }

    /// The settings, to return to them.
    pub fn save(&self) -> SavedSettings {
        SavedSettings {
            session: self.session.clone(),
            local: self.local.clone(),
            actors: self.actors.clone(),
            local_actors: self.local_actors.clone(),
        }
    }

    /// Returns to saved settings.
    pub fn restore(&mut self, saved: &SavedSettings) {
        self.session.clone_from(&saved.session);
        self.local.clone_from(&saved.local);
        self.actors.clone_from(&saved.actors);
        self.local_actors.clone_from(&saved.local_actors);
        self.report_all();
        self.take_effect();
    }

    /// Takes the reported settings that have changed, with their values.
    pub fn take_changed(&mut self) -> Vec<(String, String)> {
        let mut names = std::mem::take(&mut self.changed);
        names.sort_unstable();
        names.dedup();
        let value = |name: &str| self.get(name).unwrap_or_default().to_owned();
        names.into_iter().map(|name| (name.to_owned(), value(name))).collect()
    }

    /// All settings with their values, for `SHOW ALL`.
    pub fn all(&self) -> Vec<(&'static str, String)> {
        let value = |known: &Known| self.get(known.name).unwrap_or_default().to_owned();
        KNOWN.iter().map(|known| (known.name, value(known))).collect()
    }

    pub fn isolation(&self) -> IsolationLevel {
        self.effects.isolation
    }

    pub fn is_read_only(&self) -> bool {
        self.effects.is_read_only
    }

    /// Whether commits wait for the disk.
    pub fn is_synchronous(&self) -> bool {
        self.effects.is_synchronous
    }

    pub fn style(&self) -> Option<Arc<Style>> {
        self.style.clone()
    }

    pub fn effects(&self) -> &Effects {
        &self.effects
    }
}

fn find(lower: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(lower))
}

/// The name of a setting as PostgreSQL writes it.
pub(crate) fn shown_name(name: &str) -> &str {
    find(&name.to_lowercase()).map_or(name, |known| known.name)
}

/// Settings of PostgreSQL's planner and executor, which have no effect.
fn is_planner_setting(lower: &str) -> bool {
    ["enable_", "jit", "max_parallel", "geqo", "random_page", "seq_page", "cpu_", "plan_cache"]
        .iter()
        .any(|prefix| lower.starts_with(prefix))
}

/// The error of a value that a setting cannot have.
pub(super) fn invalid(lower: &str, value: &str) -> SqlError {
    let name = find(lower).map_or(lower, |known| known.name);
    SqlError::new("22023", format!("invalid value for parameter \"{name}\": \"{value}\""))
}

/// The value as it is shown afterwards.
fn accepted(lower: &str, value: String) -> Result<String, SqlError> {
    let refuse = || invalid(lower, &value);
    Ok(match lower {
        "client_encoding" => {
            let plain = value.trim_matches('\'').to_lowercase().replace(['-', '_'], "");
            if !["utf8", "unicode", "sqlascii"].contains(&&*plain) {
                return Err(refuse());
            }
            "UTF8".to_owned()
        }
        lower if DURATIONS.contains(&lower) => {
            let least = if lower == "log_min_duration_statement" { -1 } else { 0 };
            TIME.shown(TIME.read(lower, &value, least)?)
        }
        "work_mem" => MEMORY.shown(MEMORY.read(lower, &value, WORK_MEMORY_KB_MIN)?),
        "default_transaction_isolation" => {
            IsolationLevel::named(&value).ok_or_else(refuse)?.name().to_owned()
        }
        "default_transaction_read_only" | "synchronous_commit" => match &*value.to_lowercase() {
            "on" | "true" | "1" | "yes" => "on".to_owned(),
            "off" | "false" | "0" | "no" => "off".to_owned(),
            "local" | "remote_write" | "remote_apply" => value,
            _ => return Err(refuse()),
        },
        "standard_conforming_strings" if !matches!(&*value.to_lowercase(), "on" | "true" | "1") => {
            return Err(SqlError::unsupported("standard_conforming_strings is always on"));
        }
        _ => value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_follow_their_transaction() {
        let mut settings =
            Settings::new(Actor::default(), true, &[("application_name".into(), "psql".into())]);
        assert_eq!(settings.get("Application_Name"), Some("psql"));
        settings.begin();
        settings.set("work_mem", Some("64".into()), false).expect("it is known");
        settings.set("statement_timeout", Some("5000".into()), true).expect("it is known");
        assert_eq!(settings.get("statement_timeout"), Some("5s"));
        assert_eq!(settings.effects().statement_ms, 5_000);
        settings.end(true);
        assert_eq!(settings.get("statement_timeout"), Some("0"));
        assert_eq!(settings.effects().statement_ms, 0);
        assert_eq!(settings.get("work_mem"), Some("64kB"));
        settings.begin();
        settings.set("work_mem", Some("1 GB".into()), false).expect("it is known");
        settings.end(false);
        assert_eq!(settings.get("work_mem"), Some("64kB"));
        settings.set("work_mem", None, false).expect("it is known");
        assert_eq!(settings.get("work_mem"), Some("256MB"));
    }

    #[test]
    fn unknown_settings_and_values_are_refused() {
        let mut settings = Settings::new(Actor::default(), true, &[]);
        let refused = settings.set("no_such", Some("1".into()), false);
        assert_eq!(refused.expect_err("it is unknown").sqlstate, "42704");
        settings.set("my.own", Some("1".into()), false).expect("names with a dot are free");
        let refused = settings.set("client_encoding", Some("LATIN1".into()), false);
        assert_eq!(refused.expect_err("it is not UTF-8").sqlstate, "22023");
        settings.set("client_encoding", Some("'utf-8'".into()), false).expect("as asyncpg sends");
        assert_eq!(settings.take_changed(), [("client_encoding".into(), "UTF8".into())]);
    }
}
