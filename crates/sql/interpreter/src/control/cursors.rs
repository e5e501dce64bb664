//! Cursors: `OPEN` runs the query and holds its rows, so that they are those of its snapshot, and
//! `FETCH` and `MOVE` go to one of them.
//!
//! Decision: docs/decisions/0347-cursors-of-routines-hold-their-rows.md

use super::{Interpreter, stopped};
use crate::error::{Failure, Result, plain};
use crate::memory::Reservation;
use crate::program::{CursorOpen, CursorStep, DynamicInto, Expression, OpenedRows};
use crate::rows::Rows;
use fabric::Env;
use sql::cursors::MovementKind;
use sql::{Catalog, Field, SqlType};
use sql_value::{Error, Formula, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The open cursors of a transaction, by name.
#[derive(Clone, Default, Debug)]
pub struct Cursors {
    open: BTreeMap<String, RoutineCursor>,
    /// Number of cursors that were opened.
    opened: u64,
}

/// An open cursor of a routine.
#[derive(Clone, Debug)]
pub struct RoutineCursor {
    held: Arc<Held>,
    /// The present row, from 1; 0 is before the first one, and the number of rows and 1 behind
    /// the last one.
    at: usize,
    /// Its number among the cursors that were opened.
    number: u64,
    /// Whether a loop has opened it: `ROLLBACK` leaves it open.
    is_of_loop: bool,
    /// The casts to targets of these types.
    casts: Option<(Vec<SqlType>, Arc<[Formula]>)>,
}

/// The parts that clones of a cursor share.
#[derive(Debug)]
struct Held {
    rows: Rows,
    fields: Vec<Field>,
    only_forward: bool,
    /// The name of the table whose rows they are; its key is behind the columns.
    table: Option<String>,
    _memory: Reservation,
}

/// A movement with its number of rows.
#[derive(Clone, Copy, Debug)]
pub struct CursorMove {
    pub kind: MovementKind,
    /// `None` for all rows.
    pub count: Option<i64>,
}

/// The name of a cursor in errors of memory.
pub(super) const NODE: &str = "Cursor";

impl Cursors {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// The cursor with this name.
    pub fn get(&self, name: &str) -> Option<&RoutineCursor> {
        self.open.get(name)
    }

    /// The cursor with this name, to move it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut RoutineCursor> {
        self.open.get_mut(name)
    }

    /// Closes a cursor; returns whether there was one.
    pub fn close(&mut self, name: &str) -> bool {
        self.open.remove(name).is_some()
    }

    /// Closes all, except those of running loops.
    pub fn close_all(&mut self) {
        self.open.retain(|_, cursor| cursor.is_of_loop);
    }

    /// Closes the cursor with this name, if it has this number.
    pub(super) fn close_numbered(&mut self, name: &str, number: u64) {
        if self.open.get(name).is_some_and(|cursor| cursor.number == number) {
            self.open.remove(name);
        }
    }

    /// Number of cursors that were opened.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Closes the cursors that were opened after this many.
    pub fn close_behind(&mut self, opened: u64) {
        self.open.retain(|_, cursor| cursor.number <= opened);
    }
}

impl RoutineCursor {
    /// The columns of its rows.
    pub fn fields(&self) -> &[Field] {
        &self.held.fields
    }

    /// Moves, and returns the numbers of the rows that it has met, in the order of the movement:
    /// from 0.
    ///
    /// # Errors
    ///
    /// It moves forward only.
    pub fn go(&mut self, step: CursorMove) -> sql_value::Result<Vec<usize>> {
        let count = self.held.rows.len();
        let forward = |rows: i64| (self.at as i64).saturating_add(rows);
        let (to, meets_all) = match (step.kind, step.count) {
            (MovementKind::Forward, None) => (i64::MAX, true),
            (MovementKind::Backward, None) => (0, true),
            (MovementKind::Forward, Some(rows)) => (forward(rows), rows != 0),
            (MovementKind::Backward, Some(rows)) => (forward(rows.saturating_neg()), rows != 0),
            (MovementKind::Relative, rows) => (forward(rows.unwrap_or(0)), false),
            (MovementKind::Absolute, rows) => match rows.unwrap_or(0) {
                from_end if from_end < 0 => ((count as i64 + 1).saturating_add(from_end), false),
                number => (number, false),
            },
        };
        let to = usize::try_from(to.clamp(0, count as i64 + 1)).unwrap_or(0);
        let is_row = |at: usize| (1..=count).contains(&at);
        let stays = to == self.at && is_row(to);
        if self.held.only_forward && (to < self.at || stays) {
            let error = Error::new("55000", "cursor can only scan forward");
            return Err(error.hint("Declare it with SCROLL option to enable backward scan."));
        }
        let met = match meets_all {
            true if to > self.at => (self.at + 1..=to).filter(|&at| is_row(at)).collect(),
            true => (to..self.at).rev().filter(|&at| is_row(at)).collect(),
            false => Vec::from_iter(Some(to).filter(|&at| is_row(at))),
        };
        self.at = to;
        Ok(met.into_iter().map(|at: usize| at - 1).collect())
    }

