//! Parts of a benchmark's run on compute servers: creating the order, and executing it.
//!
//! Decision: docs/decisions/0095-compute-servers-execute-orders.md

use super::bench::BenchArguments;
use super::choice::{Choice, CodeName, Job};
use super::named;
use super::remote_calls::RemoteCalls;
use crate::bench::AnyWorkload;
use crate::bench::compute_servers::OrderedWords;
use crate::bench::driver::{self, RunPlan, Watcher};
use crate::bench::order::{Done, Order, SHIPPED};
use crate::bench::report::Parameters;
use crate::bench::run_record::RunRecord;
use crate::bench::site::{Site, SiteWorkload};
use crate::servers::cluster_client::ClusterClient;
use crate::servers::cluster_site::{self, SiteJob};
use crate::servers::compute::Surroundings;
use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use folder_benchmark::ShippedFolder;
use namdb::procedures::Code;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The option that names a design.
const DESIGN: &str = "--design";
/// The option that selects how procedures are executed.
const CODE: &str = "--code";
/// Options of the process that the user started, each with a value: files, folders and addresses on
/// its host, and the cluster, which the compute servers know.
const OWN_OPTIONS: [&str; 6] =
    ["--json", "--history", "--data", "--metrics", "--set", "--compute-servers"];
/// The same with an optional value.
const OWN_CLUSTER: &str = "--cluster";

/// This process's arguments for compute servers: without paths, with the files of a workload
/// folder. `code` makes them execute procedures as this process does, or report that they cannot.
pub fn ordered_words(code: Option<CodeName>) -> Result<OrderedWords> {
    let given = named::with_folder(std::env::args_os().collect());
    let words = given.into_iter().skip(2).map(|word| word.to_string_lossy().into_owned());
    let (words, folder) = with_files(without_own(words))?;
    Ok(OrderedWords { arguments: with_code(words, code), folder })
}

/// An order to run the workload of a folder with this design and these further arguments.
pub fn ordered_folder(
    folder: &Path,
    design: Option<&Path>,
    further: Vec<String>,
) -> Result<OrderedWords> {
    let mut arguments = vec![named::FOLDER.to_owned(), SHIPPED.to_owned()];
    arguments.extend(further);
    Ok(OrderedWords { arguments, folder: Some(ShippedFolder::read(folder, design)?) })
}

fn with_code(mut words: Vec<String>, code: Option<CodeName>) -> Vec<String> {
    let is_said = words.iter().any(|word| word.split('=').next() == Some(CODE));
    let name = code.filter(|_| !is_said).and_then(|code| code.to_possible_value());
    words.extend(name.map(|name| format!("{CODE}={}", name.get_name())));
    words
}

/// Leaves out the options of this process.
fn without_own(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut words = words.peekable();
    let mut left = Vec::new();
    while let Some(word) = words.next() {
        let (name, is_whole) = match word.split_once('=') {
            Some((name, _)) => (name, true),
            None => (word.as_str(), false),
        };
        let is_cluster = name == OWN_CLUSTER;
        if !is_cluster && !OWN_OPTIONS.contains(&name) {
            left.push(word);
        } else if !is_whole {
            // The value, which `--cluster` may lack.
            let _ = words.next_if(|next| !is_cluster || !next.starts_with('-'));
        }
    }
    left
}

