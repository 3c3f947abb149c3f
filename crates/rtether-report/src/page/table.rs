//! Tables that a script sorts and filters; long ones are folded to their first rows.
//!
//! The rows behind the first ones stand in the page as data, each distinct cell once, and become rows
//! when a reader asks for them. A page of thousands of rows is small and opens at once.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::markup::{Element, Markup, element};
use super::super::text::count;
use super::cell::TableCell;

/// Tables with more rows are folded.
const FOLD_FROM: usize = 20;
/// Rows of a folded table before someone asks for more.
const FIRST: usize = 8;

/// A sortable table.
#[derive(Clone, Debug, Default)]
pub struct DataTable {
    /// Column titles, and whether the column is numeric.
    pub columns: Vec<(String, bool)>,
    /// Rows, and whether a row contains a failure.
    pub rows: Vec<(Vec<TableCell>, bool)>,
    /// Whether to offer a filter by text and by failure.
    pub filter: bool,
}

impl DataTable {
    /// Returns the table; it scrolls sideways on a narrow screen.
    pub fn render(self) -> Markup {
        let all: Vec<usize> = (0..self.rows.len()).collect();
        let body = self.body(&all, self.filter);
        if all.len() <= FOLD_FROM {
            return body.into();
        }
        body.child(self.data(element("script"))).into()
    }

    /// Returns a table of some of the rows, which the page has as [`Self::shared`] data of this name.
    pub fn part(&self, name: &str, rows: &[usize]) -> Markup {
        let body = self.body(rows, self.filter && rows.len() > 5);
        if rows.len() <= FOLD_FROM {
            return body.into();
        }
        let numbers: Vec<String> = rows.iter().map(usize::to_string).collect();
        body.attr("data-of", name).attr("data-rows", numbers.join(" ")).into()
    }

    /// Returns a table for rows of [`Self::shared`] data that a script chooses.
    pub fn chosen(&self, name: &str, id: &str) -> Markup {
        let body = self.body(&[], true).attr("data-of", name).attr("id", id);
        body.attr("data-rows", "").attr("hidden", "hidden").into()
    }

    /// Returns all rows as data that tables of the page share.
    pub fn shared(&self, name: &str) -> Markup {
        self.data(element("script").attr("id", name)).into()
    }

    /// Returns tools, head and first rows.
    fn body(&self, rows: &[usize], filter: bool) -> Element {
        let titles = self.columns.iter().map(|(title, is_number)| {
            let cell = element("th").attr("scope", "col");
            let cell = if *is_number { cell.class("n") } else { cell };
            cell.text(title)
        });
        let head = element("thead").child(element("tr").children(titles));
        let is_folded = rows.len() > FOLD_FROM || rows.is_empty();
        let shown = if is_folded { FIRST } else { rows.len() };
        let first = rows.iter().take(shown).map(|&row| {
            let (cells, failed) = &self.rows[row];
            let row = element("tr");
            let row = if *failed { row.class("failed") } else { row };
            row.children(cells.iter().map(TableCell::render))
        });
        let body = element("tbody").children(first);
        let table = element("table").class("data").child(head).child(body);
        let scroll = element("div").class("scroll").attr("tabindex", "0");
        let mut all = element("div").class("rows");
        if filter {
            let has = |wanted: bool| rows.iter().any(|&row| self.rows[row].1 == wanted);
            all = all.child(tools(has(true) && has(false)));
        }
        all = all.child(scroll.child(table));
        if is_folded {
            all = all.child(more(shown, rows.len()));
        }
        all
    }

    /// Puts the rows into a script element: distinct cells, rows of positions in them, and the
    /// positions of failed rows.
    fn data(&self, script: Element) -> Element {
        let mut positions = BTreeMap::new();
        let mut cells: Vec<Value> = Vec::new();
        let mut position = |cell: &TableCell| {
            let held = cell.held();
            *positions.entry(held.to_string()).or_insert_with(|| {
                cells.push(held);
                cells.len() - 1
            })
        };
        let rows = self.rows.iter().map(|(row, _)| row);
        let rows: Vec<Vec<usize>> =
            rows.map(|row| row.iter().map(&mut position).collect()).collect();
        let numbered = self.rows.iter().enumerate();
        let failed = numbered.filter(|(_, (_, failed))| *failed);
        let failed: Vec<usize> = failed.map(|(row, _)| row).collect();
        let script = script.attr("type", "application/json");
        script.data(&json!({ "cells": cells, "rows": rows, "failed": failed }))
    }
}

/// The script reveals these fields: without it they would have no effect.
fn tools(has_both: bool) -> Element {
    let field = element("input")
        .attr("type", "search")
        .attr("placeholder", "Filter")
        .attr("aria-label", "Show only rows with this text");
    let tools = element("div").class("tools").attr("hidden", "hidden");
    let tools = tools.child(field);
    if !has_both {
        return tools;
    }
    let failures = element("input").attr("type", "checkbox");
    tools.child(element("label").child(failures).text(" failures only"))
}

/// Says how many rows are shown, and has the button for all of them.
fn more(shown: usize, rows: usize) -> Element {
    let number = |rows: usize| count(u64::try_from(rows).unwrap_or(u64::MAX));
    let words = format!("{} of {} rows", number(shown.min(rows)), number(rows));
    let said = element("span").attr("role", "status").text(words);
    let button = element("button")
        .attr("type", "button")
        .attr("aria-expanded", "false")
        .attr("hidden", "hidden");
    let plain = " The others need scripts; the CSV and JSON files have all.";
    element("p")
        .class("more")
        .attr("data-first", FIRST)
        .attr("data-count", rows)
        .child(said)
        .child(element("noscript").text(plain))
        .child(button)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: usize) -> DataTable {
        let row = |number: usize| {
            let name = TableCell::text(format!("a<b> & {number}")).class("name");
            let cells =
                vec![name, TableCell::text("same").noted("\u{202e}"), TableCell::gauge(0.5)];
            (cells, number == 3)
        };
        DataTable {
            columns: vec![("name".into(), false), ("x".into(), false), ("y".into(), true)],
            rows: (0..rows).map(row).collect(),
            filter: true,
        }
    }

    /// Oracle: an XML parser, a JSON parser, and the rows that went in.
    #[test]
    fn long_tables_keep_their_rows_as_data() {
        let page = table(21).render();
        let document = roxmltree::Document::parse(page.as_str()).unwrap();
        let count = |name| document.descendants().filter(|n| n.has_tag_name(name)).count();
        assert_eq!((count("tr"), count("script")), (9, 1));
        let script = document.descendants().find(|n| n.has_tag_name("script"));
        let text = script.unwrap().text().unwrap();
        assert!(!text.contains(['<', '>', '&', '\u{202e}']));
        let data: Value = serde_json::from_str(text).unwrap();
        assert_eq!(data["failed"], json!([3]));
        assert_eq!(data["cells"].as_array().unwrap().len(), 23);
        let cell = |row: usize, column: usize| {
            let position = data["rows"][row][column].as_u64().unwrap();
            &data["cells"][usize::try_from(position).unwrap()]
        };
        assert_eq!(*cell(20, 0), json!(["a<b> & 20", null, null, "name"]));
        assert_eq!(*cell(7, 1), json!(["same", null, null, null, "\u{fffd}"]));
        assert_eq!(*cell(0, 2), json!(["50 %", 0.5, ["u3", "50.0%"]]));
    }

    #[test]
    fn short_tables_have_no_data() {
        let page = table(20).render();
        assert_eq!(page.as_str().matches("<tr").count(), 21);
        assert!(!page.as_str().contains("<script"));
    }
}
