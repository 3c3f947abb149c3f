//! The plant of a network: its modules, once for each of a vector, and the links between them.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use rtether_model::quantity::Duration;

use super::ned::{Class, Connection, End, Expr, Kind, Parameter, Source, Submodule, Turn, Type};
use super::settings::{Entry, Settings};
use super::token::{Token, tokens};
use super::value::{Names, Unit, Value, evaluate};
use super::{Notes, duration};
use crate::error::ImportError;
use crate::plan::Code;
use crate::text::quote;

/// Most nodes, and most links.
const MOST: usize = 20_000;
/// Most turns of loops.
const MOST_TURNS: usize = 200_000;
/// Most names that are looked up in expressions.
const MOST_NAMES: usize = 1_000_000;
/// Most types that extend each other.
const LONGEST: usize = 30;
/// Most ports of a switch in a scenario.
const MAX_PORTS: usize = 1_024;
/// Metres in a second in a cable, as INET has it.
const SPEED: f64 = 2e8;
/// Metres of a cable of INET without a length.
const USUAL_LENGTH: f64 = 10.0;

/// The types of all files, by their names without a package.
pub(super) struct Types<'t> {
    by_name: BTreeMap<&'t str, (&'t Type<'t>, usize)>,
    sources: &'t [Source<'t>],
}

/// Returns the last part of a name.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

impl<'t> Types<'t> {
    pub(super) fn of(all: &'t [Vec<Type<'t>>], sources: &'t [Source<'t>]) -> Self {
        let mut by_name = BTreeMap::new();
        for (file, types) in all.iter().enumerate() {
            for own in types {
                by_name.entry(own.name).or_insert((own, file));
            }
        }
        Self { by_name, sources }
    }

    /// Returns the networks.
    pub(super) fn networks(&self) -> Vec<&'t str> {
        let all = self.by_name.iter();
        let is_network = |own: &Type<'_>| own.kind == Kind::Module { is_network: true };
        let all = all.filter(|(_, (own, _))| is_network(own));
        all.map(|(name, _)| *name).collect()
    }

    /// Returns a type with those that it extends, and the name of the last base, which is in no file.
    fn chain(&self, name: &str) -> (Vec<(&'t Type<'t>, usize)>, Option<String>) {
        let mut chain: Vec<(&Type<'t>, usize)> = Vec::new();
        let mut next = Some(name.to_owned());
        while let Some(name) = next.take() {
            match self.by_name.get(last(&name)) {
                // A type may extend one of the same name in another package.
                Some((own, _)) if chain.iter().any(|(known, _)| std::ptr::eq(*known, *own)) => {
                    return (chain, Some(name));
                }
                Some(own) if chain.len() < LONGEST => {
                    chain.push(*own);
                    next.clone_from(&own.0.base);
                }
                _ => return (chain, Some(name)),
            }
        }
        (chain, None)
    }
}

/// What a module is, by the name of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Station,
    Switch,
    /// What no scenario is made of.
    Other,
}

/// A module with links.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: String,
    /// Its type, and all that this extends.
    class: Vec<String>,
    /// File and line.
    place: (usize, usize),
    /// Ports in use.
    pub(super) ports: BTreeSet<usize>,
}

impl Node {
    pub(super) fn sort(&self) -> Sort {
        let has = |parts: &[&str]| {
            let is = |name: &String| parts.iter().any(|part| name.contains(part));
            self.class.iter().any(is)
        };
        if has(&["Hub", "Junction", "Router", "AccessPoint", "Multidrop"]) {
            Sort::Other
        } else if has(&["Switch", "Bridge"]) {
            Sort::Switch
        } else if has(&["Host", "Device", "Clock", "Node", "Server", "Client"]) {
            Sort::Station
        } else {
            Sort::Other
        }
    }
}

/// A link.
#[derive(Debug)]
pub(super) struct Link {
    /// Node and number of the interface, from 0.
    pub(super) ends: [(usize, usize); 2],
    /// Bits in a second, if something states them.
    pub(super) rate: Option<f64>,
    pub(super) delay: Duration,
    /// Why the delay is assumed.
    pub(super) assumed: Option<&'static str>,
}

/// A network with its settings.
pub(super) struct Plant<'t> {
    pub(super) name: &'t str,
    pub(super) settings: Settings,
    pub(super) nodes: Vec<Node>,
    pub(super) by_name: BTreeMap<String, usize>,
    pub(super) links: Vec<Link>,
    types: &'t Types<'t>,
    sizes: BTreeMap<&'t str, usize>,
    turns: Cell<usize>,
    looked: Cell<usize>,
}

