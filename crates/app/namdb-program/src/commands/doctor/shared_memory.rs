//! Checks whether processes can share regions. Regions are unnamed files in memory (`memfd`), which
//! the size of /dev/shm does not limit.

use super::code::SHARED_MEMORY;
use super::files::Files;
use super::finding::Finding;
use super::site::Site;
use membership::FabricKind;
use rustix::fs::{MemfdFlags, memfd_create};

const NO_EXECUTION: &str = "/proc/sys/vm/memfd_noexec";

/// Creates a region's file as servers do, and drops it.
pub fn attempt() -> Result<(), String> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    memfd_create("namdb-doctor", flags).map(drop).map_err(|error| error.to_string())
}

pub fn check(files: &dyn Files, attempt: &Result<(), String>, site: Option<&Site>) -> Finding {
    if let Some(site) = site.filter(|site| site.fabric != FabricKind::Shm) {
        return SHARED_MEMORY.not_applicable(format!("`{}` shares no memory", site.fabric.name()));
    }
    let Err(why) = attempt else {
        return SHARED_MEMORY
            .ok("memory files can be created; the size of /dev/shm does not limit them");
    };
    match files.text(NO_EXECUTION).as_deref() {
        Some("2") => SHARED_MEMORY.problem(
            format!("the kernel refuses memory files ({why}): {NO_EXECUTION} is 2"),
            "sysctl vm.memfd_noexec=1",
        ),
        _ => SHARED_MEMORY.problem(
            format!("the kernel refuses memory files ({why})"),
            "allow the system call memfd_create in the container's seccomp profile",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::FakeFiles;
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn a_host_that_refuses_files_in_memory_says_why() {
        let refused = Err("Operation not permitted".to_owned());
        const STRICT: FakeFiles = FakeFiles(&[(NO_EXECUTION, "2\n")]);
        let finding = check(&STRICT, &refused, None);
        assert!(finding.grade == Grade::Problem && finding.fix.expect("one").contains("sysctl"));
        const USUAL: FakeFiles = FakeFiles(&[(NO_EXECUTION, "0\n")]);
        assert!(check(&USUAL, &refused, None).fix.expect("one").contains("seccomp"));
        assert_eq!(check(&USUAL, &Ok(()), Some(&Site::example(FabricKind::Shm))).grade, Grade::Ok);
        let tcp = Site::example(FabricKind::Tcp);
        assert_eq!(check(&USUAL, &refused, Some(&tcp)).grade, Grade::NotApplicable);
        attempt().expect("this host makes them");
    }
}
