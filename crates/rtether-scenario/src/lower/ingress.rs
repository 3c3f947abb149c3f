//! Rules of switches for frames that arrive.

use rtether_model::ingress::{Exceed, Filter, IngressRule, Police};
use rtether_model::network::{NodeId, NodeKind};
use rtether_model::quantity::Bytes;
use rtether_proto::mechanism::ingress::Ingress;

use super::flows::station;
use super::links::head;
use super::priorities::headers;
use super::tags::pcp;
use super::{Plant, Ruled};
use crate::codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::keys::table::{EXCEED, INGRESS};
use crate::reader::{At, Fields, Reader, bits_per_second};
use crate::tree::Data;
use crate::units::{self, Quantity};

/// The SDU of the shortest frame.
const SMALLEST_SDU: Bytes = Bytes::new(46);

/// A rule as it was written; its stations may be declared later.
pub(super) struct Written {
    owner: String,
    span: Span,
    rule: IngressRule,
    from: Vec<(String, Span)>,
    to: Vec<(String, Span)>,
}

/// Reads `ingress`; `None` without it.
pub(super) fn read(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Vec<Written>> {
    let at = fields.key_span("ingress")?;
    let mut rules = Vec::new();
    for item in reader.items(fields, "ingress") {
        let owner = format!("a rule of {}", fields.owner);
        let inner = reader.fields(item, &INGRESS, owner, head(item));
        rules.extend(inner.map(|inner| rule(reader, &inner, head(item))));
    }
    let known: Vec<IngressRule> = rules.iter().map(|own| own.rule.clone()).collect();
    if let Err(error) = Ingress::new(&known, false) {
        let title = format!("`ingress` cannot be used: {error}");
        let label = format!("of {}", fields.owner);
        reader.report(Diagnostic::new(&codes::VALUE_OUT_OF_RANGE, title, at, label));
    }
    Some(rules)
}

fn rule(reader: &mut Reader<'_>, fields: &Fields<'_>, span: Span) -> Written {
    let rule = IngressRule {
        from: Vec::new(),
        to: Vec::new(),
        pcp: pcp(reader, fields, "pcp"),
        headers: headers(reader, fields),
        mark: pcp(reader, fields, "mark"),
        mark_dscp: reader.count(fields, "mark_dscp").and_then(|dscp| u8::try_from(dscp.value).ok()),
        filter: filter(reader, fields),
        police: police(reader, fields),
    };
    Written {
        owner: fields.owner.clone(),
        span,
        rule,
        from: names(reader, fields, "from"),
        to: names(reader, fields, "to"),
    }
}

/// Reads a name or a list of names.
fn names(reader: &mut Reader<'_>, fields: &Fields<'_>, key: &str) -> Vec<(String, Span)> {
    let Some(entry) = fields.get(key) else {
        return Vec::new();
    };
    let items = match &entry.value.data {
        Data::List(items) => items.as_slice(),
        Data::Null | Data::Scalar(_) | Data::Map(_) => std::slice::from_ref(&entry.value),
    };
    if items.is_empty() {
        reader.wrong_type(fields, key, &entry.value, "at least one name");
    }
    let mut names = Vec::new();
    for item in items {
        match &item.data {
            Data::Scalar(name) => names.push((name.clone(), item.span)),
            Data::Null | Data::List(_) | Data::Map(_) => {
                reader.wrong_type(fields, key, item, "a name or a list of names");
            }
        }
    }
    names
}

fn filter(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Filter> {
    if !fields.has("max_sdu") {
        reader.misplaced(fields, &["block"], "a rule without `max_sdu`");
        return None;
    }
    let max_sdu = reader.size(fields, "max_sdu")?;
    if max_sdu.value < SMALLEST_SDU {
        let found = max_sdu.value.to_string();
        let why = "the shortest frame, of 64 B, has an SDU of 46 B";
        reader.out_of_range("max_sdu", max_sdu.span, "at least 46 B", &found, why);
    }
    let block = reader.flag(fields, "block").unwrap_or(false);
    Some(Filter { max_sdu: max_sdu.value, block })
}

fn police(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Police> {
    if !fields.has("police") {
        reader.misplaced(fields, &["burst", EXCEED.key], "a rule without `police`");
        return None;
    }
    let has_burst = reader.require(fields, "burst");
    let rate = reader.quantity(fields, "police", Quantity::BitRate);
    let burst = reader.size(fields, "burst");
    let exceed = exceed(reader, fields);
    if let Some(burst) = burst.filter(|burst| burst.value < Bytes::new(64)) {
        let found = burst.value.to_string();
        let why = "the shortest frame has 64 B";
        reader.out_of_range("burst", burst.span, "at least 64 B", &found, why);
    }
    if let Some(rate) = rate.filter(|rate| rate.value == 0) {
        let why = "a policer that never refills lets one burst through";
        reader.out_of_range("police", rate.span, "more than 0 bit/s", "0 bit/s", why);
    }
    Some(Police {
        rate: bits_per_second(rate?.value),
        burst: burst.filter(|_| has_burst)?.value,
        exceed: exceed?,
    })
}

/// Reads `drop` or a priority.
fn exceed(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Exceed> {
    let Some(At { value: text, span }) = reader.scalar(fields, EXCEED.key) else {
        return (!fields.has(EXCEED.key)).then(|| EXCEED.default());
    };
    if units::read_count(text).is_ok() {
        let number = reader.count_in(EXCEED.key, text, span, (0, 7))?;
        let pcp = rtether_model::network::Pcp::new(u8::try_from(number).ok()?)?;
        return Some(Exceed::Demote(pcp));
    }
    let word = EXCEED.means(text);
    if word.is_none() {
        reader.unknown_word(EXCEED.key, text, span, &["drop", "a priority 0 to 7"]);
    }
    word
}

/// Gives the switches their rules, now that all stations are known.
pub(crate) fn ingress(reader: &mut Reader<'_>, plant: &mut Plant) {
    let mut pending = std::mem::take(&mut plant.pending);
    for (node, own) in &mut pending {
        let Some(written) = own.rules.take() else {
            continue;
        };
        plant.ruled.push(Ruled {
            node: *node,
            ports: Some(own.ports.clone()),
            spans: written.iter().map(|written| written.span).collect(),
        });
        let mut rules = Vec::new();
        for written in written {
            let mut rule = written.rule;
            rule.from = stations(reader, plant, &written.from, ("sender", &written.owner));
            rule.to = stations(reader, plant, &written.to, ("receiver", &written.owner));
            rules.push(rule);
        }
        let NodeKind::Switch(switch) = &mut plant.network.nodes[node.index()].kind else {
            continue;
        };
        if own.ports.is_empty() {
            switch.ingress = rules;
            continue;
        }
        let ports = switch.ports.get_mut(own.ports.clone()).unwrap_or_default();
        for port in ports {
            port.ingress = Some(rules.clone());
        }
    }
    plant.pending = pending;
}

fn stations(
    reader: &mut Reader<'_>,
    plant: &Plant,
    names: &[(String, Span)],
    (role, owner): (&str, &str),
) -> Vec<NodeId> {
    let found =
        names.iter().filter_map(|(name, span)| station(reader, owner, plant, name, *span, role));
    found.collect()
}

#[cfg(test)]
mod tests {
    use rtether_model::ingress::Filter;
    use rtether_model::quantity::Bytes;

    use crate::load;

    /// Returns the filter of a rule with these keys, and the messages.
    fn filter(keys: &str) -> (Option<Filter>, String) {
        let text = format!(
            "rtether: 1\n\
             nodes: {{ a: {{ stack: zero }}, b: {{ stack: zero }} }}\n\
             switches: {{ s: {{ ports: 2, ingress: [{{ from: a, {keys} }}] }} }}\n\
             links: [{{ ends: [a, 's:1'], rate: 100 Mbit/s }}, {{ ends: [b, 's:2'], rate: 100 Mbit/s }}]\n\
             flows: [{{ name: x, from: a, to: b, period: 2 ms, size: 64 B }}]\n"
        );
        let loaded = load("test.yaml", &text);
        let words = loaded.text(crate::render::Style::Plain);
        let rule = loaded.scenario.and_then(|plant| {
            let switch = plant.network.iter_nodes().find_map(|(id, _)| plant.network.switch(id))?;
            switch.ingress.first().cloned()
        });
        (rule.and_then(|rule| rule.filter), words)
    }

    #[test]
    fn a_filter_has_the_size_of_an_sdu() {
        for (keys, octets, block) in
            [("max_sdu: 46 B", 46, false), ("max_sdu: 1.5 kB, block: true", 1_500, true)]
        {
            let expected = Filter { max_sdu: Bytes::new(octets), block };
            assert_eq!(filter(keys), (Some(expected), String::new()));
        }
        for (keys, why) in [
            ("max_sdu: 45 B", "the shortest frame, of 64 B, has an SDU of 46 B"),
            ("mark: 5, block: true", "`block` has no meaning for a rule without `max_sdu`"),
            ("max_sdu: 100 B, block: 1", "`block` cannot be"),
        ] {
            let (found, words) = filter(keys);
            assert!(found.is_none() && words.contains(why), "{words}");
        }
    }
}
