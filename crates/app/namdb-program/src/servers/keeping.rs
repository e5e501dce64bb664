//! The data of a memory server from its start to its end: found before it joins, marked as old when
//! a database runs, and written when the server ends.

use super::data::{Image, ServerData};
use super::founder::Kept;
use anyhow::Result;
use fabric::LocalEnv;
use layout::RegionId;
use membership::{ClusterFile, ClusterMap, DatabaseRoot, Registry};
use std::sync::Arc;
use txn::server::ServiceCounts;

/// The data of a server that starts.
pub struct FoundData {
    data: Option<Arc<ServerData>>,
    image: Option<Image>,
}

impl FoundData {
    pub fn look(cluster: &ClusterFile, number: u16, region_bytes: u64) -> Result<Self> {
        let data = ServerData::open(cluster, number, region_bytes)?.map(Arc::new);
        let image = data.as_ref().map(|data| data.image(cluster)).transpose()?.flatten();
        Ok(Self { data, image })
    }

    /// The run of the database that the image is of.
    pub fn life(&self) -> Option<u64> {
        self.image.as_ref().and_then(|image| image.root.life())
    }

    /// The services of the server, which may have taken the place of one that has died.
    pub fn services(
        &self,
        number: u16,
        region_bytes: u64,
        has_returned: bool,
    ) -> Result<ServiceCounts> {
        match &self.image {
            Some(image) => image.services(number, region_bytes),
            None if has_returned => Ok(ServiceCounts::returned(RegionId(number), region_bytes)),
            None => Ok(ServiceCounts::new(RegionId(number), region_bytes)),
        }
    }

    /// Reads the contents of the region, which nobody uses yet, by an endpoint of its own process.
    pub fn read(self, env: Option<LocalEnv>) -> Result<Keeping> {
        let Self { data, image } = self;
        let restored = image.as_ref().map(|image| image.root.clone());
        if let (Some(data), Some(image), Some(env)) = (&data, image, &env) {
            data.read(image, env)?;
        }
        Ok(Keeping { kept: Kept { data, restored, ..Kept::default() }, env })
    }
}

/// Where the contents of the region go when the server ends.
pub struct Keeping {
    pub kept: Kept,
    /// Reads the region.
    env: Option<LocalEnv>,
}

impl Keeping {
    /// Takes note of the database, from which on the image is old.
    pub fn note_root(&self, own: u64) -> impl Fn(&ClusterMap) + Send + 'static {
        let data = self.kept.data.clone();
        move |map| {
            let (Some(data), Some(root)) = (&data, root_with(map, own)) else { return };
            if let Err(error) = data.note(root) {
                tracing::error!("the image in `data` is old and does not say so: {error:#}");
            }
        }
    }

    /// Writes the contents of the region, if the cluster keeps data and there is a database; says
    /// whether nothing is left to write. The server serves nobody any more.
    pub fn end(&self, services: &ServiceCounts, registry: &Registry, own: u64) -> Result<bool> {
        let (Some(data), Some(env)) = (&self.kept.data, &self.env) else { return Ok(true) };
        let look = || registry.map().ok().map(|map| root_with(&map, own));
        data.end(env, services, look)
    }
}

/// The root of the database with this memory server.
fn root_with(map: &ClusterMap, own: u64) -> Option<DatabaseRoot> {
    map.root.clone().filter(|root| root.has_holder(own))
}
