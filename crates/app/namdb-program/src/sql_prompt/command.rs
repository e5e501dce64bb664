//! Commands of the prompt: they begin with a backslash.

use super::{DEPTH_MAX, Next, Prompt, Source};
use crate::output;
use anyhow::Result;
use std::path::PathBuf;

const HELP: &str = "\
  \\q            leave
  \\dt           tables
  \\d            tables, indexes and sequences
  \\d TABLE      columns and indexes of a table
  \\timing       show the time of statements, or not
  \\x            show rows by lines, or not
  \\i FILE       run the statements of a file
  \\?            this help
  ;             ends a statement
";

/// Relations; `%` is a condition.
const RELATIONS: &str = "\
select n.nspname as \"Schema\", c.relname as \"Name\", \
case c.relkind when 'r' then 'table' when 'i' then 'index' when 'S' then 'sequence' when 'v' then 'view' end as \"Type\" \
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
where n.nspname <> 'pg_catalog' and n.nspname <> 'information_schema' and % order by 1, 2;";

/// Columns of the table `%`.
const COLUMNS: &str = "\
select a.attname as \"Column\", pg_catalog.format_type(a.atttypid, a.atttypmod) as \"Type\", \
case when a.attnotnull then 'not null' else '' end as \"Nullable\" \
from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid \
where c.relname = '%' and a.attnum > 0 and not a.attisdropped order by a.attnum;";

/// Indexes of the table `%`.
const INDEXES: &str = "\
select i.relname as \"Index\", \
case when x.indisprimary then 'primary key' when x.indisunique then 'unique' else '' end as \"Kind\" \
from pg_catalog.pg_index x join pg_catalog.pg_class i on i.oid = x.indexrelid \
join pg_catalog.pg_class c on c.oid = x.indrelid where c.relname = '%' order by 1;";

impl Prompt {
    /// Runs a command.
    pub(super) fn command(&mut self, line: &str) -> Result<Next> {
        let line = line.trim_end_matches(';').trim_end();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match (word, rest) {
            ("\\q", _) => return Ok(Next::Quit),
            ("\\?", _) => output::print(HELP)?,
            ("\\timing", rest) => {
                self.is_timing = switched(self.is_timing, rest);
                output::print(&format!("Timing is {}.\n", on_off(self.is_timing)))?;
            }
            ("\\x", rest) => {
                self.is_expanded = switched(self.is_expanded, rest);
                output::print(&format!("Expanded display is {}.\n", on_off(self.is_expanded)))?;
            }
            ("\\dt", "") => return self.statement(&RELATIONS.replace('%', "c.relkind = 'r'")),
            ("\\d", "") => {
                let kinds = "c.relkind in ('r', 'i', 'S', 'v')";
                return self.statement(&RELATIONS.replace('%', kinds));
            }
            ("\\d" | "\\dt", table) => return self.describe_table(table),
            ("\\i", path) if !path.is_empty() => return self.include(path),
            _ => {
                output::say(&format!("{word} is no command of this prompt; \\? lists them"));
                return Ok(Next::Failed);
            }
        }
        Ok(Next::Go)
    }

    fn describe_table(&mut self, table: &str) -> Result<Next> {
        // Names are folded to lower case, unless they are in double quotes.
        let name = match table.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
            Some(name) => name.to_owned(),
            None => table.to_lowercase(),
        };
        let name = name.replace('\'', "''");
        let shown = self.statement(&COLUMNS.replace('%', &name))?;
        match shown {
            Next::Go => self.statement(&INDEXES.replace('%', &name)),
            shown => Ok(shown),
        }
    }

    fn include(&mut self, path: &str) -> Result<Next> {
        if self.depth == DEPTH_MAX {
            output::say(&format!("{path} is included by itself, {DEPTH_MAX} times"));
            return Ok(Next::Failed);
        }
        self.depth += 1;
        let run = self.run_source(&Source::File(PathBuf::from(path)));
        self.depth -= 1;
        match run {
            Ok(true) => Ok(Next::Go),
            Ok(false) => Ok(Next::Failed),
            // A file that cannot be read does not end the prompt.
            Err(error) => {
                output::say(&format!("{error:#}"));
                Ok(Next::Failed)
            }
        }
    }
}

fn switched(is_on: bool, word: &str) -> bool {
    match word {
        "on" => true,
        "off" => false,
        _ => !is_on,
    }
}

fn on_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}
