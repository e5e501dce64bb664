//! The code that is here is the code that the workloads give.

use codegen::{folder, generate};
use procedure::node::Workload;
use sql::WorkloadFolder;
use std::path::Path;

#[test]
fn the_shipped_code_is_what_the_shipped_workloads_give() {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["smallbank", "tatp", "tpcc", "ycsb"] {
        let of = crate_folder.join("../../../workloads").join(name);
        let load = WorkloadFolder::read(&of).expect("it is shipped").load;
        let workload = Workload::read(&of).expect("its plans are shipped");
        let generated = generate(&workload, &load);
        assert_eq!(generated.left, [], "no procedure of {name} is left to the executor");
        let changes = folder::write(&crate_folder.join("src").join(name), &generated, true);
        let changes = changes.expect("the files can be read");
        assert!(
            changes.is_empty(),
            "{changes:?}: write them with `namdb spade generate workloads/{name} --into crates/sql/workload_code/src/{name}`"
        );
    }
}
