//! Valid files, and every kind of invalid one.

use super::*;

/// A file with every key.
pub(super) const WHOLE: &str = r#"
name = "dev"
id = "4f1c0a9be2d37788"
fabric = "tcp"
directory = "state"
data = "kept"
secret = "dev.key"
allow_unencrypted = true
lease_seconds = 5
transaction_time_ms = 2000
replicas = 1
oracle = "double-collect"

[detector]
lease_ms = 50

[registry]
kind = "etcd"
endpoints = ["http://a:2379", "https://b:2379"]
prefix = "/test"
tls = { ca = "e.pem", certificate = "ec.pem", key = "ek.pem" }

[tls]
ca = "ca.pem"
certificate = "/etc/server.pem"
key = "server.key"

[verbs]
device = "mlx5_0"
port = 2
gid_index = 3
queue_pairs_max = 4

[[memory]]
listen = "10.0.0.1:7400"
bytes = "4 GiB"
heartbeats = "10.0.0.1:7401"
control = "10.0.0.1:7500"

[[memory]]
bytes = 16777216

[[compute]]
threads = 2
lanes = 16
listen = "10.0.0.2:7601"
calls = "10.0.0.2:7602"
control = "10.0.0.2:7600"
"#;

const SMALL: &str = "name = \"dev\"\nid = \"4f1c0a9be2d37788\"\n[[memory]]\nbytes = \"1 GiB\"\n";

const TWO: &str = "name = \"dev\"\nid = \"4f1c0a9be2d37788\"\n[[memory]]\nbytes = \"1 GiB\"\n[[memory]]\nbytes = \"1 GiB\"\n";

fn read(
    text: &str,
    variables: &[(&str, &str)],
    flags: &[(&str, &str)],
) -> Result<ClusterFile, String> {
    let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    };
    let path = Path::new("/etc/namdb/dev.toml");
    ClusterFile::read(path, text, owned(variables), &owned(flags))
        .map_err(|error| error.to_string())
}

fn refused(text: &str, words: &[&str]) {
    let sentence = read(text, &[], &[]).expect_err("refused");
    for word in words {
        assert!(sentence.contains(word), "`{sentence}` does not say `{word}`");
    }
}

#[test]
fn a_whole_file_is_read_and_paths_start_at_it() {
    let cluster = read(WHOLE, &[], &[]).expect("it is right");
    assert_eq!(cluster.id, ClusterId(0x4f1c_0a9b_e2d3_7788));
    assert_eq!((cluster.fabric, cluster.oracle), (FabricKind::Tcp, OracleKind::DoubleCollect));
    assert_eq!(cluster.directory, Path::new("/etc/namdb/state"));
    assert_eq!(cluster.data.as_deref(), Some(Path::new("/etc/namdb/kept")));
    assert_eq!(cluster.secret, Path::new("/etc/namdb/dev.key"));
    assert!(cluster.allow_unencrypted);
    let tls = cluster.tls.as_ref().expect("it is written");
    assert_eq!(tls.ca, Path::new("/etc/namdb/ca.pem"));
    assert_eq!(tls.certificate, Path::new("/etc/server.pem"));
    let VerbsSettings { device, port, gid_index, queue_pairs_max } = &cluster.verbs;
    assert_eq!((device.as_deref(), *port, *gid_index), (Some("mlx5_0"), Some(2), Some(3)));
    assert_eq!(*queue_pairs_max, 4);
    assert_eq!([cluster.memory[0].bytes, cluster.memory[1].bytes], [4 << 30, 16 << 20]);
    assert_eq!(cluster.memory[1].listen, "127.0.0.1:0");
    assert_eq!((cluster.compute[0].threads, cluster.compute[0].lanes), (2, 16));
}

#[test]
fn a_written_file_reads_back_equal() {
    let bytes = [64 << 20, 12_345 + (16 << 20)];
    let made = ClusterFile::development("dev", FabricKind::Tcp, &bytes, 2);
    let read = read(&made.to_toml(), &[], &[]).expect("it is right");
    assert!(read.directory.starts_with("/tmp"));
    assert_eq!(read.secret, Path::new("/etc/namdb/dev.secret"));
    let without = ClusterFile { directory: PathBuf::new(), secret: PathBuf::new(), ..read };
    assert_eq!(without, made);
    assert_ne!(made.id, ClusterFile::development("dev", FabricKind::Tcp, &bytes, 2).id);
}

