//! Arbitrary text as a content filter. Oracles: no panic; the negation passes exactly the samples
//! rejected; a filter that fits the type evaluates without error.

use rtether_rtps::filter::{Filter, Judge};
use rtether_rtps::types::ShapeType;

/// Zero octets separate the condition from its parameters, and these from each other. Returns
/// whether the condition fits the type.
pub(crate) fn check(octets: &[u8]) -> bool {
    let text = String::from_utf8_lossy(octets);
    let mut parts = text.split('\0');
    let condition = parts.next().unwrap_or_default();
    let parameters: Vec<&str> = parts.collect();
    let Ok(filter) = Filter::parse(condition, &parameters) else {
        return false;
    };
    let is_of_type = Judge::of::<ShapeType>().check(&filter).is_ok();
    let shape =
        ShapeType { color: "BLUE".into(), x: 3, y: -4, shapesize: 30, ..ShapeType::default() };
    let passes = filter.passes(&shape);
    assert!(!is_of_type || passes.is_ok(), "{passes:?}");
    if let Ok(negated) = Filter::parse(&format!("NOT ({condition})"), &parameters)
        && let Ok(passes) = passes
    {
        assert_eq!(negated.passes(&shape), Ok(!passes), "{condition}");
    }
    is_of_type
}
