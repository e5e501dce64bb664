//! A shard of the catalog: definitions by name, as opaque bytes [ZB17 §6.1].
//!
//! Every definition has a version. To change a definition, a caller passes the version that it has
//! read. The shard refuses the change if another caller was faster, so that no change overwrites
//! another unseen.
//!
//! If its region has replicas, a server first sends each change to their servers: nobody reads a
//! definition that the death of this server could take back.

use crate::message::{Reader, Writer};
use fabric::{CallError, Env, Reply, Service, ServiceId};
use layout::{NodeId, RegionId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// The service of a catalog shard.
pub const CATALOG_SERVICE: ServiceId = ServiceId(3);
const LIST: u64 = 1;
const PUT: u64 = 2;
const REMOVE: u64 = 3;
/// A name as a change has left it, for the servers of replicas.
const COPY: u64 = 4;
/// The whole shard, for a server that is being filled.
const FETCH: u64 = 5;
/// The answer to [`FETCH`].
const STORE: u64 = 6;

/// The version of a name without a definition.
pub const ABSENT: u64 = 0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Change {
    Done,
    /// Refused: the definition has another version than the one that was read.
    Conflict,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Versioned {
    /// Unique among all versions of a shard, also over different names.
    pub version: u64,
    /// The definition's bytes from the compute server.
    pub definition: Vec<u8>,
}

/// Definitions by name. A name is stored on one memory server, selected by its hash.
#[derive(Default)]
pub struct CatalogService {
    /// The server's own shard and copies of others, by the number of their server.
    shards: Mutex<BTreeMap<u64, Shard>>,
}

#[derive(Default)]
struct Shard {
    /// Counts the changes.
    last_version: u64,
    definitions: BTreeMap<Vec<u8>, Versioned>,
    /// Names whose change is under way to other servers.
    changing: BTreeSet<Vec<u8>>,
    /// For each name the newest change that was copied from another server.
    copied: BTreeMap<Vec<u8>, u64>,
}

impl Shard {
    /// Whether `name` still has the version that the caller has read.
    fn is_current(&self, name: &[u8], version: u64) -> bool {
        self.definitions.get(name).map_or(ABSENT, |kept| kept.version) == version
    }

    /// Begins a change to a definition, or to none: the new version of the name, which no other
    /// change gets. `None`: the caller was not the fastest.
    fn begin(&mut self, name: &[u8], version: u64) -> Option<u64> {
        if !self.is_current(name, version) || !self.changing.insert(name.to_vec()) {
            return None;
        }
        self.last_version += 1;
        Some(self.last_version)
    }

    /// Ends a change; an error of a copy ends it without effect.
    fn end(&mut self, name: &[u8], changed: Option<(u64, Option<&[u8]>)>) {
        self.changing.remove(name);
        match changed {
            None => {}
            Some((_, None)) => drop(self.definitions.remove(name)),
            Some((version, Some(definition))) => {
                let kept = Versioned { version, definition: definition.to_vec() };
                self.definitions.insert(name.to_vec(), kept);
            }
        }
    }

    /// The shard for another server; `None` while changes are under way, which may have been sent
    /// to others before that server was among them.
    fn whole(&self) -> Option<Vec<u8>> {
        self.changing.is_empty().then(|| self.add_to(Writer::new()).finish())
    }

    /// Takes over a shard from the server that has it, except names that were copied since.
    fn take_over(&mut self, other: Self) {
        let is_newer = |copied: Option<&u64>| copied.is_some_and(|at| *at > other.last_version);
        self.definitions.retain(|name, _| is_newer(self.copied.get(name)));
        for (name, kept) in other.definitions {
            if !is_newer(self.copied.get(&name)) {
                self.definitions.insert(name, kept);
            }
        }
        self.last_version = self.last_version.max(other.last_version);
    }

    fn add_to(&self, mut writer: Writer) -> Writer {
        writer = writer.number(self.last_version).number(self.definitions.len() as u64);
        for (name, kept) in &self.definitions {
            writer = writer.bytes(name).number(kept.version).bytes(&kept.definition);
        }
        writer
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, CallError> {
        let mut shard = Self { last_version: reader.number()?, ..Self::default() };
        for _ in 0..reader.number()? {
            let (name, version) = (reader.bytes()?.to_vec(), reader.number()?);
            let kept = Versioned { version, definition: reader.bytes()?.to_vec() };
            shard.definitions.insert(name, kept);
        }
        Ok(shard)
    }

    /// Takes over what a name has on another server. Copies of one name may overtake each other.
    fn copy(&mut self, name: &[u8], last_version: u64, version: u64, definition: &[u8]) {
        if last_version <= self.copied.get(name).copied().unwrap_or(0) {
            return;
        }
        self.copied.insert(name.to_vec(), last_version);
        self.last_version = self.last_version.max(last_version);
        match version {
            ABSENT => drop(self.definitions.remove(name)),
            _ => {
                let kept = Versioned { version, definition: definition.to_vec() };
                self.definitions.insert(name.to_vec(), kept);
            }
        }
    }
}

impl<E: Env> Service<E> for CatalogService {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let mut reader = Reader::new(request, "the catalog");
            let (kind, number) = (reader.number()?, reader.number()?);
            match kind {
                LIST => Ok(self.list(number)),
                COPY => {
                    let (name, last_version) = (reader.bytes()?, reader.number()?);
                    let (version, definition) = (reader.number()?, reader.bytes()?);
                    self.shard(number, |shard| shard.copy(name, last_version, version, definition));
                    Ok(Vec::new())
                }
                FETCH => Ok(self.shard(number, |shard| shard.whole()).unwrap_or_default()),
                STORE => {
                    let shard = Shard::read(&mut reader)?;
                    self.shard(number, |known| known.take_over(shard));
                    Ok(Vec::new())
                }
                PUT => {
                    let (name, version) = (reader.bytes()?, reader.number()?);
                    let definition = Some(reader.bytes()?);
                    self.change(env, number, name, version, definition).await
                }
                REMOVE => {
                    let (name, version) = (reader.bytes()?, reader.number()?);
                    self.change(env, number, name, version, None).await
                }
                _ => Err(CallError::Malformed("the catalog")),
            }
        })
    }
}

