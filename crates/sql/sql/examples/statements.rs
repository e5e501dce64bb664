//! Lists the statements inside the procedures of a folder: `cargo run -p sql --example statements
//! -- FOLDER`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("statements: name a folder with schema.sql and procedures.sql");
        return ExitCode::FAILURE;
    };
    let program = match sql::Program::read(Path::new(&folder)) {
        Ok(program) => program,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    for statement in program.embedded_statements() {
        let sql::EmbeddedStatement { procedure, number, line, text, parameter_types, variables } =
            statement;
        let names: Vec<&str> = variables.iter().map(|variable| &*variable.name).collect();
        println!("{procedure}/{number} (line {line}): {text}");
        println!("    ({}) = ({})", parameter_types.join(", "), names.join(", "));
    }
    ExitCode::SUCCESS
}