/// Names in an expression of a network.
struct Scope<'p, 't> {
    plant: &'p Plant<'t>,
    loops: &'p [(&'t str, f64)],
    typename: Option<&'p str>,
}

impl Names for Scope<'_, '_> {
    fn value(&self, name: &str, depth: usize) -> Option<Value> {
        let own = self.loops.iter().rev().find(|(own, _)| *own == name);
        if let Some((_, value)) = own {
            return Some(super::value::plain(*value));
        }
        if name == "typename" {
            return self.typename.map(|name| Value::Text(name.to_owned()));
        }
        // Each may name others twice.
        let looked = &self.plant.looked;
        looked.set(looked.get() + 1);
        if looked.get() > MOST_NAMES {
            return None;
        }
        let path = format!("{}.{name}", self.plant.name);
        let entry = self.plant.settings.find(&path)?;
        let words = tokens(&entry.value).ok()?;
        evaluate(&words, &entry.value, self, depth).ok()
    }

    fn count(&self, name: &str) -> Option<usize> {
        Some(self.plant.sizes.get(name).copied().unwrap_or(0))
    }
}

impl<'t> Plant<'t> {
    /// Builds a network from the files and the settings of `omnetpp.ini`, to which those of NED are
    /// added.
    pub(super) fn build(
        name: &'t str,
        types: &'t Types<'t>,
        settings: Settings,
        notes: &mut Notes,
    ) -> Result<Self, ImportError> {
        let (chain, base) = types.chain(name);
        let mut plant = Self {
            name,
            settings,
            nodes: Vec::new(),
            by_name: BTreeMap::new(),
            links: Vec::new(),
            types,
            sizes: BTreeMap::new(),
            turns: Cell::new(0),
            looked: Cell::new(0),
        };
        if let Some(base) = base
            .filter(|base| !matches!(last(base), "Module") && !last(base).ends_with("NetworkBase"))
        {
            let place = chain.first().map_or((0, 1), |(own, file)| (*file, own.line));
            let what = format!("{} extends {}, which is in no file", quote(name), quote(&base));
            return Err(plant.wrong(place, what, "give the file of that network, too"));
        }
        for (own, file) in &chain {
            for submodule in &own.submodules {
                plant.defaults(*file, submodule);
            }
        }
        for (own, file) in &chain {
            plant.adopt(*file, name, &own.parameters);
        }
        for (own, file) in chain.iter().rev() {
            for submodule in &own.submodules {
                plant.module(*file, submodule)?;
            }
        }
        for (own, file) in chain.iter().rev() {
            for connection in &own.connections {
                plant.connect(*file, connection, notes)?;
            }
        }
        plant.check()?;
        Ok(plant)
    }

    pub(super) fn wrong(&self, place: (usize, usize), what: String, remedy: &str) -> ImportError {
        let file = self.types.sources.get(place.0).map_or("", |own| own.name);
        ImportError::new(file, Some(place.1), what, remedy)
    }

