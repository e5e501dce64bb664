//! Parts of a benchmark's run on compute servers: creating the order, and executing it.
//!
//! Decision: docs/decisions/0095-compute-servers-execute-orders.md

use super::bench::BenchArguments;
use super::choice::{CodeName, Job};
use super::named;
use super::remote_calls::RemoteCalls;
use crate::bench::AnyWorkload;
use crate::bench::driver::{self, RunPlan, Watcher};
use crate::bench::order::{Done, Order};
use crate::bench::report::Parameters;
use crate::bench::run_record::RunRecord;
use crate::bench::site::{Site, SiteWorkload};
use crate::servers::cluster_client::ClusterClient;
use crate::servers::cluster_site::{self, SiteJob};
use crate::servers::compute::Surroundings;
use anyhow::Result;
use clap::{Parser, ValueEnum};
use namdb::procedures::Code;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The option that names a design.
const DESIGN: &str = "--design";
/// The option that selects how procedures are executed.
const CODE: &str = "--code";

/// This process's arguments for compute servers. The folder and its design get absolute paths,
/// since compute servers may run elsewhere. `code` makes them execute procedures as this process
/// does, or report that they cannot.
pub fn ordered_arguments(code: Option<CodeName>) -> Vec<String> {
    let given = named::with_folder(std::env::args_os().collect());
    let words = given.into_iter().skip(2).map(|word| word.to_string_lossy().into_owned());
    with_code(with_whole_paths(words), code)
}

fn with_code(mut words: Vec<String>, code: Option<CodeName>) -> Vec<String> {
    let is_said = words.iter().any(|word| word.split('=').next() == Some(CODE));
    let name = code.filter(|_| !is_said).and_then(|code| code.to_possible_value());
    words.extend(name.map(|name| format!("{CODE}={}", name.get_name())));
    words
}

fn with_whole_paths(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words: Vec<String> = words.collect();
    if words.first().is_none_or(|folder| folder != named::FOLDER) {
        return words;
    }
    let mut is_path = true;
    for word in &mut words[1..] {
        if std::mem::replace(&mut is_path, word == DESIGN) {
            *word = whole_path(word);
        } else if let Some(file) = word.strip_prefix(DESIGN).and_then(|rest| rest.strip_prefix('='))
        {
            *word = format!("{DESIGN}={}", whole_path(file));
        }
    }
    words
}

/// The absolute path of an existing file; any other path unchanged.
pub fn whole_path(path: &str) -> String {
    let whole = Path::new(path).canonicalize();
    whole.map_or_else(|_| path.to_owned(), |whole| whole.display().to_string())
}

/// The benchmark that a compute server is ordered to run.
#[derive(Parser)]
#[command(name = "namdb bench")]
struct Ordered {
    #[command(flatten)]
    bench: BenchArguments,
}

/// Runs a part of a benchmark on a compute server. `code` is generated code in addition to that of
/// the shipped workloads.
pub fn carry_out(
    code: &[Code],
    order: &Order,
    surroundings: &Surroundings,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Done> {
    let words = std::iter::once("namdb bench").chain(order.arguments.iter().map(String::as_str));
    let mut bench = Ordered::try_parse_from(words)?.bench;
    // Only the process that the user started writes files.
    bench.choice.forget_files();
    bench.choice.link(code);
    let world = &bench.world;
    let plan = RunPlan {
        threads: order.threads,
        warm_up_s: bench.warm_up,
        window_s: bench.seconds,
        windows: 1,
        seed: world.seed,
        rate: bench.rate,
        part: order.part,
        run_metrics: Some(&surroundings.run_metrics),
    };
    let remote_calls = bench.cluster_run.remote_calls.unwrap_or_default();
    let (client, lanes) = (&surroundings.client, order.lanes);
    let job = RunPart { client, lanes, remote_calls, plan, stop, watcher };
    bench.choice.run(world.isolation.into(), order.threads_in_all, world.seed, job)
}

/// A part of a run, on loaded tables.
struct RunPart<'a> {
    client: &'a ClusterClient,
    lanes: u32,
    remote_calls: RemoteCalls,
    plan: RunPlan<'a>,
    stop: &'a AtomicBool,
    watcher: &'a mut dyn Watcher,
}

impl Job for RunPart<'_> {
    type Output = Done;

    fn run<W: AnyWorkload>(self, mut workload: W, _parameters: Parameters) -> Result<Done> {
        let remote_calls = self.remote_calls;
        cluster_site::run_at_home(self.client, self.lanes, &mut workload, remote_calls, self)
    }
}

impl<W> SiteJob<W> for RunPart<'_> {
    type Output = Done;

    fn run<S: Site>(self, site: &S, workload: &W) -> Result<Done>
    where
        W: SiteWorkload<S>,
    {
        workload.take_part(self.plan.part.number, self.plan.part.of);
        let run = driver::run(site, workload, &self.plan, self.stop, self.watcher)?;
        Ok(Done { run: RunRecord::of(&run), testimony: workload.testimony() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compute_servers_get_whole_paths_of_folder_and_design() {
        let here = std::env::current_dir().expect("there is one").display().to_string();
        let given = |words: &str| with_whole_paths(words.split(' ').map(str::to_owned)).join(" ");
        let apart = "folder src --design Cargo.toml --code plans";
        let expected = format!("folder {here}/src --design {here}/Cargo.toml --code plans");
        assert_eq!(given(apart), expected);
        let together = "folder src --threads 1 --design=Cargo.toml src";
        let expected = format!("folder {here}/src --threads 1 --design={here}/Cargo.toml src");
        assert_eq!(given(together), expected);
        assert_eq!(given("tpcc src --design Cargo.toml"), "tpcc src --design Cargo.toml");
        assert_eq!(given("folder nowhere"), "folder nowhere");
    }

    #[test]
    fn compute_servers_are_told_what_carries_out_procedures() {
        let ordered = |words: &str, code| {
            with_code(words.split(' ').map(str::to_owned).collect(), code).join(" ")
        };
        let generated = Some(CodeName::Generated);
        assert_eq!(ordered("folder mine", generated), "folder mine --code=generated");
        assert_eq!(ordered("folder mine", Some(CodeName::Plans)), "folder mine --code=plans");
        for said in ["folder mine --code generated", "folder --code=plans mine"] {
            assert_eq!(ordered(said, generated), said);
        }
        assert_eq!(ordered("tpcc", None), "tpcc");
        let options = |code: &str| serde_json::json!({ "code": code });
        assert_eq!(CodeName::of(&options("generated code")), generated);
        assert_eq!(CodeName::of(&options("the executor of plans")), Some(CodeName::Plans));
        assert_eq!(CodeName::of(&serde_json::json!({ "records": 1 })), None);
    }
}
