//! How a database with replicas begins again with what its memory servers have on disk.
//!
//! Servers end one after the other, and some without writing their memory. The record notes which
//! servers the database has *gone on without*: what they have is old. Once a region has no server
//! left, nothing is acknowledged any more, so those that end from then on are current, and so are
//! all that have ended together. An image has the root as it was when its server had left, so one
//! image of a current server tells which others are current.
//!
//! Decision: docs/decisions/0356-images-of-replicas-know-who-is-current.md

use crate::root::{DatabaseRoot, FillStage};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The finding of a memory server that starts on its disk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Found {
    /// It has ended without writing its memory.
    Nothing {
        /// The last run for which it had begun to serve.
        last_run: u64,
        /// The database of that run; 0 where that is not known.
        #[serde(default)]
        database: u64,
    },
    Image(Box<FoundImage>),
}

/// The description of an image.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FoundImage {
    /// The root of the database when the server had left.
    pub root: DatabaseRoot,
    /// The server's identity then.
    pub identity: u64,
    /// The last run for which the server had begun to serve: beyond that of the root, if no
    /// database was published then.
    pub last_run: u64,
    /// The epoch of the cluster then.
    pub epoch: u64,
    /// Whether the registry has confirmed that the server had left. Otherwise the database may have
    /// gone on without it.
    pub is_certain: bool,
}

impl Found {
    /// The identity of the database that it is of, if that is known.
    fn database(&self) -> Option<u64> {
        match self {
            Self::Nothing { database, .. } => Some(*database).filter(|id| *id != 0),
            Self::Image(image) => Some(image.root.id),
        }
    }
}

/// How a database begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start {
    /// No server has anything: there is no database yet.
    New,
    /// With the images of all servers but those that `without` of the root names. The run is
    /// another one than all that servers have begun to serve for.
    Again { root: Box<DatabaseRoot>, run: u64 },
}

/// Why a database cannot begin again.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoStart {
    #[error(
        "the data of memory server {0} is lost: it ended without writing its memory, by kill -9 or a crash of its host, \
         and no other memory server has all of it"
    )]
    Lost(u16),
    #[error("memory servers {0} and {1} have data of different runs of the database")]
    OtherRun(u16, u16),
    #[error("memory servers {0} and {1} have data of different databases")]
    OtherDatabase(u16, u16),
}

/// Decides how the database of a cluster begins, from what its memory servers have found. The
/// servers of the root are those of the last run.
///
/// # Errors
/// A region has no current image, or what was found is not of one database.
pub fn decide(found: &[Option<Found>]) -> Result<Start, NoStart> {
    let images = (0_u16..).zip(found).filter_map(|(number, found)| match found {
        Some(Found::Image(image)) => Some((number, &**image)),
        _ => None,
    });
    let images: Vec<(u16, &FoundImage)> = images.collect();
    let age = |image: &FoundImage| (image.root.run, image.epoch);
    let Some(&(newest_number, newest)) = images.iter().max_by_key(|(_, image)| age(image)) else {
        return unwritten(found).next().map_or(Ok(Start::New), |it| Err(NoStart::Lost(it.0)));
    };
    let root = &newest.root;
    // Runs of different databases have no order.
    let mut databases =
        (0_u16..).zip(found).filter_map(|(number, it)| Some((number, it.as_ref()?)));
    if let Some((number, _)) =
        databases.find(|(_, it)| it.database().is_some_and(|id| id != root.id))
    {
        return Err(NoStart::OtherDatabase(newest_number.min(number), newest_number.max(number)));
    }
    let is_other = |(_, image): &&(u16, &FoundImage)| {
        image.root.run == root.run && image.root.servers != root.servers
    };
    if let Some((number, _)) = images.iter().find(is_other) {
        return Err(NoStart::OtherRun(newest_number.min(*number), newest_number.max(*number)));
    }
    let holders = root.whole_holders();
    let expected: BTreeSet<u16> =
        holders.into_keys().filter(|number| !root.without.contains(number)).collect();
    let of_run = images.iter().filter(|(_, image)| image.root.servers == root.servers);
    // Another server with the number may have taken the place of the one that has the image.
    let holders: Vec<u64> = root.holders().collect();
    let is_holder = |(number, image): &&(u16, &FoundImage)| {
        expected.contains(number) && holders[usize::from(*number)] == image.identity
    };
    let current: Vec<_> = of_run.filter(is_holder).collect();
    // A database that a server has served after the images are of is lost with it. Where a database
    // has not come to be published, those that have ended in order know that run, too.
    let last_known = current.iter().map(|(_, image)| image.last_run).max().unwrap_or(root.run);
    if let Some((number, _)) = unwritten(found).find(|(_, last_run)| *last_run > last_known) {
        return Err(NoStart::Lost(number));
    }
    let numbers: BTreeSet<u16> = current.iter().map(|(number, _)| *number).collect();
    // One that has left, and that nobody went on without, has seen the end.
    let is_end = |(number, image): &&&(u16, &FoundImage)| {
        image.is_certain && !image.root.without.contains(number)
    };
    let missing = || expected.difference(&numbers).next().copied();
    if current.iter().find(is_end).is_none()
        && let Some(number) = missing()
    {
        return Err(NoStart::Lost(number));
    }
    if let Some(region) = root.lost_region(&numbers) {
        return Err(NoStart::Lost(missing().unwrap_or(region)));
    }
    let all = 0..root.servers.len() as u16;
    let without = all.filter(|number| !numbers.contains(number)).collect();
    let begun = images.iter().map(|(_, image)| image.last_run.max(image.root.run));
    let run = begun.chain(unwritten(found).map(|it| it.1)).max().unwrap_or_default() + 1;
    Ok(Start::Again { root: Box::new(DatabaseRoot { without, ..root.clone() }), run })
}