impl CatalogService {
    /// Adds the definitions to the state of a memory server that handles no request any more.
    pub fn save(&self, mut writer: Writer) -> Writer {
        let shards = self.shards.lock().expect("no holder panics");
        writer = writer.number(shards.len() as u64);
        for (number, shard) in &*shards {
            writer = shard.add_to(writer.number(*number));
        }
        writer
    }

    /// The shards that [`Self::save`] has described.
    ///
    /// # Errors
    /// The description ends early.
    pub fn restore(reader: &mut Reader<'_>) -> Result<Self, CallError> {
        let mut shards = BTreeMap::new();
        for _ in 0..reader.number()? {
            let number = reader.number()?;
            shards.insert(number, Shard::read(reader)?);
        }
        Ok(Self { shards: Mutex::new(shards) })
    }

    /// Has the definitions of another service from now on.
    pub fn become_like(&self, other: Self) {
        let shards = other.shards.into_inner().expect("no holder panics");
        *self.shards.lock().expect("no holder panics") = shards;
    }

    fn shard<T>(&self, number: u64, look: impl FnOnce(&mut Shard) -> T) -> T {
        let mut shards = self.shards.lock().expect("no holder panics");
        look(shards.entry(number).or_default())
    }

    fn list(&self, number: u64) -> Vec<u8> {
        let add =
            |writer: Writer, kept: &Versioned| writer.number(kept.version).bytes(&kept.definition);
        self.shard(number, |shard| shard.definitions.values().fold(Writer::new(), add).finish())
    }

    /// Changes a name, here and on the servers of replicas, those first.
    async fn change<E: Env>(
        &self,
        env: &E,
        number: u64,
        name: &[u8],
        version: u64,
        definition: Option<&[u8]>,
    ) -> Result<Vec<u8>, CallError> {
        let Some(new) = self.shard(number, |shard| shard.begin(name, version)) else {
            return Ok(encode(Change::Conflict));
        };
        let kept_version = if definition.is_some() { new } else { ABSENT };
        let mut copied = Ok(());
        for replica in env.written(RegionId(number as u16)) {
            let writer = Writer::new().number(COPY).number(number).bytes(name).number(new);
            let copy = writer.number(kept_version).bytes(definition.unwrap_or_default()).finish();
            let answer = env.call_replica(replica, CATALOG_SERVICE, copy).await;
            copied = copied.and(answer.map(drop));
        }
        let changed = copied.is_ok().then_some((new, definition));
        self.shard(number, |shard| shard.end(name, changed));
        copied.map(|()| encode(Change::Done))
    }
}

fn encode(change: Change) -> Vec<u8> {
    Writer::new().number(u64::from(change == Change::Conflict)).finish()
}

fn decode(answer: &[u8]) -> Result<Change, CallError> {
    match Reader::new(answer, "a change of the catalog").number()? {
        0 => Ok(Change::Done),
        1 => Ok(Change::Conflict),
        _ => Err(CallError::Malformed("a change of the catalog")),
    }
}

/// The memory server that stores a name.
pub fn shard_of(name: &str, server_count: u16) -> NodeId {
    let sum =
        name.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    NodeId((sum % u64::from(server_count)) as u16)
}

