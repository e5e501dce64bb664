//! The cluster file: the configuration shared by all servers and clients of a cluster.
//!
//! A setting comes from the file, from the environment, or from flags; later sources override
//! earlier ones. The variable of a key is `NAMDB_CLUSTER_` and the key in upper case with `_` for
//! `.`, so `registry.endpoints` is `NAMDB_CLUSTER_REGISTRY_ENDPOINTS` (a list is separated by
//! commas) and `memory.0.listen` is `NAMDB_CLUSTER_MEMORY_0_LISTEN`. Unknown keys and values out of
//! range are refused in all three sources.

mod problem;
mod setting;
mod size;
mod validate;

use crate::random;
pub use problem::ClusterFileError;
use serde::{Deserialize, Serialize};
use setting::Setting;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use toml::Table;

/// Prefix of environment variables that hold settings of a cluster.
pub const ENVIRONMENT_PREFIX: &str = "NAMDB_CLUSTER_";

/// The configuration of a cluster. [`ClusterFile::load`] reads it, [`ClusterFile::to_toml`] writes
/// it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterFile {
    /// Name of the cluster for people: 1 to 32 of `a`-`z`, `0`-`9` and `-`, since it is part of
    /// paths. No default.
    pub name: String,
    /// Id of the cluster: 16 hexadecimal digits, random for each cluster, so that servers of two
    /// clusters with the same name refuse each other's messages. No default: a copied file must not
    /// silently become a second cluster, which a default would allow.
    pub id: ClusterId,
    /// How verbs reach memory servers. Default `shm`, which needs neither privileges nor ports, but
    /// works on one host only.
    #[serde(default)]
    pub fabric: FabricKind,
    /// Directory of the servers' sockets and state on this host; relative paths start at the file.
    /// At most 80 bytes, since socket addresses have at most 107. Only its owner may write to it.
    /// Default `$XDG_RUNTIME_DIR/namdb/NAME-ID`, which is in memory and is deleted with the
    /// session; without that variable `/tmp/namdb-UID/NAME-ID`. Never empty once the file is read.
    #[serde(default, skip_serializing_if = "is_empty_path")]
    pub directory: PathBuf,
    /// Directory for the contents of memory servers that run on this host; relative paths start at
    /// the file. A memory server writes its memory there when it ends, by SIGTERM or because it has
    /// lost its lease, and has it again when the cluster is started again. Default: none, the data
    /// ends with its servers. So far `tcp` without replicas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
    /// File with the secret that every member and client of the cluster proves; relative paths
    /// start at the file. Only its owner may read it. Default: beside the file, with its name and
    /// the ending `.secret`. Never empty once the file is read.
    #[serde(default, skip_serializing_if = "is_empty_path")]
    pub secret: PathBuf,
    /// Whether servers may listen at addresses that other hosts reach although connections are not
    /// encrypted. Default `false`: a server then refuses to start.
    #[serde(default)]
    pub allow_unencrypted: bool,
    /// How long a server that does not reach the registry stays a member, in seconds, 2 to 600.
    /// Default 10: long enough for an etcd leader election. Deaths are detected sooner, see
    /// `detector`.
    #[serde(default = "default_lease_seconds")]
    pub lease_seconds: u64,
    /// Maximal transaction time in milliseconds, 1 to 86,400,000. Default 10,000. Old versions are
    /// kept this long for running transactions.
    #[serde(default = "default_transaction_time_ms")]
    pub transaction_time_ms: u64,
    /// Servers with the contents of each memory server, itself included, 1 to 4, and no more than
    /// there are memory servers. Default 1: the database is lost with a memory server. So far `tcp`
    /// only.
    #[serde(default = "default_replicas")]
    pub replicas: u16,
    /// How snapshots are taken. Default over `verbs`: `frozen`, which takes one round trip if many
    /// other servers freeze vectors, and up to five for a lone process that must freeze its own.
    /// Default otherwise: `double-collect`, which takes two round trips through caches, or one by
    /// messages.
    #[serde(default)]
    pub oracle: OracleKind,
    /// How members notice that others have died.
    #[serde(default)]
    pub detector: DetectorSettings,
    /// How servers find each other.
    #[serde(default)]
    pub registry: RegistrySettings,
    /// Mutual TLS 1.3 between servers over `tcp`. Default: none, for networks that only the cluster
    /// uses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSettings>,
    /// The RDMA device of `verbs`. Ignored by other fabrics.
    #[serde(default)]
    pub verbs: VerbsSettings,
    /// The memory servers; a server's number is its position in this list, from 0. At least one, at
    /// most 64.
    #[serde(default)]
    pub memory: Vec<MemorySettings>,
    /// The compute servers. Default: none, since programs that embed the library are compute
    /// servers, too.
    #[serde(default)]
    pub compute: Vec<ComputeSettings>,
}

