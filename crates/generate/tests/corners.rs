//! The code that stands here of the procedures at the corners is what they give. Tests beside the executor run it.

use generate::{folder, generate};
use procedure::Workload;
use sql::WorkloadFolder;
use std::path::Path;

#[test]
fn the_code_of_the_corners_is_what_they_give() {
    let of = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corners");
    let load = WorkloadFolder::read(&of).unwrap_or_else(|error| panic!("{error}")).load;
    let workload = Workload::read(&of).unwrap_or_else(|error| panic!("{error}"));
    let generated = generate(&workload, &load);
    let changes = folder::write(&of.join("code"), &generated, true);
    let changes = changes.expect("the files can be read");
    assert!(
        changes.is_empty(),
        "{changes:?}: write them with `namdb spade generate crates/generate/tests/corners --into crates/generate/tests/corners/code`"
    );
}