/// The servers that have ended without writing their memory, each with the last run for which it
/// had begun to serve.
fn unwritten(found: &[Option<Found>]) -> impl Iterator<Item = (u16, u64)> + '_ {
    (0_u16..).zip(found).filter_map(|(number, found)| match found {
        Some(Found::Nothing { last_run, .. }) => Some((number, *last_run)),
        _ => None,
    })
}

impl DatabaseRoot {
    /// The root of the next run, on these members. In the place of those that `without` names are
    /// identities that nobody has, as of servers that have died.
    ///
    /// Every region counts as promoted: its services begin with what its list of extents says, and
    /// its trees get new inner nodes, because handlers may have stopped halfway.
    pub fn next_run(self, run: u64, servers: Vec<u64>) -> Self {
        let place = |region: u16| self.promoted.get(&region).copied().unwrap_or(region);
        let promoted = (0..servers.len() as u16).map(|region| (region, place(region))).collect();
        Self { run, servers, promoted, returned: Default::default(), ..self }
    }

    /// Whether the memory server with this identity has all of its regions.
    pub fn has_all(&self, identity: u64) -> bool {
        self.whole_holders().into_values().any(|holder| holder == identity)
    }

    /// The number of each server that has all of its regions, with its identity.
    pub(crate) fn whole_holders(&self) -> std::collections::BTreeMap<u16, u64> {
        let is_whole =
            |number: &u16| self.returned.get(number).is_none_or(|it| it.stage == FillStage::Whole);
        (0_u16..).zip(self.holders()).filter(|(number, _)| is_whole(number)).collect()
    }

    /// A region that none of these servers has.
    pub(crate) fn lost_region(&self, servers: &BTreeSet<u16>) -> Option<u16> {
        let count = self.servers.len() as u16;
        let mut regions = 0..count;
        regions.find(|region| {
            !(0..self.replicas).any(|replica| servers.contains(&((region + replica) % count)))
        })
    }

