//! `namdb doctor`: finds what keeps a cluster from running well on this host, and how to fix it.
//!
//! Each check has its own file: a function of data from the kernel, the registry and some trials.
//! [`code`] has their names; servers print them when they cannot start.

mod atomics;
mod attempt;
mod clock;
pub mod code;
mod descriptors;
mod detector;
mod devices;
mod encryption;
mod etcd;
mod files;
mod finding;
mod gid;
mod huge_pages;
mod left_locks;
mod locked_memory;
mod members;
mod memory;
mod mtu;
mod ports;
mod processors;
mod reachable;
mod secret;
mod shared_memory;
mod site;
mod stale_files;

use super::memory_server::CLUSTER_FILE;
use crate::bench::text::counted;
use crate::{Verdict, output};
use anyhow::{Context, Result};
use clap::Args;
use files::Host;
use finding::{Finding, Grade};
use membership::{ClusterFile, ClusterMap, Registry, RegistryError};
use namdb::host;
use rustix::process::{Resource, getrlimit};
use serde::Serialize;
use site::Site;
use std::fmt::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  namdb doctor                         this host alone
  namdb doctor --cluster               also what namdb.toml's cluster needs from it
  namdb doctor --cluster prod.toml     the same for another cluster
  namdb doctor --json                  for programs

Exit codes: 0 no problem; 1 a problem; 2 the cluster's file cannot be read.";

/// Arguments of `namdb doctor`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArguments {
    /// Also check what the cluster that FILE describes needs from this host [default: namdb.toml]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = CLUSTER_FILE)]
    cluster: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// All findings, as JSON.
#[derive(Serialize)]
struct Report {
    problems: usize,
    warnings: usize,
    checks: Vec<Finding>,
}

/// Runs the checks and prints the findings.
pub fn run(arguments: &DoctorArguments) -> Result<Verdict> {
    let cluster = match &arguments.cluster {
        Some(path) => Some(ClusterFile::load(path, &[])?),
        None => None,
    };
    let checks = examine(cluster.as_ref());
    let count = |grade: Grade| checks.iter().filter(|finding| finding.grade == grade).count();
    let (problems, warnings) = (count(Grade::Problem), count(Grade::Warning));
    let report = Report { problems, warnings, checks };
    let text = match arguments.json {
        true => {
            serde_json::to_string_pretty(&report).context("cannot write the findings as JSON")?
                + "\n"
        }
        false => text(&report),
    };
    output::print(&text)?;
    Ok(if problems == 0 { Verdict::Sound } else { Verdict::Damaged })
}

/// Runs all checks, in the order of their names.
fn examine(cluster: Option<&ClusterFile>) -> Vec<Finding> {
    let etcd = cluster.map(etcd::check);
    let may_ask = etcd.as_ref().is_some_and(|(_, may_ask)| *may_ask);
    let seen = cluster.filter(|_| may_ask).and_then(ask);
    let map = seen.as_ref().and_then(|seen| seen.as_ref().ok());
    let site = cluster.map(|cluster| Site::new(cluster, map));
    let site = site.as_ref();
    let ports = devices::read(&Host);
    let limit = |resource| getrlimit(resource).current;
    let alone = |code: code::Code| code.not_applicable("no cluster is given: --cluster FILE");
    vec![
        devices::check(&ports, site),
        gid::check(&ports),
        locked_memory::check(&Host, limit(Resource::Memlock), site),
        huge_pages::check(&Host, huge_pages::attempt(), site),
        atomics::check(&ports, site, &has_atomics, &fabric::verbs::flaw),
        mtu::check(&Host, &ports, site),
        match cluster {
            Some(cluster) => reachable::check(&reachable::targets(cluster, map)),
            None => alone(code::REACHABLE),
        },
        clock::check(&Host, site.is_some_and(|site| site.spans_hosts)),
        match cluster {
            Some(cluster) => members::check(cluster, seen.as_ref(), may_ask),
            None => alone(code::MEMBERS),
        },
        match cluster {
            Some(cluster) => stale_files::check(&cluster.directory),
            None => alone(code::STALE_FILES),
        },
        match cluster {
            Some(cluster) => ports::check(&Host, &ports::read(cluster, map)),
            None => alone(code::PORTS),
        },
        etcd.map_or_else(|| alone(code::ETCD), |(finding, _)| finding),
        memory::check(&Host, host::available_memory_bytes(), site),
        shared_memory::check(&Host, &shared_memory::attempt(), site),
        descriptors::check(limit(Resource::Nofile), site),
        processors::check(host::processor_count() as u64, site),
        cluster.map_or_else(|| alone(code::SECRET), secret::check),
        cluster.map_or_else(|| alone(code::ENCRYPTION), encryption::check),
        match cluster {
            Some(cluster) => left_locks::check(cluster, map),
            None => alone(code::LEFT_LOCKS),
        },
        match cluster {
            Some(cluster) => detector::check(cluster, map),
            None => alone(code::DETECTOR),
        },
    ]
}

/// Queries the registry; `None` if it does not exist yet, since the doctor must not create it.
fn ask(cluster: &ClusterFile) -> Option<Result<ClusterMap, RegistryError>> {
    let found = Registry::find(cluster).transpose()?;
    Some(found.and_then(|registry| registry.map()))
}

fn has_atomics(device: &str) -> Option<bool> {
    let device = fabric::verbs::Device::open(device).ok()?;
    Some(device.limits().ok()?.has_atomics)
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    for Finding { code, grade, found, fix } in &report.checks {
        let _ = writeln!(text, "{:<8} {code:<18}  {found}", grade.name());
        if let Some(fix) = fix {
            let _ = writeln!(text, "{:27}  fix: {fix}", "");
        }
    }
    let (problems, warnings) = (report.problems as u64, report.warnings as u64);
    let _ = writeln!(
        text,
        "
{}, {}",
        counted(problems, "problem"),
        counted(warnings, "warning")
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use membership::FabricKind;

    #[test]
    fn every_check_has_a_code_of_its_own_in_order() {
        let cluster = ClusterFile::development("dev", FabricKind::Shm, &[16 << 20], 1);
        for checks in [examine(None), examine(Some(&cluster))] {
            for (number, finding) in (1..).zip(&checks) {
                assert!(
                    finding.code.to_string().starts_with(&format!("D{number:02}-")),
                    "{finding:?}"
                );
                let needs_fix = matches!(finding.grade, Grade::Warning | Grade::Problem);
                assert_eq!(finding.fix.is_some(), needs_fix, "{finding:?}");
            }
            assert_eq!(checks.len(), 20);
        }
    }

    #[test]
    fn findings_are_told_with_what_mends_them() {
        let checks =
            vec![code::CLOCK.ok("fine"), code::ETCD.problem("gone", "systemctl start etcd")];
        let report = Report { problems: 1, warnings: 0, checks };
        let text = text(&report);
        assert!(text.starts_with("ok       D08-clock           fine\nproblem  D12-etcd"), "{text}");
        assert!(
            text.contains("fix: systemctl start etcd\n")
                && text.ends_with("1 problem, 0 warnings\n")
        );
        let json = serde_json::to_string(&report).expect("JSON");
        assert!(
            json.contains("\"code\":\"D12-etcd\",\"grade\":\"problem\",\"found\":\"gone\""),
            "{json}"
        );
    }
}
