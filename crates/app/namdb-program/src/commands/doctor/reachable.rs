//! Checks whether servers answer at their addresses, or whether a firewall blocks them.

use super::attempt::{Attempt, connect_all};
use super::code::REACHABLE;
use super::finding::Finding;
use super::site::is_here;
use membership::{ClusterFile, ClusterMap, FabricKind};

/// An address to which servers and clients connect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The server with this address.
    pub server: String,
    pub address: String,
    /// Whether the registry lists that server as a member.
    pub is_member: bool,
}

/// The addresses of members, and those in the cluster's file at which a server may run.
pub fn targets(cluster: &ClusterFile, map: Option<&ClusterMap>) -> Vec<Target> {
    let mut targets = Vec::new();
    for member in map.iter().flat_map(|map| &map.members) {
        let addresses = &member.addresses;
        let all = [&addresses.tcp, &addresses.verbs, &addresses.control];
        for address in all.into_iter().flatten() {
            let server = member.to_string();
            targets.push(Target { server, address: address.clone(), is_member: true });
        }
    }
    let is_there = |number: u16| {
        map.is_some_and(|map| map.memory_servers().any(|member| member.number == number))
    };
    // A memory server that has died is not started again while others go on with its replicas.
    let goes_on = |map: &ClusterMap| {
        map.database().is_ok_and(|root| root.is_some_and(|root| root.replicas > 1))
    };
    let servers = if map.is_some_and(goes_on) { &[][..] } else { &cluster.memory[..] };
    for (number, server) in (0_u16..).zip(servers) {
        let is_fixed = !server.listen.ends_with(":0") && cluster.fabric != FabricKind::Shm;
        if is_fixed && !is_there(number) && !is_here(&server.listen) {
            let (server, address) = (format!("memory server {number}"), server.listen.clone());
            targets.push(Target { server, address, is_member: false });
        }
    }
    targets
}

/// `the only address` or `all N addresses`.
fn counted_addresses(count: usize) -> String {
    if count == 1 { "the only address".to_owned() } else { format!("all {count} addresses") }
}

/// Tries all addresses.
pub fn check(targets: &[Target]) -> Finding {
    let addresses: Vec<String> = targets.iter().map(|target| target.address.clone()).collect();
    judge(targets, &connect_all(&addresses))
}

fn judge(targets: &[Target], attempts: &[Attempt]) -> Finding {
    if targets.is_empty() {
        return REACHABLE.not_applicable("no server with a network address is known");
    }
    let (mut silent, mut failed, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    for (target, attempt) in targets.iter().zip(attempts) {
        let Target { server, address, is_member } = target;
        match attempt {
            Attempt::Open => {}
            Attempt::Refused if !is_member => absent.push(format!("{server} at {address}")),
            Attempt::Refused => {
                failed.push(format!("{server} is a member, but does not listen at {address}"))
            }
            Attempt::Silent => silent.push(format!("{server} at {address}")),
            Attempt::Failed(why) => failed.push(format!("{server} at {address}: {why}")),
        }
    }
    if let Some(first) = silent.first() {
        let port = first.rsplit(':').next().unwrap_or_default();
        return REACHABLE.problem(
            format!("no answer from {}: a firewall drops packets, or the host is down", silent.join(", ")),
            format!("there: firewall-cmd --permanent --add-port={port}/tcp && firewall-cmd --reload, or ufw allow {port}/tcp"),
        );
    }
    if !failed.is_empty() {
        let fix = "ping the host; correct `listen` in the cluster's file; restart the server";
        return REACHABLE.problem(failed.join(", "), fix);
    }
    let open = targets.len() - absent.len();
    if absent.is_empty() {
        return REACHABLE.ok(format!("{} of servers answered", counted_addresses(open)));
    }
    REACHABLE.warning(
        format!("the host answers, but no server listens: {}", absent.join(", ")),
        "there: namdb memory-server --cluster FILE, with the server's number",
    )
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;
    use membership::FabricKind;

    fn target(is_member: bool) -> Target {
        let (server, address) = ("memory server 1".to_owned(), "10.0.0.2:7400".to_owned());
        Target { server, address, is_member }
    }

    #[test]
    fn a_firewall_is_told_from_a_server_that_is_not_there() {
        let grade = |is_member, attempt| judge(&[target(is_member)], &[attempt]).grade;
        assert_eq!(grade(true, Attempt::Open), Grade::Ok);
        assert_eq!(grade(true, Attempt::Refused), Grade::Problem);
        assert_eq!(grade(false, Attempt::Refused), Grade::Warning);
        assert_eq!(grade(false, Attempt::Failed("no route".to_owned())), Grade::Problem);
        let finding = judge(&[target(false)], &[Attempt::Silent]);
        assert!(
            finding.grade == Grade::Problem
                && finding.fix.expect("one").contains("add-port=7400/tcp")
        );
        assert_eq!(judge(&[], &[]).grade, Grade::NotApplicable);
    }

    #[test]
    fn only_fixed_addresses_of_other_hosts_are_tried_before_a_server_has_joined() {
        let mut cluster = ClusterFile::development("dev", FabricKind::Tcp, &[1 << 30; 3], 0);
        cluster.memory[1].listen = "192.0.2.1:7400".to_owned();
        cluster.memory[2].listen = "127.0.0.1:7400".to_owned();
        let found: Vec<String> =
            targets(&cluster, None).into_iter().map(|target| target.address).collect();
        assert_eq!(found, ["192.0.2.1:7400"]);
    }
}