fn of_shard(request: u64, node: NodeId) -> Writer {
    Writer::new().number(request).number(u64::from(node.0))
}

/// All definitions of a shard, with their versions.
pub async fn list<E: Env>(env: &E, node: NodeId) -> Result<Vec<Versioned>, CallError> {
    let answer = env.call(node, CATALOG_SERVICE, of_shard(LIST, node).finish()).await?;
    let mut reader = Reader::new(&answer, "a list of definitions");
    let mut definitions = Vec::new();
    while !reader.is_empty() {
        let (version, definition) = (reader.number()?, reader.bytes()?.to_vec());
        definitions.push(Versioned { version, definition });
    }
    Ok(definitions)
}

/// Stores a definition under a name, if its current definition still has `version`. [`ABSENT`]
/// means that the name must be unused.
pub async fn put<E: Env>(
    env: &E,
    node: NodeId,
    name: &str,
    version: u64,
    definition: &[u8],
) -> Result<Change, CallError> {
    let request = of_shard(PUT, node).bytes(name.as_bytes()).number(version);
    decode(&env.call(node, CATALOG_SERVICE, request.bytes(definition).finish()).await?)
}

/// Removes a name if its definition still has `version`.
pub async fn remove<E: Env>(
    env: &E,
    node: NodeId,
    name: &str,
    version: u64,
) -> Result<Change, CallError> {
    let request = of_shard(REMOVE, node).bytes(name.as_bytes()).number(version);
    decode(&env.call(node, CATALOG_SERVICE, request.finish()).await?)
}

/// Copies the shard of a region's server to the server of a replica, which has nothing of it yet;
/// `false` if a change is under way.
pub async fn copy_shard<E: Env>(
    env: &E,
    region: RegionId,
    replica: RegionId,
) -> Result<bool, CallError> {
    let fetch = of_shard(FETCH, region.server()).finish();
    let shard = env.call(region.server(), CATALOG_SERVICE, fetch).await?;
    if shard.is_empty() {
        return Ok(false);
    }
    let mut store = of_shard(STORE, region.server()).finish();
    store.extend_from_slice(&shard);
    env.call_replica(replica, CATALOG_SERVICE, store).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes a name as long as it has `version`, where there are no replicas.
    fn change(shard: &mut Shard, version: u64, definition: Option<&[u8]>) -> Change {
        let Some(new) = shard.begin(b"t", version) else { return Change::Conflict };
        shard.end(b"t", Some((new, definition)));
        Change::Done
    }

    #[test]
    fn a_change_needs_the_current_version() {
        let mut shard = Shard::default();
        assert_eq!(change(&mut shard, ABSENT, Some(b"one")), Change::Done);
        assert_eq!(change(&mut shard, ABSENT, Some(b"other")), Change::Conflict);
        let first = shard.definitions[&b"t"[..]].version;
        assert_eq!(change(&mut shard, first, Some(b"two")), Change::Done);
        assert_eq!(change(&mut shard, first, Some(b"three")), Change::Conflict);
        assert_eq!(change(&mut shard, first, None), Change::Conflict);
        let second = shard.definitions[&b"t"[..]].version;
        assert_eq!(shard.definitions[&b"t"[..]].definition, b"two");
        assert_eq!(change(&mut shard, second, None), Change::Done);
        assert_eq!(change(&mut shard, second, None), Change::Conflict);
        // Copies of these changes arrive in any order.
        let mut copy = Shard::default();
        copy.copy(b"t", 2, 2, b"two");
        copy.copy(b"t", 1, 1, b"one");
        assert_eq!(copy.definitions[&b"t"[..]].definition, b"two");
        copy.copy(b"t", shard.last_version, ABSENT, b"");
        assert!(copy.definitions.is_empty());
        // The name is reused, its versions are not.
        assert_eq!(change(&mut shard, ABSENT, Some(b"one")), Change::Done);
        assert_eq!(change(&mut shard, first, Some(b"four")), Change::Conflict);
        assert_eq!(change(&mut shard, second, Some(b"four")), Change::Conflict);
    }

    #[test]
    fn nobody_sees_or_overtakes_a_change_that_is_under_way() {
        let mut shard = Shard::default();
        let new = shard.begin(b"t", ABSENT).expect("nobody else is there");
        assert!(shard.definitions.is_empty());
        assert_eq!(change(&mut shard, ABSENT, Some(b"other")), Change::Conflict);
        shard.end(b"t", None);
        assert!(shard.definitions.is_empty(), "its copy has failed");
        let next = shard.begin(b"t", ABSENT).expect("the first has ended");
        assert!(next > new, "the failed copy may have arrived with the first version");
    }
}
