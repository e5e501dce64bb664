//! The environment of a test: a registry of its own.

use etcd_process::Etcd;
use layout::NodeId;
use membership::cluster_file::RegistryKind;
use membership::{
    Addresses, ClusterFile, ClusterMap, FabricKind, Lease, Member, Registry, RegistryError,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Size of the regions, which are never allocated.
pub const REGION_BYTES: u64 = 64 << 20;
/// Long enough for anything that should succeed.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A cluster without members.
pub struct World {
    pub cluster: ClusterFile,
    etcd: Option<Etcd>,
    folder: Folder,
}

/// A folder that is deleted with its owner.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("namdb-membership-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).expect("a new folder");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("nobody else has removed it");
    }
}

impl World {
    pub fn file() -> Self {
        Self::new(None)
    }

    /// A cluster with an etcd of its own, if etcd is installed.
    pub fn with_etcd() -> Option<Self> {
        Some(Self::new(Some(Etcd::start()?)))
    }

    /// A cluster whose etcd requires certificates, which the cluster file does not name.
    pub fn with_etcd_over_tls() -> Option<Self> {
        Some(Self::new(Some(Etcd::start_with_tls()?)))
    }

    fn new(etcd: Option<Etcd>) -> Self {
        let folder = Folder::new();
        let mut cluster = ClusterFile::development("test", FabricKind::Tcp, &[REGION_BYTES; 2], 1);
        cluster.directory = folder.path().join("state");
        cluster.lease_seconds = 2;
        cluster.detector.lease_ms = Some(400);
        if let Some(etcd) = &etcd {
            cluster.registry.kind = RegistryKind::Etcd;
            // So that no test fails because two processors and one disk are busy for a while.
            cluster.lease_seconds = 5;
            cluster.registry.endpoints = vec![etcd.endpoint()];
        }
        Self { cluster, etcd, folder }
    }

    /// The cluster's etcd.
    pub fn etcd(&mut self) -> &mut Etcd {
        self.etcd.as_mut().expect("this cluster has one")
    }

    pub fn lease_time(&self) -> Duration {
        Duration::from_secs(self.cluster.lease_seconds)
    }

    /// Opens the registry, as one process does.
    pub fn open(&self) -> Registry {
        Registry::open(&self.cluster).expect("it answers")
    }

    /// Time within which a killed member counts as dead.
    pub fn death_noticed_within(&self) -> Duration {
        match self.etcd {
            // etcd checks twice a second for expired leases, and extends them after it was busy.
            Some(_) => 4 * self.lease_time(),
            None => Duration::from_secs(1),
        }
    }

    /// Writes the cluster file for another process.
    pub fn path(&self) -> PathBuf {
        let path = self.folder.path().join("cluster.toml");
        let aside = path.with_extension("new");
        // A process that was started with the file may be reading it.
        std::fs::write(&aside, self.cluster.to_toml()).expect("the folder is ours");
        std::fs::rename(&aside, &path).expect("the folder is ours");
        path
    }
}

/// A memory server that cannot be reached.
pub fn memory_server(number: u16) -> Member {
    let tcp = Some(format!("127.0.0.1:{}", 7400 + number));
    Member::memory_server(NodeId(number), REGION_BYTES, Addresses { tcp, ..Addresses::default() })
}

/// A process that only runs transactions.
pub fn client() -> Member {
    Member::client()
}

pub fn join(registry: &Registry, member: Member) -> Lease {
    registry.join(member, Duration::ZERO).expect("it may join")
}

/// Returns the message of an error.
pub fn refusal<T>(outcome: Result<T, RegistryError>) -> String {
    outcome.err().expect("it is refused").to_string()
}

/// Polls the map until it satisfies a condition.
#[track_caller]
pub fn await_map(registry: &Registry, is_right: impl Fn(&ClusterMap) -> bool) -> ClusterMap {
    let deadline = now() + PATIENCE;
    loop {
        let map = registry.map().expect("the registry answers");
        if is_right(&map) {
            return map;
        }
        assert!(now() < deadline, "after {PATIENCE:?} the map is {map:?}");
        sleep_ms(10);
    }
}

#[expect(clippy::disallowed_methods, reason = "tests of real processes measure real time")]
pub fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "tests of real processes take real time")]
pub fn sleep_ms(duration_ms: u64) {
    std::thread::sleep(Duration::from_millis(duration_ms));
}