    /// A row, without its key, with a null for each column that the plan has left out.
    pub fn row(&self, at: usize) -> impl Iterator<Item = Value> {
        let row = self.held.rows.row(at);
        (0..self.held.fields.len()).map(|column| row.get(column).cloned().unwrap_or(Value::Null))
    }

    /// The casts of its columns to targets of these types.
    fn casts(&mut self, wanted: &[SqlType]) -> Result<Arc<[Formula]>> {
        if let Some((_, casts)) = self.casts.as_ref().filter(|(types, _)| types == wanted) {
            return Ok(casts.clone());
        }
        let exprs = sql::variable_casts(&Catalog::default(), &self.held.fields, wanted);
        let exprs = exprs.map_err(|error| plain(error.sqlstate(), error.sentence))?;
        let casts: Arc<[Formula]> = exprs.iter().map(Formula::compile).collect();
        self.casts = Some((wanted.to_vec(), casts.clone()));
        Ok(casts)
    }
}

impl<E: Env> Interpreter<'_, '_, E> {
    pub(super) async fn cursor_step(&mut self, step: &CursorStep) -> Result<()> {
        match step {
            CursorStep::Open(open) => self.open_cursor(open, false).await.map(drop),
            CursorStep::Fetch { cursor, kind, count, into } => {
                self.fetch_row(*cursor, *kind, count.as_ref(), into.as_ref()).await
            }
            CursorStep::Close(variable) => {
                let name = self.name_of_cursor(*variable)?;
                match self.frame.cursors.close(&name) {
                    true => Ok(()),
                    false => Err(no_cursor(&name)),
                }
            }
            CursorStep::Locate { cursor, table, key } => self.locate(*cursor, *table, key),
        }
    }

    /// Opens a cursor; returns its name and number.
    pub(super) async fn open_cursor(
        &mut self,
        open: &CursorOpen,
        is_of_loop: bool,
    ) -> Result<(String, u64)> {
        let given = match &self.frame.variables[open.cursor] {
            Value::Text(name) => Some(name.to_string()),
            _ => None,
        };
        let in_use = |name: &String| self.frame.cursors.open.contains_key(name);
        if let Some(name) = given.as_ref().filter(|name| in_use(name)) {
            return Err(plain("42P03", format!("cursor \"{name}\" already in use")));
        }
        let processed = self.frame.processed;
        let mut memory = Reservation::default();
        let fields = match &open.rows {
            OpenedRows::Query { number, fields, .. } => {
                self.execute_held(*number, &mut memory, NODE).await?;
                fields.clone()
            }
            OpenedRows::Text(dynamic) => self.rows_of_text(dynamic, &mut memory).await?,
        };
        let others = self.frame.scratch.input(0);
        let rows = std::mem::replace(self.rows, others);
        self.frame.processed = processed;
        let table = match &open.rows {
            OpenedRows::Query { table: Some(table), .. } => Some(self.tables[*table].name.clone()),
            _ => None,
        };
        let only_forward = open.only_forward;
        let held = Arc::new(Held { rows, fields, only_forward, table, _memory: memory });
        let cursors = &mut self.frame.cursors;
        cursors.opened += 1;
        let number = cursors.opened;
        let name = match given {
            Some(name) => name,
            None => {
                self.frame.unnamed_cursors += 1;
                let name = format!("<unnamed portal {}>", self.frame.unnamed_cursors);
                self.store_variable(open.cursor, Value::text(&name))?;
                name
            }
        };
        let cursor = RoutineCursor { held, at: 0, number, is_of_loop, casts: None };
        self.frame.cursors.open.insert(name.clone(), cursor);
        Ok((name, number))
    }

    async fn fetch_row(
        &mut self,
        cursor: usize,
        kind: MovementKind,
        count: Option<&Expression>,
        into: Option<&DynamicInto>,
    ) -> Result<()> {
        let count = match count {
            None => None,
            Some(count) => match self.evaluate(count).await? {
                Value::Int(count) => Some(count),
                _ => {
                    let message = "relative or absolute cursor position is null";
                    return Err(plain("22004", message));
                }
            },
        };
        let name = self.name_of_cursor(cursor)?;
        let Some(cursor) = self.frame.cursors.get_mut(&name) else {
            return Err(no_cursor(&name));
        };
        let met = cursor.go(CursorMove { kind, count }).map_err(Failure::Sql)?;
        self.frame.processed = met.len() as u64;
        if let Some(into) = into {
            match met.last() {
                Some(&at) => self.take_row(&name, at, into)?,
                None => self.store_nothing(&into.into)?,
            }
        }
        self.set_found(!met.is_empty());
        Ok(())
    }

