//! Databases.

use super::handle::{ERROR, OK, guarded};
use super::text::{put, text};
use crate::failure::{Failure, c_text, last};
use crate::options::COptions;
use namdb::procedures::{Database, Options};
use std::ffi::{CStr, CString, c_char, c_int};

/// A database, shared by all threads.
pub struct CDatabase {
    pub(super) database: Database,
    names: Vec<CString>,
}

const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<CDatabase>();
};

/// `namdb_version` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn namdb_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("versions have no zeros"),
        };
    VERSION.as_ptr()
}

/// `namdb_last_error` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn namdb_last_error() -> *const c_char {
    last()
}

/// `namdb_open` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_open(
    folder: *const c_char,
    options: *const COptions,
    database: *mut *mut CDatabase,
) -> c_int {
    guarded(ERROR, || {
        // SAFETY: rule 1.
        unsafe { put(database, std::ptr::null_mut(), "database") }?;
        // SAFETY: rule 1.
        let (folder, options) = unsafe { (text(folder, "folder")?, read(options)?) };
        let opened = Database::open(folder, &options)?;
        let names = opened.procedures().map(|signature| c_text(&signature.name)).collect();
        let opened = Box::into_raw(Box::new(CDatabase { database: opened, names }));
        // SAFETY: rule 1.
        unsafe { put(database, opened, "database") }?;
        Ok(OK)
    })
}

/// Reads the options; null selects the defaults.
///
/// # Safety
/// Rule 1.
unsafe fn read(options: *const COptions) -> Result<Options, Failure> {
    // SAFETY: rule 1.
    let Some(options) = (unsafe { options.as_ref() }) else { return Ok(Options::default()) };
    let cluster = match options.cluster.is_null() {
        true => None,
        // SAFETY: rule 1.
        false => Some(unsafe { text(options.cluster, "cluster's file") }?),
    };
    options.read(cluster)
}

/// Dereferences a pointer to a database.
///
/// # Safety
/// Rule 1.
pub(super) unsafe fn known<'a>(database: *const CDatabase) -> Result<&'a CDatabase, Failure> {
    // SAFETY: rule 1; nothing in it changes, so threads may share it.
    unsafe { database.as_ref() }.ok_or_else(|| Failure::new("the database is null"))
}

/// `namdb_procedure_count` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_procedure_count(database: *const CDatabase) -> usize {
    // SAFETY: rule 1.
    guarded(0, || Ok(unsafe { known(database) }?.names.len()))
}

/// `namdb_procedure_name` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_procedure_name(
    database: *const CDatabase,
    procedure: usize,
) -> *const c_char {
    guarded(std::ptr::null(), || {
        // SAFETY: rule 1.
        let names = unsafe { &known(database)?.names };
        let name = names.get(procedure).ok_or_else(|| {
            Failure(format!("there is no procedure {procedure}: the workload has {}", names.len()))
        })?;
        Ok(name.as_ptr())
    })
}

/// `namdb_close` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_close(database: *mut CDatabase) -> c_int {
    guarded(ERROR, || {
        if !database.is_null() {
            // SAFETY: `namdb_open` created it, and by rule 1 nobody uses it any more.
            drop(unsafe { Box::from_raw(database) });
        }
        Ok(OK)
    })
}