    /// Notes without which servers the database goes on, when these identities are the members.
    /// Those that have ended serve nobody any more, so nothing goes on with them alone.
    pub(crate) fn note_departures(&mut self, members: &[u64], ended: &BTreeSet<u64>) {
        let holders = self.whole_holders();
        let living = holders.iter().filter(|(_, identity)| members.contains(identity));
        let living: Vec<(u16, u64)> =
            living.map(|(number, identity)| (*number, *identity)).collect();
        let numbers = living.iter().map(|(number, _)| *number).collect();
        let goes_on = self.lost_region(&numbers).is_none()
            && living.iter().any(|(_, identity)| !ended.contains(identity));
        if goes_on {
            let all = 0..self.servers.len() as u16;
            self.without = all.filter(|number| !numbers.contains(number)).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster_file::OracleKind;
    use layout::{GlobalPtr, RegionId};

    fn root(replicas: u16) -> DatabaseRoot {
        DatabaseRoot {
            oracle: GlobalPtr::new(RegionId(0), 4096),
            slots: 8,
            snapshots: OracleKind::Frozen,
            transaction_time_ms: 1000,
            servers: vec![10, 11, 12],
            replicas,
            promoted: Default::default(),
            returned: Default::default(),
            id: 7,
            run: 3,
            without: Default::default(),
        }
    }

    const NOTHING: Option<Found> = Some(Found::Nothing { last_run: 3, database: 7 });

    /// The image of the server with this number.
    fn image(number: u16, root: &DatabaseRoot, epoch: u64, is_certain: bool) -> Option<Found> {
        let (root, last_run) = (root.clone(), root.run);
        let identity = root.holders().nth(usize::from(number)).expect("it has such a server");
        Some(Found::Image(Box::new(FoundImage { root, identity, last_run, epoch, is_certain })))
    }

    /// The images of servers that end one after the other, in this order: each knows the root as it
    /// was when it had left.
    fn ended_in(order: [u16; 3], replicas: u16) -> Vec<Option<Found>> {
        let (mut now, mut members) = (root(replicas), vec![10, 11, 12]);
        let mut found = vec![None; 3];
        for (epoch, number) in (20..).zip(order) {
            members.retain(|member| *member != 10 + u64::from(number));
            now.note_departures(&members, &BTreeSet::new());
            found[usize::from(number)] = image(number, &now, epoch, true);
        }
        found
    }

    fn without(found: &[Option<Found>]) -> Result<Vec<u16>, NoStart> {
        decide(found).map(|start| match start {
            Start::New => panic!("there are images"),
            Start::Again { root, .. } => root.without.into_iter().collect(),
        })
    }

    #[test]
    fn those_that_the_database_has_gone_on_without_are_old_and_the_last_are_current() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let found = ended_in(order, 2);
            assert_eq!(without(&found), Ok(vec![order[0]]), "two are needed: {order:?}");
            for number in order {
                let mut found = found.clone();
                found[usize::from(number)] = NOTHING;
                let decided = without(&found);
                match number == order[0] {
                    true => assert_eq!(decided, Ok(vec![order[0]])),
                    false => assert_eq!(decided, Err(NoStart::Lost(number)), "{order:?}"),
                }
            }
            let found = ended_in(order, 3);
            let mut old = order[..2].to_vec();
            old.sort_unstable();
            assert_eq!(without(&found), Ok(old), "the last one has all: {order:?}");
            let mut found = found.clone();
            found[usize::from(order[2])] = NOTHING;
            assert!(without(&found).is_err(), "{order:?}: the others are old");
        }
    }

    #[test]
    fn those_that_end_together_are_all_current_and_one_of_them_may_be_missing() {
        let ended = BTreeSet::from([10, 11, 12]);
        let mut now = root(2);
        now.note_departures(&[11, 12], &ended);
        now.note_departures(&[12], &ended);
        assert!(now.without.is_empty());
        let found: Vec<_> =
            (0..3).map(|number| image(number, &now, 20 + u64::from(number), true)).collect();
        assert_eq!(without(&found), Ok(vec![]));
        for missing in 0..3 {
            for nothing in [None, NOTHING] {
                let mut found = found.clone();
                found[missing] = nothing;
                assert_eq!(without(&found), Ok(vec![missing as u16]));
                found[(missing + 1) % 3] = NOTHING;
                assert!(without(&found).is_err(), "a region has no server");
            }
        }
    }

    #[test]
    fn who_does_not_know_whether_the_others_went_on_needs_all_of_them() {
        let now = root(2);
        let mut found: Vec<_> =
            (0..3).map(|number| image(number, &now, 20 + u64::from(number), false)).collect();
        assert_eq!(without(&found), Ok(vec![]));
        found[2] = NOTHING;
        assert_eq!(without(&found), Err(NoStart::Lost(2)));
        // The others went on without it, and have said so.
        let mut later = now.clone();
        later.note_departures(&[10, 12], &BTreeSet::new());
        let found =
            [image(0, &later, 30, true), image(1, &now, 20, false), image(2, &later, 31, true)];
        assert_eq!(without(&found), Ok(vec![1]));
    }

