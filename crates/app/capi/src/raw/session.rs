//! Sessions.

use super::call::CCall;
use super::database::{CDatabase, known};
use super::handle::{ERROR, Handle, OK, guarded};
use super::text::{put, text};
use crate::called::Called;
use namdb::procedures::Session;
use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::rc::Rc;

/// The content of a session's handle.
pub struct Held {
    session: Session,
    is_running: Rc<Cell<bool>>,
}

/// A session, owned by one thread.
pub type CSession = Handle<Held>;
const SESSION: &str = "session";

/// `namdb_session_open` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_session_open(
    database: *const CDatabase,
    session: *mut *mut CSession,
) -> c_int {
    guarded(ERROR, || {
        // SAFETY: rule 1.
        unsafe { put(session, std::ptr::null_mut(), SESSION) }?;
        // SAFETY: rule 1.
        let opened = unsafe { known(database) }?.database.session()?;
        let held = Held { session: opened, is_running: Rc::default() };
        // SAFETY: rule 1.
        unsafe { put(session, Handle::give(held), SESSION) }?;
        Ok(OK)
    })
}

/// `namdb_session_is_generated` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_session_is_generated(session: *const CSession) -> c_int {
    // SAFETY: rule 1.
    unsafe { Handle::with(session, SESSION, 0, |held| Ok(held.session.is_generated().into())) }
}

/// `namdb_call_open` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_call_open(
    session: *const CSession,
    procedure: *const c_char,
    call: *mut *mut CCall,
) -> c_int {
    let open = |held: &mut Held| {
        // SAFETY: rule 1.
        unsafe { put(call, std::ptr::null_mut(), "call") }?;
        // SAFETY: rule 1.
        let procedure = unsafe { text(procedure, "name of the procedure") }?;
        let opened = Called::new(held.session.call(procedure)?, held.is_running.clone());
        // SAFETY: rule 1.
        unsafe { put(call, Handle::give(opened), "call") }?;
        Ok(OK)
    };
    // SAFETY: rule 1.
    unsafe { Handle::with(session, SESSION, ERROR, open) }
}

/// `namdb_session_error` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_session_error(session: *const CSession) -> *const c_char {
    // SAFETY: rule 1.
    unsafe { Handle::error(session, SESSION) }
}

/// `namdb_session_close` of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn namdb_session_close(session: *mut CSession) -> c_int {
    // SAFETY: rule 1.
    unsafe { Handle::close(session, SESSION) }
}