#[test]
fn small_files_have_defaults_and_directories_of_their_own() {
    let cluster = read(SMALL, &[("XDG_RUNTIME_DIR", "/run/user/7")], &[]).expect("it is right");
    assert_eq!(cluster.directory, Path::new("/run/user/7/namdb/dev-4f1c0a9be2d37788"));
    assert_eq!(cluster.fabric, FabricKind::Shm);
    assert_eq!(cluster.oracle, OracleKind::DoubleCollect);
    assert_eq!(cluster.registry, RegistrySettings::default());
    assert_eq!(cluster.verbs, VerbsSettings::default());
    assert_eq!((cluster.lease_seconds, cluster.transaction_time_ms), (10, 10_000));
    let user = rustix::process::getuid().as_raw();
    let without = read(SMALL, &[], &[]).expect("it is right").directory;
    assert_eq!(without, PathBuf::from(format!("/tmp/namdb-{user}/dev-4f1c0a9be2d37788")));
}

#[test]
fn calls_are_taken_where_work_is_unless_something_else_is_written() {
    assert_eq!(read(WHOLE, &[], &[]).expect("it is right").compute[0].calls(), "10.0.0.2:7602");
    let compute = format!("{SMALL}[[compute]]\nlisten = \"[::1]:7601\"\n[[compute]]\n");
    let cluster = read(&compute, &[], &[]).expect("it is right");
    assert_eq!([0, 1].map(|n| cluster.compute[n].calls()), ["[::1]:0", "127.0.0.1:0"]);
    let variable = [("NAMDB_CLUSTER_COMPUTE_1_CALLS", "10.0.0.3:1")];
    let cluster = read(&compute, &variable, &[]).expect("it is right");
    assert_eq!(cluster.compute[1].calls(), "10.0.0.3:1");
}

#[test]
fn leases_of_heartbeats_and_their_addresses_follow_from_the_fabric() {
    let with = |fabric: &str, more: &str| {
        let text = SMALL.replace("[[memory]]", &format!("fabric = \"{fabric}\"\n[[memory]]"));
        read(&format!("{text}{more}"), &[], &[]).expect("it is right")
    };
    let lease_ms = |fabric| with(fabric, "").detector_lease().as_millis();
    assert_eq!(["shm", "tcp", "verbs"].map(lease_ms), [1000, 1000, 10]);
    let set = with("verbs", "[detector]\nlease_ms = 70\n");
    assert_eq!(set.detector_lease().as_millis(), 70);
    let listen = "listen = \"10.0.0.1:7400\"\n";
    assert_eq!(with("tcp", listen).heartbeats(0), Some("10.0.0.1:7400"));
    assert_eq!(with("shm", listen).heartbeats(0), Some("127.0.0.1:0"));
    let own = format!("{listen}heartbeats = \"10.0.0.1:9\"\n");
    assert_eq!(with("tcp", &own).heartbeats(0), Some("10.0.0.1:9"));
    assert_eq!(with("tcp", &own).heartbeats(1), None);
}

#[test]
fn paths_of_a_file_without_a_folder_start_where_the_process_is() {
    let read = ClusterFile::read(Path::new("dev.toml"), WHOLE, [], &[]).expect("it is right");
    assert_eq!(read.directory, Path::new("./state"));
    let above = read.directory.parent().expect("it is in a folder");
    assert!(above.is_dir(), "{}", above.display());
}

#[test]
fn addresses_that_others_cannot_reach_are_refused() {
    let refused_at = |address: &str| {
        let memory = format!("[[memory]]\nlisten = \"{address}\"");
        let tcp = SMALL.replace("[[memory]]", &format!("fabric = \"tcp\"\n{memory}"));
        refused(&tcp, &[address, "the address by which they reach this host"]);
        read(&SMALL.replace("[[memory]]", &memory), &[], &[]).expect("it is of no effect");
    };
    refused_at("0.0.0.0:7400");
    refused_at("[::]:7400");
    let encrypted = WHOLE.replace("fabric = \"tcp\"", "fabric = \"verbs\"");
    refused(&encrypted, &["RDMA is not encrypted", "`registry.tls`"]);
}

