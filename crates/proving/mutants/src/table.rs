//! The result of a search, as a table and as JSON.

use mutants::Planted;
use mutants::run::Catch;
use mutants::search::Searched;
use serde_json::json;
use std::fmt::Write;

/// A mutant, and the result of its search.
pub struct MutantResult {
    pub planted: &'static Planted,
    pub searched: Searched,
}

impl MutantResult {
    fn by(&self) -> &str {
        self.searched.caught.as_ref().map_or("-", |(_, catch)| catch.name())
    }
}

/// The table; its last line is `N of M caught`.
pub fn text(rows: &[MutantResult]) -> String {
    let width =
        |of: &dyn Fn(&MutantResult) -> usize| rows.iter().map(of).max().unwrap_or(0).max(10);
    let names = width(&|row| row.planted.name().len());
    let guards = width(&|row| row.planted.guard.len());
    let mut text = format!(
        "{:names$}  {:guards$}  {:>10}  {:24}  {:>6}  {:>8}\n",
        "mutant", "guard removed", "reached", "caught by", "seeds", "seconds"
    );
    for row in rows {
        let Searched { seeds, asked, time, .. } = &row.searched;
        let seconds = time.as_secs_f64();
        let (name, guard, by) = (row.planted.name(), row.planted.guard, row.by());
        let line = format!(
            "{name:names$}  {guard:guards$}  {asked:>10}  {by:24}  {seeds:>6}  {seconds:>8.1}"
        );
        writeln!(text, "{line}").expect("a string takes all");
    }
    let caught = rows.iter().filter(|row| row.searched.caught.is_some()).count();
    let judged = rows.iter().filter(|row| is_judged(row)).count();
    writeln!(text, "{judged} by the judge of histories").expect("a string takes all");
    writeln!(text, "{caught} of {} caught", rows.len()).expect("a string takes all");
    text
}

fn is_judged(row: &MutantResult) -> bool {
    row.searched.caught.as_ref().is_some_and(|(_, catch)| catch.is_black_box())
}

/// The same as JSON.
pub fn json(rows: &[MutantResult]) -> serde_json::Result<String> {
    let one = |row: &MutantResult| {
        let Searched { caught, seeds, asked, time, unmutated } = &row.searched;
        let detail = caught.as_ref().map(|(_, catch)| match catch {
            Catch::Judge { summary, .. } => summary.clone(),
            Catch::Structure(what) | Catch::Shadow(what) | Catch::Assertion(what) => what.clone(),
        });
        json!({
            "mutant": row.planted.name(),
            "guard": row.planted.guard,
            "reached": asked,
            "caught_by": caught.as_ref().map(|(_, catch)| catch.name()),
            "by_judge": is_judged(row),
            "seed": caught.as_ref().map(|(seed, _)| seed),
            "detail": detail,
            "seeds": seeds,
            "seconds": time.as_secs_f64(),
            "unmutated_is_right": unmutated.is_none(),
        })
    };
    let rows: Vec<_> = rows.iter().map(one).collect();
    let text = serde_json::to_string_pretty(&rows)?;
    Ok(text + "\n")
}
