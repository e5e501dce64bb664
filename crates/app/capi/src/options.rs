//! Options for opening a database, as C passes them.

use crate::failure::Failure;
use namdb::Isolation;
use namdb::procedures::{Options, Tables};
use std::ffi::{c_char, c_int};

/// `namdb_options` of the header, field by field. Zero selects the default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct COptions {
    /// Size of this structure in the program's version of the header.
    pub struct_bytes: usize,
    /// `NAMDB_TABLES_LOADED`, `_EMPTY` or `_PRESENT`.
    pub tables: c_int,
    /// `NAMDB_ISOLATION_SNAPSHOT` or `_SERIALIZABLE`.
    pub isolation: c_int,
    /// Whether generated code is ignored.
    pub plans_only: c_int,
    /// Maximum number of concurrent sessions.
    pub sessions: u32,
    /// Scale of the loaded tables, in units.
    pub units: u64,
    /// Memory for the tables in this process, in bytes.
    pub memory_bytes: u64,
    /// Seed of the loaded rows.
    pub seed: u64,
    /// Path of a cluster file, or null.
    pub cluster: *const c_char,
}

impl COptions {
    /// Converts the options, with the path of the cluster file.
    ///
    /// # Errors
    /// If a number is invalid, or the program was built with another version of the header.
    pub fn read(&self, cluster: Option<&str>) -> Result<Options, Failure> {
        if self.struct_bytes != size_of::<Self>() {
            return Err(Failure::new(format!(
                "the options have {} bytes and this library knows {}: fill them by namdb_default_options(), and build the program \
                 with the header of this library",
                self.struct_bytes,
                size_of::<Self>()
            )));
        }
        let usual = Options::default();
        Ok(Options {
            tables: match self.tables {
                0 => Tables::Loaded,
                1 => Tables::Empty,
                2 => Tables::Present,
                other => return Err(unknown("tables", other, "NAMDB_TABLES_")),
            },
            isolation: match self.isolation {
                0 => Isolation::Snapshot,
                1 => Isolation::Serializable,
                other => return Err(unknown("isolation", other, "NAMDB_ISOLATION_")),
            },
            units: Some(self.units).filter(|units| *units > 0),
            memory_bytes: Some(self.memory_bytes).filter(|bytes| *bytes > 0),
            sessions: if self.sessions > 0 { self.sessions } else { usual.sessions },
            seed: if self.seed > 0 { self.seed } else { usual.seed },
            plans_only: self.plans_only != 0,
            code: Vec::new(),
            cluster: cluster.map(Into::into),
        })
    }
}

fn unknown(field: &str, value: c_int, constants: &str) -> Failure {
    Failure::new(format!("the option `{field}` is {value}; it takes the constants {constants}..."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: COptions = COptions {
        struct_bytes: size_of::<COptions>(),
        tables: 0,
        isolation: 0,
        plans_only: 0,
        sessions: 0,
        units: 0,
        memory_bytes: 0,
        seed: 0,
        cluster: std::ptr::null(),
    };

    #[test]
    fn zeros_select_the_defaults() {
        assert_eq!(USUAL.read(None), Ok(Options::default()));
        let given = COptions { tables: 1, isolation: 1, units: 3, ..USUAL };
        let read = given.read(None).expect("all are known");
        assert_eq!((read.tables, read.isolation), (Tables::Empty, Isolation::Serializable));
        assert_eq!(read.units, Some(3));
    }

    #[test]
    fn invalid_options_are_reported() {
        let refusal = |options: COptions| options.read(None).expect_err("refused").0;
        assert!(refusal(COptions { tables: 9, ..USUAL }).contains("`tables` is 9"));
        assert!(refusal(COptions { isolation: -1, ..USUAL }).contains("`isolation` is -1"));
        assert!(refusal(COptions { struct_bytes: 8, ..USUAL }).contains("namdb_default_options"));
    }
}