#[test]
fn the_environment_replaces_the_file_and_flags_replace_both() {
    let variables = [
        ("NAMDB_CLUSTER_FABRIC", "verbs"),
        ("NAMDB_CLUSTER_NAME", "17"),
        ("NAMDB_CLUSTER_LEASE_SECONDS", "20"),
        ("NAMDB_CLUSTER_REGISTRY_ENDPOINTS", "http://a:1, http://b:2"),
        ("NAMDB_CLUSTER_MEMORY_0_BYTES", "32 MiB"),
        ("NAMDB_CLUSTER_VERBS_DEVICE", "rxe0"),
        ("NAMDB_CLUSTER_VERBS_PORT", "1"),
        ("NAMDB_CI", "1"),
    ];
    let cluster = read(SMALL, &variables, &[("lease_seconds", "30")]).expect("it is right");
    assert_eq!((cluster.fabric, cluster.name.as_str()), (FabricKind::Verbs, "17"));
    assert_eq!((cluster.lease_seconds, cluster.memory[0].bytes), (30, 32 << 20));
    assert_eq!(cluster.registry.endpoints, ["http://a:1", "http://b:2"]);
    assert_eq!((cluster.verbs.device.as_deref(), cluster.verbs.port), (Some("rxe0"), Some(1)));
}

