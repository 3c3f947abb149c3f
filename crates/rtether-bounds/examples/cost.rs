//! Cost of the analysis against flows and hops.
//!
//! `cargo run --release -p rtether-bounds --example cost -- FILE.svg > FILE.csv` analyzes plants of
//! two layouts, prints one CSV row each, and draws them if a file is named. Times are means of
//! processor time.

#[path = "plants/mod.rs"]
mod plants;

use std::fmt::Write;

use rtether_bounds::{Analyzer, Methods, analyze_with};
use rtether_model::flow::{Flow, FlowId};

use plants::{Layout, flow, mean_ms, network};

/// One plant and its cost.
struct Row {
    layout: &'static str,
    flows: u32,
    hops: f64,
    visits: usize,
    full_ms: f64,
    change_ms: f64,
}

#[allow(clippy::print_stdout, reason = "an example says what it found")]
fn main() -> std::io::Result<()> {
    let meshes = [375, 750, 1_500, 3_000, 6_000, 12_000].map(|flows| (Layout::Mesh, 8, flows));
    let lines = [1, 2, 4, 8, 16, 32].map(|switches| (Layout::Line, switches, 3_000));
    let trees = [10_000, 30_000, 100_000].map(|flows| (Layout::Tree, 910, flows));
    println!("layout,flows,mean_hops,visits,full_ms,change_ms");
    let mut rows = Vec::new();
    for (layout, switches, flows) in meshes.into_iter().chain(lines).chain(trees) {
        let row = measure(layout, switches, flows);
        println!(
            "{},{},{:.2},{},{:.3},{:.3}",
            row.layout, row.flows, row.hops, row.visits, row.full_ms, row.change_ms
        );
        rows.push(row);
    }
    match std::env::args().nth(1) {
        Some(path) => std::fs::write(path, picture(&rows)),
        None => Ok(()),
    }
}

#[allow(clippy::cast_precision_loss, reason = "a mean for display")]
fn measure(layout: Layout, switches: u32, count: u32) -> Row {
    let network = network(layout, switches);
    let flows: Vec<Flow> = (0..count).map(|n| flow(layout, switches, n)).collect();
    let visits = analyze_with(&network, &flows, Methods::TotalFlow).effort.visits;
    let full_ms = mean_ms(|_| {
        analyze_with(&network, &flows, Methods::TotalFlow);
    });
    let mut analyzer = Analyzer::new(network, flows);
    let change_ms = mean_ms(|change| {
        // A step that meets all flows for any count.
        let at = FlowId(change * 97 % count);
        analyzer.replace(at, flow(layout, switches, count + change));
    });
    Row {
        layout: match layout {
            Layout::Mesh => "mesh",
            Layout::Line => "line",
            Layout::Tree => "tree",
        },
        flows: count,
        hops: visits as f64 / f64::from(count),
        visits,
        full_ms,
        change_ms,
    }
}

/// Color, name, and time of a row in milliseconds.
type Curve = (&'static str, &'static str, fn(&Row) -> f64);

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 240.0;
/// Margin left of and below a panel.
const MARGIN: f64 = 56.0;

/// Draws time against flows in the mesh, and against hops in the line, both axes logarithmic.
fn picture(rows: &[Row]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
        2.0 * (WIDTH + MARGIN) + 24.0,
        HEIGHT + 2.0 * MARGIN,
    );
    let of = |layout: &'static str| rows.iter().filter(move |row| row.layout == layout);
    let mesh: Vec<(f64, &Row)> = of("mesh").map(|row| (f64::from(row.flows), row)).collect();
    let line: Vec<(f64, &Row)> = of("line").map(|row| (row.hops, row)).collect();
    panel(&mut svg, 0.0, ("flows, 8 switches in a mesh", [300.0, 15_000.0]), &mesh);
    let left = WIDTH + MARGIN + 8.0;
    panel(&mut svg, left, ("places on each way, 3000 flows", [1.8, 40.0]), &line);
    svg.push_str("</svg>\n");
    svg
}

fn panel(svg: &mut String, left: f64, (title, range): (&str, [f64; 2]), points: &[(f64, &Row)]) {
    // From 0.1 to 100 ms.
    let y = |ms: f64| MARGIN / 2.0 + HEIGHT * (2.0 - ms.log10()) / 3.0;
    let [low, high] = range.map(f64::log10);
    let x = |value: f64| left + MARGIN + WIDTH * (value.log10() - low) / (high - low);
    let mut put = |text: String| {
        svg.push_str(&text);
        svg.push('\n');
    };
    for ms in [0.1, 1.0, 10.0, 100.0] {
        let (x1, x2, y) = (left + MARGIN, left + MARGIN + WIDTH, y(ms));
        put(format!("<path d=\"M{x1:.1} {y:.1}H{x2:.1}\" stroke=\"#ddd\"/>"));
        let x = x1 - 6.0;
        put(format!("<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"end\">{ms} ms</text>", y + 4.0));
    }
    for &(value, _) in points {
        let (x, y) = (x(value), y(0.1) + 18.0);
        put(format!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{value:.0}</text>"));
    }
    let middle = left + MARGIN + WIDTH / 2.0;
    let below = y(0.1) + 38.0;
    put(format!("<text x=\"{middle:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{title}</text>"));
    // The second name is below its curve, which rises.
    let curves: [Curve; 2] = [
        ("#1f6feb", "whole analysis", |row| row.full_ms),
        ("#c2410c", "one flow replaced", |row| row.change_ms),
    ];
    for ((color, name, time), aside) in curves.into_iter().zip([-10.0, 82.0]) {
        let mut way = String::new();
        for (index, &(value, row)) in points.iter().enumerate() {
            let step = if index == 0 { 'M' } else { 'L' };
            let _ = write!(way, "{step}{:.1} {:.1}", x(value), y(time(row)));
        }
        put(format!("<path d=\"{way}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"/>"));
        if let Some(&(value, row)) = points.last() {
            let (x, y) = (x(value), y(time(row)) + aside);
            put(format!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\" fill=\"{color}\">{name}</text>"
            ));
        }
    }
}
