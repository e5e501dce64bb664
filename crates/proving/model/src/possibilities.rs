//! The states that must be reachable: a model in which nothing happens would keep every promise.

use crate::config::Config;
use crate::install::{Install, InstallWord};
use crate::protocol::Protocol;
use crate::reader;
use crate::row_read::RowRead;
use crate::state::{Counters, Row, State};
use crate::writer::{CommitStep, Phase};
use stateright::Property;

/// Situations that some run must reach, so that the promises are not vacuous.
pub fn possibilities(config: &Config) -> Vec<Property<Protocol>> {
    let mut possibilities = vec![
        Property::sometimes("both writers commit", |_, state: &State| {
            let published = Phase::At(CommitStep::TimestampPublished);
            state.writers.iter().all(|writer| writer.phase == published)
        }),
        Property::sometimes("a row is read in place while locked", |_, state| {
            reads(state).any(|(row, read, _)| match read {
                RowRead::InPlace { version, words } => {
                    let all_read = words.iter().all(Option::is_some);
                    all_read && row.header.locked && row.body.version == Some(version)
                }
                _ => false,
            })
        }),
        Property::sometimes("an old version is read while the new one is installed", |_, state| {
            reads(state).any(|(row, read, snapshot)| {
                let is_old = matches!(read, RowRead::Old { .. });
                is_old && !row.body.is_whole() && row.is_readable_at(snapshot)
            })
        }),
    ];
    if config.writers[0].writes == config.writers[1].writes {
        possibilities.push(Property::sometimes("a writer is refused", |_, state: &State| {
            state.writers.iter().any(|writer| matches!(writer.phase, Phase::Aborted { .. }))
        }));
    }
    if config.crashes {
        possibilities.extend(deaths());
        if Install::has(config, InstallWord::Version) {
            possibilities.push(Property::sometimes("a writer dies at PayloadWritten", |p, s| {
                dies_at(p, s, CommitStep::PayloadWritten)
            }));
        }
    }
    if config.crashes && config.guards.writers_validate {
        possibilities.push(Property::sometimes("a writer dies at ReadsValidated", |p, s| {
            dies_at(p, s, CommitStep::ReadsValidated)
        }));
    }
    possibilities
}

fn reads(state: &State) -> impl Iterator<Item = (&Row, RowRead, Counters)> {
    state.readers.iter().filter_map(|reader| match reader.phase {
        reader::Phase::Reading { row, read } => Some((&state.rows[row], read, reader.snapshot?)),
        _ => None,
    })
}

fn deaths() -> Vec<Property<Protocol>> {
    use CommitStep::*;
    vec![
        Property::sometimes("a writer dies at Started", |p, s| dies_at(p, s, Started)),
        Property::sometimes("a writer dies at LocksHeld", |p, s| dies_at(p, s, LocksHeld)),
        Property::sometimes("a writer dies at BuffersReady", |p, s| dies_at(p, s, BuffersReady)),
        Property::sometimes("a writer dies at OldVersionWritten", |p, s| {
            dies_at(p, s, OldVersionWritten)
        }),
        Property::sometimes("a writer dies at HeaderWritten", |p, s| dies_at(p, s, HeaderWritten)),
        Property::sometimes("a writer dies at VersionsInstalled", |p, s| {
            dies_at(p, s, VersionsInstalled)
        }),
        Property::sometimes("a writer dies at TimestampPublished", |p, s| {
            dies_at(p, s, TimestampPublished)
        }),
        Property::sometimes("a writer dies while it gives its locks back", |_, state: &State| {
            let aborting = |phase| matches!(phase, Phase::Aborting { .. });
            state.writers.iter().any(|writer| writer.crashed && aborting(writer.phase))
        }),
        Property::sometimes("a writer dies at LocksReleased", |p, s| dies_at(p, s, LocksReleased)),
    ]
}

fn dies_at(protocol: &Protocol, state: &State, step: CommitStep) -> bool {
    let mut dead = state.writers.iter().filter(|writer| writer.crashed);
    dead.any(|writer| writer.commit_steps(&protocol.config).contains(&step))
}
