//! Clusters with replicas whose memory servers write their memory when they end: killed, ended and
//! started again in every order.
#![allow(clippy::disallowed_methods, reason = "processes are hurt at moments of the real clock")]

use super::cluster::Cluster;
use super::counter::Counted;
use super::data::{Data, ROWS, down, end_all, fail_under_load, is_empty, up};
use super::replicas::Load;
use super::server::Server;
use super::support::{is_running, namdb, text};
use membership::ClusterFile;
use namdb_program::servers::left_locks::LeftLocks;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::time::{Duration, Instant};

const OPTIONS: &str = "--fabric tcp --memory-servers 3 --replicas 2 --memory 32M";
const OPTIONS_OF_2: &str = "--fabric tcp --memory-servers 2 --replicas 2 --memory 32M";
const OPTIONS_OF_3: &str = "--fabric tcp --memory-servers 3 --replicas 3 --memory 32M";
/// How often the power fails.
const FAILURES: u64 = 3;
/// Maximal time for a process to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time in which all memory servers must have their replicas.
const FILLED: Duration = Duration::from_secs(60);

/// Starts all servers, and waits until the replicas count.
fn start_again(cluster: &Cluster) {
    let again = up(cluster, "");
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    let begun = Instant::now();
    loop {
        let status = cluster.run("status --json -");
        let status: Value = serde_json::from_str(&text(&status.stdout)).expect("it is JSON");
        if status["state"] == "running" && status["regions"] == serde_json::json!([]) {
            return eprintln!(
                "all have their replicas after {:.3} s",
                begun.elapsed().as_secs_f64()
            );
        }
        assert!(begun.elapsed() < FILLED, "{status:#}{}", logs(cluster));
    }
}

/// The logs of all memory servers.
fn logs(cluster: &Cluster) -> String {
    let logs = (0..).map(|number| cluster.directory.join(format!("log/memory-{number}.log")));
    logs.map_while(|log| std::fs::read_to_string(log).ok()).collect()
}

/// The processes of memory servers, as long as all run.
fn processes(cluster: &Cluster) -> [Pid; 3] {
    [0, 1, 2].map(|number| cluster.memory_server(number))
}