    #[test]
    fn images_of_an_earlier_run_are_old_and_none_at_all_is_a_new_database() {
        assert_eq!(decide(&[None, None, None]), Ok(Start::New));
        assert_eq!(decide(&[None, NOTHING, None]), Err(NoStart::Lost(1)));
        let earlier = |number| image(number, &root(2), 50, true);
        let next = root(2).next_run(4, vec![20, 21, 22]);
        assert_eq!((next.run, next.promoted.len()), (4, 3));
        let now = |number: u16| image(number, &next, 7 + u64::from(number), true);
        assert_eq!(without(&[earlier(0), now(1), now(2)]), Ok(vec![0]));
        assert!(without(&[earlier(0), earlier(1), now(2)]).is_err());
        let other = DatabaseRoot { servers: vec![30, 31, 32], ..next.clone() };
        let found = [now(0), image(1, &other, 8, true), now(2)];
        assert_eq!(without(&found), Err(NoStart::OtherRun(1, 2)));
    }

    /// A server was replaced on another host, which was filled, and the old host comes back.
    #[test]
    fn the_image_of_a_server_that_was_replaced_is_old() {
        let mut now = root(2);
        let old = image(0, &now, 20, true);
        let returned = crate::Returned { identity: 15, stage: FillStage::Whole };
        now.returned.insert(0, returned);
        let found = |zero| [zero, image(1, &now, 31, true), image(2, &now, 32, true)];
        assert_eq!(without(&found(image(0, &now, 30, true))), Ok(vec![]));
        assert_eq!(without(&found(old)), Ok(vec![0]));
    }

    /// All images are of a run, and a server was killed in a later one.
    #[test]
    fn an_image_from_before_the_last_run_is_no_database() {
        let later = Some(Found::Nothing { last_run: 4, database: 7 });
        let of_two = DatabaseRoot { servers: vec![10, 11], ..root(2) };
        let found = [image(0, &of_two, 20, true), later.clone()];
        assert_eq!(decide(&found), Err(NoStart::Lost(1)));
        // Nothing was published in that run, and a server that has ended in order knows that.
        let Some(Found::Image(mut ended)) = found[0].clone() else { unreachable!("it is one") };
        ended.last_run = 4;
        let found = [Some(Found::Image(ended)), later];
        assert_eq!(without(&found), Ok(vec![1]));
        let again = decide(&found);
        assert!(matches!(again, Ok(Start::Again { run: 5, .. })), "{again:?}");
    }

    /// A database was given up for lost, another one was made, and the old files come back.
    #[test]
    fn what_is_of_different_databases_is_refused_whatever_its_run() {
        let (earlier, now) = (root(2), DatabaseRoot { id: 8, run: 0, ..root(2) });
        let found =
            [image(0, &earlier, 20, true), image(1, &now, 7, true), image(2, &now, 8, true)];
        assert_eq!(without(&found), Err(NoStart::OtherDatabase(0, 1)));
        let killed = Some(Found::Nothing { last_run: 0, database: 8 });
        let found = [image(0, &earlier, 20, true), image(1, &earlier, 21, true), killed];
        assert_eq!(without(&found), Err(NoStart::OtherDatabase(1, 2)), "it has run since");
        let unknown = Some(Found::Nothing { last_run: 3, database: 0 });
        let found = [image(0, &earlier, 20, true), image(1, &earlier, 21, true), unknown];
        assert_eq!(without(&found), Ok(vec![2]));
    }

    #[test]
    fn a_server_that_is_being_filled_has_nothing_that_counts() {
        let mut now = root(2);
        let returned = crate::Returned { identity: 15, stage: FillStage::Filling };
        now.returned.insert(1, returned);
        now.note_departures(&[10, 12], &BTreeSet::new());
        assert_eq!(now.without, BTreeSet::from([1]));
        let found: Vec<_> =
            (0..3).map(|number| image(number, &now, 20 + u64::from(number), true)).collect();
        assert_eq!(without(&found), Ok(vec![1]));
    }
}
