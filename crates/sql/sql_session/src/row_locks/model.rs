//! The locks of rows against a simple model, and with threads.

use super::wait::Waited;
use super::{LockMark, Owner, RowKey, RowLocks, SessionRows};
use crate::error::SqlError;
use crate::waiting::Waiter;
use interpreter::RowLockMode::{KeyShare, NoKeyUpdate, Share, Update};
use interpreter::{IfLocked, RowLockAnswer, RowLockMode, RowLocker};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const OWNERS: usize = 4;
const ROWS: u64 = 3;
const MODES: [RowLockMode; 4] = [KeyShare, Share, NoKeyUpdate, Update];
const TABLE: u32 = 7;

/// A session without a statement that ends it.
struct Patient {
    begun: Instant,
    limit: Option<Duration>,
    /// How long it has waited already.
    waited: Duration,
}

impl Patient {
    #[allow(clippy::disallowed_methods, reason = "threads wait in real time")]
    fn new(limit: Option<Duration>) -> Self {
        Self { begun: Instant::now(), limit, waited: Duration::ZERO }
    }
}

impl Waiter for Patient {
    fn check(&self) -> Result<(), SqlError> {
        Ok(())
    }

    #[allow(clippy::disallowed_methods, reason = "threads wait in real time")]
    fn now_ns(&self) -> u64 {
        (self.begun.elapsed() + self.waited).as_nanos() as u64
    }

