//! Fills memory servers that have returned, on the first memory server that lives.
//!
//! A server that is started again after its death joins as a member, and gets the place of the dead
//! one in the registry, empty. Its regions are copied while transactions run. Then the processes
//! confirm in the registry that their changes of the catalog have ended, and that they have
//! drained; what still differs is copied, and the server counts.
//!
//! Whatever fails gives the fill up, and nobody is hurt: the database goes on as before, and the
//! next attempt compares what is there.
//!
//! Decision: docs/decisions/0341-a-memory-server-that-is-started-again-gets-its-replicas-back.md

use super::cluster_client::ClusterClient;
use super::cluster_site::Peers;
use super::recovery::await_fenced;
use super::remote::RemoteSession;
use super::{opening, tcp};
use crate::bench::site::SiteSession;
use crate::bench::text::bytes;
use anyhow::{Context, Result, ensure};
use fabric::Env;
use layout::{NodeId, WORD_BYTES};
use membership::{ClusterFile, ClusterMap, FillStage, Member, Role};
use metrics::sources::FillCounts;
use namdb::host::{Moment, sleep_ms, spawn};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use txn::{CopyCounts, FillError, Pace};

/// Between two looks whether a server has returned.
const POLL_MS: u64 = 100;
/// Pause after an attempt that has failed. It doubles, up to the longest one, while the database
/// has stood still for nothing, or the same server is refused.
const RETRY_MS: u64 = 1_000;
const RETRY_MS_MAX: u64 = 10 * 60 * 1_000;
/// Between two looks what processes have confirmed.
const LOOK_MS: u64 = 2;
/// Longest wait for the end of changes of the catalog; they wait for transactions.
const CHANGES_MS_MAX: u64 = 60_000;
/// Longest wait until all processes have drained, while the database stands still.
const DRAIN_MS_MAX: u64 = 5_000;
/// Longest time for the last copy, while the database stands still.
const LAST_COPY_NS_MAX: u64 = 30_000_000_000;
/// Time in which the returned server must be reached, and between two attempts.
const CONNECT_NS_MAX: u64 = 5_000_000_000;
const CONNECT_NS: u64 = 10_000_000;
/// Four pieces of 256 KiB are compared at once, so that the answers of busy servers, which come
/// late, do not make the copy slow. The pause leaves most of the servers' time to transactions.
const PACE: Pace = Pace { words: 32 * 1024, pieces: 4, pause_ns: 8_000_000, deadline_ns: u64::MAX };
/// Most copies of everything before the database stands still, and the share of words that may
/// differ in the last of them.
const COPIES_MAX: u32 = 3;
const REST_SHARE: u64 = 200;

/// The fill of a server.
struct Fill<'a> {
    client: &'a ClusterClient,
    node: NodeId,
    /// The identity of this memory server.
    filler: u64,
    counts: &'a FillCounts,
}

/// How often the cluster's map has asked this server to fill others.
#[derive(Default)]
pub struct Returns(AtomicU64);

impl Returns {
    /// Takes over a map, on the memory server with this identity.
    pub fn note(&self, map: &ClusterMap, own: u64) {
        let Some(root) = map.root.as_ref().filter(|root| root.replicas > 1) else { return };
        let is_own = map.coordinator(root).is_some_and(|member| member.identity == own);
        let is_new = map.newcomers(root).next().is_some();
        if is_own && (is_new || unfilled(map, None).is_some()) {
            self.0.fetch_add(1, Relaxed);
        }
    }
}

/// A server that is in the place of a dead one and has not all of its regions: the one behind
/// `last`, with which the last attempt has failed, so that no server keeps others from their turn.
fn unfilled(map: &ClusterMap, last: Option<NodeId>) -> Option<(NodeId, FillStage)> {
    let returned = map.root.as_ref()?.returned.iter();
    let unfilled = returned
        .filter(|(_, it)| it.stage != FillStage::Whole && map.member(it.identity).is_some())
        .map(|(&number, it)| (NodeId(number), it.stage));
    let all: Vec<_> = unfilled.collect();
    let next = all.iter().find(|(node, _)| last.is_some_and(|last| *node > last));
    next.or(all.first()).copied()
}

