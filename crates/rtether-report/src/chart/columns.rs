//! Column charts with published values and accepted ranges.

use super::super::markup::{Element, Markup, element};
use super::super::text::real_len;
use super::{
    Axis, BOTTOM, Fitted, HEIGHT, KINDS, LEFT, Plot, RIGHT, WIDTH, canvas, draw_vertical, entry,
    figure, key, label, marker,
};

/// One column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    /// Height.
    pub value: f64,
    /// A published value, drawn as a marker.
    pub reference: Option<f64>,
    /// Lowest and highest accepted value, drawn as an error bar.
    pub accepted: Option<(f64, f64)>,
}

/// Grouped columns; every group has one column per series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnChart {
    /// Title.
    pub title: String,
    /// Note next to the title.
    pub note: String,
    /// Vertical axis.
    pub y: Axis,
    /// Names of the series.
    pub series: Vec<String>,
    /// Name of each group and its columns; `None` if there is no value.
    pub groups: Vec<(String, Vec<Option<Column>>)>,
    /// Legend entry of the markers.
    pub reference_name: String,
}

impl ColumnChart {
    /// Returns the chart as a figure with title and legend.
    pub fn render(&self) -> Markup {
        let columns = || self.groups.iter().flat_map(|(_, columns)| columns.iter().flatten());
        let values = columns().flat_map(|c| {
            let (low, high) = c.accepted.unzip();
            [Some(c.value), c.reference, low, high].into_iter().flatten()
        });
        let plot = Plot {
            x: Fitted::new(&Axis::number("").between(0.0, 1.0), std::iter::empty(), 1),
            y: Fitted::new(&self.y, values, 5),
        };
        let mut svg = canvas(&self.title).child(draw_vertical(&plot, &self.y));
        let width = (WIDTH - LEFT - RIGHT) / real_len(self.groups.len().max(1));
        for (number, (name, columns)) in self.groups.iter().enumerate() {
            let left = LEFT + width * real_len(number);
            let middle = label(left + width / 2.0, HEIGHT - BOTTOM + 16.0, "middle");
            svg = svg.child(middle.text(name));
            svg = svg.children(draw_group(&plot, columns, left, width));
        }
        let base = format!("M{LEFT} {:.1}H{:.1}", HEIGHT - BOTTOM, WIDTH - RIGHT);
        svg = svg.child(element("path").class("base").attr("d", base));
        let has_reference = columns().any(|c| c.reference.is_some());
        figure(&self.title, &self.note, svg, Some(self.legend(has_reference)))
    }

    fn legend(&self, has_reference: bool) -> Markup {
        let series = self.series.iter().enumerate().map(|(kind, name)| {
            let class = format!("key s{}", kind % KINDS);
            let shape = element("path").class("column").attr("d", "M7 1H19V11H7Z");
            entry(key().class(class).child(shape), name)
        });
        let reference = has_reference.then(|| {
            let key = key().class("key reference").child(marker(2, 13.0, 6.0));
            entry(key, &self.reference_name)
        });
        element("div").class("legend").children(series.chain(reference)).into()
    }
}

fn draw_group(plot: &Plot, columns: &[Option<Column>], left: f64, width: f64) -> Vec<Element> {
    let pitch = width * 0.8 / real_len(columns.len().max(1));
    let mut shapes = Vec::new();
    for (kind, column) in columns.iter().enumerate() {
        let Some(column) = column else { continue };
        let x = left + width * 0.1 + pitch * real_len(kind) + pitch * 0.08;
        let (top, zero) = (plot.y(column.value), plot.y(0.0));
        let shape = element("rect")
            .class("column")
            .attr("x", format!("{x:.1}"))
            .attr("y", format!("{:.1}", top.min(zero)))
            .attr("width", format!("{:.1}", pitch * 0.84))
            .attr("height", format!("{:.1}", (zero - top).abs()));
        let mut group = element("g").class(format!("s{}", kind % KINDS)).child(shape);
        let middle = x + pitch * 0.42;
        if let Some((low, high)) = column.accepted {
            let (low, high) = (plot.y(low), plot.y(high));
            let path = format!(
                "M{a:.1} {low:.1}H{b:.1}M{middle:.1} {low:.1}V{high:.1}M{a:.1} {high:.1}H{b:.1}",
                a = middle - 4.0,
                b = middle + 4.0,
            );
            group = group.child(element("path").class("accepted").attr("d", path));
        }
        if let Some(reference) = column.reference {
            let shape = marker(2, middle, plot.y(reference));
            group = group.child(element("g").class("reference").child(shape));
        }
        shapes.push(group);
    }
    shapes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_with_references_are_well_formed() {
        let column = |value| {
            Some(Column {
                value,
                reference: Some(value * 1.1),
                accepted: Some((value * 0.9, value * 1.2)),
            })
        };
        let chart = ColumnChart {
            title: "Miss ratio".into(),
            y: Axis::number("lost"),
            series: vec!["a".into(), "b".into()],
            groups: vec![
                ("x".into(), vec![column(3.0), None]),
                ("y".into(), vec![None, column(4.0)]),
            ],
            reference_name: "paper".into(),
            ..ColumnChart::default()
        };
        let drawn = chart.render();
        let document = roxmltree::Document::parse(drawn.as_str()).unwrap();
        let count =
            |class| document.descendants().filter(|n| n.attribute("class") == Some(class)).count();
        assert_eq!((count("accepted"), count("reference")), (2, 2));
    }
}
