//! Tables as text: aligned under headings for a terminal, tab-separated for a pipe. Pure: writes to
//! any writer.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

/// Which edge of a column its cells share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows of cells under headings. Cells hold text that is already safe to show (see
/// [`crate::keytext`]).
pub struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(columns: &[(&'static str, Align)]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row, one cell per column.
    pub fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Headings, then rows, in columns two spaces apart.
    pub fn write_aligned(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut widths: Vec<usize> =
            self.columns.iter().map(|(heading, _)| heading.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        self.write_row(out, &widths, self.columns.iter().map(|(heading, _)| *heading))?;
        self.rows
            .iter()
            .try_for_each(|row| self.write_row(out, &widths, row.iter().map(String::as_str)))
    }

    /// Rows only, cells separated by tabs; each line begins with `kind` as a first cell, if there
    /// is one.
    pub fn write_plain(&self, out: &mut dyn Write, kind: Option<&str>) -> io::Result<()> {
        for row in &self.rows {
            if let Some(kind) = kind {
                write!(out, "{kind}\t")?;
            }
            writeln!(out, "{}", row.join("\t"))?;
        }
        Ok(())
    }

    fn write_row<'a>(
        &self,
        out: &mut dyn Write,
        widths: &[usize],
        cells: impl Iterator<Item = &'a str>,
    ) -> io::Result<()> {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.zip(widths).zip(&self.columns) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            let padding = " ".repeat(width - cell.width());
            match align {
                Align::Left => line.extend([cell, &padding]),
                Align::Right => line.extend([padding.as_str(), cell]),
            }
        }
        writeln!(out, "{}", line.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table =
            Table::new(&[("NODE", Align::Left), ("KEYS", Align::Right), ("STATUS", Align::Left)]);
        table.row(vec!["riak1@10.0.0.1".into(), "7".into(), "valid".into()]);
        table.row(vec!["鍵@h".into(), "12345".into(), "down".into()]);
        table
    }

    #[test]
    fn columns_line_up_by_what_a_terminal_shows() {
        let mut text = Vec::new();
        table().write_aligned(&mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "NODE             KEYS  STATUS\n\
             riak1@10.0.0.1      7  valid\n\
             鍵@h            12345  down\n"
        );
    }

    #[test]
    fn plain_rows_have_tabs_and_no_headings() {
        let mut text = Vec::new();
        table().write_plain(&mut text, Some("member")).unwrap();
        table().write_plain(&mut text, None).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "member\triak1@10.0.0.1\t7\tvalid\nmember\t鍵@h\t12345\tdown\n\
             riak1@10.0.0.1\t7\tvalid\n鍵@h\t12345\tdown\n"
        );
    }
}
