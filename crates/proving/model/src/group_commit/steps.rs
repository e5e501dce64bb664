//! The steps of lanes, reader and flusher, and the crash.

use super::state::{
    Entry, Group, Guards, LANES, OfLife, Phase, Reading, Row, Snapshot, State, Version, Work,
    covers,
};
use stateright::{Model, Property};

/// The model with its bounds.
pub struct GroupCommit {
    pub guards: Guards,
    /// Transactions of each lane in the first life; one in the later ones.
    pub transactions: u8,
    /// Groups in each life.
    pub groups: u8,
    pub crashes: u8,
    /// Readings in each life.
    pub reads: u8,
    /// Rows that lanes write: both, or the first one only.
    pub rows: u8,
    /// Whether a transaction may abort although it holds its locks.
    pub has_late_aborts: bool,
    /// The properties that are checked.
    pub properties: Vec<Property<GroupCommit>>,
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// A lane begins a transaction that writes this row.
    Begin {
        lane: usize,
        row: u8,
    },
    /// The lane's next step.
    Advance {
        lane: usize,
    },
    /// The lane's transaction aborts although it holds its locks.
    Abort {
        lane: usize,
    },
    Report {
        lane: usize,
    },
    Read,
    ReportReading,
    TakeSnapshot,
    TakeBuffer {
        lane: usize,
    },
    Write,
    Sync,
    Crash {
        survives: Survives,
    },
}

/// The part that survives of a group that was written and not synced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Survives {
    Nothing,
    Entries,
    All,
    /// The record with the entries of one lane; only if nothing ties it to all of them.
    PartOf(usize),
}

fn entry(life: u8, work: &Work) -> Entry {
    let Work { row, read, version, replaces, .. } = *work;
    Entry { life, version, row, replaces, read }
}

fn insert<T: Ord>(set: &mut Vec<T>, element: T) {
    if let Err(at) = set.binary_search(&element) {
        set.insert(at, element);
    }
}

impl GroupCommit {
    fn advance(&self, state: &mut State, lane: usize) {
        let (life, guards) = (state.life, self.guards);
        let append = |state: &mut State, work: &Work| state.buffers[lane].push(entry(life, work));
        let phase = match state.lanes[lane].phase {
            Phase::Idle => return,
            Phase::Begun(mut work) => {
                state.lanes[lane].number += 1;
                work.version = Version { lane: lane as u8, number: state.lanes[lane].number };
                if !guards.append_behind_locks {
                    append(state, &work);
                }
                let row = &mut state.rows[usize::from(work.row)];
                let current = *row.versions.last().expect("a row has a version");
                if row.is_locked || !covers(&work.snapshot, current) {
                    return abort(state, lane, &work);
                }
                row.is_locked = true;
                Phase::Locked(work)
            }
            Phase::Locked(work) => {
                if guards.append_behind_locks && guards.append_before_publish {
                    append(state, &work);
                }
                Phase::Appended(work)
            }
            Phase::Appended(work) => {
                let row = &mut state.rows[usize::from(work.row)];
                row.versions.push(work.version);
                row.is_locked = false;
                Phase::Installed(work)
            }
            Phase::Installed(work) => {
                state.vector[lane] = work.version.number;
                Phase::Published(work)
            }
            Phase::Published(work) => {
                if !guards.append_before_publish
                    && !state.buffers[lane].contains(&entry(life, &work))
                {
                    append(state, &work);
                }
                return;
            }
        };
        state.lanes[lane].phase = phase;
    }

    fn may_report(&self, state: &State, lane: usize) -> Option<Work> {
        let Phase::Published(work) = state.lanes[lane].phase else { return None };
        let is_durable = state.durable.is_some_and(|durable| covers(&durable, work.version));
        (is_durable || !self.guards.commits_wait).then_some(work)
    }

