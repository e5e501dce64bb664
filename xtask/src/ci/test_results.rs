//! Sums the `test result:` lines that every test binary prints.

use std::fmt;
use std::ops::Add;

/// Numbers of passed and failed tests of a whole `cargo test`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TestResults {
    pub passed: u64,
    pub failed: u64,
}

impl TestResults {
    /// Reads `cargo test` output; a line looks like `test result: ok. 3 passed; 0 failed; …`.
    pub fn read(output: &str) -> TestResults {
        let mut sum = TestResults::default();
        for line in output.lines() {
            // A test that prints without a line end may share the line.
            let Some((_, counts)) = line.split_once("test result: ") else {
                continue;
            };
            sum.passed += count(counts, " passed");
            sum.failed += count(counts, " failed");
        }
        sum
    }
}

impl Add for TestResults {
    type Output = TestResults;

    fn add(self, other: TestResults) -> TestResults {
        let TestResults { passed, failed } = other;
        TestResults { passed: self.passed + passed, failed: self.failed + failed }
    }
}

impl fmt::Display for TestResults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// The number directly before `label`, or 0.
fn count(line: &str, label: &str) -> u64 {
    let Some((before, _)) = line.split_once(label) else {
        return 0;
    };
    before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_binaries_are_summed() {
        let output = "running 2 tests\n\
            test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished\n\
            passed failed\n\
            test result: FAILED. 40 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let sum = TestResults::read(output);
        assert_eq!(sum, TestResults { passed: 42, failed: 3 });
        let sum = sum + TestResults { passed: 8, failed: 0 };
        assert_eq!(sum.to_string(), "50 passed, 3 failed");
    }
}
