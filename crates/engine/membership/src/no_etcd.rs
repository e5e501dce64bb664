//! Takes the place of the etcd client in a build without the feature `etcd`.

use crate::cluster_file::ClusterFile;
use crate::error::RegistryError;
use crate::record::Stored;
use crate::store::{Change, Renewal};

/// There are none: [`EtcdStore::new`] refuses.
pub(crate) enum EtcdStore {}

pub(crate) enum EtcdHold {}

impl EtcdStore {
    pub(crate) fn new(cluster: &ClusterFile) -> Result<Self, RegistryError> {
        Err(RegistryError::BuiltWithoutEtcd { place: cluster.registry.endpoints.join(", ") })
    }

    pub(crate) fn place(&self) -> &str {
        match *self {}
    }

    pub(crate) fn read(&self) -> Result<Stored, RegistryError> {
        match *self {}
    }

    pub(crate) fn change(&self, _change: &Change<'_>) -> Result<bool, RegistryError> {
        match *self {}
    }

    pub(crate) fn hold(&self) -> Result<EtcdHold, RegistryError> {
        match *self {}
    }

    pub(crate) fn release(&self, _hold: &EtcdHold) {
        match *self {}
    }

    pub(crate) fn renew(&self, _hold: &EtcdHold, _name: &str) -> Result<Renewal, RegistryError> {
        match *self {}
    }
}
