//! Checks whether the ports of this host's servers are free, and which process uses them if not.

use super::code::PORTS;
use super::files::Files;
use super::finding::Finding;
use membership::{ClusterFile, ClusterMap, FabricKind};
use std::io::ErrorKind;
use std::net::TcpListener;

/// An address at which a server of the cluster's file will listen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wanted {
    /// The server and the purpose.
    pub what: String,
    pub address: String,
    pub state: State,
}

/// Result of trying to listen at an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum State {
    Free,
    /// A server of this cluster uses it.
    Ours,
    /// Another process uses it.
    Taken,
    /// The address is not of this host, or any port will do.
    Elsewhere,
    /// This user has no permission.
    Forbidden,
}

/// Tries all addresses in the cluster's file that are on this host and have a port.
pub fn read(cluster: &ClusterFile, map: Option<&ClusterMap>) -> Vec<Wanted> {
    let mut wanted = Vec::new();
    let mut add = |what: String, address: &str| {
        let state = state(address, map);
        wanted.push(Wanted { what, address: address.to_owned(), state });
    };
    for (number, server) in cluster.memory.iter().enumerate() {
        if cluster.fabric != FabricKind::Shm {
            add(format!("memory server {number}"), &server.listen);
        }
        add(format!("`control` of memory server {number}"), &server.control);
    }
    for (number, server) in cluster.compute.iter().enumerate() {
        if cluster.fabric != FabricKind::Shm {
            add(format!("`calls` of compute server {number}"), &server.calls());
        }
        add(format!("`control` of compute server {number}"), &server.control);
    }
    wanted
}

fn state(address: &str, map: Option<&ClusterMap>) -> State {
    if address.ends_with(":0") {
        return State::Elsewhere;
    }
    let is_ours = map.iter().flat_map(|map| &map.members).any(|member| {
        let addresses = &member.addresses;
        let all = [&addresses.tcp, &addresses.verbs, &addresses.control];
        all.into_iter().flatten().any(|taken| taken == address)
    });
    match TcpListener::bind(address).map_err(|error| error.kind()) {
        Ok(_) => State::Free,
        Err(ErrorKind::AddrInUse) if is_ours => State::Ours,
        Err(ErrorKind::AddrInUse) => State::Taken,
        Err(ErrorKind::PermissionDenied) => State::Forbidden,
        Err(_) => State::Elsewhere,
    }
}

/// Finds the process that uses an occupied port.
pub fn check(files: &dyn Files, wanted: &[Wanted]) -> Finding {
    let bad = |state: &State| matches!(state, State::Taken | State::Forbidden);
    if let Some(Wanted { what, address, state }) = wanted.iter().find(|wanted| bad(&wanted.state)) {
        let port = address.rsplit(':').next().unwrap_or_default();
        if *state == State::Forbidden {
            let found = format!("this user may not listen at {address} of {what}");
            return PORTS.problem(found, "use a port of 1024 or higher in the cluster's file");
        }
        let by = port.parse().ok().and_then(|port| owner(files, port));
        let by = by.unwrap_or_else(|| "a process of another user".to_owned());
        return PORTS.problem(
            format!("{address} of {what} is used by {by}"),
            format!("ss -ltnp 'sport = :{port}'; stop that process, or set another port in the cluster's file"),
        );
    }
    let count =
        |wanted_state: State| wanted.iter().filter(|wanted| wanted.state == wanted_state).count();
    let (free, ours) = (count(State::Free), count(State::Ours));
    if free + ours == 0 {
        return PORTS.not_applicable(
            "the cluster's file names no port of this host; servers use any free one",
        );
    }
    PORTS.ok(format!("{free} are free, {ours} belong to running servers"))
}

/// The process that listens at a port, if this user may inspect it.
fn owner(files: &dyn Files, port: u16) -> Option<String> {
    let socket = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .find_map(|table| socket_of(&files.text(table).unwrap_or_default(), port))?;
    let processes = files.names("/proc").into_iter();
    let mut numbered = processes.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let process = numbered.find(|process| has_socket(process, &socket))?;
    let name = files.text(&format!("/proc/{process}/comm")).unwrap_or_default();
    Some(format!("process {process} ({name})"))
}

fn has_socket(process: &str, socket: &str) -> bool {
    let descriptors = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten();
    let links = descriptors.flatten().filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.into_iter().any(|link| link.as_os_str() == socket)
}

/// The inode of the socket that listens at a port: the tenth field of its line in the kernel's
/// table, where addresses are hexadecimal and state 0A means listening.
fn socket_of(table: &str, port: u16) -> Option<String> {
    let ending = format!(":{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.get(1)?.ends_with(&ending) && *fields.get(3)? == "0A";
        is_it.then(|| fields.get(9).map(|inode| format!("socket:[{inode}]")))?
    })
}

#[cfg(test)]
mod tests {
    use super::super::files::{FakeFiles, Host};
    use super::super::finding::Grade;
    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1CE8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0000 100 0 0 10 0
   1: 0100007F:1CE9 0100007F:1CE8 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0000 20 4 30 10 -1
";

    #[test]
    fn the_kernels_table_names_the_socket_that_listens() {
        assert_eq!(socket_of(TABLE, 7400).as_deref(), Some("socket:[4711]"));
        assert_eq!(socket_of(TABLE, 7401), None, "that one is connected");
        assert_eq!(socket_of(TABLE, 80), None);
    }

    #[test]
    fn a_port_that_somebody_has_is_a_problem_and_the_process_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one").to_string();
        let mut cluster = ClusterFile::development("dev", FabricKind::Tcp, &[1 << 30], 1);
        assert_eq!(check(&Host, &read(&cluster, None)).grade, Grade::NotApplicable);
        cluster.memory[0].listen = address;
        let finding = check(&Host, &read(&cluster, None));
        assert_eq!(finding.grade, Grade::Problem);
        let ours = format!("process {} (", std::process::id());
        assert!(finding.found.contains(&ours), "{finding:?}");
        drop(listener);
        assert_eq!(check(&Host, &read(&cluster, None)).grade, Grade::Ok);
    }

    #[test]
    fn ports_for_calls_are_looked_at_where_calls_come_over_a_network() {
        let fabrics = [FabricKind::Shm, FabricKind::Tcp, FabricKind::Verbs];
        let is_wanted = fabrics.map(|fabric| {
            let cluster = ClusterFile::development("dev", fabric, &[1 << 30], 1);
            read(&cluster, None).iter().any(|port| port.what == "`calls` of compute server 0")
        });
        assert_eq!(is_wanted, [false, true, true]);
    }

    #[test]
    fn what_is_ours_is_good_and_what_is_forbidden_is_not() {
        let wanted =
            |state| Wanted { what: "memory server 0".into(), address: "h:80".into(), state };
        assert_eq!(check(&FakeFiles(&[]), &[wanted(State::Ours)]).grade, Grade::Ok);
        assert_eq!(check(&FakeFiles(&[]), &[wanted(State::Forbidden)]).grade, Grade::Problem);
        let taken = check(&FakeFiles(&[]), &[wanted(State::Free), wanted(State::Taken)]);
        assert!(taken.grade == Grade::Problem && taken.found.contains("another user"), "{taken:?}");
    }
}
