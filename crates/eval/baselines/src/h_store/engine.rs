//! The machines, their sites, and a transaction at its base site.

use super::request::SiteRequest;
use super::site::Site;
use crate::Work;
use crate::message::{Malformed, Reader, Writer};
use crate::row_key::RowKey;
use crate::trad_si::partition::Write;
use fabric::{CallError, Env, Reply, Service, ServiceId};
use futures_util::future::join_all;
use layout::NodeId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The service that clients call.
const RUN: ServiceId = ServiceId(211);
/// The service that sites call.
const SITE: ServiceId = ServiceId(212);

/// A transaction whose rows follow from its input.
pub trait SerialProcedure: Send + Sync + 'static {
    /// The partition of its base site.
    ///
    /// # Errors
    /// If the input cannot be parsed.
    /// When the input cannot be read, as below.
    fn base(&self, input: &[u8]) -> Result<u32, Malformed>;

    /// The rows that it reads; it writes only in their partitions.
    ///
    /// # Errors
    /// If the input cannot be parsed.
    fn reads(&self, input: &[u8]) -> Result<Vec<RowKey>, Malformed>;

    /// The rows that it writes; `None`: it rolls back.
    ///
    /// # Errors
    /// If the input cannot be parsed.
    fn writes(
        &self,
        input: &[u8],
        rows: &[Option<Vec<u8>>],
        now_ns: u64,
    ) -> Result<Option<Vec<Write>>, Malformed>;
}

/// The result of a transaction for its client. No other transaction can abort it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SerialOutcome {
    /// Its effects are permanent.
    Committed,
    /// It has no effect, because the procedure rolled back.
    RolledBack,
    /// It may have taken effect.
    Unknown,
}

/// The machines and sites. Partition p belongs to site p modulo the number of sites, and site s to
/// machine s modulo the number of machines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cluster {
    pub machines: Vec<NodeId>,
    /// Number of sites of all machines together.
    pub sites: u32,
}

/// A machine with its sites.
pub struct Machine<E, P> {
    cluster: Cluster,
    index: usize,
    /// The sites of this machine, by their number among all.
    sites: BTreeMap<u32, Site>,
    procedure: Arc<P>,
    work: Work<E>,
}

impl Cluster {
    /// The site of a partition.
    pub fn site(&self, partition: u32) -> u32 {
        partition % self.sites
    }

    /// The machine of a site.
    pub fn machine(&self, site: u32) -> usize {
        site as usize % self.machines.len()
    }

    /// Starts the services of all machines, whose sites run `procedure`; `work` is called with the
    /// number of rows that they read and write. `register` offers a service on a node.
    pub fn start<E: Env, P: SerialProcedure>(
        &self,
        procedure: &Arc<P>,
        work: Work<E>,
        mut register: impl FnMut(NodeId, ServiceId, Arc<dyn Service<E>>),
    ) -> Vec<Arc<Machine<E, P>>> {
        let mut start = |(index, &node): (usize, &NodeId)| {
            let own = (0..self.sites).filter(|&site| self.machine(site) == index);
            let machine = Arc::new(Machine {
                cluster: self.clone(),
                index,
                sites: own.map(|site| (site, Site::default())).collect(),
                procedure: procedure.clone(),
                work,
            });
            register(node, RUN, Arc::new(Run(machine.clone())));
            register(node, SITE, Arc::new(Sites(machine.clone())));
            machine
        };
        self.machines.iter().enumerate().map(&mut start).collect()
    }
}

/// Sends a transaction to the machine of its base site, which runs it.
pub async fn submit<E: Env>(env: &E, machine: NodeId, input: Vec<u8>) -> SerialOutcome {
    match env.call(machine, RUN, input).await.as_deref() {
        Ok([0]) => SerialOutcome::Committed,
        Ok([1]) => SerialOutcome::RolledBack,
        _ => SerialOutcome::Unknown,
    }
}

/// The service that clients call.
struct Run<E, P>(Arc<Machine<E, P>>);

impl<E: Env, P: SerialProcedure> Service<E> for Run<E, P> {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let has_committed = self.0.run(env, request).await?;
            Ok(vec![u8::from(!has_committed)])
        })
    }
}

/// The service that sites call.
struct Sites<E, P>(Arc<Machine<E, P>>);

