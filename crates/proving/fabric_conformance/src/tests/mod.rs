//! All tests, in the order of `docs/assumptions.md`.

mod admission;
mod atomics;
mod bounds;
mod calls;
mod counters;
mod death;
mod dropped;
mod order;
mod rows;
mod settle;
mod slots;
mod visibility;
mod words;

use crate::test::Test;
use fabric::Env;

pub fn all<E: Env>() -> Vec<Test<E>> {
    let mut tests = Vec::new();
    tests.extend(words::tests());
    tests.extend(order::tests());
    tests.extend(rows::tests());
    tests.extend(slots::tests());
    tests.extend(visibility::tests());
    tests.extend(atomics::tests());
    tests.extend(calls::tests());
    tests.extend(dropped::tests());
    tests.extend(bounds::tests());
    tests.extend(counters::tests());
    tests.extend(death::tests());
    tests.extend(settle::tests());
    tests.extend(admission::tests());
    tests
}

/// The names of all tests.
pub fn names() -> Vec<&'static str> {
    all::<fabric::LocalEnv>().iter().map(|test| test.name).collect()
}
