//! `namdb cluster`: starts and stops a development cluster on this host.

use super::memory_server::{CLUSTER_FILE, ClusterArguments};
use crate::Verdict;
use crate::bench::text::{bytes, counted, parse_bytes};
use crate::output;
use crate::servers::development::{self, Stopped};
use crate::servers::{data, keys};
use anyhow::{Result, ensure};
use clap::{Args, Subcommand, ValueEnum};
use membership::{ClusterFile, ClusterMap, FabricKind, Registry, Role};
use namdb::host::Moment;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  namdb cluster up                                  one memory server, reached by shared memory
  namdb cluster up --fabric tcp --memory-servers 3  three, reached by messages
  namdb cluster up --fabric tcp --memory-servers 3 --replicas 2
                                                    which survive the death of one
  namdb cluster up --fabric tcp --data DIR          which has its data again after `cluster down`
  namdb cluster up --fabric tcp --tls               encrypted, with keys of its own
  namdb cluster up --compute-servers 2              and two that run transactions
  namdb bench tpcc --cluster                        a benchmark on it
  namdb status                                      its servers and tables
  namdb cluster token                               opens status and metrics of its servers to a monitor
  namdb cluster down                                ends it, and without --data its data

`cluster up` makes the cluster's secret, a file beside the cluster's file that only its owner can read. Every server and \
client must have it. The servers run in the background. Their logs are in the folder `log` of the cluster's directory, which \
`cluster down` removes; if a server has died, it keeps the logs.";

const TOKEN_EXAMPLES: &str = "\
Examples:
  curl -H \"Authorization: Bearer $(namdb cluster token)\" http://127.0.0.1:7401/metrics
  namdb cluster token --cluster prod.toml > prometheus.token

The token is derived from the cluster's secret. It lets its holder read /status, /metrics and /healthz of every \
server, and nothing else. A new secret makes a new token.";

/// Arguments of `namdb cluster`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct ClusterCommandArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Start a cluster on this host: a new one, or the one that a file describes
    Up(UpArguments),
    /// Stop all servers of a cluster on this host
    Down(DownArguments),
    /// Print the token with which status and metrics of the cluster's servers can be read
    Token(TokenArguments),
}

#[derive(Args)]
struct UpArguments {
    /// The cluster's file: read if it exists, written if not
    #[arg(long, visible_alias = "cluster", value_name = "FILE", default_value = CLUSTER_FILE)]
    file: PathBuf,
    /// Number of memory servers of a new cluster [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=64))]
    memory_servers: Option<u16>,
    /// Memory servers of a new cluster that have the contents of each, itself included [default:
    /// 1]; with 2 or more the data survives the death of one; needs --fabric tcp
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=4))]
    replicas: Option<u16>,
    /// Number of compute servers of a new cluster, which run transactions for `namdb bench` and
    /// others [default: 0]
    #[arg(long, value_name = "M", allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(0..=64))]
    compute_servers: Option<u16>,
    /// Memory of each memory server, such as 4G [default: 1G]
    #[arg(long, allow_negative_numbers = true, value_parser = parse_bytes)]
    memory: Option<u64>,
    /// How servers are reached [default: shm]
    #[arg(long, value_enum)]
    fabric: Option<FabricName>,
    /// Directory in which the memory servers of a new cluster write their memory when they end, so
    /// that the next start has the data again; needs --fabric tcp
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Begin with an empty database after a memory server has ended without writing its data, by
    /// kill -9 or a crash of its host; files of the old one are kept under `lost-` names
    #[arg(long)]
    accept_loss: bool,
    /// Encrypt connections with keys generated for this cluster; needs --fabric tcp
    #[arg(long)]
    tls: bool,
}

#[derive(Args)]
struct DownArguments {
    /// The cluster's file
    #[arg(long, visible_alias = "cluster", value_name = "FILE", default_value = CLUSTER_FILE)]
    file: PathBuf,
}

#[derive(Args)]
#[command(after_help = TOKEN_EXAMPLES)]
struct TokenArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Fabrics of clusters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum FabricName {
    /// Shared memory: all processes are on this host
    Shm,
    /// Messages over TCP
    Tcp,
    /// RDMA, on a host with an RDMA device
    Verbs,
}

/// Default memory of a server.
const SERVER_BYTES: u64 = 1 << 30;

/// Starts or stops a cluster.
pub fn run(arguments: &ClusterCommandArguments) -> Result<Verdict> {
    match &arguments.action {
        Action::Up(up) => start(up)?,
        Action::Down(down) => output::say(&told(&development::stop(&down.file)?, &down.file)),
        Action::Token(TokenArguments { cluster: ClusterArguments { cluster, set } }) => {
            let secret = ClusterFile::load(cluster, set)?.read_secret()?;
            output::print(&(secret.token() + "\n"))?;
        }
    }
    Ok(Verdict::Sound)
}

/// Describes what `cluster down` did.
fn told(stopped: &Stopped, file: &Path) -> String {
    let ended = match stopped.servers {
        0 => "no server was running".to_owned(),
        count => format!("{} stopped", counted(count as u64, "server")),
    };
    let stays = match (&stopped.logs, &stopped.directory) {
        (Some(logs), _) => format!(
            "a server had died before, so the logs stay in {} until the next `namdb cluster down`",
            logs.display()
        ),
        (None, Some(directory)) => format!(
            "{} stays: it has files that the cluster did not make, or processes still use it",
            directory.display()
        ),
        (None, None) => "its directory is removed".to_owned(),
    };
    let kept = match &stopped.data {
        Some(data) => format!(" Its data is in {}.", data.display()),
        None => String::new(),
    };
    format!(
        "{ended}; {stays}.{kept} {} and its keys, if it has some, stay: `namdb cluster up` starts the cluster again",
        file.display()
    )
}

