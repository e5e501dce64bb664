//! Output files: no command overwrites its inputs, and a failed write keeps the old content.

use crate::support::{namdb, temporary, text};
use std::path::{Path, PathBuf};
use std::process::Command;

const SMALLBANK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../workloads/smallbank");
const MEASURED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../spade/spade/measurements/connectx3-fdr.json");

/// A folder with measurements, a link to them, and a design that was edited.
fn kept(name: &str) -> (PathBuf, [String; 3]) {
    let folder = temporary(name);
    std::fs::create_dir(&folder).expect("there is a place for temporary files");
    let names = ["m.json", "link.json", "hand.json"].map(|name| folder.join(name));
    std::fs::copy(MEASURED, &names[0]).expect("there is room");
    std::os::unix::fs::symlink(&names[0], &names[1]).expect("there is room");
    let design = format!("{SMALLBANK}/designs/connectx3-fdr.json");
    let design = std::fs::read_to_string(design).expect("it is shipped");
    let changed = design.replacen("\"versions_beside\": ", "\"versions_beside\":  ", 1);
    std::fs::write(&names[2], changed).expect("there is room");
    (folder, names.map(|name| name.display().to_string()))
}

fn content(folder: &Path) -> Vec<Vec<u8>> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("it is ours")
        .map(|entry| entry.expect("it is there").path())
        .collect();
    names.sort();
    names.iter().map(|name| std::fs::read(name).expect("it is there")).collect()
}

#[test]
fn what_commands_read_is_not_written_over() {
    let (folder, [measured, link, design]) = kept("inputs");
    let before = content(&folder);
    let tune = format!("spade tune {SMALLBANK} --measurements {measured}");
    let forecast =
        format!("spade forecast {SMALLBANK} --measurements {measured} --design {design}");
    let verify = format!("spade verify {SMALLBANK} --measurements {measured}");
    let is_read = "is an input of this command";
    for (command, expected) in [
        (format!("{tune} --json {measured}"), is_read),
        (format!("{tune} --json {link}"), is_read),
        (format!("{tune} --out {link} --force"), is_read),
        (format!("{tune} --json {design}"), "contains a design, not a result"),
        (
            format!(
                "{tune} --out {design} --json {folder}/../{name}/hand.json",
                folder = folder.display(),
                name = folder.file_name().unwrap_or_default().display()
            ),
            "--out and --json both name",
        ),
        (format!("{forecast} --json {design}"), is_read),
        (format!("{verify} --json {link}"), is_read),
        (format!("{verify} --design {design} --json {design}"), is_read),
        (
            format!("spade plan {SMALLBANK} --check --json {measured}"),
            "contains measurements, not a result",
        ),
        (format!("bench {SMALLBANK} --json {design}"), "contains a design, not a result"),
    ] {
        let output = namdb(&command);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {told}");
        assert!(told.contains(expected), "{command}: {told}");
        assert!(content(&folder) == before, "{command} has written");
    }
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

/// A limit on file sizes is reported like a full disk.
#[test]
fn what_was_there_stays_where_there_is_no_room() {
    let (folder, [measured, ..]) = kept("full");
    let files = ["d.json", "r.json", "p.html"].map(|name| folder.join(name).display().to_string());
    let [design, report, page] = &files;
    let tune = format!("spade tune {SMALLBANK} --measurements {measured} --machines 5");
    let all = format!("{tune} --out {design} --json {report} --html {page}");
    assert_eq!(namdb(&all).status.code(), Some(0));
    let before = content(&folder);
    let new = folder.join("new.json");
    for command in [
        format!("{tune} --out {design}"),
        format!("{tune} --json {report}"),
        format!("{tune} --html {page}"),
        format!("spade design {SMALLBANK} --out {}", new.display()),
    ] {
        let limited = format!(
            "ulimit -f 1; trap '' XFSZ; exec {} {command}",
            env!("CARGO_BIN_EXE_namdb-lab")
        );
        let output = Command::new("sh").args(["-c", &limited]).output().expect("there is a shell");
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {told}");
        assert!(told.contains("cannot write "), "{command}: {told}");
        assert!(content(&folder) == before, "{command} has left something else");
    }
    assert_eq!(namdb(&all).status.code(), Some(0), "and once there is room it is written");
    std::fs::remove_dir_all(&folder).expect("it is ours");
}

#[test]
fn what_has_no_end_is_read_to_no_end() {
    let refused = |command: &str, expected: &str| {
        let output = namdb(command);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command}: {told}");
        assert!(told.contains(expected), "{command}: {told}");
    };
    let measured = format!("{SMALLBANK} --measurements {MEASURED}");
    refused(&format!("spade tune {measured} --out /dev/full"), "cannot write /dev/full");
    let nowhere = namdb(&format!("spade tune {measured} --out /dev/null --json /dev/../dev/null"));
    assert_eq!(nowhere.status.code(), Some(0), "a device is no file that is written twice");
    refused(&format!("spade forecast {measured} --design /dev/zero"), "more than 67108864 bytes");
    refused(&format!("bench {SMALLBANK} --design /dev/zero"), "more than 67108864 bytes");
}
