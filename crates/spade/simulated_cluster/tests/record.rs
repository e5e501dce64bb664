//! A run that is interrupted and continued leaves the same file as an uninterrupted one.

use microbench::experiment::Choice;
use microbench::{Record, version};
use simulated_cluster::Plan;
use spade_format::measurement::{Effort, Operation, Parameters, Place, Point};
use std::path::{Path, PathBuf};

const PLAN: Plan = Plan { effort: Effort::Quick, seed: 7 };

fn file(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("measure-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// The lookups and updates of two tables.
fn groups() -> Vec<Vec<Parameters>> {
    let world = simulated_cluster::world("connectx3-fdr", 2, 2).expect("it is built in");
    let (effort, places) = (Effort::Quick, vec![Place::OneSided]);
    let mut groups = Choice { world, effort, places, replicates: false }.groups();
    groups.truncate(2);
    for group in &mut groups {
        group.retain(|point| matches!(point.operation, Operation::Lookup | Operation::Update));
    }
    groups
}

/// Measures the points missing in the file, and stops after `most` points.
fn run(path: &Path, most: usize) {
    let mut record = Record::open(path).expect("it can be written");
    let version = version(PLAN.effort, PLAN.seed);
    let mut kept = 0;
    for group in groups() {
        if group.iter().all(|point| record.has(point, &version)) {
            continue;
        }
        let mut take = |point: Point| {
            if kept == most {
                return false;
            }
            kept += usize::from(!record.has(&point.parameters, &version));
            record.keep([point]).expect("it can be written");
            true
        };
        simulated_cluster::measure(PLAN, &group, &mut take).expect("the points can be");
    }
}

#[test]
fn an_interrupted_run_continues_the_same_file() {
    let (whole, parts) = (file("whole.json"), file("parts.json"));
    run(&whole, usize::MAX);
    for _ in 0..20 {
        run(&parts, 1);
    }
    let text = |path: &Path| std::fs::read_to_string(path).expect("it was written");
    assert_eq!(text(&whole), text(&parts));
    let all: usize = groups().iter().map(Vec::len).sum();
    assert_eq!(Record::open(&whole).expect("it is one").measurements().points().len(), all);
}

/// Two runs with the same open file, each with its own points.
#[test]
fn points_of_a_concurrent_run_are_kept() {
    let (whole, shared) = (file("alone.json"), file("shared.json"));
    let mut points = Vec::new();
    let mut take = |point: Point| {
        points.push(point);
        true
    };
    simulated_cluster::measure(PLAN, &groups()[0], &mut take).expect("the points can be");
    let mut record = Record::open(&whole).expect("it can be written");
    record.keep(points.iter().cloned()).expect("it can be written");
    let mut runs = [0, 1].map(|_| Record::open(&shared).expect("it can be written"));
    for (number, point) in points.iter().enumerate() {
        runs[number % 2].keep([point.clone()]).expect("it can be written");
    }
    let text = |path: &Path| std::fs::read_to_string(path).expect("it was written");
    assert_eq!(text(&shared), text(&whole));
}

#[test]
fn other_files_are_left_alone() {
    let path = file("other.json");
    std::fs::write(&path, "a letter").expect("there is room");
    let refused = Record::open(&path).expect_err("it is a letter").to_string();
    assert!(refused.contains("cannot be continued") && refused.contains("name another file"));
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "a letter");
    let nowhere = Record::open(&path.join("below.json")).expect_err("a file is no folder");
    assert!(nowhere.to_string().starts_with("cannot read"), "{nowhere}");
}
