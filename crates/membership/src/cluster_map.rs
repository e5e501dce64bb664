//! The cluster as it is at an epoch.

use crate::cluster_file::ClusterId;
use crate::error::RegistryError;
use crate::member::Member;
use crate::root::DatabaseRoot;
use layout::NodeId;

/// Who is in the cluster at an epoch. Two maps of one epoch have the same members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterMap {
    /// The cluster.
    pub cluster: ClusterId,
    /// Counts the changes of who is in it; 0 before the first has joined.
    pub epoch: u64,
    /// Memory servers, then compute servers, each by number.
    pub members: Vec<Member>,
    /// Identities of the last 64 who left in order. Whoever is gone and not among them has died, or is taken for dead.
    pub left: Vec<u64>,
    /// Where the database begins that was made last; [`ClusterMap::database`] says whether it is still there.
    pub root: Option<DatabaseRoot>,
}

impl ClusterMap {
    /// The memory servers, by number.
    pub fn memory_servers(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_memory_server())
    }

    /// The compute servers, by number.
    pub fn compute_servers(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !member.is_memory_server())
    }

    /// The memory server of a node.
    pub fn memory_server(&self, node: NodeId) -> Option<&Member> {
        self.memory_servers().find(|member| member.number == node.0)
    }

    /// Who has this identity.
    pub fn member(&self, identity: u64) -> Option<&Member> {
        self.members.iter().find(|member| member.identity == identity)
    }

    /// The database, if somebody has made one. One whose memory servers are all gone is no more: the next
    /// may be made.
    ///
    /// # Errors
    /// [`RegistryError::DatabaseLost`] if some of its memory servers are gone and others are not.
    pub fn database(&self) -> Result<Option<&DatabaseRoot>, RegistryError> {
        let Some(root) = &self.root else { return Ok(None) };
        if root.servers.iter().all(|identity| self.member(*identity).is_none()) {
            return Ok(None);
        }
        self.ensure_whole(root).map(|()| Some(root))
    }

    /// Sees to it that all memory servers of a database are there.
    ///
    /// # Errors
    /// [`RegistryError::DatabaseLost`] if one is gone: its part has gone with it, and no successor brings it back.
    pub fn ensure_whole(&self, root: &DatabaseRoot) -> Result<(), RegistryError> {
        let lost: Vec<String> = (0_u16..)
            .zip(&root.servers)
            .filter(|(_, identity)| self.member(**identity).is_none())
            .map(|(number, _)| number.to_string())
            .collect();
        match lost.is_empty() {
            true => Ok(()),
            false => Err(RegistryError::DatabaseLost { lost: lost.join(", ") }),
        }
    }
}
