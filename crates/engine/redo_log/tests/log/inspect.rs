//! Tools see each segment and each block.

use crate::model::{CONFIG, DATABASE, Model, directory};
use fabric::run_now;
use redo_log::inspect::Content;
use redo_log::marker::State;
use redo_log::segment::BLOCKS;
use redo_log::{Log, Position};
use sim::disk::{DiskConfig, SimulatedDisk};

#[test]
fn blocks_fill_the_segments_of_a_closed_log() {
    let disk = SimulatedDisk::new(DiskConfig::new(3));
    let mut model = Model::new(3);
    model.takes_checkpoints = false;
    run_now(async {
        let mut log = Log::create(directory(&disk), CONFIG).await?;
        model.run(&mut log, 150).await?;
        model.close(log).await
    })
    .expect("the disk works");
    let reader = storage::Directory::read_only(disk.access());
    let surveyed = run_now(redo_log::survey::survey(&reader, DATABASE, Position::START));
    let (survey, damage) = surveyed.expect("the disk works");
    assert!(damage.is_none() && survey.is_closed() && survey.segment_count() > 2);
    let (mut records, mut last) = (0, 0);
    for (index, segment) in survey.segments().enumerate() {
        let is_last = index + 1 == survey.segment_count();
        assert_eq!(segment.state, if is_last { State::Closed } else { State::Sealed });
        assert_eq!((segment.segment, segment.synced), (index as u64 + 1, segment.end));
        assert_eq!(segment.previous_group, last);
        let blocks = run_now(survey.blocks(&reader, DATABASE, index)).expect("the disk works");
        let mut offset = BLOCKS;
        for block in &blocks {
            assert_eq!((block.offset, block.group), (offset, last + 1));
            offset += block.bytes;
            if let Content::Group(record) = &block.content {
                (records, last) = (records + 1, block.group);
                let newest = &survey.last_group().expect("it has groups").record.counters;
                assert!(record.counters.iter().zip(newest).all(|(then, now)| then <= now));
            }
        }
        assert_eq!(offset, segment.end);
        assert!(matches!(blocks.last().map(|block| &block.content), Some(Content::Group(_))));
    }
    assert_eq!((records, last), (survey.group_records, records));
}
