//! Tmp.
use rtether::scenario::*;
fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap();
        let t = std::time::Instant::now();
        let l = load(&path, &text);
        println!("== {path} {:?} nodes {:?} flows {:?}", t.elapsed(), l.scenario.as_ref().map(|s| s.network.nodes.len()), l.scenario.as_ref().map(|s| s.flows.len()));
        print!("{}", l.text(render::Style::Plain));
    }
}
