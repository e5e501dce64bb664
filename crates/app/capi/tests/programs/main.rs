//! C and C++ programs that are compiled against the headers, linked with the library, and run, also
//! under valgrind.

#[path = "../../../../app/namdb/tests/procedures/folder.rs"]
mod folder;

use folder::small;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiler options: all warnings are errors.
const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"];
/// System libraries that the static library needs.
const SYSTEM: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lgcc_s"];

/// The library with which a program is linked.
#[derive(Clone, Copy)]
enum Library {
    Shared,
    Static,
}

fn scratch(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    std::fs::create_dir_all(&path).expect("the folder can be made");
    path
}

/// The folder where cargo puts the libraries: next to this test.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("this is a program");
    let deps = test.parent().expect("it is in a folder");
    let folder = [deps, deps.parent().expect("it is below another one")];
    let found = folder.into_iter().find(|folder| folder.join("libnamdb_c.so").is_file());
    found.expect("cargo builds the library before its tests").to_owned()
}

/// Compiles a program of `source`.
fn compiled(source: &str, library: Library, scratch: &Path) -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = scratch.join(source.split('.').next().unwrap_or(source));
    let (compiler, language) = match source.ends_with(".cpp") {
        true => ("c++", "-std=c++17"),
        false => ("cc", "-std=c11"),
    };
    let mut command = Command::new(compiler);
    command.arg(language).args(WARNINGS).arg("-I").arg(package.join("include"));
    command.arg(package.join("tests/programs/source").join(source)).arg("-o").arg(&program);
    let libraries = libraries();
    match library {
        Library::Shared => {
            command.arg("-L").arg(&libraries).arg("-lnamdb_c").arg("-lpthread");
            command.arg(format!("-Wl,-rpath,{}", libraries.display()));
        }
        Library::Static => {
            command.arg(libraries.join("libnamdb_c.a")).args(SYSTEM);
        }
    }
    run(&mut command, "the compiler");
    program
}

/// Runs a command, which must succeed, and returns its output.
fn run(command: &mut Command, what: &str) -> String {
    // Cargo adds folders to it that may contain a library of an earlier build; the programs know
    // the right path.
    command.env_remove("LD_LIBRARY_PATH");
    let output = command.output().unwrap_or_else(|error| panic!("{what} does not run: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what} has failed with {}: {said}{complaint}", output.status);
    said + &complaint
}

#[test]
fn a_program_in_c_calls_procedures() {
    let scratch = scratch("calls");
    for library in [Library::Shared, Library::Static] {
        let program = compiled("calls.c", library, &scratch);
        let folders = ["tatp", "tpcc"].map(|workload| small(workload, &scratch));
        let said = run(Command::new(program).args(folders), "the program");
        assert_eq!(said, format!("calls of namdb {}: all well\n", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn a_program_in_c_plus_plus_calls_procedures_from_two_threads() {
    let scratch = scratch("wrapper");
    let program = compiled("wrapper.cpp", Library::Shared, &scratch);
    let folders = ["tatp", "tpcc", "smallbank"].map(|workload| small(workload, &scratch));
    let said = run(Command::new(program).args(folders), "the program");
    assert_eq!(said, "the wrapper of namdb: all well\n");
}

#[test]
fn misuse_is_refused() {
    let scratch = scratch("misuse");
    let program = compiled("misuse.c", Library::Shared, &scratch);
    let said = run(Command::new(program).arg(small("tatp", &scratch)), "the program");
    assert_eq!(said, "misuse of namdb: all refused\n");
}

/// There are no invalid reads, and no leaks.
#[test]
fn valgrind_has_nothing_to_say() {
    let scratch = scratch("valgrind");
    for (source, workloads) in [("calls.c", &["tatp", "tpcc"][..]), ("misuse.c", &["tatp"])] {
        let program = compiled(source, Library::Shared, &scratch);
        let folders = workloads.iter().map(|workload| small(workload, &scratch));
        let mut command = Command::new("valgrind");
        // Blocks in the C library's cache that ended threads leave behind are reached by pointers
        // into their middle, and reported as possibly lost. Optimised code compares the payload of
        // an enum before it checks the variant; memcheck reports that as a use of uninitialised
        // values. Only the raw functions could really use such values: all other code is safe Rust.
        command.arg("--undef-value-errors=no");
        command.args(["--error-exitcode=9", "--leak-check=full", "--num-callers=30"]);
        command.args(["--show-leak-kinds=definite", "--errors-for-leak-kinds=definite"]);
        let said = run(command.arg(program).args(folders), "valgrind");
        assert!(said.contains("ERROR SUMMARY: 0 errors"), "{said}");
    }
}

/// The headers declare exactly the functions of the library.
#[test]
fn every_function_is_declared() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(package.join(path)).expect("it is there");
    let header = read("include/namdb.h");
    let mut functions = 0;
    for file in ["bind", "call", "database", "rows", "session"] {
        let text = read(&format!("src/raw/{file}.rs"));
        for line in text.lines().filter(|line| line.contains("extern \"C\" fn namdb_")) {
            let name = line.split("fn ").nth(1).and_then(|rest| rest.split('(').next());
            let name = name.expect("a function has a name");
            assert!(header.contains(&format!("{name}(")), "{name} is not in the header");
            functions += 1;
        }
    }
    assert!(functions > 40, "{functions}");
}
