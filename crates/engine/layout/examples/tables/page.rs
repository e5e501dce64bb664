//! Markdown: headings, paragraphs and tables with aligned columns.

#[derive(Default)]
pub struct Page {
    text: String,
}

/// A word of a structure.
pub struct Field {
    /// Its word offset as the code computes it, such as `3+K`.
    pub place: String,
    /// Byte offset in the example, if the word has a fixed offset.
    pub byte: Option<u64>,
    pub name: &'static str,
    /// Verb, and step of a transaction or other operation.
    pub written: &'static str,
    pub meaning: &'static str,
}

impl Field {
    /// A word at a fixed offset.
    pub fn at(word: u64, name: &'static str, written: &'static str, meaning: &'static str) -> Self {
        let (place, byte) = (word.to_string(), Some(word * layout::WORD_BYTES));
        Self { place, byte, name, written, meaning }
    }

    /// Words at an offset that depends on the table.
    pub fn from(
        place: impl Into<String>,
        name: &'static str,
        written: &'static str,
        meaning: &'static str,
    ) -> Self {
        Self { place: place.into(), byte: None, name, written, meaning }
    }
}

impl Page {
    pub fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    pub fn heading(&mut self, heading: &str, paragraph: &str) {
        self.line("");
        self.line(&format!("## {heading}"));
        self.line("");
        self.line(paragraph);
        self.line("");
    }

    /// A table with a header row.
    pub fn table(&mut self, header: &[&str], rows: &[Vec<String>]) {
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([header[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..header.len()).map(width).collect();
        let line = |cells: Vec<String>| {
            let padded =
                cells.iter().zip(&widths).map(|(cell, &width)| format!(" {cell:width$} |"));
            format!("|{}", padded.collect::<String>())
        };
        self.line(&line(header.iter().map(|&cell| cell.to_owned()).collect()));
        let rule = widths.iter().map(|width| format!("{}|", "-".repeat(width + 2)));
        self.line(&format!("|{}", rule.collect::<String>()));
        rows.iter().for_each(|row| self.line(&line(row.clone())));
    }

    /// The words of a structure.
    pub fn fields(&mut self, fields: &[Field]) {
        let byte = |field: &Field| field.byte.map_or_else(String::new, |byte| format!("{byte:#x}"));
        let row = |field: &Field| {
            vec![
                field.place.clone(),
                byte(field),
                field.name.to_owned(),
                field.written.to_owned(),
                field.meaning.to_owned(),
            ]
        };
        let rows: Vec<_> = fields.iter().map(row).collect();
        self.table(&["word", "byte", "field", "written by", "meaning"], &rows);
    }

    pub fn text(&self) -> &str {
        &self.text
    }
}
