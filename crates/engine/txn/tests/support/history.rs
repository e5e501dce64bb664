//! Histories of executed transactions, with checks for snapshot isolation and serializability.
//!
//! The history has all versions, so nothing is guessed: a version precedes another if the snapshot
//! of the second version's writer covers it, and the expected result of a read follows from the
//! reader's snapshot alone.

use super::program::{KEY_MAX, Program};
use layout::VersionWord;
use std::collections::{BTreeMap, BTreeSet};
use txn::{Abort, Isolation, Outcome, Snapshot};

/// The content of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cell {
    pub value: i64,
    pub group: i64,
}

/// The result of a statement, without rows that its own transaction has written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observation {
    /// A row, or its absence.
    Row(i32, Option<Cell>),
    /// The absence of a row, which must hold if the transaction commits.
    Free(i32),
    /// The existence of a row.
    Present(i32),
    /// All rows of a group, except the rows in `own`.
    Group { group: i64, found: BTreeMap<i32, Cell>, own: BTreeSet<i32> },
    /// The same row twice in one result.
    Twice(i32),
}

/// One attempt at a transaction.
#[derive(Clone, PartialEq, Debug)]
pub struct Execution {
    pub session: usize,
    pub number: i64,
    pub isolation: Isolation,
    pub snapshot: Option<Snapshot>,
    pub observations: Vec<Observation>,
    pub writes: BTreeMap<i32, Option<Cell>>,
    pub outcome: Outcome,
    pub version: VersionWord,
}

impl Execution {
    pub fn new(session: usize, program: &Program) -> Self {
        Self {
            session,
            number: program.number,
            isolation: program.isolation,
            snapshot: None,
            observations: Vec::new(),
            writes: BTreeMap::new(),
            outcome: Outcome::Aborted(Abort::User),
            version: VersionWord::NONE,
        }
    }

    fn is_committed(&self) -> bool {
        self.outcome == Outcome::Committed
    }

    fn is_writer(&self) -> bool {
        self.is_committed() && !self.writes.is_empty()
    }
}

/// The rows of a snapshot.
pub type State = BTreeMap<i32, Cell>;

/// Violations of snapshot isolation with comparable snapshots and sessions that see their own
/// commits. No outcome may be `Unknown`.
pub fn violations(history: &[Execution]) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(incomparable(history));
    found.extend(sessions_going_back(history));
    let chains = match chains(history) {
        Ok(chains) => chains,
        Err(error) => {
            found.push(error);
            return found;
        }
    };
    for (number, execution) in history.iter().enumerate() {
        let Some(snapshot) = &execution.snapshot else { continue };
        let state = state_of(history, &chains, snapshot);
        let is_committed = execution.outcome == Outcome::Committed;
        let holds = |observation: &&Observation| {
            is_committed || !matches!(observation, Observation::Free(_))
        };
        for observation in execution.observations.iter().filter(holds) {
            if let Some(error) = contradiction(observation, &state) {
                let outcome = execution.outcome;
                found.push(format!(
                    "execution {number} (program {}, {outcome:?}): {error}",
                    execution.number
                ));
            }
        }
    }
    found
}

/// Finds a long fork.
fn incomparable(history: &[Execution]) -> Option<String> {
    let snapshots: Vec<&Snapshot> = history.iter().filter_map(|e| e.snapshot.as_ref()).collect();
    for (number, one) in snapshots.iter().enumerate() {
        for other in &snapshots[..number] {
            if !one.includes(other) && !other.includes(one) {
                return Some(format!("long fork: {:?} and {:?}", one.counters(), other.counters()));
            }
        }
    }
    None
}

fn sessions_going_back(history: &[Execution]) -> Option<String> {
    for (number, later) in history.iter().enumerate() {
        let Some(snapshot) = &later.snapshot else { continue };
        for earlier in history[..number].iter().filter(|earlier| earlier.session == later.session) {
            if earlier.is_writer() && !snapshot.covers(earlier.version) {
                return Some(format!("session {} does not see its own commit", later.session));
            }
            if earlier.snapshot.as_ref().is_some_and(|earlier| !snapshot.includes(earlier)) {
                return Some(format!("session {} goes back in time", later.session));
            }
        }
    }
    None
}

/// The rows that a snapshot covers.
pub fn state_at(history: &[Execution], snapshot: &Snapshot) -> Result<State, String> {
    chains(history).map(|chains| state_of(history, &chains, snapshot))
}

/// The committed writers of each row, in the order of their versions. An error if two writers of a
/// row did not see each other: a lost update.
fn chains(history: &[Execution]) -> Result<BTreeMap<i32, Vec<usize>>, String> {
    let mut chains = BTreeMap::<i32, Vec<usize>>::new();
    for (number, writer) in history.iter().enumerate().filter(|(_, writer)| writer.is_writer()) {
        for &id in writer.writes.keys() {
            chains.entry(id).or_default().push(number);
        }
    }
    let saw = |one: usize, other: usize| {
        history[one]
            .snapshot
            .as_ref()
            .is_some_and(|snapshot| snapshot.covers(history[other].version))
    };
    for (id, chain) in &mut chains {
        for (position, &one) in chain.iter().enumerate() {
            for &other in &chain[..position] {
                if saw(one, other) == saw(other, one) {
                    let (one, other) = (&history[one], &history[other]);
                    return Err(format!("lost update of row {id}: {one:?} and {other:?}"));
                }
            }
        }
        let before = |writer: usize| chain.iter().filter(|&&other| saw(writer, other)).count();
        let mut sorted = chain.clone();
        sorted.sort_by_key(|&writer| before(writer));
        *chain = sorted;
    }
    Ok(chains)
}