#[test]
fn errors_in_the_file_have_a_line() {
    let with = |more: &str| format!("{more}\n{SMALL}");
    refused(&with("fabrc = \"tcp\""), &["/etc/namdb/dev.toml:1:", "`fabrc`", "`fabric`"]);
    refused(&with("fabric = \"udp\""), &["dev.toml:1:", "`udp`", "`shm`, `tcp`, `verbs`"]);
    refused(&with("lease_seconds = 1"), &["dev.toml:1:", "2 to 600 seconds, not 1"]);
    refused(&with("lease_seconds = -1"), &["dev.toml:1:", "write a whole number from 0"]);
    refused(&with("transaction_time_ms = 0"), &["dev.toml:1:", "1 to 86400000 milliseconds"]);
    refused(&with("replicas = 2"), &["dev.toml:1:", "`fabric = \"tcp\"`"]);
    let over_tcp = |replicas: u16| format!("replicas = {replicas}\nfabric = \"tcp\"\n{SMALL}");
    refused(&over_tcp(2), &["dev.toml:1:", "2 replicas", "there are 1", "`replicas = 1`"]);
    let with_both = format!("data = \"kept\"\n{}", over_tcp(2).replace(SMALL, TWO));
    assert!(read(&with_both, &[], &[]).is_ok(), "replicas and data go together");
    refused(&with("fabric = \"verbs\"\ndata = \"kept\""), &["dev.toml:2:", "over `tcp` keep data"]);
    refused(&with("data = \"\""), &["dev.toml:1:", "write its path"]);
    refused(&with("data = \"kept\""), &["dev.toml:1:", "`fabric = \"tcp\"`"]);
    refused(&over_tcp(0), &["dev.toml:1:", "1 to 4 replicas, not 0"]);
    refused(&over_tcp(5), &["dev.toml:1:", "1 to 4 replicas, not 5"]);
    let lease = |ms: &str| format!("{SMALL}[detector]\nlease_ms = {ms}\n");
    refused(
        &lease("4"),
        &["dev.toml:6:", "a lease of heartbeats lasts for 5 to 600000 milliseconds, not 4"],
    );
    refused(&lease("600001"), &["dev.toml:6:", "5 to 600000 milliseconds"]);
    refused(&lease("-1"), &["dev.toml:6:", "write a whole number from 0"]);
    refused(&lease("\"1 s\""), &["dev.toml:6:"]);
    refused(&format!("{SMALL}[detector]\nlease = 5\n"), &["dev.toml:6:", "`lease_ms`"]);
    refused(&format!("{SMALL}heartbeats = \"x\"\n"), &["dev.toml:5:", "`x`", "127.0.0.1:7400"]);
    refused(
        &format!("{SMALL}heartbeats = \"0.0.0.0:7\"\n"),
        &["dev.toml:5:", "others cannot connect to"],
    );
    let long = format!("directory = \"/{}\"", "d".repeat(80));
    refused(&with(&long), &["dev.toml:1:", "81 bytes", "at most 80", "shorter"]);
    refused(&SMALL.replace("dev", "De v"), &["dev.toml:1:", "a-z", "`De v`"]);
    refused(&SMALL.replace("4f1c0a9b", "4f1c"), &["dev.toml:2:", "16 hexadecimal digits such as"]);
    refused(&SMALL.replace("1 GiB", "1 GB"), &["dev.toml:4:", "1 GB", "4 GiB"]);
    refused(&SMALL.replace("1 GiB", "1 MiB"), &["dev.toml:4:", "16 MiB to 128 TiB"]);
    refused(
        "name = \"dev\"\nid = \"4f1c0a9be2d37788\"\n",
        &["1 to 64 memory servers", "[[memory]]"],
    );
    refused("name = \"dev\"\n", &["missing field `id`"]);
    refused(&format!("{SMALL}listen = \"here\"\n"), &["dev.toml:5:", "`here`", "127.0.0.1:7400"]);
    refused(
        &format!("{SMALL}[[compute]]\nlanes = 65\n"),
        &["dev.toml:6:", "1 to 64 lanes, not 65"],
    );
    refused(&format!("{SMALL}[[compute]]\nthreads = 0\n"), &["dev.toml:6:", "1 to 1024 threads"]);
    refused(
        &format!("{SMALL}[[compute]]\nlisten = \"0.0.0.0:7\"\n"),
        &["dev.toml:6:", "others cannot connect to"],
    );
    refused(
        &format!("{SMALL}[[compute]]\ncalls = \"0.0.0.0:7\"\n"),
        &["dev.toml:6:", "others cannot connect to"],
    );
    let etcd = |line: &str| format!("{SMALL}[registry]\nkind = \"etcd\"\n{line}\n");
    refused(&etcd("endpoints = [\"a:1\"]"), &["dev.toml:7:", "`a:1`", "http://127.0.0.1:2379"]);
    refused(&etcd("endpoints = []"), &["dev.toml:7:", "1 to 16 endpoints"]);
    let verbs = |line: &str| format!("{SMALL}[verbs]\n{line}\n");
    refused(&verbs("device = \"/dev/x\""), &["dev.toml:6:", "`/dev/x`", "/sys/class/infiniband"]);
    refused(&verbs("port = 0"), &["dev.toml:6:", "from 1"]);
    refused(&verbs("queue_pairs_max = 0"), &["dev.toml:6:", "1 to 100 queue pairs", "not 0"]);
    refused(&verbs("gid_index = 256"), &["dev.toml:6:", "write a whole number from 0 to 255"]);
    refused(&etcd("prefix = \"namdb\""), &["dev.toml:7:", "\"/namdb\"", "`namdb`"]);
}

#[test]
fn errors_outside_the_file_name_their_source() {
    let refusal = |variable: (&str, &str)| read(SMALL, &[variable], &[]).expect_err("refused");
    let typo = refusal(("NAMDB_CLUSTER_FABRC", "tcp"));
    assert!(typo.starts_with("NAMDB_CLUSTER_FABRC:") && typo.contains("NAMDB_CLUSTER_FABRIC,"));
    let kind = refusal(("NAMDB_CLUSTER_FABRIC", "udp"));
    assert!(kind.starts_with("NAMDB_CLUSTER_FABRIC:") && kind.contains("`shm`"));
    let range = refusal(("NAMDB_CLUSTER_LEASE_SECONDS", "1"));
    assert!(range.starts_with("NAMDB_CLUSTER_LEASE_SECONDS:") && range.contains("2 to 600"));
    let absent = refusal(("NAMDB_CLUSTER_MEMORY_7_BYTES", "1 GiB"));
    assert!(absent.contains("there is no `7` in `memory.7.bytes`"), "{absent}");
    let flag = read(SMALL, &[], &[("fabrc", "tcp")]).expect_err("refused");
    assert!(flag.starts_with("--set fabrc=tcp:") && flag.contains("`fabric`"), "{flag}");
}
