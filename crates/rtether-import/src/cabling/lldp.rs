//! Neighbors by LLDP (IEEE 802.1AB), as `lldpcli -f json show neighbors` prints them, with or
//! without `details`.
//!
//! The document does not say whose neighbors they are, so that is the name of its file. A host
//! without a system name is known by the identifier of its chassis.

use serde_json::{Map, Value};

use super::{Cable, LONGEST};
use crate::error::ImportError;
use crate::text::plain;

/// Reads the neighbors of a host.
pub(super) fn read(name: &str, text: &str) -> Result<Vec<Cable>, ImportError> {
    let wrong = |line: Option<usize>, what: String| {
        let remedy = "give what `lldpcli -f json show neighbors` prints";
        ImportError::new(name, line, what, remedy)
    };
    let document: Value = serde_json::from_str(text).map_err(|error| {
        wrong(Some(error.line()), format!("it is not JSON: {}", plain(&error.to_string(), 200)))
    })?;
    let found = document.get("lldp").and_then(|lldp| lldp.get("interface"));
    let Some(found) = found else {
        return Err(wrong(None, "it is JSON without `lldp` and `interface`".into()));
    };
    let base = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let own = plain(base.strip_suffix(".json").unwrap_or(base), LONGEST);
    // One interface is an object, several are a list of objects with one member each.
    let parts = match found.as_array() {
        Some(all) => all.as_slice(),
        None => std::slice::from_ref(found),
    };
    let interfaces = parts.iter().filter_map(Value::as_object).flatten();
    let mut cables = Vec::new();
    for (port, says) in interfaces {
        let Some(neighbor) = neighbor(says) else {
            let what = format!("nothing says who is behind `{}`", plain(port, 80));
            return Err(wrong(None, what));
        };
        if neighbor == own {
            continue;
        }
        cables.push(Cable {
            ends: [(own.clone(), plain(port, LONGEST)), (neighbor, there(says))],
            megabits: rate(says),
            source: plain(name, 80),
        });
    }
    Ok(cables)
}

/// Returns the name of a neighbor: the only key of `chassis`, unless its members are there.
fn neighbor(says: &Value) -> Option<String> {
    let chassis = says.get("chassis")?.as_object()?;
    let named = || {
        let (name, inside) = chassis.iter().next()?;
        inside.is_object().then(|| name.clone())
    };
    let name = match identifier(chassis) {
        Some((_, value)) => Some(value.to_owned()),
        None => named(),
    };
    name.map(|name| plain(&name, LONGEST)).filter(|name| !name.is_empty())
}

/// Returns the port at the neighbor; empty if it has only an address.
fn there(says: &Value) -> String {
    let port = says.get("port").and_then(Value::as_object);
    let name = port.and_then(|port| match identifier(port) {
        Some(("ifname" | "local", value)) => Some(value),
        _ => port.get("descr").and_then(Value::as_str),
    });
    plain(name.unwrap_or_default(), LONGEST)
}

fn identifier(of: &Map<String, Value>) -> Option<(&str, &str)> {
    let id = of.get("id")?.as_object()?;
    Some((id.get("type")?.as_str()?, id.get("value")?.as_str()?))
}

/// Returns the rate in megabits per second that the neighbor's interface runs at, such as
/// `100BaseTXFD` or `10GbaseT`.
fn rate(says: &Value) -> Option<u64> {
    let negotiated = says.get("port")?.get("auto-negotiation")?;
    let word = negotiated.get("current")?.as_str()?.to_ascii_lowercase();
    let (number, _) = word.split_once("base")?;
    let (digits, times) = match number.strip_suffix("gig").or(number.strip_suffix('g')) {
        Some(digits) => (digits, 1_000),
        None => (number, 1),
    };
    let rate = digits.parse::<u64>().ok()?.checked_mul(times)?;
    (1..=400_000).contains(&rate).then_some(rate)
}
