//! Checks values whose type is right.

use super::{ClusterFile, FabricKind, RegistryKind};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;

/// Maximum length of a cluster's name, so that paths stay short.
const NAME_BYTES_MAX: usize = 32;
/// Maximum length of a directory: a socket address has at most 107 bytes, our file names at most
/// 27.
const DIRECTORY_BYTES_MAX: usize = 80;
/// Minimum memory of a memory server: less would not hold the catalog and one extent per lane.
const MEMORY_BYTES_MIN: u64 = 16 << 20;
/// Addresses have 48 bits for the offset in a region.
const MEMORY_BYTES_MAX: u64 = 1 << 47;
/// The kernel's limit.
const DEVICE_BYTES_MAX: usize = 63;
const MEMORY_SERVERS_MAX: usize = 64;
const ENDPOINTS_MAX: usize = 16;
const REPLICAS_MAX: u64 = 4;

/// Returns the path of the first invalid value, and the message.
pub(super) fn problem(cluster: &ClusterFile) -> Option<(String, String)> {
    of_cluster(cluster)
        .or_else(|| of_registry(cluster))
        .or_else(|| of_verbs(cluster))
        .or_else(|| of_memory_servers(cluster))
        .or_else(|| of_replicas(cluster))
        .or_else(|| of_data(cluster))
        .or_else(|| of_compute_servers(cluster))
}

fn of_cluster(cluster: &ClusterFile) -> Option<(String, String)> {
    let name = &cluster.name;
    let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_plain) {
        let sentence =
            format!("a cluster's name has 1 to {NAME_BYTES_MAX} of a-z, 0-9 and -, not `{name}`");
        return wrong("name", sentence);
    }
    if cluster.fabric == FabricKind::Verbs && cluster.tls.is_some() {
        let sentence = "RDMA is not encrypted: `tls` is for fabric `tcp`; write keys for etcd into `registry.tls`";
        return wrong("tls", sentence.to_owned());
    }
    let directory = cluster.directory.as_os_str().as_bytes();
    if directory.len() > DIRECTORY_BYTES_MAX {
        let path = cluster.directory.display();
        let sentence = format!(
            "the directory `{path}` has {} bytes, sockets in it need one of at most {DIRECTORY_BYTES_MAX}; write a \
             shorter `directory`",
            directory.len()
        );
        return wrong("directory", sentence);
    }
    out_of(2..=600, cluster.lease_seconds, "lease_seconds", "a lease lasts for", "seconds")
        .or_else(|| {
            let lease = cluster.detector.lease_ms?;
            let path = "detector.lease_ms";
            let what = "a lease of heartbeats lasts for";
            out_of(5..=600_000, lease, path, what, "milliseconds")
        })
        .or_else(|| {
            let time = cluster.transaction_time_ms;
            out_of(
                1..=86_400_000,
                time,
                "transaction_time_ms",
                "a transaction may run for",
                "milliseconds",
            )
        })
}

fn of_registry(cluster: &ClusterFile) -> Option<(String, String)> {
    let registry = &cluster.registry;
    if registry.kind == RegistryKind::File {
        return None;
    }
    let count = registry.endpoints.len() as u64;
    let path = "registry.endpoints";
    if let Some(problem) =
        out_of(1..=ENDPOINTS_MAX as u64, count, path, "etcd has", "endpoints here")
    {
        return Some(problem);
    }
    for (n, endpoint) in registry.endpoints.iter().enumerate() {
        let host = endpoint.strip_prefix("http://").or_else(|| endpoint.strip_prefix("https://"));
        let address = host.and_then(not_an_address);
        if host.is_none() || address.is_some() {
            let sentence = format!(
                "`{endpoint}` is not an address of etcd; write one such as \"http://127.0.0.1:2379\""
            );
            return wrong(&format!("{path}.{n}"), sentence);
        }
    }
    let prefix = &registry.prefix;
    if !prefix.starts_with('/') || prefix.ends_with('/') || prefix.len() > 200 {
        let sentence = format!(
            "a prefix begins with / and does not end with it, such as \"/namdb\"; not `{prefix}`"
        );
        return wrong("registry.prefix", sentence);
    }
    None
}

fn of_verbs(cluster: &ClusterFile) -> Option<(String, String)> {
    let device = cluster.verbs.device.as_deref();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_name =
        |name: &str| (1..=DEVICE_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain);
    if let Some(name) = device.filter(|name| !is_name(name)) {
        let sentence = format!(
            "`{name}` is not an RDMA device; write one that `ls /sys/class/infiniband` shows, such as \"mlx5_0\""
        );
        return wrong("verbs.device", sentence);
    }
    if cluster.verbs.port == Some(0) {
        return wrong("verbs.port", "ports of RDMA devices are counted from 1, not 0".to_owned());
    }
    let most = u64::from(cluster.verbs.queue_pairs_max);
    let path = "verbs.queue_pairs_max";
    out_of(1..=100, most, path, "a process has", "queue pairs with a memory server")
}