fn end(process: Pid, signal: Signal) {
    kill_process(process, signal).expect("it runs");
    let start = Instant::now();
    while is_running(process) {
        assert!(start.elapsed() < PATIENCE, "the server ends");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn no_locks_are_left(cluster: &Cluster) {
    let file = ClusterFile::load(&cluster.file, &[]).expect("it was written");
    let start = Instant::now();
    while LeftLocks::look(&file).expect("it answers") != Some(0) {
        assert!(start.elapsed() < PATIENCE, "the dead are recovered");
    }
}

/// The command refuses to start, with this part of a sentence; nothing is there without the data.
fn refuses(cluster: &Cluster, part: &str) {
    let refused = up(cluster, "");
    assert_eq!(refused.status.code(), Some(2));
    let sentence = text(&refused.stderr);
    assert!(sentence.contains(part) && sentence.contains("--accept-loss"), "{sentence}");
    assert_eq!(up(cluster, "--accept-loss").status.code(), Some(0));
    assert!(is_empty(cluster));
}

/// All end at one moment, under load: nobody has gone on without the others.
#[test]
fn replicas_are_there_after_the_power_has_failed() {
    for options in [OPTIONS_OF_2, OPTIONS, OPTIONS_OF_3] {
        let data = Data::new("power-replicas-data");
        let cluster = data.cluster_with("power-replicas", options);
        let counted = Counted::rows(ROWS);
        for failure in 0..FAILURES {
            fail_under_load(&cluster, &counted, failure);
            start_again(&cluster);
            Counted::check(&cluster, &counted, 0);
        }
        let (surely, perhaps) = Counted::sums(&counted);
        eprintln!("{surely} acknowledged, {perhaps} unknown");
        assert!(surely > 0);
        no_locks_are_left(&cluster);
        let load = Load::new(&cluster);
        load.run(cluster.memory_server(1), Signal::KILL);
    }
}

/// A server dies and the others go on; then all end. The image of the first one is old, if there is
/// one: it begins with empty memory, is filled, and then another one may die.
fn the_others_go_on_without(number: usize, signal: Signal) {
    let name = format!("without-{number}-{signal:?}");
    let data = Data::new(&format!("{name}-data"));
    let cluster = data.cluster_with(&name, OPTIONS);
    let load = Load::new(&cluster);
    load.run(cluster.memory_server(number), signal);
    load.check(&cluster);
    let image = data.0.join(format!("memory-{number}/image"));
    assert_eq!(image.exists(), signal == Signal::TERM, "what it has is old, or nothing");
    let load = load.leave();
    namdb(&format!("cluster down --file {}", cluster.file.display()));
    start_again(&cluster);
    assert!(cluster.log(number).contains("begins with empty memory"), "{}", cluster.log(number));
    let load = load.come_back(&cluster);
    load.check(&cluster);
    // The one with the replica that has filled it.
    load.run(cluster.memory_server((number + 1) % 3), Signal::KILL);
    load.check(&cluster);
    no_locks_are_left(&cluster);
}

#[test]
fn a_server_that_was_killed_while_others_went_on_is_filled() {
    (0..3).for_each(|number| the_others_go_on_without(number, Signal::KILL));
}

#[test]
fn a_server_with_an_old_image_is_filled() {
    (0..3).for_each(|number| the_others_go_on_without(number, Signal::TERM));
}

/// They end one after the other, and the others go on as far as they can.
#[test]
fn all_orders_of_ends_lose_nothing() {
    let data = Data::new("orders-data");
    let cluster = data.cluster_with("orders", OPTIONS);
    let mut load = Load::new(&cluster);
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let servers = processes(&cluster);
        load.run(servers[order[0]], Signal::TERM);
        let left = load.leave();
        for number in &order[1..] {
            end(servers[*number], Signal::TERM);
        }
        namdb(&format!("cluster down --file {}", cluster.file.display()));
        start_again(&cluster);
        for number in order {
            let is_empty = cluster.log(number).contains("begins with empty memory");
            assert_eq!(is_empty, number == order[0], "{number} of {order:?}");
        }
        load = left.come_back(&cluster);
        load.check(&cluster);
    }
    no_locks_are_left(&cluster);
}

/// With two servers each of them has everything, until the other one goes on without it.
#[test]
fn of_two_servers_the_one_that_went_on_counts() {
    let data = Data::new("two-data");
    let cluster = data.cluster_with("two", OPTIONS_OF_2);
    let mut load = Load::new(&cluster);
    for (first, signal) in
        [(0, Signal::TERM), (1, Signal::TERM), (0, Signal::KILL), (1, Signal::KILL)]
    {
        let other = cluster.memory_server(1 - first);
        load.run(cluster.memory_server(first), signal);
        let left = load.leave();
        end(other, Signal::TERM);
        namdb(&format!("cluster down --file {}", cluster.file.display()));
        start_again(&cluster);
        assert!(cluster.log(first).contains("begins with empty memory"), "{}", logs(&cluster));
        load = left.come_back(&cluster);
        load.check(&cluster);
    }
    no_locks_are_left(&cluster);
}

/// Nobody has promoted replicas yet of what a server had that was killed.
#[test]
fn the_others_end_at_the_moment_at_which_one_is_killed() {
    let data = Data::new("moment-data");
    let cluster = data.cluster_with("moment", OPTIONS);
    let mut load = Load::new(&cluster);
    for (number, after_ms) in [(0, 0), (1, 2), (0, 10), (2, 50)] {
        load.run_hurt("nothing", || ());
        let (left, mut servers) = (load.leave(), processes(&cluster).to_vec());
        kill_process(servers.remove(number), Signal::KILL).expect("it runs");
        std::thread::sleep(Duration::from_millis(after_ms));
        end_all(&servers);
        namdb(&format!("cluster down --file {}", cluster.file.display()));
        start_again(&cluster);
        load = left.come_back(&cluster);
        load.check(&cluster);
    }
    no_locks_are_left(&cluster);
}

/// The memory of a server that is being filled when all end does not count.
#[test]
fn all_end_while_a_server_is_being_filled() {
    let data = Data::new("in-fill-data");
    let cluster = data.cluster_with("in-fill", OPTIONS);
    let mut load = Load::new(&cluster);
    for after_ms in [0, 4, 16, 64] {
        let others = [0, 2].map(|number| cluster.memory_server(number));
        load.run(cluster.memory_server(1), Signal::KILL);
        let left = load.leave();
        let arguments = format!("memory-server --number 1 --cluster {}", cluster.file.display());
        let mut filled = Server::start(&arguments, &data.0.join("log"));
        let begun = Instant::now();
        while !cluster.log(0).contains("memory server 1 is being filled") {
            assert!(begun.elapsed() < PATIENCE, "{}{}", cluster.log(0), filled.log());
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(after_ms));
        filled.signal(Signal::TERM);
        end_all(&others);
        filled.ended();
        namdb(&format!("cluster down --file {}", cluster.file.display()));
        start_again(&cluster);
        load = left.come_back(&cluster);
        load.check(&cluster);
    }
    no_locks_are_left(&cluster);
}

/// With two replicas a database that has lost two servers is lost, whatever the third one has.
#[test]
fn an_old_image_is_never_the_database() {
    let data = Data::new("old-data");
    let cluster = data.cluster_with("old", OPTIONS_OF_3);
    let (load, servers) = (Load::new(&cluster), processes(&cluster));
    load.run(servers[0], Signal::TERM);
    drop(load);
    for number in [1, 2] {
        end(servers[number], Signal::KILL);
    }
    let told = namdb(&format!("cluster down --file {}", cluster.file.display()));
    assert!(data.0.join("memory-0/image").exists(), "it has written what was there then");
    assert_eq!(told.status.code(), Some(2), "it is old");
    let sentence = text(&told.stderr);
    assert!(sentence.contains("the data of memory server 1 is lost"), "{sentence}");
    refuses(&cluster, "the data of memory server 1 is lost");
}

#[test]
fn too_few_servers_with_images_are_no_database() {
    let data = Data::new("few-data");
    let cluster = data.cluster_with("few", OPTIONS);
    let (load, servers) = (Load::new(&cluster), processes(&cluster));
    load.run(servers[2], Signal::KILL);
    drop(load);
    end(servers[1], Signal::KILL);
    let told = namdb(&format!("cluster down --file {}", cluster.file.display()));
    assert_eq!(told.status.code(), Some(2), "{}", text(&told.stderr));
    refuses(&cluster, "the data of memory server 1 is lost");
}

/// The folder of a server from before the data was given up, and another database was made.
#[test]
fn files_of_an_earlier_database_are_refused() {
    let data = Data::new("earlier-data");
    let cluster = data.cluster_with("earlier", OPTIONS_OF_2);
    let image = data.0.join("memory-0/image");
    let mut earlier = Vec::new();
    for _ in 0..2 {
        down(&cluster);
        earlier.push(std::fs::read(&image).expect("it was written"));
        for number in 0..2 {
            std::fs::remove_dir_all(data.0.join(format!("memory-{number}"))).expect("it is ours");
        }
        assert_eq!(up(&cluster, "").status.code(), Some(0), "a new database");
    }
    down(&cluster);
    let own = std::fs::read(&image).expect("it was written");
    for earlier in earlier {
        std::fs::write(&image, earlier).expect("it is ours");
        let refused = up(&cluster, "");
        assert_eq!(refused.status.code(), Some(2));
        let sentence = text(&refused.stderr);
        assert!(
            sentence.contains("servers 0 and 1 have data of different databases"),
            "{sentence}"
        );
    }
    std::fs::write(&image, own).expect("it is ours");
    assert_eq!(up(&cluster, "").status.code(), Some(0), "nothing has changed");
}

/// A directory that is gone is like a server that was killed.
#[test]
fn a_server_without_its_directory_is_filled() {
    let data = Data::new("gone-data");
    let cluster = data.cluster_with("gone", OPTIONS);
    let load = Load::new(&cluster);
    load.run_hurt("nothing", || ());
    let load = load.leave();
    down(&cluster);
    std::fs::remove_dir_all(data.0.join("memory-0")).expect("it is ours");
    start_again(&cluster);
    let load = load.come_back(&cluster);
    load.check(&cluster);
    load.run(cluster.memory_server(1), Signal::KILL);
    load.check(&cluster);
}

/// A registry that has lost the database says nothing about what its servers have.
#[test]
fn memory_is_written_although_the_registry_has_lost_the_database() {
    let data = Data::new("emptied-data");
    let cluster = data.cluster_with("emptied", OPTIONS);
    let load = Load::new(&cluster);
    for _ in 0..2 {
        load.run_hurt("nothing", || ());
    }
    let load = load.leave();
    let record = cluster.directory.join("registry/record");
    let servers = processes(&cluster);
    std::fs::remove_file(record).expect("the registry is in files");
    end_all(&servers);
    namdb(&format!("cluster down --file {}", cluster.file.display()));
    start_again(&cluster);
    load.come_back(&cluster).check(&cluster);
}