/// Replaces the path of a workload folder by its files. Its design is shipped with them.
fn with_files(words: Vec<String>) -> Result<(Vec<String>, Option<ShippedFolder>)> {
    let mut words = words.into_iter();
    let first = words.next();
    if first.as_deref() != Some(named::FOLDER) {
        return Ok((first.into_iter().chain(words).collect(), None));
    }
    let folder = words.next().context("the folder of the workload is missing")?;
    let (mut design, mut further) = (None, Vec::new());
    while let Some(word) = words.next() {
        match word.strip_prefix(DESIGN) {
            Some("") => design = words.next(),
            Some(file) if file.starts_with('=') => design = Some(file[1..].to_owned()),
            _ => further.push(word),
        }
    }
    let design = design.as_deref().map(Path::new);
    let OrderedWords { arguments, folder } = ordered_folder(Path::new(&folder), design, further)?;
    Ok((arguments, folder))
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
    ensure_no_path(&bench)?;
    // Removed at the end of the run.
    let unpacked = order.folder.as_ref().map(ShippedFolder::unpack).transpose()?;
    if let Choice::Folder(folder) = &mut bench.choice {
        let unpacked = unpacked.as_ref().context("the order ships no files for its workload")?;
        folder.folder.clone_from(&unpacked.path);
        folder.design.clone_from(&unpacked.design);
    }
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

/// Refuses an order that names a file, a folder or an address: only the process that the user
/// started may choose these, on its own host.
fn ensure_no_path(bench: &BenchArguments) -> Result<()> {
    let of_choice = match &bench.choice {
        Choice::Folder(arguments) => [
            ("the workload folder", arguments.folder != Path::new(SHIPPED)),
            (DESIGN, arguments.design.is_some()),
            ("--postgres", arguments.postgres.is_some()),
        ],
        Choice::Append(arguments) => {
            [("--history", arguments.history.is_some()), ("", false), ("", false)]
        }
        _ => [("", false); 3],
    };
    let own = [
        ("--json", bench.json.is_some()),
        ("--metrics", bench.metrics.is_some()),
        ("--data", bench.world.directory.data.is_some()),
        ("--cluster", bench.cluster_run.cluster.is_some()),
    ];
    let wrong = of_choice.into_iter().chain(own).find(|(_, is_there)| *is_there);
    match wrong {
        Some((name, _)) => {
            bail!(
                "an order names no path of this host, and this one does with {name}; nothing was run"
            )
        }
        None => Ok(()),
    }
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

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn compute_servers_get_no_option_of_the_users_process() {
        let left = |text: &str| without_own(words(text).into_iter()).join(" ");
        let whole =
            "tpcc --cluster prod.toml --json - --seconds 5 --set a=b --metrics=1:2 --lanes 4";
        assert_eq!(left(whole), "tpcc --seconds 5 --lanes 4");
        assert_eq!(left("append --history run.edn --cluster --fresh"), "append --fresh");
        assert_eq!(left("bank --cluster=a.toml --compute-servers 2 --data=d"), "bank");
    }

    #[test]
    fn a_folder_and_its_design_are_shipped_as_files() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../workloads/tatp");
        for design in ["--design ", "--design="] {
            let given =
                format!("folder {folder} --units 1 {design}{folder}/design.json --code plans");
            let (arguments, shipped) = with_files(words(&given)).expect("it is there");
            let expected = format!("folder {SHIPPED} --units 1 --code plans");
            assert_eq!(arguments.join(" "), expected);
            let expected = Path::new(folder).join("design.json");
            let expected = ShippedFolder::read(Path::new(folder), Some(&expected));
            assert_eq!(shipped, Some(expected.expect("it is there")));
        }
        let (arguments, shipped) = with_files(words("tpcc --warehouses 2")).expect("no folder");
        assert_eq!((arguments.join(" ").as_str(), shipped), ("tpcc --warehouses 2", None));
        with_files(words("folder nowhere --design nothing.json")).expect_err("no such file");
    }

    #[test]
    fn orders_that_name_a_path_are_refused() {
        let shipped = format!("folder {SHIPPED}");
        let judged = |order: &str| {
            let words = std::iter::once("namdb bench").chain(order.split(' '));
            ensure_no_path(&Ordered::try_parse_from(words).expect("it is an order").bench)
        };
        let refused = [
            ("folder /etc", "the workload folder"),
            ("folder ../shipped-with-the-order", "the workload folder"),
            (&format!("{shipped} --design /etc/passwd"), DESIGN),
            (&format!("{shipped} --postgres host:5432"), "--postgres"),
            ("append --history /tmp/a", "--history"),
            ("tpcc --json /tmp/a", "--json"),
            ("tpcc --metrics 0.0.0.0:80", "--metrics"),
            ("tpcc --data /tmp/a", "--data"),
            ("tpcc --cluster /etc/passwd", "--cluster"),
        ];
        for (order, name) in refused {
            let sentence = judged(order).expect_err("it names a path").to_string();
            assert!(sentence.contains(&format!("this one does with {name};")), "{sentence}");
        }
        for order in ["tpcc --warehouses 2", &shipped, "append --lists 5"] {
            judged(order).expect("it names none");
        }
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
