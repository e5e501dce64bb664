//! The functions of `json` and `jsonb`.

/// A function of either type; [`crate::function::Function::Json`] has the type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JsonFunction {
    /// The JSON of any value.
    To,
    /// An object of keys and values, one after the other.
    BuildObject,
    /// An array of any values.
    BuildArray,
    /// The name of a value's type.
    Typeof,
    /// The number of elements of an array.
    Length,
    /// Replaces the part at a path.
    Set,
    /// Prints over several lines.
    Pretty,
    /// Drops pairs whose value is null.
    StripNulls,
    /// The part at a path.
    ExtractPath,
    /// The part at a path, as text.
    ExtractPathText,
    /// The elements of an array, as an array of SQL.
    Elements,
    /// The elements as texts.
    ElementsText,
    /// The keys of an object, as an array of SQL.
    Keys,
    /// Its values.
    Values,
    /// Its values as texts.
    ValuesText,
}

/// Name without `json_` or `jsonb_`, function, and the types that have it.
const NAMES: [(&str, JsonFunction, Of); 14] = [
    ("build_object", JsonFunction::BuildObject, Of::Both),
    ("build_array", JsonFunction::BuildArray, Of::Both),
    ("typeof", JsonFunction::Typeof, Of::Both),
    ("array_length", JsonFunction::Length, Of::Both),
    ("set", JsonFunction::Set, Of::Jsonb),
    ("pretty", JsonFunction::Pretty, Of::Jsonb),
    ("strip_nulls", JsonFunction::StripNulls, Of::Jsonb),
    ("extract_path", JsonFunction::ExtractPath, Of::Both),
    ("extract_path_text", JsonFunction::ExtractPathText, Of::Both),
    ("array_elements", JsonFunction::Elements, Of::Both),
    ("array_elements_text", JsonFunction::ElementsText, Of::Both),
    ("object_keys", JsonFunction::Keys, Of::Both),
    ("each", JsonFunction::Values, Of::Both),
    ("each_text", JsonFunction::ValuesText, Of::Both),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Both,
    Jsonb,
}

impl JsonFunction {
    /// The function with this name, and whether it is one of `jsonb`.
    pub(crate) fn named(name: &str) -> Option<(Self, bool)> {
        match name {
            "to_json" | "row_to_json" => return Some((Self::To, false)),
            "to_jsonb" => return Some((Self::To, true)),
            _ => {}
        }
        let (short, is_binary) = match name.strip_prefix("jsonb_") {
            Some(short) => (short, true),
            None => (name.strip_prefix("json_")?, false),
        };
        let found = NAMES.iter().find(|(own, ..)| *own == short);
        let found = found.filter(|(_, _, of)| is_binary || *of == Of::Both);
        found.map(|(_, function, _)| (*function, is_binary))
    }

    /// Whether it returns rows, and can be called in `FROM` only.
    pub const fn returns_rows(self) -> bool {
        matches!(
            self,
            Self::Elements | Self::ElementsText | Self::Keys | Self::Values | Self::ValuesText
        )
    }

    /// Whether its arguments are values of any type.
    pub const fn takes_any(self) -> bool {
        matches!(self, Self::To | Self::BuildObject | Self::BuildArray)
    }

    /// The name in SQL.
    pub const fn name(self, is_binary: bool) -> &'static str {
        let (json, jsonb) = match self {
            Self::To => ("to_json", "to_jsonb"),
            Self::BuildObject => ("json_build_object", "jsonb_build_object"),
            Self::BuildArray => ("json_build_array", "jsonb_build_array"),
            Self::Typeof => ("json_typeof", "jsonb_typeof"),
            Self::Length => ("json_array_length", "jsonb_array_length"),
            Self::Set => ("json_set", "jsonb_set"),
            Self::Pretty => ("json_pretty", "jsonb_pretty"),
            Self::StripNulls => ("json_strip_nulls", "jsonb_strip_nulls"),
            Self::ExtractPath => ("json_extract_path", "jsonb_extract_path"),
            Self::ExtractPathText => ("json_extract_path_text", "jsonb_extract_path_text"),
            Self::Elements => ("json_array_elements", "jsonb_array_elements"),
            Self::ElementsText => ("json_array_elements_text", "jsonb_array_elements_text"),
            Self::Keys => ("json_object_keys", "jsonb_object_keys"),
            Self::Values => ("json_each", "jsonb_each"),
            Self::ValuesText => ("json_each_text", "jsonb_each_text"),
        };
        if is_binary { jsonb } else { json }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for (_, function, of) in NAMES {
            assert_eq!(JsonFunction::named(function.name(true)), Some((function, true)));
            let is_both = of == Of::Both;
            let found = JsonFunction::named(function.name(false));
            assert_eq!(found, is_both.then_some((function, false)));
        }
        assert_eq!(JsonFunction::named("to_jsonb"), Some((JsonFunction::To, true)));
        assert_eq!(JsonFunction::named("jsonb_nothing"), None);
    }
}