fn state_of(
    history: &[Execution],
    chains: &BTreeMap<i32, Vec<usize>>,
    snapshot: &Snapshot,
) -> State {
    let newest = |(&id, chain): (&i32, &Vec<usize>)| {
        let writer =
            chain.iter().rev().find(|&&writer| snapshot.covers(history[writer].version))?;
        history[*writer].writes[&id].map(|cell| (id, cell))
    };
    chains.iter().filter_map(newest).collect()
}

fn contradiction(observation: &Observation, state: &State) -> Option<String> {
    match observation {
        Observation::Row(id, seen) if state.get(id) != seen.as_ref() => {
            Some(format!("read of row {id}: saw {seen:?}, the snapshot has {:?}", state.get(id)))
        }
        Observation::Free(id) if state.contains_key(id) => {
            Some(format!("insert of row {id} committed, the snapshot has it"))
        }
        Observation::Present(id) if !state.contains_key(id) => {
            Some(format!("insert of row {id} refused, the snapshot does not have it"))
        }
        Observation::Group { group, found, own } => {
            let in_group = |(id, cell): &(&i32, &Cell)| cell.group == *group && !own.contains(id);
            let expected: State =
                state.iter().filter(in_group).map(|(&id, &cell)| (id, cell)).collect();
            (expected != *found).then(|| {
                format!("lookup of group {group}: saw {found:?}, the snapshot has {expected:?}")
            })
        }
        Observation::Twice(id) => Some(format!("row {id} twice in one answer")),
        _ => None,
    }
}

/// Values of the group column that two rows share in any snapshot.
pub fn shared_groups(history: &[Execution]) -> Vec<String> {
    let Ok(chains) = chains(history) else { return vec!["lost update".to_owned()] };
    let mut shared = Vec::new();
    for snapshot in history.iter().filter_map(|execution| execution.snapshot.as_ref()) {
        let state = state_of(history, &chains, snapshot);
        let mut groups = BTreeMap::new();
        for (id, cell) in state {
            if let Some(other) = groups.insert(cell.group, id) {
                shared.push(format!("rows {other} and {id} share group {}", cell.group));
            }
        }
    }
    shared
}

/// The transactions of a dependency cycle, if there is one: the committed transactions are then not
/// serializable. Meant for histories without violations.
pub fn cycle(history: &[Execution]) -> Option<Vec<i64>> {
    let chains = chains(history).ok()?;
    let count = history.len();
    let mut edges = vec![BTreeSet::new(); count];
    for chain in chains.values() {
        for pair in chain.windows(2) {
            edges[pair[0]].insert(pair[1]);
        }
    }
    for reader in (0..count).filter(|&reader| history[reader].is_committed()) {
        for observation in &history[reader].observations {
            for id in 0..=KEY_MAX {
                add_reads(history, &chains, reader, observation, id, &mut edges);
            }
        }
    }
    let mut path = Vec::new();
    let mut state = vec![0_u8; count];
    (0..count)
        .find_map(|from| walk(from, &edges, &mut state, &mut path))
        .map(|cycle| cycle.into_iter().map(|number| history[number].number).collect())
}

/// Adds the edges from the writer of the version read, and to the next writer that changes the
/// result.
fn add_reads(
    history: &[Execution],
    chains: &BTreeMap<i32, Vec<usize>>,
    reader: usize,
    observation: &Observation,
    id: i32,
    edges: &mut [BTreeSet<usize>],
) {
    let answer = |cell: Option<Cell>| match observation {
        Observation::Row(_, _) => cell.map(|cell| cell.value),
        Observation::Present(_) | Observation::Free(_) => cell.map(|_| 1),
        Observation::Group { group, .. } => {
            cell.filter(|cell| cell.group == *group).map(|cell| cell.value)
        }
        Observation::Twice(_) => None,
    };
    let is_read = match observation {
        Observation::Row(read, _) | Observation::Present(read) | Observation::Free(read) => {
            *read == id
        }
        Observation::Group { own, .. } => !own.contains(&id),
        Observation::Twice(_) => false,
    };
    let (true, Some(chain)) = (is_read, chains.get(&id)) else { return };
    let snapshot =
        history[reader].snapshot.as_ref().expect("a committed transaction has a snapshot");
    let covered =
        chain.iter().take_while(|&&writer| snapshot.covers(history[writer].version)).count();
    let mut current = None;
    if covered > 0 {
        edges[chain[covered - 1]].insert(reader);
        current = history[chain[covered - 1]].writes[&id];
    }
    let later = chain[covered..].iter().copied();
    let mut changing =
        later.filter(|&writer| answer(history[writer].writes[&id]) != answer(current));
    if let Some(writer) = changing.next().filter(|&writer| writer != reader) {
        edges[reader].insert(writer);
    }
}

fn walk(
    at: usize,
    edges: &[BTreeSet<usize>],
    state: &mut [u8],
    path: &mut Vec<usize>,
) -> Option<Vec<usize>> {
    match state[at] {
        2 => return None,
        1 => {
            let first = path.iter().position(|&other| other == at).expect("it is on the path");
            return Some(path[first..].to_vec());
        }
        _ => {}
    }
    state[at] = 1;
    path.push(at);
    for &next in &edges[at] {
        let cycle = walk(next, edges, state, path);
        if cycle.is_some() {
            return cycle;
        }
    }
    path.pop();
    state[at] = 2;
    None
}
