//! Whether the threads that poll have processors of their own.

use super::code::PROCESSORS;
use super::finding::Finding;
use super::site::Site;
use membership::FabricKind;

/// `processors` may be used by this process.
pub fn check(processors: u64, site: Option<&Site>) -> Finding {
    let Some(site) = site else {
        return PROCESSORS
            .not_applicable(format!("{processors} processors; without a cluster nobody polls"));
    };
    let (memory, compute) = (site.regions.len() as u64, site.local_threads);
    let found = format!(
        "{processors} processors for {memory} polling threads of memory servers and {compute} threads of compute servers"
    );
    if memory + compute <= processors {
        return PROCESSORS.ok(found);
    }
    let effect = match site.fabric {
        FabricKind::Shm => "calls wait, other verbs do not",
        FabricKind::Tcp | FabricKind::Verbs => {
            "they take turns, and a verb waits for the other's turn"
        }
    };
    PROCESSORS.warning(
        format!("{found}: {effect}"),
        "write fewer servers or `threads` into the cluster's file; more `lanes` per thread cost no processor",
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
        assert_eq!(check(1, None).grade, Grade::NotApplicable);
    }
}
