//! Pages of metrics that servers serve at their control addresses, and the heartbeats in them.

use membership::Member;
use metrics::catalog;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Maximal wait for a server's page.
const TELL_TIME: Duration = Duration::from_secs(2);
/// Number of servers that are queried concurrently.
const ASKED_MAX: usize = 64;

/// Reads all servers' pages concurrently, so that a slow server does not delay the others; `None`
/// for one that does not answer.
pub fn of_all<'a>(
    members: impl IntoIterator<Item = &'a Member>,
    token: &str,
) -> Vec<Option<String>> {
    let ask = |member: &Member| fetch(member.addresses.control.as_deref()?, token);
    let members: Vec<&Member> = members.into_iter().collect();
    let mut told = Vec::new();
    for asked in members.chunks(ASKED_MAX) {
        std::thread::scope(|scope| {
            let answers: Vec<_> =
                asked.iter().map(|member| scope.spawn(move || ask(member))).collect();
            told.extend(answers.into_iter().map(|answer| answer.join().unwrap_or_default()));
        });
    }
    told
}

/// The values of a metric on a page, whatever their labels.
pub fn values(page: &str, name: &str) -> Vec<f64> {
    samples(page, name).map(|(_, value)| value).collect()
}

/// The samples of a metric on a page: labels and value.
fn samples<'a>(page: &'a str, name: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
    page.lines().filter_map(move |line| {
        let rest = line.strip_prefix(name).filter(|rest| rest.starts_with(['{', ' ']))?;
        let (labels, value) = rest.rsplit_once(' ')?;
        Some((labels, value.parse().ok()?))
    })
}

/// Reads the metrics of the server with this control address.
fn fetch(address: &str, token: &str) -> Option<String> {
    let mut stream = TcpStream::connect_timeout(&address.parse().ok()?, TELL_TIME).ok()?;
    stream.set_read_timeout(Some(TELL_TIME)).ok()?;
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).ok()?;
    let mut page = String::new();
    stream.read_to_string(&mut page).ok()?;
    Some(page)
}

/// The detectors of several servers.
#[derive(Default)]
pub struct Heartbeats {
    /// The greatest age of each member's last heartbeat, by the labels of its samples.
    ages: BTreeMap<String, f64>,
    /// Sum of the members that each server suspects.
    pub suspected: u64,
    /// Suspicions that have ended with a sign of life.
    pub withdrawn: u64,
}

impl Heartbeats {
    /// Reads the pages of servers.
    pub fn of<'a>(pages: impl IntoIterator<Item = &'a String>) -> Self {
        let mut all = Self::default();
        for page in pages {
            for (labels, age) in samples(page, catalog::HEARTBEAT_AGE.name) {
                let oldest = all.ages.entry(labels.to_owned()).or_insert(age);
                *oldest = oldest.max(age);
            }
            let sum = |name: &str| values(page, name).into_iter().sum::<f64>() as u64;
            all.suspected += sum(catalog::SUSPECTED_MEMBERS.name);
            all.withdrawn += sum(catalog::WITHDRAWN_SUSPICIONS.name);
        }
        all
    }

    /// Number of members that a server watches.
    pub fn count(&self) -> usize {
        self.ages.len()
    }

    /// The greatest age of all.
    pub fn oldest_s(&self) -> f64 {
        self.ages.values().copied().fold(0.0, f64::max)
    }

    /// The age of a member's last heartbeat; `None` if nobody watches it.
    pub fn age_s(&self, member: &Member) -> Option<f64> {
        let role = if member.is_memory_server() { "memory" } else { "compute" };
        let labels = format!("{{role=\"{role}\",member=\"{}\"}}", member.number);
        self.ages.get(&labels).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use membership::Addresses;

    #[test]
    fn the_oldest_heartbeat_of_all_servers_counts() {
        let page = |age: f64| {
            format!(
                "# HELP namdb_heartbeat_age_seconds Words.\n\
                 namdb_heartbeat_age_seconds{{role=\"compute\",member=\"3\"}} {age}\n\
                 namdb_heartbeat_age_seconds{{role=\"memory\",member=\"0\"}} 0.01\n\
                 namdb_suspected_members 1\nnamdb_suspicions_withdrawn_total 2\n"
            )
        };
        let all = Heartbeats::of(&[page(0.2), page(0.5), "<html>".to_owned()]);
        let age_s = |number| all.age_s(&Member::compute_server(number, Addresses::default()));
        assert_eq!((age_s(3), age_s(0)), (Some(0.5), None));
        assert_eq!((all.count(), all.oldest_s()), (2, 0.5));
        assert_eq!((all.suspected, all.withdrawn), (2, 4));
    }
}
