//! Refuses other statements in a schema, each with its own advice.

use super::SchemaReader;
use crate::error::{Error, ErrorKind};
use crate::keyword::keyword_meant;
use sqlparser::tokenizer::{Span, Token};

/// Words between `CREATE` and the kind of object.
pub(super) const MODIFIERS: [&str; 13] = [
    "OR",
    "REPLACE",
    "GLOBAL",
    "LOCAL",
    "TEMP",
    "TEMPORARY",
    "UNLOGGED",
    "UNIQUE",
    "MATERIALIZED",
    "RECURSIVE",
    "FOREIGN",
    "TRUSTED",
    "CONSTRAINT",
];

/// The kinds of objects that PostgreSQL creates, with advice.
const KINDS: [(&str, &str); 27] = [
    ("ACCESS", "leave it out"),
    ("AGGREGATE", "compute it in a procedure"),
    ("CAST", "leave it out, and write CAST in the procedures"),
    ("COLLATION", "leave it out; texts are compared by their bytes"),
    ("CONVERSION", "leave it out"),
    ("DATABASE", "leave it out: a folder is one database"),
    ("DOMAIN", "write the type and its CHECK in each column"),
    ("EVENT", "leave it out"),
    ("EXTENSION", "leave it out; namdb has no extensions"),
    ("FUNCTION", "move it to procedures.sql"),
    ("GROUP", "leave it out; namdb has no users in SQL"),
    ("LANGUAGE", "leave it out"),
    ("OPERATOR", "leave it out"),
    ("POLICY", "leave it out; namdb has no users in SQL"),
    ("PROCEDURE", "move it to procedures.sql"),
    ("PUBLICATION", "leave it out"),
    ("ROLE", "leave it out; namdb has no users in SQL"),
    ("RULE", "write its actions into the procedures"),
    ("SCHEMA", "leave it out, and write names without a schema"),
    ("SEQUENCE", "keep the counter in a column of a row, which procedures update"),
    ("STATISTICS", "leave it out"),
    ("SUBSCRIPTION", "leave it out"),
    ("TABLESPACE", "leave it out"),
    ("TRIGGER", "write its actions into the procedures that change the table"),
    ("TYPE", "write the columns themselves; for an enum, varchar(n) with a CHECK"),
    ("USER", "leave it out; namdb has no users in SQL"),
    ("VIEW", "write its query into the procedures that read it"),
];

/// PostgreSQL's other statements, with advice.
const STATEMENTS: [(&str, &str); 36] = [
    ("ALTER", "write the change into the CREATE statement of the object"),
    ("ANALYZE", "leave it out"),
    ("BEGIN", "leave it out"),
    ("CALL", "leave it out; workload.toml says which procedures are called"),
    ("CHECKPOINT", "leave it out"),
    ("CLUSTER", "leave it out"),
    ("COMMENT", "leave it out, or write it after `--`"),
    ("COMMIT", "leave it out"),
    ("COPY", "leave it out; workload.toml says which rows are loaded"),
    ("DEALLOCATE", "leave it out"),
    ("DELETE", "leave it out; workload.toml says which rows are loaded"),
    ("DISCARD", "leave it out"),
    ("DO", "leave it out"),
    ("DROP", "leave it out: a schema begins with an empty database"),
    ("END", "leave it out"),
    ("EXPLAIN", "leave it out"),
    ("GRANT", "leave it out; namdb has no users in SQL"),
    ("IMPORT", "write CREATE TABLE"),
    ("INSERT", "leave it out; workload.toml says which rows are loaded"),
    ("LOAD", "leave it out"),
    ("LOCK", "leave it out"),
    ("PREPARE", "leave it out"),
    ("REINDEX", "leave it out"),
    ("RESET", "leave it out"),
    ("REVOKE", "leave it out; namdb has no users in SQL"),
    ("ROLLBACK", "leave it out"),
    ("SECURITY", "leave it out"),
    ("SELECT", "leave it out"),
    ("SET", "leave it out"),
    ("SHOW", "leave it out"),
    ("START", "leave it out"),
    ("TRUNCATE", "leave it out: a schema begins with an empty database"),
    ("UPDATE", "leave it out; workload.toml says which rows are loaded"),
    ("VACUUM", "leave it out"),
    ("VALUES", "leave it out"),
    ("WITH", "leave it out"),
];

impl SchemaReader<'_> {
    /// The error for the statement that begins here.
    pub(super) fn refused_statement(&self) -> Error {
        let span = self.cursor.span();
        let Some(first) = self.cursor.peek().and_then(plain) else {
            return self.cursor.expected("a statement");
        };
        if first == "CREATE" {
            return self.refused_creation(span);
        }
        match advice(&STATEMENTS, &first) {
            Some(advice) => self.cursor.outside(span, &format!("{first} in a schema"), advice),
            None => self.unknown(span, &first, self.cursor.peek()),
        }
    }

    /// The error for this `CREATE`.
    fn refused_creation(&self, span: Span) -> Error {
        let word = |ahead: usize| self.cursor.peek_at(ahead).and_then(plain);
        let mut ahead = 1;
        while word(ahead).is_some_and(|word| MODIFIERS.contains(&&*word)) {
            ahead += 1;
        }
        let words: Vec<String> = (0..=ahead).filter_map(word).collect();
        let shown = words.join(" ");
        match word(ahead).as_deref() {
            Some("TABLE") => {
                self.cursor.outside(span, &shown, "write CREATE TABLE; every table is permanent")
            }
            Some(kind) if advice(&KINDS, kind).is_some() => {
                self.cursor.outside(span, &shown, advice(&KINDS, kind).unwrap_or_default())
            }
            _ => self.unknown(span, &shown, self.cursor.peek_at(ahead)),
        }
    }

    /// The error that PostgreSQL has no such statement; suggests a keyword that is similar to
    /// `word`.
    fn unknown(&self, span: Span, shown: &str, word: Option<&Token>) -> Error {
        let sentence = format!("PostgreSQL has no statement `{shown}`");
        let advice = match keyword_meant(word) {
            none if none.is_empty() => {
                "a schema may contain CREATE TABLE, CREATE INDEX and ALTER TABLE ... ADD".to_owned()
            }
            meant => meant,
        };
        self.cursor.error(span, ErrorKind::Syntax, sentence).advise(advice)
    }
}

/// An unquoted word, in upper case.
fn plain(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_uppercase()),
        _ => None,
    }
}

fn advice(table: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    table.iter().find(|(known, _)| *known == word).map(|(_, advice)| *advice)
}