    fn may_report_reading(&self, state: &State) -> Option<Reading> {
        let reading = state.reader?;
        let is_durable = state
            .durable
            .is_some_and(|durable| (0..LANES).all(|lane| reading.snapshot[lane] <= durable[lane]));
        (is_durable || !self.guards.readers_wait).then_some(reading)
    }

    /// The lanes may be idle behind a transaction that was never reported: its program has gone.
    fn begin(state: &mut State, lane: usize, row: u8) {
        let snapshot = state.vector;
        let read = state.visible(1 - usize::from(row), &snapshot);
        let replaces = state.visible(usize::from(row), &snapshot);
        let work = Work { snapshot, row, read, version: Version::LOADED, replaces };
        state.lanes[lane].left -= 1;
        state.lanes[lane].phase = Phase::Begun(work);
    }

    fn take_buffer(&self, state: &mut State, lane: usize) {
        let entries = std::mem::take(&mut state.buffers[lane]);
        let group = state.group.get_or_insert_with(new_group);
        group.taken[lane] = true;
        group.entries.extend(entries);
        group.entries.sort_unstable();
    }

    fn crash(&self, state: &mut State, survives: Survives) {
        if let Some(Group { snapshot, entries, is_written: true, .. }) = state.group.take() {
            let is_kept = |entry: &Entry| match survives {
                Survives::Nothing => false,
                Survives::Entries | Survives::All => true,
                Survives::PartOf(lane) => usize::from(entry.version.lane) == lane,
            };
            let kept = entries.into_iter().filter(is_kept);
            kept.for_each(|entry| insert(&mut state.disk.entries, entry));
            if matches!(survives, Survives::PartOf(_) | Survives::All) {
                state.disk.groups[usize::from(state.life)] = snapshot;
            }
        }
        self.restart(state);
    }

    /// Brings back what counts, and begins the next life.
    fn restart(&self, state: &mut State) {
        let back = state.disk.counting(&self.guards);
        let is_back = |entry: &Entry| back.contains(entry);
        let lost = state.disk.entries.iter().filter(|entry| !is_back(entry));
        let lost: Vec<OfLife> = lost.map(|entry| (entry.life, entry.version)).collect();
        lost.into_iter().for_each(|version| insert(&mut state.dropped, version));
        // New numbers are above all numbers in the log.
        let highest = |lane: usize| {
            let entries =
                state.disk.entries.iter().filter(|entry| entry.version.lane == lane as u8);
            let groups = state.disk.groups.iter().flatten().map(|snapshot| snapshot[lane]);
            entries.map(|entry| entry.version.number).chain(groups).max().unwrap_or(0)
        };
        let numbers: Snapshot = [highest(0), highest(1)];
        let brought_back = Some(back);
        let mut next = self.life(state, numbers);
        next.brought_back = brought_back;
        *state = next;
    }

    fn life(&self, state: &State, numbers: Snapshot) -> State {
        let mut next = State::initial(1, self.groups, self.reads);
        next.life = state.life + 1;
        next.vector = numbers;
        for (lane, number) in next.lanes.iter_mut().zip(numbers) {
            lane.number = number;
        }
        next.disk = state.disk.clone();
        next.disk.groups.push(None);
        next.acknowledged.clone_from(&state.acknowledged);
        next.shown.clone_from(&state.shown);
        next.aborted.clone_from(&state.aborted);
        next.dropped.clone_from(&state.dropped);
        next
    }
}

fn new_group() -> Group {
    Group { snapshot: None, taken: [false; LANES], entries: Vec::new(), is_written: false }
}

fn abort(state: &mut State, lane: usize, work: &Work) {
    insert(&mut state.aborted, (state.life, work.version));
    state.lanes[lane].phase = Phase::Idle;
}

fn unlock(row: &mut Row) {
    row.is_locked = false;
}