/// Fills servers on a separate thread until `stop` is set. `filler` is the identity of this memory
/// server.
pub fn follow(
    cluster: &ClusterFile,
    filler: u64,
    returns: Arc<Returns>,
    counts: Arc<FillCounts>,
    stop: &'static AtomicBool,
) -> Result<()> {
    let cluster = cluster.clone();
    let work = move || {
        let (mut done, mut pause_ms, mut last) = (0, RETRY_MS, None);
        while !stop.load(Relaxed) {
            let noted = returns.0.load(Relaxed);
            if noted == done {
                sleep_ms(POLL_MS);
                continue;
            }
            let mut attempt = Attempt::default();
            match fill_one(&cluster, (filler, &mut last), &counts, &mut attempt) {
                Ok(true) => pause_ms = RETRY_MS,
                Ok(false) => (done, pause_ms) = (noted, RETRY_MS),
                Err(error) => {
                    tracing::warn!(
                        "a memory server that has returned is not filled yet: {error:#}"
                    );
                    // Another server may have come in the place of a refused one.
                    let is_new = || attempt.is_refused && returns.0.load(Relaxed) != noted;
                    pause(pause_ms, || is_new() || stop.load(Relaxed));
                    pause_ms = attempt.next_pause_ms(pause_ms, is_new());
                }
            }
        }
    };
    spawn("filling", work).context("no thread can be started")?;
    Ok(())
}

/// The course of an attempt to fill a server.
#[derive(Default)]
struct Attempt {
    /// The database has stood still for it.
    has_stood_still: bool,
    /// A server cannot be filled as it is.
    is_refused: bool,
}

impl Attempt {
    /// The pause after the next failure. `is_new`: the members have changed.
    fn next_pause_ms(&self, pause_ms: u64, is_new: bool) -> u64 {
        match self.has_stood_still || (self.is_refused && !is_new) {
            true => (2 * pause_ms).min(RETRY_MS_MAX),
            false => RETRY_MS,
        }
    }
}

/// Sleeps, until `is_over`.
fn pause(milliseconds: u64, is_over: impl Fn() -> bool) {
    let began = Moment::now();
    while !is_over() && began.elapsed_s() * 1e3 < milliseconds as f64 {
        sleep_ms(POLL_MS);
    }
}

/// Takes servers back, and fills one; `false` if there is none. Notes which one, and the course of
/// the attempt.
fn fill_one(
    cluster: &ClusterFile,
    (filler, last): (u64, &mut Option<NodeId>),
    counts: &FillCounts,
    attempt: &mut Attempt,
) -> Result<bool> {
    let client = ClusterClient::visit_for(cluster.clone(), filler)?;
    let root = &client.published;
    if client.map.coordinator(root).is_none_or(|member| member.identity != filler) {
        return Ok(false);
    }
    ensure!(client.map.address_map(root).closed().next().is_none(), "a region is closed");
    let mut refused = Ok(());
    for member in client.map.newcomers(root) {
        if let Err(error) = ensure_size(cluster, member) {
            attempt.is_refused = true;
            refused = Err(error);
            continue;
        }
        let is_back = client.take_back((member.node(), member.identity), filler)?;
        ensure!(is_back, "the members have changed");
        tracing::info!("memory server {} has returned, and is empty", member.number);
    }
    let next = unfilled(&client.current_map()?, *last);
    let Some((node, stage)) = next else { return refused.map(|()| false) };
    *last = Some(node);
    let fill = Fill { client: &client, node, filler, counts };
    // Another memory server may have begun, and have died.
    fill.give_up()?;
    tracing::info!(?stage, "memory server {} is being filled", node.0);
    let filled = fill.run(&mut attempt.has_stood_still);
    counts.end();
    if filled.is_err() {
        fill.give_up()?;
    }
    filled.map(|()| true)
}

/// Checks that a server has come back with as much memory as the one that has died had.
fn ensure_size(cluster: &ClusterFile, member: &Member) -> Result<()> {
    let Role::Memory { region_bytes, .. } = member.role else { return Ok(()) };
    let number = member.number;
    let wanted_bytes = opening::region_bytes(cluster.memory[usize::from(number)].bytes);
    ensure!(
        region_bytes == wanted_bytes,
        "memory server {number} has a region of {}, and needs one of {}; end it, and start it with the cluster's file of the \
         others",
        bytes(region_bytes),
        bytes(wanted_bytes)
    );
    Ok(())
}