/// Identifies a cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ClusterId(pub u64);

/// How verbs reach memory servers.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum FabricKind {
    /// Every process of one host maps the regions.
    #[default]
    Shm,
    /// Messages over TCP, on any network.
    Tcp,
    /// One-sided RDMA, on networks that support it.
    Verbs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OracleKind {
    /// Reads vectors that the collector freezes and numbers one after another.
    Frozen,
    /// Reads the vector until two reads agree; one read is enough if servers execute batches one
    /// after the other.
    #[default]
    DoubleCollect,
}

/// How servers find each other.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RegistrySettings {
    /// Default `file`: a development cluster on one host, without any other program.
    pub kind: RegistryKind,
    /// Addresses of etcd, tried in this order, such as `https://etcd-1:2379`; at most 16. Default
    /// `http://127.0.0.1:2379`, etcd's default address. Ignored by `file`.
    pub endpoints: Vec<String>,
    /// Prefix of the keys in etcd; the cluster's id follows, so that clusters may share an etcd.
    /// Default `/namdb`. Ignored by `file`.
    pub prefix: String,
    /// For endpoints of `https`: the authority to trust, and our certificate. Default: the keys of
    /// section `tls`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsSettings>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RegistryKind {
    /// Files in the cluster's directory, with locks on them.
    #[default]
    File,
    /// etcd, through its JSON gateway.
    Etcd,
}

/// How members notice that others have died.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DetectorSettings {
    /// How long a member whose heartbeats do not arrive counts as alive, in milliseconds, 5 to
    /// 600,000. Five heartbeats are sent in this time, and a silent member has a quarter of it
    /// for its answer to a probe. Default over `verbs`: 10, for processors that no other program
    /// uses. Default otherwise: 1000, which members survive on processors that are shared with
    /// many busy threads; the end of a process of the same host is seen at once anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// Files in PEM format, relative to the cluster's file. Certificate and key are those of the server
/// that reads them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// Certificates of the authorities that signed the others' certificates. No default.
    pub ca: PathBuf,
    /// The certificate that others see. No default.
    pub certificate: PathBuf,
    /// The private key of the certificate. No default.
    pub key: PathBuf,
}

