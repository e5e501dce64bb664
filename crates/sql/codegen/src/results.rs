//! Prints rows of results.

use crate::code::{Code, Kind};
use crate::function::Function;
use crate::unsupported::Unsupported;
use sql::expression::Expr;
use sql::procedure::{Parameter, ParameterMode};

type Result<T> = std::result::Result<T, Unsupported>;

impl Function<'_> {
    /// Returns a row of the output parameters.
    pub fn give_outputs(&mut self) -> Result<()> {
        let outputs =
            self.procedure.routine.parameters.iter().filter(|p| p.mode != ParameterMode::In);
        let code = |p: &Parameter| match self.variables.is_null((p.variable, None)) {
            true => Ok(Code::null(Kind::Int)),
            false => self.variables.code(p.variable),
        };
        let codes: Vec<Code> = outputs.map(code).collect::<Result<_>>()?;
        self.records(&codes);
        self.cells(&codes)
    }

    /// Returns a row.
    pub fn give(&mut self, columns: &[Code], results: &[Expr]) -> Result<()> {
        let codes = self.codes(results, columns, &[])?;
        self.records(&codes);
        self.cells(&codes)
    }

    /// Appends a row of these values. A row that is most of a table's row is copied as a whole.
    fn cells(&mut self, codes: &[Code]) -> Result<()> {
        if let Some((record, columns)) = self.whole(codes) {
            self.line(format!("call.results.record(&{record}, &[{columns}]);"));
            return Ok(());
        }
        self.line("call.results.row();");
        let is_null = |code: &Code| code.text == "None";
        let is_text = |code: &Code| code.kind == Kind::Text && !code.is_nullable;
        let are_alike = |one: &Code, other: &Code| {
            (is_null(one) && is_null(other)) || (is_text(one) && is_text(other))
        };
        for alike in codes.chunk_by(are_alike) {
            match alike {
                [first, _, ..] if is_null(first) => {
                    self.line(format!("call.results.nulls::<{}>();", alike.len()));
                }
                [first, _, ..] if is_text(first) => {
                    let texts: Vec<&str> = alike.iter().map(|code| code.text.as_str()).collect();
                    self.line(format!("call.results.texts(&[{}]);", texts.join(", ")));
                }
                _ => alike.iter().try_for_each(|code| self.cell(code))?,
            }
        }
        Ok(())
    }

    /// Appends a value to the row.
    pub fn cell(&mut self, code: &Code) -> Result<()> {
        let suffix = if code.is_nullable { "_or_null" } else { "" };
        let text = &code.as_shown()?.text;
        match (&code.kind, code.is_nullable) {
            _ if text == "None" => self.line("call.results.null();"),
            (Kind::Int, _) => self.line(format!("call.results.int{suffix}({text});")),
            (Kind::Decimal(scale), _) => {
                self.line(format!("call.results.decimal{suffix}({text}, {scale});"));
            }
            (Kind::Bool, true) => {
                self.line(format!("call.results.int_or_null({text}.map(i64::from));"))
            }
            (Kind::Bool, false) => self.line(format!("call.results.int(i64::from({text}));")),
            (Kind::Float, _) => self.line(format!("call.results.float{suffix}({text});")),
            (Kind::Text, _) => self.line(format!("call.results.text{suffix}({text});")),
            _ => return Err(Unsupported::new("an array in a result")),
        }
        Ok(())
    }
}
