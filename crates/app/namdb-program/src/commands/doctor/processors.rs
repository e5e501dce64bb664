//! Checks whether each polling thread has its own processor.

use super::code::PROCESSORS;
use super::finding::Finding;
use super::site::Site;
use crate::bench::text::counted;
use membership::FabricKind;

/// `processors` is the number that this process may use.
pub fn check(processors: u64, site: Option<&Site>) -> Finding {
    let Some(site) = site else {
        return PROCESSORS.not_applicable(format!(
            "{}; without a cluster no thread polls",
            counted(processors, "processor")
        ));
    };
    let (memory, compute) = (site.regions.len() as u64, site.local_threads);
    let found = format!(
        "{} for {} of memory servers and {} of compute servers",
        counted(processors, "processor"),
        counted(memory, "polling thread"),
        counted(compute, "thread")
    );
    if memory + compute <= processors {
        return PROCESSORS.ok(found);
    }
    let effect = match site.fabric {
        FabricKind::Shm => "calls wait, but other verbs do not",
        FabricKind::Tcp | FabricKind::Verbs => {
            "the threads share processors, so verbs wait for a thread to run"
        }
    };
    PROCESSORS.warning(
        format!("{found}: {effect}"),
        "reduce servers or `threads` in the cluster's file; `lanes` per thread need no further processor",
    )
}

#[cfg(test)]
mod tests {
    use super::super::finding::Grade;
    use super::*;

    #[test]
    fn as_many_threads_as_processors_are_good() {
        let site = Site::example(FabricKind::Tcp);
        assert_eq!(check(4, Some(&site)).grade, Grade::Ok);
        assert_eq!(check(3, Some(&site)).grade, Grade::Warning);
        let single = Site { regions: vec![1 << 30], local_threads: 1, ..site };
        let found =
            "2 processors for 1 polling thread of memory servers and 1 thread of compute servers";
        assert_eq!(check(2, Some(&single)).found, found);
        assert_eq!(check(1, None).grade, Grade::NotApplicable);
    }
}
