//! Measures simulated clusters.

use super::{PointRecorder, SimulatedArguments, tell};
use crate::bench::progress::Progress;
use crate::bench::text::counted;
use ::microbench::experiment::Choice;
use anyhow::{Context, Result};
use simulated_cluster::{LANES, Plan};
use spade::measurement::{Effort, Parameters, Place, Point};

/// The points of each requested cluster.
pub fn choices(
    profile: &str,
    arguments: &SimulatedArguments,
    effort: Effort,
) -> Result<Vec<Choice>> {
    let lanes = arguments.lanes.unwrap_or(LANES);
    let cluster = |&machines: &u16| {
        let world = simulated_cluster::world(profile, machines, lanes)?;
        // Three copies need three machines.
        let replicates = machines >= 3;
        Ok(Choice { world, effort, places: Place::ALL.to_vec(), replicates })
    };
    arguments.machines.0.iter().map(cluster).collect()
}

/// Measures the missing points of each cluster.
pub fn run(clusters: &[Choice], recorder: &mut PointRecorder) -> Result<Vec<Choice>> {
    for choice in clusters {
        let (groups, missing) = recorder.missing(choice);
        let progress = Progress::begin("measuring", missing);
        let mut done = 0;
        for group in groups {
            if recorder.is_over() {
                break;
            }
            done = measure(&group, recorder, (&progress, done))?;
        }
        progress.finish(&format!(
            "{} of {}, {} each",
            counted(done, "point"),
            counted(u64::from(choice.world.machines), "machine"),
            counted(u64::from(choice.world.lanes), "lane")
        ));
    }
    Ok(clusters.to_vec())
}

/// Measures the points of a table up to the last missing one, and keeps them. Points that the file
/// had already come out the same.
fn measure(
    group: &[Parameters],
    recorder: &mut PointRecorder,
    (progress, done): (&Progress, u64),
) -> Result<u64> {
    let last = group.iter().rposition(|point| !recorder.has(point)).map_or(0, |last| last + 1);
    let (group, mut done) = (&group[..last], done);
    let plan = Plan { effort: recorder.version.effort, seed: recorder.version.seed };
    tell(progress, done, &group[0]);
    let mut points = Vec::new();
    let mut take = |point: Point| {
        done += u64::from(!recorder.has(&point.parameters));
        tell(progress, done, &point.parameters);
        points.push(point);
        !recorder.is_over()
    };
    let measured = simulated_cluster::measure(plan, group, &mut take);
    recorder.keep(points)?;
    measured.context("cannot measure the cluster")?;
    Ok(done)
}