/// The RDMA device of each host. If hosts differ, set environment variables on each.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VerbsSettings {
    /// The device, as `ls /sys/class/infiniband` shows it. Default: the first one with atomics and
    /// an active port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// The device's port, from 1. Default: the first active one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u8>,
    /// Index of the port's GID, from 0. Default: one of RoCE v2 for IPv4, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gid_index: Option<u8>,
    /// Maximum number of queue pairs of a process with each memory server, and with each compute
    /// server that it calls, 1 to 100; further threads share them. Default 16: a server accepts 100
    /// in all.
    pub queue_pairs_max: u32,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySettings {
    /// Address on which it accepts connections, `host:port`; with port 0 it takes any free port,
    /// which others learn from the registry. Default `127.0.0.1:0`. Ignored by `shm`.
    #[serde(default = "default_address")]
    pub listen: String,
    /// Size of its region in bytes, at least 16 MiB; a number, or text such as `"4 GiB"`. No
    /// default: only the operator knows what else runs on the machine.
    #[serde(with = "size")]
    pub bytes: u64,
    /// Address for heartbeats, `host:port`, by UDP. Default: that of `listen`, whose port is one of
    /// TCP; for `shm`, any free port of this host. Heartbeats are authenticated, and carry no data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeats: Option<String>,
    /// Control address for status and metrics, `host:port`. Default `127.0.0.1:0`: this host only,
    /// any free port.
    #[serde(default = "default_address")]
    pub control: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ComputeSettings {
    /// Threads that run transactions, 1 to 1024. Default 1: further threads poll on the same
    /// processors.
    pub threads: u32,
    /// Concurrent transactions of each thread, 1 to 64. Default 8, which hides the latency of a
    /// network.
    pub lanes: u32,
    /// Address on which it accepts work, such as that of `namdb bench`; as for memory servers.
    pub listen: String,
    /// Address on which it accepts calls over `tcp` or `verbs`, such as shipped operations; as for
    /// memory servers. Default: the host of `listen`, and any free port. Ignored by `shm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<String>,
    /// As for memory servers.
    pub control: String,
}

const fn default_lease_seconds() -> u64 {
    10
}

const fn default_replicas() -> u16 {
    1
}

const fn default_transaction_time_ms() -> u64 {
    10_000
}

/// Any free port of this host, for this host only.
const ANY_ADDRESS: &str = "127.0.0.1:0";

fn default_address() -> String {
    ANY_ADDRESS.to_owned()
}

fn is_empty_path(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

impl Default for RegistrySettings {
    fn default() -> Self {
        Self {
            kind: RegistryKind::File,
            endpoints: vec!["http://127.0.0.1:2379".to_owned()],
            prefix: "/namdb".to_owned(),
            tls: None,
        }
    }
}

impl Default for VerbsSettings {
    fn default() -> Self {
        Self { device: None, port: None, gid_index: None, queue_pairs_max: 16 }
    }
}

impl Default for ComputeSettings {
    fn default() -> Self {
        let (listen, control) = (default_address(), default_address());
        Self { threads: 1, lanes: 8, listen, calls: None, control }
    }
}

impl ComputeSettings {
    /// Returns the address on which it accepts calls.
    pub fn calls(&self) -> String {
        let host = self.listen.rsplit_once(':').map_or("127.0.0.1", |(host, _)| host);
        self.calls.clone().unwrap_or_else(|| format!("{host}:0"))
    }
}

impl ClusterFile {
    /// Reads the file, this process's environment, and flags as pairs of key and value.
    pub fn load(path: &Path, flags: &[(String, String)]) -> Result<Self, ClusterFileError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let place = path.display().to_string();
            ClusterFileError::new(
                &place,
                format!("the file cannot be read ({error}); `namdb cluster up` writes one"),
            )
        })?;
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::read(path, &text, variables, flags)
    }

    /// As [`ClusterFile::load`], from the text of the file and given variables.
    pub fn read(
        path: &Path,
        text: &str,
        variables: impl IntoIterator<Item = (String, String)>,
        flags: &[(String, String)],
    ) -> Result<Self, ClusterFileError> {
        let file = path.display().to_string();
        let in_file = |error| ClusterFileError::of_toml(&file, text, &error);
        toml::from_str::<Self>(text).map_err(in_file)?;
        let mut table: Table = toml::from_str(text).map_err(in_file)?;
        let variables: Vec<_> = variables.into_iter().collect();
        let runtime = variables.iter().find(|(name, _)| name == "XDG_RUNTIME_DIR");
        let runtime = runtime.map(|(_, value)| PathBuf::from(value));
        let mut settings = Setting::of_environment(variables)?;
        settings.extend(Setting::of_flags(flags));
        for setting in &settings {
            table = setting.apply(&table)?;
        }
        let has_oracle = table.contains_key("oracle");
        let mut cluster: Self = table.try_into().map_err(in_file)?;
        if !has_oracle {
            cluster.oracle = OracleKind::suited_to(cluster.fabric);
        }
        // A file named without a folder is in the current one, whose name is not empty.
        let beside = path.parent().filter(|folder| !is_empty_path(folder));
        let beside = beside.unwrap_or(Path::new("."));
        cluster.secret = match is_empty_path(&cluster.secret) {
            true => path.with_extension("secret"),
            false => beside.join(&cluster.secret),
        };
        cluster.complete(beside, runtime);
        let Some((wrong, sentence)) = validate::problem(&cluster) else { return Ok(cluster) };
        Err(match settings.iter().rev().find(|setting| setting.path == wrong) {
            Some(setting) => ClusterFileError::new(&setting.place, sentence),
            None => ClusterFileError::of_value(&file, text, &wrong, sentence),
        })
    }

    /// Makes relative paths absolute, starting at the file, and chooses a directory if none is
    /// given.
    fn complete(&mut self, beside: &Path, runtime: Option<PathBuf>) {
        self.directory = if is_empty_path(&self.directory) {
            let user = rustix::process::getuid().as_raw();
            let runtime = runtime.filter(|path| path.is_absolute()).map(|path| path.join("namdb"));
            let above = runtime.unwrap_or_else(|| PathBuf::from(format!("/tmp/namdb-{user}")));
            above.join(format!("{}-{}", self.name, self.id))
        } else {
            beside.join(&self.directory)
        };
        if let Some(data) = self.data.as_mut().filter(|data| !is_empty_path(data)) {
            *data = beside.join(&data);
        }
        for tls in self.tls.iter_mut().chain(&mut self.registry.tls) {
            for path in [&mut tls.ca, &mut tls.certificate, &mut tls.key] {
                *path = beside.join(&path);
            }
        }
    }

    /// Returns a development cluster on this host, with a new id, whose servers take any free
    /// ports.
    pub fn development(
        name: &str,
        fabric: FabricKind,
        memory_bytes: &[u64],
        compute: usize,
    ) -> Self {
        let memory = memory_bytes.iter().map(|&bytes| MemorySettings {
            listen: default_address(),
            bytes,
            heartbeats: None,
            control: default_address(),
        });
        Self {
            name: name.to_owned(),
            id: ClusterId::draw(),
            fabric,
            directory: PathBuf::new(),
            data: None,
            secret: PathBuf::new(),
            allow_unencrypted: false,
            lease_seconds: default_lease_seconds(),
            transaction_time_ms: default_transaction_time_ms(),
            replicas: default_replicas(),
            oracle: OracleKind::suited_to(fabric),
            detector: DetectorSettings::default(),
            registry: RegistrySettings::default(),
            tls: None,
            verbs: VerbsSettings::default(),
            memory: memory.collect(),
            compute: vec![ComputeSettings::default(); compute],
        }
    }

    /// Returns how long a silent member counts as alive.
    pub fn detector_lease(&self) -> Duration {
        let default_ms = match self.fabric {
            FabricKind::Verbs => 10,
            FabricKind::Shm | FabricKind::Tcp => 1000,
        };
        Duration::from_millis(self.detector.lease_ms.unwrap_or(default_ms))
    }

    /// Returns the address on which memory server `number` receives heartbeats; `None` if there is
    /// no such server.
    pub fn heartbeats(&self, number: u16) -> Option<&str> {
        let server = self.memory.get(usize::from(number))?;
        let listen = match self.fabric {
            FabricKind::Shm => ANY_ADDRESS,
            FabricKind::Tcp | FabricKind::Verbs => &server.listen,
        };
        Some(server.heartbeats.as_deref().unwrap_or(listen))
    }

    /// Returns the file's text, with every key written out.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a cluster is made of texts, numbers and tables")
    }
}

impl ClusterId {
    pub fn draw() -> Self {
        Self(random::draw())
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

impl FromStr for ClusterId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let id = u64::from_str_radix(text, 16).ok().filter(|&id| id != 0);
        id.filter(|_| digits && text.len() == 16).map(Self).ok_or_else(|| {
            let fresh = Self::draw();
            format!("`{text}` is not a cluster id; write 16 hexadecimal digits such as \"{fresh}\", which is new")
        })
    }
}

impl TryFrom<String> for ClusterId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ClusterId> for String {
    fn from(id: ClusterId) -> String {
        id.to_string()
    }
}

impl OracleKind {
    /// Returns the default of a fabric. Two reads of the vector rarely agree if many commits are
    /// published within a network round trip; if reads are messages, one is enough.
    fn suited_to(fabric: FabricKind) -> Self {
        match fabric {
            FabricKind::Shm | FabricKind::Tcp => Self::DoubleCollect,
            FabricKind::Verbs => Self::Frozen,
        }
    }
}

impl FabricKind {
    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shm => "shm",
            Self::Tcp => "tcp",
            Self::Verbs => "verbs",
        }
    }
}

#[cfg(test)]
mod documented;
#[cfg(test)]
mod tests;