impl<E: Env, P: SerialProcedure> Service<E> for Sites<E, P> {
    fn handle<'a>(&'a self, env: &'a E, request: &'a [u8]) -> Reply<'a> {
        Box::pin(async move {
            let mut answer = Writer::new();
            match SiteRequest::decode(request)? {
                SiteRequest::Reserve { site, keys } => {
                    let rows = self.0.reserve(env, self.0.site(site)?, &keys).await;
                    rows.iter().for_each(|row| answer.optional(row.as_deref()));
                }
                SiteRequest::Finish { site, writes } => {
                    self.0.finish(env, self.0.site(site)?, writes).await;
                }
            }
            Ok(answer.finish())
        })
    }
}

impl<E: Env, P: SerialProcedure> Machine<E, P> {
    /// A site of this machine.
    ///
    /// # Errors
    /// If the site is on another machine.
    /// When another machine has it.
    pub fn site(&self, site: u32) -> Result<&Site, Malformed> {
        self.sites.get(&site).ok_or(Malformed)
    }

    /// Waits for the site's turn, and reads the rows.
    async fn reserve(&self, env: &E, site: &Site, keys: &[RowKey]) -> Vec<Option<Vec<u8>>> {
        site.turns.take(env).await;
        (self.work)(env, keys.len() as u64);
        site.read(keys)
    }

    /// Writes the rows, and ends the site's turn after the time that this takes.
    async fn finish(&self, env: &E, site: &Site, writes: Vec<Write>) {
        (self.work)(env, writes.len() as u64);
        site.write(writes);
        env.sleep_ns(0).await;
        site.turns.end();
    }

    /// Runs a transaction, in the order of [`super`]'s picture. Returns whether it has committed.
    async fn run(&self, env: &E, input: &[u8]) -> Result<bool, CallError> {
        let keys = self.procedure.reads(input)?;
        let base = self.cluster.site(self.procedure.base(input)?);
        let mut places: BTreeMap<u32, Vec<usize>> = BTreeMap::from([(base, Vec::new())]);
        for (place, key) in keys.iter().enumerate() {
            places.entry(self.cluster.site(key.partition)).or_default().push(place);
        }
        let mut rows = vec![None; keys.len()];
        for (&site, places) in &places {
            let keys: Vec<RowKey> = places.iter().map(|place| keys[*place]).collect();
            for (place, row) in places.iter().zip(self.reserve_at(env, site, keys).await?) {
                rows[*place] = row;
            }
        }
        let writes = self.procedure.writes(input, &rows, env.now_ns())?;
        let has_committed = writes.is_some();
        let mut writes_of: BTreeMap<u32, Vec<Write>> =
            places.into_keys().map(|site| (site, Vec::new())).collect();
        for write in writes.into_iter().flatten() {
            let site = writes_of.get_mut(&self.cluster.site(write.0.partition));
            site.expect("it writes where it reads").push(write);
        }
        let finish = |(site, writes)| self.finish_at(env, site, writes);
        let finished = join_all(writes_of.into_iter().map(finish)).await;
        finished.into_iter().collect::<Result<(), CallError>>()?;
        Ok(has_committed)
    }

    async fn reserve_at(
        &self,
        env: &E,
        site: u32,
        keys: Vec<RowKey>,
    ) -> Result<Vec<Option<Vec<u8>>>, CallError> {
        let machine = self.cluster.machine(site);
        if machine == self.index {
            return Ok(self.reserve(env, self.site(site)?, &keys).await);
        }
        let count = keys.len();
        let request = SiteRequest::Reserve { site, keys };
        let answer = env.call(self.cluster.machines[machine], SITE, request.encode()).await?;
        let mut from = Reader::new(&answer);
        (0..count).map(|_| Ok(from.optional()?.map(<[u8]>::to_vec))).collect()
    }

    async fn finish_at(&self, env: &E, site: u32, writes: Vec<Write>) -> Result<(), CallError> {
        let machine = self.cluster.machine(site);
        if machine == self.index {
            self.finish(env, self.site(site)?, writes).await;
            return Ok(());
        }
        let request = SiteRequest::Finish { site, writes };
        env.call(self.cluster.machines[machine], SITE, request.encode()).await.map(drop)
    }
}
