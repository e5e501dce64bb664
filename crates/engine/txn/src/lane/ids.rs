//! Positions in the lists of a transaction, with a distinct type per list.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// The position of a `T` in its [`List`]. It is as large as a bare number.
#[repr(transparent)]
pub struct Id<T> {
    position: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    #[inline(always)]
    pub const fn new(position: u32) -> Self {
        Self { position, of: PhantomData }
    }

    #[inline(always)]
    pub const fn position(self) -> u32 {
        self.position
    }
}

impl<T> Clone for Id<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> PartialEq for Id<T> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.position == other.position
    }
}

impl<T> Eq for Id<T> {}

impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.position.fmt(formatter)
    }
}

/// A list with typed positions.
#[derive(Debug)]
pub struct List<T>(Vec<T>);

impl<T> List<T> {
    /// An empty list with room for `capacity` elements.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    /// Appends an element and returns its id.
    #[inline(always)]
    pub fn add(&mut self, element: T) -> Id<T> {
        debug_assert!(self.0.len() < u32::MAX as usize);
        let id = Id::new(self.0.len() as u32);
        self.0.push(element);
        id
    }

    /// Gives up the room for more elements.
    pub fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// Removes all elements.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes the elements from position `len` on.
    #[inline(always)]
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    #[inline(always)]
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for List<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> Index<Id<T>> for List<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, id: Id<T>) -> &T {
        &self.0[id.position as usize]
    }
}

impl<T> IndexMut<Id<T>> for List<T> {
    #[inline(always)]
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        &mut self.0[id.position as usize]
    }
}