    /// Assigns a row of a cursor.
    fn take_row(&mut self, name: &str, at: usize, into: &DynamicInto) -> Result<()> {
        let Some(cursor) = self.frame.cursors.get_mut(name) else { return Err(no_cursor(name)) };
        let casts = cursor.casts(&into.types)?;
        let row: Vec<Value> = cursor.row(at).collect();
        let view = self.view(&row);
        let cast = casts.iter().map(|cast| cast.evaluate(&view).map_err(stopped));
        let mut row = cast.collect::<Result<Vec<Value>>>()?;
        self.store_row(&into.into, &mut row)
    }

    /// Assigns the next row of a loop over a cursor; returns false at its end.
    pub(super) fn next_of_cursor(&mut self, name: &str, into: &DynamicInto) -> Result<bool> {
        let Some(cursor) = self.frame.cursors.get_mut(name) else { return Err(no_cursor(name)) };
        let next = CursorMove { kind: MovementKind::Forward, count: Some(1) };
        match cursor.go(next).map_err(Failure::Sql)?.first() {
            Some(&at) => self.take_row(name, at, into).map(|()| true),
            None => Ok(false),
        }
    }

    /// Assigns the key of the row on which a cursor is.
    fn locate(&mut self, cursor: usize, table: usize, key: &[usize]) -> Result<()> {
        let name = self.name_of_cursor(cursor)?;
        let Some(cursor) = self.frame.cursors.get(&name) else { return Err(no_cursor(&name)) };
        let table = &self.tables[table].name;
        let of_table = cursor.held.table.as_ref() == Some(table);
        if !of_table {
            let table = sql::namespace::own_name(table);
            let message =
                format!("cursor \"{name}\" is not a simply updatable scan of table \"{table}\"");
            return Err(plain("24000", message));
        }
        if !(1..=cursor.held.rows.len()).contains(&cursor.at) {
            return Err(plain("24000", format!("cursor \"{name}\" is not positioned on a row")));
        }
        let (held, at) = (cursor.held.clone(), cursor.at - 1);
        let values = &held.rows.row(at)[held.fields.len()..];
        for (&variable, value) in key.iter().zip(values) {
            self.store_variable(variable, value.clone())?;
        }
        Ok(())
    }

    fn name_of_cursor(&self, variable: usize) -> Result<String> {
        match &self.frame.variables[variable] {
            Value::Text(name) => Ok(name.to_string()),
            _ => {
                let name = &self.program.variables[variable].name;
                Err(plain("22004", format!("cursor variable \"{name}\" is null")))
            }
        }
    }
}

#[cold]
fn no_cursor(name: &str) -> Failure {
    plain("34000", format!("cursor \"{name}\" does not exist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(rows: usize, only_forward: bool) -> RoutineCursor {
        let mut all = Rows::new(1);
        (0..rows).for_each(|row| all.push_values(&[Value::Int(row as i64)]));
        let field = Field { name: "n".to_owned(), sql_type: SqlType::Int8 };
        let (fields, table) = (vec![field], None);
        let held = Held { rows: all, fields, only_forward, table, _memory: Reservation::default() };
        let held = Arc::new(held);
        RoutineCursor { held, at: 0, number: 1, is_of_loop: false, casts: None }
    }

    #[test]
    fn movements_end_before_the_first_and_behind_the_last_row() {
        use MovementKind::{Absolute, Backward, Forward, Relative};
        let mut three = cursor(3, false);
        let mut go = |kind, count| three.go(CursorMove { kind, count }).expect("it scrolls");
        let none: [usize; 0] = [];
        assert_eq!(go(Forward, Some(2)), [0, 1]);
        assert_eq!(go(Relative, Some(0)), [1]);
        assert_eq!(go(Forward, None), [2]);
        assert_eq!(go(Forward, Some(1)), none);
        assert_eq!(go(Backward, Some(1)), [2]);
        assert_eq!(go(Backward, None), [1, 0]);
        assert_eq!(go(Backward, Some(1)), none);
        assert_eq!(go(Absolute, Some(-1)), [2]);
        assert_eq!(go(Absolute, Some(-4)), none);
        assert_eq!(go(Absolute, Some(4)), none);
        assert_eq!(go(Relative, Some(-3)), [0]);
        assert_eq!(go(Absolute, Some(i64::MIN)), none);
        assert_eq!(go(Relative, Some(i64::MAX)), none);
    }

    #[test]
    fn some_only_move_forward() {
        use MovementKind::{Absolute, Backward, Forward};
        let mut three = cursor(3, true);
        let mut go = |kind, count| three.go(CursorMove { kind, count: Some(count) });
        assert_eq!(go(Forward, 2).expect("it moves forward"), [0, 1]);
        assert_eq!(go(Backward, 1).expect_err("it does not move backward").sqlstate, "55000");
        assert_eq!(go(Absolute, 3).expect("it moves forward"), [2]);
        assert!(go(Forward, 0).is_err());
    }
}