fn of_memory_servers(cluster: &ClusterFile) -> Option<(String, String)> {
    let count = cluster.memory.len();
    if !(1..=MEMORY_SERVERS_MAX).contains(&count) {
        let sentence = format!(
            "a cluster has 1 to {MEMORY_SERVERS_MAX} memory servers, not {count}; each is a section `[[memory]]` \
             with `bytes`"
        );
        return wrong("memory", sentence);
    }
    for (n, server) in cluster.memory.iter().enumerate() {
        if !(MEMORY_BYTES_MIN..=MEMORY_BYTES_MAX).contains(&server.bytes) {
            let sentence =
                format!("a memory server has 16 MiB to 128 TiB, not {} bytes", server.bytes);
            return wrong(&format!("memory.{n}.bytes"), sentence);
        }
        if cluster.fabric != FabricKind::Shm
            && let Some(sentence) = no_others_could_connect_to(&server.listen)
        {
            return wrong(&format!("memory.{n}.listen"), sentence);
        }
        if let Some(address) = &server.heartbeats
            && let Some(sentence) = no_others_could_connect_to(address)
        {
            return wrong(&format!("memory.{n}.heartbeats"), sentence);
        }
        let heartbeats = server.heartbeats.as_ref().map(|address| ("heartbeats", address));
        let addresses = [("listen", &server.listen), ("control", &server.control)];
        for (key, address) in addresses.into_iter().chain(heartbeats) {
            if let Some(sentence) = not_an_address(address) {
                return wrong(&format!("memory.{n}.{key}"), sentence);
            }
        }
    }
    None
}

fn of_replicas(cluster: &ClusterFile) -> Option<(String, String)> {
    let (count, path) = (u64::from(cluster.replicas), "replicas");
    if count > 1 && cluster.fabric != FabricKind::Tcp {
        let sentence = "so far only clusters over `tcp` have replicas; write `fabric = \"tcp\"` or `replicas = 1`";
        return wrong(path, sentence.to_owned());
    }
    let servers = cluster.memory.len() as u64;
    if (2..=REPLICAS_MAX).contains(&count) && count > servers {
        let sentence = format!(
            "{count} replicas are on as many memory servers, and there are {servers}; add sections `[[memory]]`, or write \
             `replicas = {servers}`"
        );
        return wrong(path, sentence);
    }
    out_of(1..=REPLICAS_MAX, count, path, "the contents of a memory server have", "replicas")
}

fn of_data(cluster: &ClusterFile) -> Option<(String, String)> {
    let data = cluster.data.as_ref()?;
    if data.as_os_str().is_empty() {
        return wrong("data", "`data` names a directory; write its path".to_owned());
    }
    let sentence = match cluster.fabric {
        FabricKind::Shm | FabricKind::Verbs => {
            "so far only clusters over `tcp` keep data; write `fabric = \"tcp\"`, or leave out `data`"
        }
        FabricKind::Tcp => return None,
    };
    wrong("data", sentence.to_owned())
}

fn of_compute_servers(cluster: &ClusterFile) -> Option<(String, String)> {
    for (n, server) in cluster.compute.iter().enumerate() {
        let path = |key| format!("compute.{n}.{key}");
        let threads = u64::from(server.threads);
        let lanes = u64::from(server.lanes);
        let problem =
            out_of(1..=1024, threads, &path("threads"), "a compute server has", "threads")
                .or_else(|| out_of(1..=64, lanes, &path("lanes"), "a thread has", "lanes"));
        if problem.is_some() {
            return problem;
        }
        let calls = server.calls();
        for (key, address) in [("listen", &server.listen), ("calls", &calls)] {
            if let Some(sentence) = no_others_could_connect_to(address) {
                return wrong(&path(key), sentence);
            }
        }
        let all = [("listen", &server.listen), ("calls", &calls), ("control", &server.control)];
        for (key, address) in all {
            if let Some(sentence) = not_an_address(address) {
                return wrong(&path(key), sentence);
            }
        }
    }
    None
}

fn wrong(path: &str, sentence: String) -> Option<(String, String)> {
    Some((path.to_owned(), sentence))
}

fn out_of(
    range: RangeInclusive<u64>,
    value: u64,
    path: &str,
    what: &str,
    unit: &str,
) -> Option<(String, String)> {
    if range.contains(&value) {
        return None;
    }
    wrong(path, format!("{what} {} to {} {unit}, not {value}", range.start(), range.end()))
}

/// Returns the error for an address that others should connect to, but that means all addresses of
/// the host.
fn no_others_could_connect_to(text: &str) -> Option<String> {
    let is_any = text.parse::<SocketAddr>().is_ok_and(|address| address.ip().is_unspecified());
    is_any.then(|| {
        format!(
            "others cannot connect to `{text}`; write the address by which they reach this host"
        )
    })
}

fn not_an_address(text: &str) -> Option<String> {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    match port.map(|(_, port)| port.parse::<u16>()) {
        Some(Ok(_)) => None,
        _ => Some(format!(
            "`{text}` is not an address; write host and port such as \"127.0.0.1:7400\""
        )),
    }
}