    /// Returns the text of an expression.
    fn text(&self, file: usize) -> &'t str {
        self.types.sources.get(file).map_or("", |own| own.text)
    }

    /// Takes parameters of NED for settings.
    fn adopt(&mut self, file: usize, prefix: &str, parameters: &[Parameter<'t>]) {
        for own in parameters {
            let words: Option<(&Token<'_>, &Token<'_>)> = own.value.first().zip(own.value.last());
            let value = words.and_then(|(first, last)| self.text(file).get(first.from..last.to));
            self.settings.add(Entry {
                pattern: format!("{prefix}.{}", own.pattern),
                value: value.unwrap_or_default().to_owned(),
                place: (file, own.line),
            });
        }
    }

    /// Adopts the parameters of a submodule, and those of its type where that is in a file.
    fn defaults(&mut self, file: usize, submodule: &Submodule<'t>) {
        let index = if submodule.size.is_some() { "[*]" } else { "" };
        let prefix = format!("{}.{}{index}", self.name, submodule.name);
        self.adopt(file, &prefix, &submodule.parameters);
        if let Class::Named(class) = &submodule.class {
            let (chain, _) = self.types.chain(class);
            for (own, file) in chain {
                self.adopt(file, &prefix, &own.parameters);
            }
        }
    }

    fn evaluate(
        &self,
        file: usize,
        words: Expr<'t>,
        loops: &[(&'t str, f64)],
        typename: Option<&str>,
    ) -> Result<Value, String> {
        let scope = Scope { plant: self, loops, typename };
        evaluate(words, self.text(file), &scope, 0)
    }

    /// Returns the value of a parameter of a node, or what of it is not read; `None` if nothing
    /// states it.
    pub(super) fn value(&self, path: &str) -> Option<(Result<Value, String>, (usize, usize))> {
        let path = format!("{}.{path}", self.name);
        let entry = self.settings.find(&path)?;
        let value = tokens(&entry.value).map_err(|(_, what)| what).and_then(|words| {
            let scope = Scope { plant: self, loops: &[], typename: None };
            evaluate(&words, &entry.value, &scope, 0)
        });
        Some((value, entry.place))
    }

    /// Returns the type of a module; `None` if it is left out.
    fn class(
        &self,
        file: usize,
        submodule: &Submodule<'t>,
        name: &str,
    ) -> Result<Option<String>, ImportError> {
        let wrong = |what: String| {
            let what = format!("the module {}: {what}", quote(name));
            self.wrong((file, submodule.line), what, "write what is meant in its place")
        };
        let class = match &submodule.class {
            Class::Named(class) => class.clone(),
            Class::Open(words) => {
                let stated = self.value(&format!("{name}.typename"));
                let value = match stated {
                    Some((value, _)) => value,
                    None if words.is_empty() => Err("nothing states its type".into()),
                    None => self.evaluate(file, words, &[], None),
                };
                let value = value.map_err(wrong)?;
                let class = value.text();
                class.ok_or_else(|| wrong("its type is no text".into()))?.to_owned()
            }
        };
        if let Some(condition) = submodule.condition {
            match self.evaluate(file, condition, &[], Some(&class)) {
                Ok(Value::Flag(true)) => {}
                Ok(Value::Flag(false)) => return Ok(None),
                Ok(_) => return Err(wrong("its condition is neither true nor false".into())),
                Err(what) => return Err(wrong(format!("the value of its condition: {what}"))),
            }
        }
        Ok(Some(class).filter(|class| !class.is_empty()))
    }

    /// Adds a module, or each of a vector.
    fn module(&mut self, file: usize, submodule: &Submodule<'t>) -> Result<(), ImportError> {
        let place = (file, submodule.line);
        let count = match submodule.size {
            None => None,
            Some(size) => {
                let count = self.evaluate(file, size, &[], None);
                let count = count.and_then(|value| {
                    let most = format!("it is no number up to {MOST}");
                    value.whole(MOST).ok_or(most)
                });
                let wrong = |what: String| {
                    let name = quote(submodule.name);
                    let what = format!("the size of {name}: {what}");
                    self.wrong(place, what, "write a number there")
                };
                Some(count.map_err(wrong)?)
            }
        };
        let mut names = match count {
            None => vec![submodule.name.to_owned()],
            Some(count) => {
                (0..count).map(|number| format!("{}[{number}]", submodule.name)).collect()
            }
        };
        if self.nodes.len() + names.len() > MOST {
            let what = format!("it has more than {MOST} modules");
            return Err(self.wrong(place, what, "import a part of it"));
        }
        let whole = names.len();
        for name in names.drain(..) {
            let Some(class) = self.class(file, submodule, &name)? else {
                self.sizes.insert(submodule.name, 0);
                continue;
            };
            self.sizes.insert(submodule.name, whole);
            let (chain, base) = self.types.chain(&class);
            let mut classes = vec![last(&class).to_owned()];
            classes.extend(chain.iter().map(|(own, _)| own.name.to_owned()));
            classes.extend(base.map(|base| last(&base).to_owned()));
            if self.by_name.insert(name.clone(), self.nodes.len()).is_some() {
                let what = format!("there are two modules {}", quote(&name));
                return Err(self.wrong(place, what, "rename one"));
            }
            self.nodes.push(Node { name, class: classes, place, ports: BTreeSet::new() });
        }
        Ok(())
    }

    /// Adds the links of a connection, one for each turn of its loops.
    fn connect(
        &mut self,
        file: usize,
        connection: &Connection<'t>,
        notes: &mut Notes,
    ) -> Result<(), ImportError> {
        let place = (file, connection.line);
        let is_ethernet = |end: &End<'_>| end.gate.split('$').next() == Some("ethg");
        if !connection.ends.iter().all(is_ethernet) || !connection.is_duplex {
            let [one, other] = &connection.ends;
            let gates = format!("{} and {}", quote(one.gate), quote(other.gate));
            notes.find(place, Code::NotRead, format!("a connection of {gates}: only links of Ethernet, with both directions, are read"));
            return Ok(());
        }
        let mut all = Vec::new();
        let mut loops = Vec::new();
        self.unroll(file, &connection.turns, &mut loops, &mut all)
            .map_err(|what| self.wrong(place, what, "write numbers there"))?;
        for loops in all {
            let ends = [0, 1].map(|side: usize| self.end(file, &connection.ends[side], &loops));
            let [one, other] = ends;
            let (one, other) = (
                one.map_err(|what| self.wrong(place, what, "correct it"))?,
                other.map_err(|what| self.wrong(place, what, "correct it"))?,
            );
            let one = self.port(one, place)?;
            let other = self.port(other, place)?;
            if one.0 == other.0 {
                let name = quote(&self.nodes[one.0].name);
                return Err(self.wrong(place, format!("it joins {name} to itself"), "correct it"));
            }
            if self.links.len() >= MOST {
                let what = format!("it has more than {MOST} links");
                return Err(self.wrong(place, what, "import a part of it"));
            }
            let link = self.link(file, connection, [one, other], &loops);
            self.links.push(link.map_err(|what| self.wrong(place, what, "write a number there"))?);
        }
        Ok(())
    }

    /// Lists the values of loop variables in each turn.
    fn unroll(
        &self,
        file: usize,
        turns: &[Turn<'t>],
        loops: &mut Vec<(&'t str, f64)>,
        all: &mut Vec<Vec<(&'t str, f64)>>,
    ) -> Result<(), String> {
        let Some((turn, rest)) = turns.split_first() else {
            all.push(loops.clone());
            return Ok(());
        };
        match turn {
            Turn::If(condition) => {
                let value = self.evaluate(file, condition, loops, None);
                let value = value.map_err(|what| format!("its condition: {what}"))?;
                let Value::Flag(flag) = value else {
                    return Err("its condition is neither true nor false".into());
                };
                if flag {
                    self.unroll(file, rest, loops, all)?;
                }
                Ok(())
            }
            Turn::For { name, first, last } => {
                let bound = |words: Expr<'t>| {
                    let value = self.evaluate(file, words, loops, None);
                    let value = value.map_err(|what| format!("a bound of its loop: {what}"))?;
                    // The last may be one below the first.
                    let number = value.number().filter(|number| {
                        number.is_fixed() && number.unit == Unit::None && number.mean.fract() == 0.0
                    });
                    number
                        .map(|number| number.mean)
                        .ok_or_else(|| "a bound of its loop is no number".to_owned())
                };
                let (mut at, end) = (bound(first)?, bound(last)?);
                while at <= end {
                    self.turns.set(self.turns.get() + 1);
                    if self.turns.get() > MOST_TURNS {
                        return Err(format!("loops have more than {MOST_TURNS} turns"));
                    }
                    loops.push((*name, at));
                    self.unroll(file, rest, loops, all)?;
                    loops.pop();
                    at += 1.0;
                }
                Ok(())
            }
        }
    }

    /// Returns the node at an end, and the number of the port if it is given.
    fn end(
        &self,
        file: usize,
        end: &End<'t>,
        loops: &[(&'t str, f64)],
    ) -> Result<(usize, Option<usize>), String> {
        let Some((module, index)) = end.module else {
            return Err("it leads to a gate of the network itself".into());
        };
        let number = |words: Expr<'t>| {
            let value = self.evaluate(file, words, loops, None);
            let value = value.map_err(|what| format!("an index of it: {what}"))?;
            let most = "an index of it is no small number";
            value.whole(MOST).ok_or_else(|| most.to_owned())
        };
        let name = match index {
            None => module.to_owned(),
            Some(index) => format!("{module}[{}]", number(index)?),
        };
        let node = self.by_name.get(&name);
        let node = node.ok_or_else(|| format!("there is no module {}", quote(&name)))?;
        let port = end.index.map(number).transpose()?;
        Ok((*node, port))
    }

    /// Takes a port of a node: the one that is named, or the next.
    fn port(
        &mut self,
        (node, port): (usize, Option<usize>),
        place: (usize, usize),
    ) -> Result<(usize, usize), ImportError> {
        let own = &mut self.nodes[node];
        let next = own.ports.last().map_or(0, |last| last + 1);
        let port = port.unwrap_or(next);
        let name = quote(&own.name);
        if port >= MAX_PORTS {
            let what = format!("the node {name} has more than {MAX_PORTS} ports");
            return Err(self.wrong(place, what, "import a part of it"));
        }
        if !own.ports.insert(port) {
            let what = format!("two links are at the port {port} of {name}");
            return Err(self.wrong(place, what, "correct one"));
        }
        Ok((node, port))
    }

    /// Returns the link of a connection in one turn.
    fn link(
        &self,
        file: usize,
        connection: &Connection<'t>,
        ends: [(usize, usize); 2],
        loops: &[(&'t str, f64)],
    ) -> Result<Link, String> {
        let class = match &connection.channel {
            None => None,
            Some(Class::Named(class)) => Some(class.clone()),
            Some(Class::Open(words)) => {
                let value = self.evaluate(file, words, loops, None);
                let value = value.map_err(|what| format!("the type of its channel: {what}"))?;
                value.text().map(str::to_owned)
            }
        };
        let (chain, base) = class.map_or((Vec::new(), None), |class| self.types.chain(&class));
        let base = base.as_deref().map(last);
        let own = connection.parameters.iter().map(|own| (own, file));
        let inner = chain.iter();
        let inner = inner.flat_map(|(own, file)| own.parameters.iter().map(|own| (own, *file)));
        let all: Vec<(&Parameter<'t>, usize)> = own.chain(inner).collect();
        let find = |name: &str, unit: Unit| -> Result<Option<f64>, String> {
            // Parameters of channels by their place, as INI has them, count before those of NED.
            for &(node, port) in &ends {
                let node = &self.nodes[node].name;
                let path = format!("{node}.ethg$o[{port}].channel.{name}");
                if let Some((Ok(Value::Number(number)), _)) = self.value(&path)
                    && number.unit == unit
                {
                    return Ok(Some(number.mean));
                }
            }
            let Some((own, file)) = all.iter().find(|(own, _)| own.pattern == name) else {
                return Ok(None);
            };
            let value = self.evaluate(*file, own.value, loops, None);
            let value = value.map_err(|what| format!("{} of its channel: {what}", quote(name)))?;
            let number = value.number().filter(|number| number.unit == unit);
            let what = format!("{} of its channel has another unit", quote(name));
            number.map(|number| Some(number.mean)).ok_or(what)
        };
        let rate = find("datarate", Unit::Rate)?.or_else(|| known_rate(base.unwrap_or_default()));
        let is_cable =
            base.is_some_and(|base| base == "EthernetLink" || known_rate(base).is_some());
        let length = find("length", Unit::Length)?;
        let (delay, assumed) = match (find("delay", Unit::Time)?, length) {
            (Some(delay), _) => (delay, None),
            (None, Some(length)) => (length / SPEED * 1e12, None),
            (None, None) if is_cable => {
                (USUAL_LENGTH / SPEED * 1e12, Some("a cable of 10 m, as INET has it"))
            }
            (None, None) => (0.0, None),
        };
        let delay = if delay == 0.0 { Some(Duration::ZERO) } else { duration(delay) };
        Ok(Link {
            ends,
            rate,
            delay: delay.ok_or("its delay is not above zero, or longer than a day")?,
            assumed,
        })
    }

    /// Refuses what a scenario cannot express.
    fn check(&self) -> Result<(), ImportError> {
        for node in self.nodes.iter().filter(|node| !node.ports.is_empty()) {
            let class = quote(node.class.first().map_or("", String::as_str));
            let name = quote(&node.name);
            let wide = node.ports.len() > 1;
            match node.sort() {
                Sort::Switch => {}
                Sort::Station if !wide => {}
                Sort::Station => {
                    let what = format!("the station {name} has {} links", node.ports.len());
                    let remedy = "put a switch there: a station has one interface";
                    return Err(self.wrong(node.place, what, remedy));
                }
                Sort::Other => {
                    let what = format!(
                        "{name} is of the type {class}, which is neither a station nor a switch that is read"
                    );
                    let remedy =
                        "import a plant of stations and switches, such as TsnDevice and TsnSwitch";
                    return Err(self.wrong(node.place, what, remedy));
                }
            }
        }
        Ok(())
    }
}

/// Returns the rate of a channel of INET in bits in a second.
fn known_rate(class: &str) -> Option<f64> {
    Some(match class {
        "Eth10M" => 10e6,
        "Eth100M" => 100e6,
        "Eth1G" => 1e9,
        "Eth10G" => 10e9,
        "Eth40G" => 40e9,
        "Eth100G" => 100e9,
        "Eth200G" => 200e9,
        "Eth400G" => 400e9,
        _ => return None,
    })
}