    fn lock_timeout(&self) -> Option<Duration> {
        self.limit
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Lock(usize, u64, RowLockMode, bool),
    Release(usize, bool),
    Mark(usize),
    ReleaseToMark(usize),
    /// A session that waits looks for its grant, or for a deadlock.
    Look(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let lock = (0..OWNERS, 0..ROWS, 0..MODES.len(), any::<bool>());
    prop_oneof![
        6 => lock.prop_map(|(who, row, mode, waits)| Step::Lock(who, row, MODES[mode], waits)),
        2 => (0..OWNERS, any::<bool>()).prop_map(|(who, commits)| Step::Release(who, commits)),
        1 => (0..OWNERS).prop_map(Step::Mark),
        1 => (0..OWNERS).prop_map(Step::ReleaseToMark),
        3 => (0..OWNERS).prop_map(Step::Look),
    ]
}

/// The locks of a session, according to the model.
#[derive(Clone, Default)]
struct Player {
    /// The locks in their order, with the modes before.
    held: Vec<(u64, RowLockMode, Option<RowLockMode>)>,
    /// Row and mode of the request that waits, and the time of its arrival.
    waits: Option<(u64, RowLockMode, u64)>,
    mark: usize,
}

impl Player {
    fn mode(&self, row: u64) -> Option<RowLockMode> {
        self.held.iter().filter(|one| one.0 == row).map(|one| one.1).max()
    }
}

struct Model {
    players: Vec<Player>,
    arrivals: u64,
}

impl Model {
    /// Those who block a request; `arrived` is its place among those who wait.
    fn blockers(&self, who: usize, row: u64, mode: RowLockMode, arrived: u64) -> Vec<usize> {
        let is_ahead = self.players[who].mode(row).is_some();
        let others = self.players.iter().enumerate().filter(|(other, _)| *other != who);
        let blocks = |player: &Player| {
            let holds = player.mode(row).is_some_and(|held| held.conflicts_with(mode));
            let is_before = player.waits.is_some_and(|(of, other, at)| {
                let is_ahead_too = player.mode(row).is_some();
                let is_first = if is_ahead == is_ahead_too { at < arrived } else { is_ahead_too };
                of == row && other.conflicts_with(mode) && is_first
            });
            holds || is_before
        };
        others.filter(|(_, player)| blocks(player)).map(|(other, _)| other).collect()
    }

    fn waits_for_itself(&self, who: usize) -> bool {
        let (mut seen, mut to_visit) = (vec![false; OWNERS], vec![who]);
        while let Some(one) = to_visit.pop() {
            let Some((row, mode, at)) = self.players[one].waits else { continue };
            for other in self.blockers(one, row, mode, at) {
                if other == who {
                    return true;
                }
                if !std::mem::replace(&mut seen[other], true) {
                    to_visit.push(other);
                }
            }
        }
        false
    }

    /// Whether a session holds a row that somebody else waits for.
    fn is_awaited(&self, who: usize) -> bool {
        let others = self.players.iter().enumerate().filter(|(other, _)| *other != who);
        others
            .filter_map(|(_, other)| other.waits)
            .any(|(row, ..)| self.players[who].mode(row).is_some())
    }

    /// Grants what can be granted.
    fn settle(&mut self) {
        loop {
            let ready = (0..OWNERS).find(|&who| {
                let waits = self.players[who].waits;
                waits.is_some_and(|(row, mode, at)| self.blockers(who, row, mode, at).is_empty())
            });
            let Some(who) = ready else { return };
            self.grant(who);
        }
    }

    fn grant(&mut self, who: usize) {
        if let Some((row, mode, _)) = self.players[who].waits.take() {
            let before = self.players[who].mode(row);
            self.players[who].held.push((row, mode, before));
        }
    }
}

fn session(locks: &Arc<RowLocks>, owner: Owner) -> SessionRows {
    let session = SessionRows::new(locks.clone(), owner);
    session.begin_statement(true, None);
    session
}

fn lock(session: &SessionRows, row: u64, mode: RowLockMode, if_locked: IfLocked) -> RowLockAnswer {
    session.lock(TABLE, &[row], mode, if_locked)
}

struct Game {
    locks: Arc<RowLocks>,
    sessions: Vec<SessionRows>,
    marks: Vec<LockMark>,
    model: Model,
}

impl Game {
    fn new() -> Self {
        let locks = Arc::new(RowLocks::default());
        let sessions = (0..OWNERS).map(|owner| session(&locks, owner as Owner)).collect();
        let model = Model { players: vec![Player::default(); OWNERS], arrivals: 0 };
        Self { locks, sessions, marks: vec![LockMark::default(); OWNERS], model }
    }

    fn play(&mut self, step: Step) {
        match step {
            // A session that waits does nothing else.
            Step::Lock(who, ..) | Step::Mark(who) | Step::ReleaseToMark(who)
                if self.model.players[who].waits.is_some() => {}
            Step::Lock(who, row, mode, waits) => self.lock(who, row, mode, waits),
            Step::Release(who, commits) => {
                self.sessions[who].release_all(commits);
                self.model.players[who] = Player::default();
                self.marks[who] = LockMark::default();
            }
            Step::Mark(who) => {
                self.marks[who] = self.sessions[who].mark();
                self.model.players[who].mark = self.model.players[who].held.len();
            }
            Step::ReleaseToMark(who) => {
                self.sessions[who].release_to(self.marks[who]);
                let player = &mut self.model.players[who];
                player.held.truncate(player.mark);
            }
            Step::Look(who) => self.look(who),
        }
        self.model.settle();
        self.compare();
    }

    fn lock(&mut self, who: usize, row: u64, mode: RowLockMode, waits: bool) {
        let if_locked = if waits { IfLocked::Wait } else { IfLocked::Skip };
        let answer = lock(&self.sessions[who], row, mode, if_locked);
        let before = self.model.players[who].mode(row);
        if before.is_some_and(|held| held >= mode) {
            assert_eq!(answer, RowLockAnswer::Held);
            return;
        }
        self.model.arrivals += 1;
        let arrived = self.model.arrivals;
        // A new request is compared with the holders, and not with those who wait.
        let mut blockers = self.model.blockers(who, row, mode, arrived);
        blockers.retain(|&other| {
            self.model.players[other].mode(row).is_some_and(|held| held.conflicts_with(mode))
        });
        if blockers.is_empty() {
            assert!(matches!(answer, RowLockAnswer::Held | RowLockAnswer::MayBeOutdated));
            self.model.players[who].held.push((row, mode, before));
        } else if waits {
            assert_eq!(answer, RowLockAnswer::MustWait);
            self.model.players[who].waits = Some((row, mode, arrived));
        } else {
            assert_eq!(answer, RowLockAnswer::Busy);
        }
    }

    fn look(&mut self, who: usize) {
        let Some((row, mode, _)) = self.model.players[who].waits else { return };
        let patient = Patient { waited: Duration::from_secs(1), ..Patient::new(None) };
        let waited = self.sessions[who].wait(&patient, 0, Duration::ZERO);
        let is_held =
            |player: &Player| player.mode(row).is_some_and(|held| held.conflicts_with(mode));
        let mut others = self.model.players.iter().enumerate().filter(|(other, _)| *other != who);
        match waited {
            // Every circle has a session that holds a row for which another one waits.
            Ok(Waited::NotYet) => {
                assert!(!self.model.waits_for_itself(who) || !self.model.is_awaited(who));
            }
            Ok(Waited::Granted(_)) => {
                assert!(self.model.waits_for_itself(who), "only a deadlock lets it pass others");
                assert!(!others.any(|(_, player)| is_held(player)));
                self.model.grant(who);
            }
            Err(error) => {
                assert_eq!(error.sqlstate, "40P01");
                assert!(
                    self.model.waits_for_itself(who) && others.any(|(_, player)| is_held(player))
                );
                self.model.players[who].waits = None;
            }
        }
    }

    /// Takes grants, and compares the holders.
    fn compare(&mut self) {
        for who in 0..OWNERS {
            if self.model.players[who].waits.is_none() {
                let is_granted = self.sessions[who].take_grant();
                assert!(is_granted, "the model has granted it");
            }
        }
        for row in 0..ROWS {
            let mut expected: Vec<(Owner, RowLockMode)> = Vec::new();
            for (who, player) in self.model.players.iter().enumerate() {
                expected.extend(player.mode(row).map(|mode| (who as Owner, mode)));
            }
            let mut held = self.locks.holders(RowKey::new(TABLE, &[row]));
            held.sort_unstable();
            assert_eq!(held, expected, "row {row}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn locks_are_as_their_model(steps in vec(step(), 0..60)) {
        let mut game = Game::new();
        steps.into_iter().for_each(|step| game.play(step));
        drop(game.sessions);
        assert_eq!(game.locks.count(), 0, "nobody holds anything");
    }
}

/// Sessions count up rows, two at a time, in any order: deadlocks end with an error, nothing is
/// lost, and everybody gets on.
#[test]
fn threads_exclude_each_other_and_deadlocks_end() {
    const ROUNDS: u64 = 300;
    let locks = Arc::new(RowLocks::default());
    let counters: Vec<AtomicU64> = (0..4).map(|_| AtomicU64::new(0)).collect();
    let deadlocks = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for owner in 0..4_u64 {
            let (locks, counters, deadlocks) = (&locks, &counters, &deadlocks);
            scope.spawn(move || {
                let session = session(locks, owner);
                let mut drawn = owner + 1;
                let mut done = 0;
                while done < ROUNDS {
                    drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let pair = [(drawn >> 33) % 4, (drawn >> 40) % 4];
                    let all = pair.iter().all(|&row| {
                        let answer = lock(&session, row, Update, IfLocked::Wait);
                        let patient = Patient::new(None);
                        answer != RowLockAnswer::MustWait
                            || session.wait(&patient, 0, Duration::from_secs(60)).is_ok()
                    });
                    if all {
                        for &row in &pair {
                            // Not atomic: only a lock makes it right.
                            let counter = &counters[row as usize];
                            let value = counter.load(Relaxed);
                            std::thread::yield_now();
                            counter.store(value + 1, Relaxed);
                        }
                        done += 1;
                    } else {
                        deadlocks.fetch_add(1, Relaxed);
                    }
                    session.release_all(all);
                }
            });
        }
    });
    let sum: u64 = counters.iter().map(|counter| counter.load(Relaxed)).sum();
    assert_eq!(sum, 4 * ROUNDS * 2);
    assert_eq!(locks.count(), 0);
}

#[test]
fn a_wait_ends_at_lock_timeout_and_leaves_the_queue() {
    let locks = Arc::new(RowLocks::default());
    let [one, two, three] = [1, 2, 3].map(|owner| session(&locks, owner));
    assert_eq!(lock(&one, 1, KeyShare, IfLocked::Wait), RowLockAnswer::Held);
    assert_eq!(lock(&two, 1, Update, IfLocked::Wait), RowLockAnswer::MustWait);
    assert_eq!(lock(&three, 1, Share, IfLocked::Skip), RowLockAnswer::Held, "no holder minds");
    three.release_all(false);
    let limit = Duration::from_millis(30);
    let ended = two.wait(&Patient::new(Some(limit)), 0, Duration::from_secs(60));
    assert_eq!(ended.expect_err("nobody releases it").sqlstate, "55P03");
    assert_eq!(lock(&three, 1, KeyShare, IfLocked::Skip), RowLockAnswer::Held);
    assert!(two.is_empty());
}

#[test]
fn a_statement_learns_that_a_row_was_changed_since_its_snapshot() {
    let locks = Arc::new(RowLocks::default());
    let [one, two] = [1, 2].map(|owner| session(&locks, owner));
    two.begin_statement(true, None);
    assert_eq!(lock(&one, 1, NoKeyUpdate, IfLocked::Wait), RowLockAnswer::Held);
    one.release_all(false);
    assert_eq!(lock(&two, 1, NoKeyUpdate, IfLocked::Wait), RowLockAnswer::Held, "rolled back");
    two.release_all(false);
    two.begin_statement(true, None);
    assert_eq!(lock(&one, 1, NoKeyUpdate, IfLocked::Wait), RowLockAnswer::Held);
    one.release_all(true);
    assert_eq!(lock(&two, 1, KeyShare, IfLocked::Wait), RowLockAnswer::MayBeOutdated);
    two.release_all(false);
    two.begin_statement(true, None);
    assert_eq!(lock(&two, 1, KeyShare, IfLocked::Wait), RowLockAnswer::Held);
    // A wait says whether the holder has committed a change.
    for commits in [false, true] {
        assert_eq!(lock(&one, 2, Update, IfLocked::Wait), RowLockAnswer::Held);
        assert_eq!(lock(&two, 2, Share, IfLocked::Wait), RowLockAnswer::MustWait);
        one.release_all(commits);
        let waited = two.wait(&Patient::new(None), 0, Duration::from_secs(60));
        let Ok(Waited::Granted(grant)) = waited else { panic!("it is free") };
        assert_eq!(grant.is_changed, commits);
        two.release_all(false);
    }
    let names: BTreeMap<RowKey, u64> =
        (0..100_000).map(|row| (RowKey::new(1, &[row]), row)).collect();
    assert_eq!(names.len(), 100_000);
}

/// Many sessions wait for one row. Only one that holds a row for which another one waits reads
/// queues, each once.
#[test]
fn a_look_reads_each_queue_once_and_seldom_any() {
    let locks = Arc::new(RowLocks::default());
    let sessions: Vec<SessionRows> = (0..500).map(|owner| session(&locks, owner)).collect();
    for (at, one) in (0..).zip(&sessions) {
        lock(one, 10 + at, Update, IfLocked::Wait);
        let answer = lock(one, 1, Update, IfLocked::Wait);
        assert_eq!(answer == RowLockAnswer::MustWait, at > 0);
    }
    let other = session(&locks, 500);
    assert_eq!(lock(&other, 10 + 499, Update, IfLocked::Wait), RowLockAnswer::MustWait);
    let patient = Patient { waited: Duration::from_secs(1), ..Patient::new(None) };
    for one in &sessions[1..] {
        assert_eq!(one.wait(&patient, 0, Duration::ZERO).ok(), Some(Waited::NotYet));
    }
    assert_eq!(locks.waits.views.load(Relaxed), 1);
}
