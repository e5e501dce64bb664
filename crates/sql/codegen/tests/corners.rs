//! Compares the generated code of three workloads with the recorded one: procedures at the corners,
//! at the edges of types, and of a shop. Tests of the executor run this code.

use codegen::{folder, generate};
use procedure::Workload;
use sql::WorkloadFolder;
use std::path::Path;

#[test]
fn recorded_code_matches_generated_code() {
    for name in ["corners", "edges", "shop"] {
        let of = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
        let load = WorkloadFolder::read(&of).unwrap_or_else(|error| panic!("{error}")).load;
        let workload = Workload::read(&of).unwrap_or_else(|error| panic!("{error}"));
        let generated = generate(&workload, &load);
        let changes = folder::write(&of.join("code"), &generated, true);
        let changes = changes.expect("the files can be read");
        let folder = format!("crates/sql/codegen/tests/{name}");
        assert!(
            changes.is_empty(),
            "{changes:?}: write them with `namdb spade generate {folder} --into {folder}/code`"
        );
    }
}
