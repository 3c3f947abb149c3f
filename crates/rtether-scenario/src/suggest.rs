//! What the author may have meant: the nearest known word, or a common synonym.

/// Words other tools use for our keys, and slips that edit distance misses.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("accept_if", &["accept"]),
    ("app_rate", &["rate"]),
    ("average", &["mean"]),
    ("avg", &["mean"]),
    ("bandwidth", &["rate"]),
    ("ber", &["errors"]),
    ("buffers", &["buffer"]),
    ("bytes", &["size", "total"]),
    ("cables", &["links"]),
    ("cast", &["delivery"]),
    ("connections", &["links"]),
    ("congestion", &["detector"]),
    ("cos", &["pcp"]),
    ("cycle", &["period"]),
    ("cycle_time", &["period"]),
    ("delay", &["latency", "after", "propagation"]),
    ("dest", &["to"]),
    ("destination", &["to"]),
    ("destinations", &["to"]),
    ("dst", &["to"]),
    ("duration", &["for"]),
    ("edges", &["links"]),
    ("emulated", &["emulate"]),
    ("encapsulation", &["over"]),
    ("end", &["stop"]),
    ("end_stations", &["nodes"]),
    ("fer", &["errors"]),
    ("gap", &["mean_gap", "min_gap"]),
    ("group", &["class"]),
    ("hosts", &["nodes"]),
    ("hub", &["hubs"]),
    ("id", &["name", "vlan"]),
    ("imports", &["include"]),
    ("includes", &["include"]),
    ("interval", &["period"]),
    ("latency", &["send", "propagation", "deadline"]),
    ("maximum", &["max"]),
    ("length_m", &["length"]),
    ("limit", &["deadline"]),
    ("listener", &["to"]),
    ("listeners", &["to"]),
    ("loss", &["lost", "errors"]),
    ("max_latency", &["deadline"]),
    ("min_interval", &["min_gap"]),
    ("miss_ratio", &["missed"]),
    ("mss", &["segment"]),
    ("offset", &["phase"]),
    ("override", &["changes"]),
    ("overrides", &["changes"]),
    ("payload", &["size"]),
    ("priority", &["pcp"]),
    ("prio", &["pcp"]),
    ("prority", &["pcp"]),
    ("protocol", &["over"]),
    ("proto", &["over"]),
    ("queue_limit", &["stack_queue"]),
    ("receiver", &["to"]),
    ("repeaters", &["hubs"]),
    ("replications", &["seeds"]),
    ("response", &["reply"]),
    ("runs", &["seeds"]),
    ("rx", &["receive", "receive_queues"]),
    ("scheduler", &["selection"]),
    ("scheduling", &["selection"]),
    ("sender", &["from"]),
    ("shaper", &["smoother"]),
    ("shaping", &["smoother"]),
    ("source", &["from"]),
    ("speed", &["rate"]),
    ("src", &["from"]),
    ("stations", &["nodes"]),
    ("streams", &["flows"]),
    ("talker", &["from"]),
    ("target", &["to"]),
    ("think_time", &["pause"]),
    ("time", &["for"]),
    ("traffic", &["flows"]),
    ("transport", &["over"]),
    ("tx", &["send", "transmit_queues"]),
    ("type", &["kind", "over"]),
    ("vid", &["vlan"]),
    ("window_size", &["window"]),
];

/// Returns the known word nearest to `word`, if any is near: a synonym, else one within a few
/// edits.
pub(super) fn nearest<'k>(
    word: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> Option<&'k str> {
    let lower = word.to_lowercase().replace('-', "_");
    let synonym = SYNONYMS
        .iter()
        .find(|(wrong, _)| *wrong == lower)
        .and_then(|(_, right)| right.iter().find_map(|r| known.clone().find(|known| known == r)));
    synonym.or_else(|| by_distance(word, &lower, known))
}

/// Returns the nearest of some names; names have no synonyms.
pub fn nearest_name<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    by_distance(word, &word.to_lowercase(), known)
}

fn by_distance<'k>(
    word: &str,
    lower: &str,
    known: impl Iterator<Item = &'k str>,
) -> Option<&'k str> {
    // A third of the letters may differ, and at least one in a word of three letters or more.
    let length = word.chars().count();
    let allowed = (length / 3).max(usize::from(length >= 3));
    // Names are compared one by one, so only the first 20 000 are tried.
    known
        .take(20_000)
        .filter(|name| name.chars().count().abs_diff(length) <= allowed)
        .map(|name| (strsim::osa_distance(lower, &name.to_lowercase()), name))
        .filter(|&(distance, _)| distance <= allowed)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synonyms_come_before_spelling() {
        let known = ["from", "to", "period", "pcp", "size"];
        let near = |word| nearest(word, known.iter().copied());
        assert_eq!(near("prority"), Some("pcp"));
        assert_eq!(near("priority"), Some("pcp"));
        assert_eq!(near("interval"), Some("period"));
        assert_eq!(near("src"), Some("from"));
        assert_eq!(near("perod"), Some("period"));
        assert_eq!(near("Size"), Some("size"));
        assert_eq!(near("color"), None);
    }
}