fn start(arguments: &UpArguments) -> Result<()> {
    ensure!(
        !arguments.tls || arguments.fabric == Some(FabricName::Tcp),
        "shared memory has no connection to encrypt; use --fabric tcp with --tls"
    );
    let servers = arguments.memory_servers.unwrap_or(1);
    if let Some(replicas) = arguments.replicas.filter(|&replicas| replicas > 1) {
        ensure!(
            arguments.fabric == Some(FabricName::Tcp),
            "so far only messages write replicas; use --fabric tcp with --replicas"
        );
        ensure!(
            replicas <= servers,
            "{replicas} replicas are on as many memory servers, and there would be {servers}; use --memory-servers \
             {replicas} or more"
        );
    }
    ensure!(
        arguments.data.is_none() || arguments.fabric == Some(FabricName::Tcp),
        "so far only clusters that are reached by messages keep data; use --fabric tcp with --data"
    );
    let begin = Moment::now();
    let file = arguments.file.as_path();
    let describes = arguments.memory_servers.is_some()
        || arguments.compute_servers.is_some()
        || arguments.replicas.is_some()
        || arguments.memory.is_some()
        || arguments.fabric.is_some()
        || arguments.data.is_some()
        || arguments.tls;
    let is_new = describes || !file.exists();
    let has_secret = is_new && file.with_extension("secret").exists();
    if is_new {
        development::write(file, described(arguments)?, arguments.tls)?;
    }
    let started = development::start(file, arguments.accept_loss);
    if is_new && started.is_err() {
        forget(file, arguments.tls, has_secret);
    }
    let (cluster, map) = started?;
    output::print(&tell(&cluster, &map, file, begin.elapsed_s()))
}

/// Removes the description of a new cluster that failed to start, so that it does not affect the
/// next start. Ignores errors: the failure of the start is more informative.
fn forget(file: &Path, encrypted: bool, had_secret: bool) {
    let cluster = ClusterFile::load(file, &[]);
    if cluster.as_ref().is_ok_and(data::is_any) {
        // The file belongs to the data.
        return;
    }
    if let Ok(cluster) = &cluster
        && !had_secret
    {
        let _ = std::fs::remove_file(&cluster.secret);
    }
    if let Ok(cluster) = cluster
        && let Ok(Some(registry)) = Registry::find(&cluster)
        && registry.clear().unwrap_or_default()
    {
        let _ = development::remove_files(&cluster, true);
    }
    if encrypted {
        keys::remove(file);
    }
    let _ = std::fs::remove_file(file);
}

fn described(arguments: &UpArguments) -> Result<ClusterFile> {
    let fabric = match arguments.fabric {
        Some(FabricName::Tcp) => FabricKind::Tcp,
        Some(FabricName::Verbs) => FabricKind::Verbs,
        Some(FabricName::Shm) | None => FabricKind::Shm,
    };
    let servers = usize::from(arguments.memory_servers.unwrap_or(1));
    let memory = vec![arguments.memory.unwrap_or(SERVER_BYTES); servers];
    let compute = usize::from(arguments.compute_servers.unwrap_or(0));
    let replicas = arguments.replicas.unwrap_or(1);
    // Relative paths of the file start at the file.
    let data = arguments.data.as_ref().map(std::path::absolute).transpose()?;
    Ok(ClusterFile { replicas, data, ..ClusterFile::development("dev", fabric, &memory, compute) })
}

fn tell(cluster: &ClusterFile, map: &ClusterMap, file: &Path, seconds: f64) -> String {
    let replicas = match cluster.replicas {
        1 => String::new(),
        count => format!(", {count} replicas"),
    };
    let mut text = format!(
        "cluster {} is up after {seconds:.2} s: fabric {}{}{}, registry in {}\n",
        cluster.name,
        cluster.fabric.name(),
        if cluster.tls.is_some() { " with TLS" } else { "" },
        replicas,
        cluster.directory.display()
    );
    for member in map.memory_servers() {
        let Role::Memory { region_bytes, .. } = member.role else { continue };
        let addresses = &member.addresses;
        let place = addresses.tcp.as_deref().or(addresses.verbs.as_deref());
        let place = place.unwrap_or("shared memory");
        text += &format!(
            "  memory server {}  {:>10}  process {:<8} {place}\n",
            member.number,
            bytes(region_bytes),
            member.pid
        );
    }
    for member in map.compute_servers() {
        let place = member.addresses.work.as_deref().unwrap_or("none");
        text += &format!(
            "  compute server {} {:>10}  process {:<8} {place}\n",
            member.number, "", member.pid
        );
    }
    let named = format!(" --cluster {}", file.display());
    let (bench, other) = match file == Path::new(CLUSTER_FILE) {
        true => (" --cluster", ""),
        false => (named.as_str(), named.as_str()),
    };
    let down = match cluster.data.is_some() {
        true => "stops it; its data stays",
        false => "stops it and deletes its data",
    };
    let commands = [
        (format!("namdb bench tpcc{bench}"), "runs a benchmark on it"),
        (format!("namdb status{other}"), "shows it"),
        (format!("namdb cluster down{other}"), down),
    ];
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    text.push('\n');
    for (command, what) in commands {
        text += &format!("  {command:<width$}   {what}\n");
    }
    text
}