impl Fill<'_> {
    fn run(&self, has_stood_still: &mut bool) -> Result<()> {
        let began = Moment::now();
        self.note()?;
        let session = tcp::site(self.client, 1, &Peers::default())?.session_at_rest()?;
        let copied_bytes = self.copy(&session)?;
        *has_stood_still = true;
        let epoch = self.advance(FillStage::Empty, FillStage::Awaited)?;
        let changes = "a change of the catalog does not end";
        self.await_confirmed(epoch, CHANGES_MS_MAX).context(changes)?;
        let still = Moment::now();
        let epoch = self.advance(FillStage::Awaited, FillStage::Filling)?;
        self.await_confirmed(epoch, DRAIN_MS_MAX).context("a process does not drain")?;
        let database = session.handle().as_member(self.filler);
        // All memory servers know now that the server gets writes.
        session.wait(await_fenced(&database, epoch))?;
        let owners = session.wait(database.slot_owners()).context("cannot read the slots")?;
        let map = self.note()?;
        let members: BTreeSet<u64> = map.members.iter().map(|member| member.identity).collect();
        // A recovery of a dead one's slots may still write with an older map.
        let is_recovering = session.wait(database.is_recovering())?;
        let is_settled = owners.is_subset(&members) && !is_recovering;
        ensure!(is_settled, "a compute server has died and is not recovered yet");
        let deadline_ns = database.env().now_ns().saturating_add(LAST_COPY_NS_MAX);
        session.wait(database.finish_copy(self.node, deadline_ns))?;
        self.advance(FillStage::Filling, FillStage::Whole)?;
        self.counts.note_standstill(still.elapsed_s());
        let (number, milliseconds) = (self.node.0, (began.elapsed_s() * 1e3) as u64);
        let still_milliseconds = (still.elapsed_s() * 1e3) as u64;
        tracing::info!(
            copied_bytes,
            milliseconds,
            still_milliseconds,
            "memory server {number} has its replicas again"
        );
        Ok(())
    }

    /// Copies until little differs. Returns the copied bytes.
    fn copy(&self, session: &RemoteSession) -> Result<u64> {
        let (database, mut copied_bytes) = (session.handle(), 0);
        for _ in 0..COPIES_MAX {
            let counts = Arc::new(CopyCounts::default());
            self.counts.begin(self.node, counts.clone());
            let deadline_ns = database.env().now_ns().saturating_add(CONNECT_NS_MAX);
            let copied = session.wait(async {
                loop {
                    match database.copy_to(self.node, PACE, &counts).await {
                        // The connection is being opened.
                        Err(FillError::Unreachable(_))
                            if counts.is_new() && database.env().now_ns() < deadline_ns =>
                        {
                            database.env().sleep_ns(CONNECT_NS).await;
                        }
                        copied => return copied,
                    }
                }
            })?;
            copied_bytes += copied.written * WORD_BYTES;
            if copied.written <= copied.compared / REST_SHARE {
                break;
            }
        }
        Ok(copied_bytes)
    }

    /// Begins the next stage. Returns its epoch.
    fn advance(&self, from: FillStage, to: FillStage) -> Result<u64> {
        let is_there = self.client.advance_fill(self.node, (from, to), self.filler)?;
        ensure!(is_there, "the members have changed");
        Ok(self.note()?.epoch)
    }

    /// Takes over the newest map.
    fn note(&self) -> Result<ClusterMap> {
        let map = self.client.current_map()?;
        self.client.note(&map);
        Ok(map)
    }

    /// The database goes on as before, and the server stays empty.
    fn give_up(&self) -> Result<()> {
        for stage in [FillStage::Awaited, FillStage::Filling] {
            self.client.advance_fill(self.node, (stage, FillStage::Empty), self.filler)?;
        }
        self.note().map(drop)
    }

    /// Waits until all processes have confirmed an epoch.
    fn await_confirmed(&self, epoch: u64, patience_ms: u64) -> Result<()> {
        let began = Moment::now();
        loop {
            let map = self.note()?;
            let has_confirmed =
                |identity: &u64| map.drained.get(identity).is_some_and(|it| *it >= epoch);
            let mut members = map.compute_servers();
            let Some(late) = members.find(|member| !has_confirmed(&member.identity)) else {
                return Ok(());
            };
            ensure!(began.elapsed_ms() < patience_ms, "{late} has not confirmed it");
            sleep_ms(LOOK_MS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::identity::draw;
    use membership::{Addresses, ClusterId, DatabaseRoot, Member, OracleKind, Returned};
    use std::collections::BTreeMap;

    #[test]
    fn the_first_server_that_has_its_part_fills_those_that_have_returned() {
        let member = |number| Member::memory_server(NodeId(number), 1 << 20, Addresses::default());
        let members: Vec<Member> = (0..3).map(member).collect();
        let of = |number: usize| members[number].identity;
        let dead = draw().expect("random");
        let root = DatabaseRoot {
            oracle: layout::GlobalPtr::new(layout::RegionId(0), 4096),
            slots: 8,
            snapshots: OracleKind::Frozen,
            transaction_time_ms: 1000,
            servers: vec![dead, of(1), of(2)],
            replicas: 2,
            promoted: BTreeMap::from([(0, 3)]),
            returned: BTreeMap::new(),
            id: 7,
            run: 0,
            without: Default::default(),
        };
        let (left, evicted, drained) = Default::default();
        let (cluster, epoch) = (ClusterId(1), 1);
        let mut map = ClusterMap {
            cluster,
            epoch,
            members: members.clone(),
            left,
            evicted,
            root: Some(root),
            drained,
        };
        let is_asked = |map: &ClusterMap, own| {
            let returns = Returns::default();
            returns.note(map, own);
            returns.0.load(Relaxed) > 0
        };
        assert!(is_asked(&map, of(1)) && !is_asked(&map, of(2)) && !is_asked(&map, of(0)));
        assert_eq!(unfilled(&map, None), None, "it has no place yet");
        for stage in [FillStage::Empty, FillStage::Awaited, FillStage::Filling, FillStage::Whole] {
            let root = map.root.as_mut().expect("it is set");
            root.returned.insert(0, Returned { identity: of(0), stage });
            let is_whole = stage == FillStage::Whole;
            assert_eq!(unfilled(&map, None), (!is_whole).then_some((NodeId(0), stage)));
            assert_eq!(is_asked(&map, of(1)), !is_whole);
        }
        let root = map.root.as_ref().expect("it is set");
        assert_eq!(map.coordinator(root).map(|member| member.identity), Some(of(0)));
    }

    #[test]
    fn each_server_that_is_not_filled_has_its_turn() {
        let member = |number| Member::memory_server(NodeId(number), 1 << 20, Addresses::default());
        let members: Vec<Member> = (0..4).map(member).collect();
        let stages = [FillStage::Whole, FillStage::Empty, FillStage::Whole, FillStage::Empty];
        let returned = |(number, stage): (u16, FillStage)| {
            (number, Returned { identity: members[usize::from(number)].identity, stage })
        };
        let root = DatabaseRoot {
            oracle: layout::GlobalPtr::new(layout::RegionId(0), 4096),
            slots: 8,
            snapshots: OracleKind::Frozen,
            transaction_time_ms: 1000,
            servers: vec![10, 11, 12, 13],
            replicas: 2,
            promoted: BTreeMap::new(),
            returned: (0..).zip(stages).map(returned).collect(),
            id: 7,
            run: 0,
            without: Default::default(),
        };
        let (left, evicted, drained) = Default::default();
        let (cluster, epoch, root) = (ClusterId(1), 1, Some(root));
        let map =
            ClusterMap { cluster, epoch, members: members.clone(), left, evicted, root, drained };
        let next = |last: Option<u16>| unfilled(&map, last.map(NodeId)).map(|(node, _)| node.0);
        assert_eq!([None, Some(1), Some(2), Some(3)].map(next), [1, 3, 3, 1].map(Some));
    }

    #[test]
    fn the_log_is_not_full_of_a_server_that_is_refused() {
        let refused = Attempt { is_refused: true, ..Attempt::default() };
        let mut pauses_ms = vec![RETRY_MS];
        for is_new in [false, false, true, false] {
            let last_ms = *pauses_ms.last().expect("there is one");
            pauses_ms.push(refused.next_pause_ms(last_ms, is_new));
        }
        assert_eq!(pauses_ms, [1, 2, 4, 1, 2].map(|times| times * RETRY_MS));
        let still = Attempt { has_stood_still: true, ..Attempt::default() };
        assert_eq!(still.next_pause_ms(RETRY_MS_MAX, true), RETRY_MS_MAX);
        assert_eq!(Attempt::default().next_pause_ms(RETRY_MS_MAX, false), RETRY_MS);
        let began = Moment::now();
        pause(RETRY_MS_MAX, || true);
        assert!(began.elapsed_ms() < RETRY_MS);
    }

    #[test]
    fn a_server_with_less_memory_than_the_dead_one_is_refused_in_a_sentence() {
        let file = ClusterFile::development("dev", membership::FabricKind::Tcp, &[32 << 20; 2], 0);
        let member = |bytes| Member::memory_server(NodeId(1), bytes, Addresses::default());
        assert!(ensure_size(&file, &member(32 << 20)).is_ok());
        let refused = ensure_size(&file, &member(16 << 20)).expect_err("it is smaller").to_string();
        assert!(refused.starts_with("memory server 1 has a region of 16.0 MiB"), "{refused}");
    }
}
