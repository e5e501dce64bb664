//! A shard of the catalog: definitions by name, as the bytes a compute server gave [ZB17 §6.1].

use crate::message::{Reader, Writer};
use fabric::{CallError, Env, Reply, Service, ServiceId};
use layout::NodeId;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// The service that keeps a shard of the catalog.
pub const CATALOG_SERVICE: ServiceId = ServiceId(3);
const LIST: u64 = 1;
const PUT: u64 = 2;
const REMOVE: u64 = 3;

/// Definitions by name. A name lives on one memory server, chosen by its hash.
#[derive(Default)]
pub struct CatalogService {
    definitions: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl<E: Env> Service<E> for CatalogService {
    fn handle<'a>(&'a self, _env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move { self.answer(request) })
    }
}

impl CatalogService {
    fn answer(&self, request: &[u8]) -> Result<Vec<u8>, CallError> {
        let mut reader = Reader::new(request, "the catalog");
        let mut definitions = self.definitions.lock().expect("no holder panics");
        match reader.number()? {
            LIST => {
                let all = definitions.values();
                Ok(all.fold(Writer::new(), |writer, definition| writer.bytes(definition)).finish())
            }
            PUT => {
                let (name, definition) = (reader.bytes()?.to_vec(), reader.bytes()?.to_vec());
                definitions.insert(name, definition);
                Ok(Vec::new())
            }
            REMOVE => {
                definitions.remove(reader.bytes()?);
                Ok(Vec::new())
            }
            _ => Err(CallError::Malformed("the catalog")),
        }
    }
}

/// The shard that a name lives on.
pub fn shard_of(name: &str, server_count: u16) -> NodeId {
    let sum =
        name.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    NodeId((sum % u64::from(server_count)) as u16)
}

/// All definitions that a shard keeps.
pub async fn list<E: Env>(env: &E, node: NodeId) -> Result<Vec<Vec<u8>>, CallError> {
    let answer = env.call(node, CATALOG_SERVICE, Writer::new().number(LIST).finish()).await?;
    let mut reader = Reader::new(&answer, "a list of definitions");
    let mut definitions = Vec::new();
    while !reader.is_empty() {
        definitions.push(reader.bytes()?.to_vec());
    }
    Ok(definitions)
}

/// Keeps a definition under a name, replacing what stood there.
pub async fn put<E: Env>(
    env: &E,
    node: NodeId,
    name: &str,
    definition: &[u8],
) -> Result<(), CallError> {
    let request = Writer::new().number(PUT).bytes(name.as_bytes()).bytes(definition).finish();
    env.call(node, CATALOG_SERVICE, request).await.map(drop)
}

/// Removes a name.
pub async fn remove<E: Env>(env: &E, node: NodeId, name: &str) -> Result<(), CallError> {
    let request = Writer::new().number(REMOVE).bytes(name.as_bytes()).finish();
    env.call(node, CATALOG_SERVICE, request).await.map(drop)
}