impl Model for GroupCommit {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::initial(self.transactions, self.groups, self.reads)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for lane in 0..LANES {
            let (Phase::Idle | Phase::Published(_)) = state.lanes[lane].phase else {
                actions.push(Action::Advance { lane });
                if self.has_late_aborts && matches!(state.lanes[lane].phase, Phase::Locked(_)) {
                    actions.push(Action::Abort { lane });
                }
                continue;
            };
            if state.lanes[lane].phase == Phase::Idle && state.lanes[lane].left > 0 {
                actions.extend((0..self.rows).map(|row| Action::Begin { lane, row }));
            }
            if matches!(state.lanes[lane].phase, Phase::Published(_)) {
                if !self.guards.append_before_publish {
                    actions.push(Action::Advance { lane });
                }
                if self.may_report(state, lane).is_some() {
                    actions.push(Action::Report { lane });
                }
            }
        }
        if state.reader.is_none() && state.reads_left > 0 {
            actions.push(Action::Read);
        }
        if self.may_report_reading(state).is_some() {
            actions.push(Action::ReportReading);
        }
        self.flusher_actions(state, actions);
        if state.life < self.crashes {
            let is_written = state.group.as_ref().is_some_and(|group| group.is_written);
            let mut all = vec![Survives::Nothing];
            if is_written {
                all.extend([Survives::Entries, Survives::All]);
                if !self.guards.record_needs_entries {
                    all.extend((0..LANES).map(Survives::PartOf));
                }
            }
            actions.extend(all.into_iter().map(|survives| Action::Crash { survives }));
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Begin { lane, row } => Self::begin(&mut state, lane, row),
            Action::Advance { lane } => self.advance(&mut state, lane),
            Action::Abort { lane } => {
                let Phase::Locked(work) = state.lanes[lane].phase else { return None };
                unlock(&mut state.rows[usize::from(work.row)]);
                abort(&mut state, lane, &work);
            }
            Action::Report { lane } => {
                let work = self.may_report(&state, lane)?;
                insert(&mut state.acknowledged, (state.life, work.version));
                state.lanes[lane].phase = Phase::Idle;
            }
            Action::Read => {
                let snapshot = state.vector;
                let versions = [0, 1].map(|row| state.visible(row, &snapshot));
                state.reader = Some(Reading { snapshot, versions });
                state.reads_left -= 1;
            }
            Action::ReportReading => {
                let reading = self.may_report_reading(&state)?;
                for version in reading.versions.into_iter().filter(|&v| v != Version::LOADED) {
                    insert(&mut state.shown, (state.life, version));
                }
                state.reader = None;
            }
            Action::TakeSnapshot => {
                state.group.get_or_insert_with(new_group).snapshot = Some(last.vector);
            }
            Action::TakeBuffer { lane } => self.take_buffer(&mut state, lane),
            Action::Write => state.group.as_mut()?.is_written = true,
            Action::Sync => {
                let Group { snapshot, entries, .. } = state.group.take()?;
                entries.into_iter().for_each(|entry| insert(&mut state.disk.entries, entry));
                state.disk.groups[usize::from(state.life)] = snapshot;
                state.durable = snapshot;
                state.groups_left -= 1;
            }
            Action::Crash { survives } => self.crash(&mut state, survives),
        }
        (state != *last).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        self.properties.clone()
    }
}

impl GroupCommit {
    fn flusher_actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.groups_left == 0 {
            return;
        }
        let none = new_group();
        let group = state.group.as_ref().unwrap_or(&none);
        if group.is_written {
            return actions.push(Action::Sync);
        }
        let all_taken = group.taken == [true; LANES];
        let (has_snapshot, is_ordered) =
            (group.snapshot.is_some(), self.guards.buffers_behind_snapshot);
        if !has_snapshot && (is_ordered || all_taken) {
            actions.push(Action::TakeSnapshot);
        }
        if has_snapshot == is_ordered {
            // Lanes are alike, so one order of them is enough.
            let open = (0..LANES).find(|&lane| !group.taken[lane]);
            actions.extend(open.map(|lane| Action::TakeBuffer { lane }));
        }
        if has_snapshot && all_taken {
            actions.push(Action::Write);
        }
    }
}
