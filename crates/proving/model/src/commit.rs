//! The steps of a writer: snapshot and reads, then the commit in the order of its named points.
//!
//! A writer's own reads are atomic in this model, because the readers cover torn reads. Its reads
//! need no separate steps either: the versions that a snapshot covers do not change any more.

use crate::config::Config;
use crate::install::{Displacement, Install};
use crate::snapshot::TakeMove;
use crate::state::{Header, State};
use crate::writer::{
    CommitStep, Phase, Progress, Writer, WriterMove, own_version, read_rows, written_rows,
};

/// Executes one step of a writer.
pub fn step(config: &Config, state: &mut State, index: usize, writer_move: WriterMove) {
    match writer_move {
        WriterMove::Take(take_move) => take(config, state, index, take_move),
        WriterMove::ReadHeader(row) => read_header(config, state, index, row),
        WriterMove::Swap(row) => swap(config, state, index, row),
        WriterMove::Validate(row) => validate(config, state, index, row),
        WriterMove::ReadyBuffers => {
            state.writers[index].phase = Phase::At(CommitStep::BuffersReady);
        }
        WriterMove::Install { row, word, .. } => install(config, state, index, row, word),
        WriterMove::Publish => publish(state, index),
        WriterMove::Release(row) => release(config, state, index, row),
        WriterMove::Crash => state.writers[index].crashed = true,
    }
}

fn take(config: &Config, state: &mut State, index: usize, take_move: TakeMove) {
    let Phase::Taking(mut taking) = state.writers[index].phase else {
        unreachable!("only a writer without snapshot takes one");
    };
    let way = config.snapshot_way(index);
    let taken = taking.step(way, state.slots, &mut state.frozen, take_move);
    let writer = &mut state.writers[index];
    writer.phase = Phase::Taking(taking);
    let Some(snapshot) = taken else { return };

    writer.snapshot = Some(snapshot);
    for (version, row) in writer.version_read.iter_mut().zip(&state.rows) {
        *version = row.newest_covered_by(snapshot);
    }
    if config.guards.swap_from_version_read {
        writer.expected = writer.version_read.map(Some);
        writer.phase = Phase::At(CommitStep::Started);
    } else {
        writer.phase = Phase::ReadingHeaders;
    }
}

fn read_header(config: &Config, state: &mut State, index: usize, row: usize) {
    let writer = &mut state.writers[index];
    let header = state.rows[row].header;
    // A published header keeps the version while it is locked; in our protocol a locked header
    // names the owner, and a swap from that value could never succeed.
    let is_version = !header.locked || !config.guards.version_beside_payload;
    writer.expected[row] = Some(if is_version { header.version } else { writer.version_read[row] });
    if written_rows(config, index).all(|row| writer.expected[row].is_some()) {
        writer.phase = Phase::At(CommitStep::Started);
    }
}

fn swap(config: &Config, state: &mut State, index: usize, row: usize) {
    let writer = &mut state.writers[index];
    let own = own_version(index, writer.counter);
    let expected = writer.expected[row].expect("known before the commit starts");
    if state.rows[row].header == Header::unlocked(expected) {
        let in_header = if config.guards.version_beside_payload { own } else { expected };
        state.rows[row].header = Header::locked(in_header);
        state.rows[row].append_to_order(own);
        writer.progress[row] = Progress::Held(Install::START);
    } else {
        writer.progress[row] = Progress::Refused;
    }
    // Every swap of the batch completes before any result is evaluated: otherwise a lock that is
    // taken late would remain.
    let mut rows = written_rows(config, index);
    if rows.clone().any(|row| writer.progress[row] == Progress::Untouched) {
        return;
    }
    match rows.find(|row| writer.progress[*row] == Progress::Refused) {
        Some(row) => abort(config, state, index, row),
        None => {
            let reads_none = read_rows(config, index).next().is_none();
            writer.phase = Phase::At(match config.guards.writers_validate && reads_none {
                true => CommitStep::ReadsValidated,
                false => CommitStep::LocksHeld,
            });
        }
    }
}

fn validate(config: &Config, state: &mut State, index: usize, row: usize) {
    let writer = &mut state.writers[index];
    if state.rows[row].header != Header::unlocked(writer.version_read[row]) {
        return abort(config, state, index, row);
    }
    writer.validated[row] = true;
    if read_rows(config, index).all(|row| writer.validated[row]) {
        writer.phase = Phase::At(CommitStep::ReadsValidated);
    }
}

fn install(config: &Config, state: &mut State, index: usize, row: usize, word: usize) {
    let writer = &mut state.writers[index];
    let own = own_version(index, writer.counter);
    let old = writer.expected[row].expect("known before the commit starts");
    let Progress::Held(install) = &mut writer.progress[row] else {
        unreachable!("a row is installed under its lock");
    };
    install.write(config, &mut state.rows[row], Displacement { new: own, old }, word);
    let is_complete = |row: usize| match writer.progress[row] {
        Progress::Held(install) => install.is_complete(config),
        Progress::Untouched | Progress::Refused => false,
    };
    if written_rows(config, index).all(is_complete) {
        writer.phase = Phase::At(match state.slots[index] == writer.counter {
            true => CommitStep::TimestampPublished,
            false => CommitStep::VersionsInstalled,
        });
    }
}

fn publish(state: &mut State, index: usize) {
    let writer = &mut state.writers[index];
    state.slots[index] = writer.counter;
    if writer.phase == Phase::At(CommitStep::VersionsInstalled) {
        writer.phase = Phase::At(CommitStep::TimestampPublished);
    }
}

fn release(config: &Config, state: &mut State, index: usize, row: usize) {
    let writer = &mut state.writers[index];
    let expected = writer.expected[row].expect("known before the commit starts");
    // A plain write suffices: a failed swap writes nothing, so no other process changes a held
    // header.
    state.rows[row].header = Header::unlocked(expected);
    state.rows[row].drop_from_order(own_version(index, writer.counter));
    writer.progress[row] = Progress::Untouched;
    let Phase::Aborting { row } = writer.phase else { unreachable!("only aborts release") };
    abort(config, state, index, row);
}

/// Continues an abort: releases locks first, then retries or ends.
fn abort(config: &Config, state: &mut State, index: usize, row: usize) {
    let writer = &mut state.writers[index];
    let holds = |row| matches!(writer.progress[row], Progress::Held(_));
    if written_rows(config, index).any(holds) {
        writer.phase = Phase::Aborting { row };
    } else if writer.counter < config.attempt_count_max {
        let next = Writer::initial(config, index);
        *writer = Writer { counter: writer.counter + 1, ..next };
    } else {
        writer.phase = Phase::Aborted { row };
    }
}
