//! Command-line arguments: helpful `--help`, and clear errors.

use crate::support::{namdb, text};

/// Asserts the error messages of invalid arguments.
fn assert_answered(cases: &[(&str, &str)]) {
    for (arguments, sentence) in cases {
        let output = namdb(arguments);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {errors}");
        assert!(errors.contains(sentence), "{arguments} is answered by: {errors}");
        assert!(output.stdout.is_empty(), "{arguments} has a result");
    }
}

/// Missing workload folders and impossible numbers are rejected before anything is loaded.
#[test]
fn nonsense_about_folders_is_answered_in_a_sentence() {
    assert_answered(&[
        (
            "bench nowhere/at/all",
            "neither a built-in benchmark nor a folder called `nowhere/at/all`",
        ),
        ("bench nowhere", "built-in benchmarks: tpcc, smallbank, tatp, ycsb, bank, append"),
        ("bench tpc", "is `tpcc` meant?"),
        ("trace tatb", "is `tatp` meant?"),
        ("bench ../../../workloads/tcpc", "is `../../../workloads/tpcc` meant?"),
        ("bench ../../../workloads", "the folder ../../../workloads has no workload.toml"),
        ("bench ../../../workloads/README.md", "is a file; name the folder of the workload"),
        ("bench --threads 1 ../../../workloads/tatp", "the folder must come before the options"),
        ("bench ../../../workloads/tatp --units 0", "units of scale are a whole number from 1 to"),
        (
            "bench ../../../workloads/tatp --units 1.5",
            "units of scale are a whole number from 1 to",
        ),
        ("bench ../../../workloads/tatp --units -1", "units of scale are a whole number from 1 to"),
        ("bench ../../../workloads/tatp --units 1000000000000", "from 1 to 1000000000"),
        (
            "bench ../../../workloads/tatp --units 1000000",
            "is out of range for integer at this scale",
        ),
        ("bench ../../../workloads/tatp --seconds 0", "a duration is a number from 0.001"),
        ("bench ../../../workloads/tatp --threads 0", "1..=63"),
        ("spade design ../../../workloads/tatp --units 0", "units of scale are a whole number"),
        ("spade tune ../../../workloads/tatp --units 0", "units of scale are a whole number"),
        ("spade tune ../../../workloads/tatp --machines 0", "1..=10000"),
        ("spade tune ../../../workloads/tatp --remote-calls 101", "from 0 to 100"),
        ("spade apply ../../../workloads/tatp --units 0", "units of scale are a whole number"),
        ("spade verify ../../../workloads/tatp --units 0", "units of scale are a whole number"),
    ]);
}

#[test]
fn nonsense_is_answered_in_a_sentence() {
    assert_answered(&[
        ("bench tpcc --warehouses 0", "1..=32767"),
        ("bench tpcc --threads 64", "1..=63"),
        ("bench tpcc --seconds -3", "a duration is a number from 0.001"),
        ("bench tpcc --seconds 1e-300", "a duration is a number from 0.001"),
        ("bench tpcc --warm-up -1", "a duration is a number from 0"),
        ("bench tpcc --warehouses -1", "1..=32767"),
        ("bench tpcc --seed -1", "a whole number from 0 to 18446744073709551615"),
        ("bench ycsb --record-bytes 4294967296", "a whole number from 0 to 4294967295"),
        ("bench smallbank --records ten", "a whole number from 0"),
        ("bench ycsb --zipf -1", "from 0 to 2"),
        ("bench ycsb --zipf 1e308", "1e308 was asked for"),
        ("bench ycsb --records 64 --ops-per-txn 64", "twice as many"),
        ("bench ycsb --records 1000 --memory 36M", "--memory 4"),
        ("soak --minutes 1 --sample 61", "at most the 60 s of the run"),
        ("soak --minutes 1 --rate 0", "a number of transactions per second, from 0.01"),
        ("bench bank --rate fast", "a number of transactions per second, from 0.01"),
        ("soak --minutes 1 --sample 0.05", "must be at least 0.1 s"),
        ("soak --minutes 1 --json same --plot same", "must name different files"),
        ("soak --minutes 1 --log same --plot same", "must name different files"),
        ("soak --minutes 1 --log -", "standard output has the report"),
        ("soak --minutes 1 --log /no/such/folder/soak.jsonl", "cannot write /no/such/folder"),
        ("bench tpcc --seconds 0", "a duration is a number from 0.001"),
        ("bench ycsb --workload G", "A, B, C, D, E and F"),
        ("bench ycsb --records 1", "too few"),
        ("bench ycsb --ops-per-txn 65", "1 to 64 operations"),
        ("bench ycsb --record-bytes 100000", "1 to 7168 bytes"),
        ("bench ycsb --zipf 3", "from 0 to 2"),
        ("bench ycsb --uniform --zipf 0.5", "cannot be used with"),
        ("bench ycsb --records 1000000000000", "make it smaller"),
        ("bench ycsb --memory 1M", "make it smaller"),
        ("bench ycsb --memory 4000T", "this machine has"),
        ("bench ycsb --memory much", "such as 4G"),
        ("bench smallbank --records 10 --hot 11", "11 of 10 were asked for"),
        ("bench bank --json /no/such/folder/result.json", "cannot write /no/such/folder"),
        ("reproduce chess", "there is no experiment \"chess\"; choose from all"),
        ("reproduce h-store --protocol as-published", "these have: scalability, latency, locality"),
        ("reproduce oracle --protocol rsi", "possible values: ours, as-published"),
        ("counts --workload chess --transactions 1", "possible values"),
        ("soak --minutes 0", "a duration is a number from 0.001"),
        ("dance", "unrecognized subcommand"),
    ]);
}

#[test]
fn help_teaches_by_example() {
    for command in [
        "",
        "bench",
        "bench ycsb",
        "demo",
        "soak",
        "counts",
        "trace",
        "check history",
        "simulate",
        "doctor",
        "spade",
        "spade plan",
    ] {
        let output = namdb(&format!("{command} --help"));
        assert!(output.status.success());
        assert!(text(&output.stdout).contains("namdb "), "{command}");
    }
    assert!(text(&namdb("--help").stdout).contains("Examples:"));
    for command in ["bench", "bench folder", "spade"] {
        assert!(
            text(&namdb(&format!("{command} --help")).stdout).contains("docs/workload.md"),
            "{command}"
        );
    }
}

/// A folder that cannot be read is not reported as lacking a file.
#[test]
fn a_folder_that_cannot_be_read_is_told_as_such() {
    let folder = crate::support::temporary("unreadable");
    std::fs::create_dir(&folder).expect("there is a place for temporary files");
    // Unlike permissions, a symbolic link to itself stops every user.
    let load = folder.join("workload.toml");
    std::os::unix::fs::symlink(&load, &load).expect("there is room");
    let output = namdb(&format!("bench {}", folder.display()));
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("workload.toml cannot be read: Too many levels"), "{told}");
    std::fs::remove_dir_all(&folder).expect("it is ours");
}
