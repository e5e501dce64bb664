//! `namdb sql`: sends SQL to a server of PostgreSQL's protocol.

use super::start::{DEFAULT_ADDRESS, user};
use crate::Verdict;
use crate::sql_prompt::{Prompt, Source};
use anyhow::{Context, Result, anyhow};
use clap::Args;
use pgwire::client::{Client, Failure, Target};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  namdb sql                                        a prompt for the server of `namdb start`
  namdb sql -c 'select count(*) from account'      runs statements and ends
  namdb sql -f schema.sql                          runs a file; `-` is standard input
  namdb sql postgresql://me@127.0.0.1:5433/shop    another server, user and database
  PGPASSWORD=secret namdb sql                      with a password

In the prompt, statements end with `;` and `\\?` lists the commands, such as `\\dt` for the tables. Exit codes: 0 \
all statements have succeeded; 1 one has failed; 2 the server cannot be reached.";

/// Arguments of `namdb sql`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct SqlArguments {
    /// The server, such as postgresql://user@127.0.0.1:5432/database; all parts are optional
    #[arg(value_name = "URL", default_value = "")]
    url: String,
    /// Run these statements and end
    #[arg(short, long, value_name = "SQL")]
    command: Vec<String>,
    /// Run the statements of a file and end; `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    file: Vec<PathBuf>,
}

/// Runs the given statements, or the prompt.
pub fn run(arguments: &SqlArguments) -> Result<Verdict> {
    let address = DEFAULT_ADDRESS.rsplit_once(':').expect("it has a port");
    let defaults = Target {
        host: address.0.to_owned(),
        port: address.1.parse().expect("it is a number"),
        user: user(),
        database: "namdb".to_owned(),
        password: std::env::var("PGPASSWORD").ok(),
    };
    let target = Target::parse(&arguments.url, defaults).map_err(|sentence| anyhow!(sentence))?;
    let client = Client::connect(&target, &[("application_name", "namdb sql")]);
    let client = client.map_err(|failure| cannot_connect(&target, failure))?;
    let mut prompt = Prompt::new(client, &target);
    let is_given = !arguments.command.is_empty() || !arguments.file.is_empty();
    if !is_given {
        return prompt.run();
    }
    let mut verdict = Verdict::Sound;
    let commands = arguments.command.iter().map(|text| Source::Text(text.clone()));
    let files = arguments.file.iter().map(|path| Source::File(path.clone()));
    for source in commands.chain(files) {
        let has_succeeded = prompt.run_source(&source).context("the connection is lost")?;
        if !has_succeeded {
            verdict = Verdict::Damaged;
            break;
        }
    }
    Ok(verdict)
}

fn cannot_connect(target: &Target, failure: Failure) -> anyhow::Error {
    let (host, port) = (&target.host, target.port);
    match failure {
        Failure::Network(error) => anyhow!(
            "no server answers at {host}:{port} ({error}); start one with `namdb start`, or name another one: `namdb \
             sql postgresql://HOST:PORT`"
        ),
        Failure::Server(error) => {
            let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            anyhow!("the server at {host}:{port} refuses: {}{hint}", error.message)
        }
        failure @ Failure::NoPassword => anyhow!("{failure}"),
        Failure::Protocol(problem) => anyhow!("the server at {host}:{port}: {problem}"),
    }
}
