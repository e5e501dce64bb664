//! Texts with variables for the results of a run: `{{name}}`, or `{{name: of what}}`.

/// Replaces each variable by the result of `value`.
///
/// # Errors
/// If a variable is not closed, or if `value` returns an error; both with the line.
pub(super) fn fill(
    text: &str,
    mut value: impl FnMut(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        let line = 1 + text[..text.len() - behind.len()].matches('\n').count();
        let closed = behind.split_once("}}").filter(|(place, _)| !place.contains('\n'));
        let (place, after) = closed.ok_or(format!("line {line}: {{{{ is not closed"))?;
        filled.push_str(before);
        let value =
            value(place).map_err(|problem| format!("line {line}: {{{{{place}}}}}: {problem}"))?;
        filled.push_str(&value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// A variable in an experiment's text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Asked<'a> {
    /// `run`: the command and the parameters of the run.
    Run,
    Picture,
    /// `compared`: published numbers compared with ours.
    Compared,
    /// `points`: all points of all curves.
    Points,
    /// `tables`: the results that are not curves.
    Tables,
    /// `notes`: the remarks of the run, sentence by sentence.
    Notes,
    /// `ours: WHAT`: our number of a comparison, with its unit.
    Ours(&'a str),
    /// `error: WHAT`: the error of a comparison, in percent.
    Error(&'a str),
    /// `first: SERIES`: the first value of a curve.
    First(&'a str),
    /// `last: SERIES`: its last value.
    Last(&'a str),
    /// `most: SERIES`: its highest value.
    Most(&'a str),
    /// `most at: SERIES`: the position of the highest value.
    MostAt(&'a str),
    /// `at X: SERIES`: its value at X.
    At(f64, &'a str),
}

impl<'a> Asked<'a> {
    /// Parses a variable.
    pub(super) fn parse(place: &'a str) -> Result<Self, String> {
        let blocks = [
            ("run", Self::Run),
            ("picture", Self::Picture),
            ("compared", Self::Compared),
            ("points", Self::Points),
            ("tables", Self::Tables),
            ("notes", Self::Notes),
        ];
        if let Some((_, block)) = blocks.iter().find(|(name, _)| *name == place) {
            return Ok(*block);
        }
        let unknown = || {
            "nothing of this name; there are run, picture, compared, points, tables, notes, and ours, error, first, last, \
             most, most at, at X with what they are of behind a colon"
                .to_owned()
        };
        let (name, of) = place.split_once(": ").ok_or_else(unknown)?;
        match name {
            "ours" => Ok(Self::Ours(of)),
            "error" => Ok(Self::Error(of)),
            "first" => Ok(Self::First(of)),
            "last" => Ok(Self::Last(of)),
            "most" => Ok(Self::Most(of)),
            "most at" => Ok(Self::MostAt(of)),
            _ => {
                let x = name.strip_prefix("at ").and_then(|x| x.parse().ok());
                x.map(|x| Self::At(x, of)).ok_or_else(unknown)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_what_is_wrong_has_a_line() {
        let double = |place: &str| match place {
            "colour" => Err("nobody knows".to_owned()),
            _ => Ok(format!("<{place}>")),
        };
        assert_eq!(fill("a {{b}}\n{{c: d}}.", double), Ok("a <b>\n<c: d>.".to_owned()));
        assert_eq!(fill("none", double), Ok("none".to_owned()));
        let unknown = fill("a\n{{colour}}", double);
        assert_eq!(unknown, Err("line 2: {{colour}}: nobody knows".to_owned()));
        for open in ["a\n\n{{b", "a\n\n{{b\n}}"] {
            assert_eq!(fill(open, double), Err("line 3: {{ is not closed".to_owned()));
        }
    }

    #[test]
    fn places_are_known_by_their_names() {
        assert_eq!(Asked::parse("notes"), Ok(Asked::Notes));
        assert_eq!(Asked::parse("most at: 8 bytes: all"), Ok(Asked::MostAt("8 bytes: all")));
        assert_eq!(Asked::parse("at 5.5: it"), Ok(Asked::At(5.5, "it")));
        for unknown in ["note", "at noon: it", "least: it", ""] {
            assert!(
                Asked::parse(unknown).is_err_and(|told| told.contains("there are run")),
                "{unknown}"
            );
        }
    }
}
