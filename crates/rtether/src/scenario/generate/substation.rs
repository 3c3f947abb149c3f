//! A substation on one Ethernet (requirement R167; catalogue, section 1, S1 to S5).
//!
//! Around the switch of each bay stand its process interfaces (PISAs) and three bay nodes; the bay
//! switches, the Busbar unit and the file server are at a top-level switch.

use rtether_model::flow::{Bulk, Delivery, Flow, Phase, Reply, TcpParameters, Traffic, Transfer};
use rtether_model::network::{EndStation, Link, NodeId, NodeKind, PortId};
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

use crate::scenario::codes;
use crate::scenario::diagnostic::{Diagnostic, Span};
use crate::scenario::keys::Presence;
use crate::scenario::keys::table::SUBSTATION;
use crate::scenario::lower::{self, Plant};
use crate::scenario::plan::RunPlan;
use crate::scenario::reader::{Fields, Reader, bits_per_second, picoseconds};
use crate::scenario::units::{self, Quantity};

/// The values of the keys of the table.
pub(super) struct Parameters {
    bays: u64,
    /// Prefix of the name and number in a bay of each kind of PISA.
    pisas: [(&'static str, u64); 4],
    stations: Stations,
    link_rate: BitRate,
    switch_latency: Duration,
    samples: Stream,
    commands: Stream,
    exchange: Stream,
    phase: Phase,
    files: Option<Files>,
}

struct Stations {
    pisa: EndStation,
    bay: EndStation,
    busbar: EndStation,
    server: EndStation,
}

#[derive(Clone, Copy)]
struct Stream {
    period: Duration,
    payload: Bytes,
    deadline: Option<Duration>,
}

struct Files {
    size: Bytes,
    every: Duration,
    bay_at: Duration,
    upload_at: Duration,
    upload: Bytes,
    tcp: TcpParameters,
}

/// The bay nodes: name, and what to call them in a class.
const BAY_NODES: [(&str, &str); 3] = [
    ("bc", "bay controller"),
    ("pu", "protection unit"),
    ("du", "differential protection unit"),
];

/// Ports that stay free at every switch, for what is added by hand.
const SPARE_PORTS: usize = 4;

/// Reads values, or takes their defaults from the table.
struct Values<'r, 's, 't> {
    reader: &'r mut Reader<'s>,
    fields: Fields<'t>,
}

impl Values<'_, '_, '_> {
    fn default_of(&self, key: &str) -> &'static str {
        match self.fields.section.find(key).map(|key| key.presence) {
            Some(Presence::Default(text)) => text,
            _ => unreachable!("`{key}` has a default"),
        }
    }

    fn count(&mut self, key: &str) -> u64 {
        let given = self.reader.count(&self.fields, key);
        let default = self.default_of(key).parse().unwrap_or(0);
        given.map_or(default, |at| at.value)
    }

    fn quantity(&mut self, key: &str, quantity: Quantity) -> u64 {
        let given = self.reader.quantity(&self.fields, key, quantity);
        let default = units::read(self.default_of(key), quantity).unwrap_or(0);
        given.map_or(default, |at| at.value)
    }

    fn time(&mut self, key: &str) -> Duration {
        picoseconds(self.quantity(key, Quantity::Time))
    }

    fn size(&mut self, key: &str) -> Bytes {
        Bytes::new(self.quantity(key, Quantity::Size))
    }

    fn interval(&mut self, key: &str) -> Duration {
        let given = self.reader.interval(&self.fields, key);
        let default = lower::default_interval(self.default_of(key));
        given.map_or(default, |at| at.value)
    }

    fn station(&mut self, key: &str) -> EndStation {
        lower::station_of_interval(self.interval(key))
    }

    fn stream(&mut self, rate: &str, size: &str, deadline: Option<Duration>) -> Stream {
        let payload = self.size(size);
        let most = Encapsulation::Udp.max_payload();
        if payload > most
            && let Some(entry) = self.fields.get(size)
        {
            let title = format!("`{size}` must be at most {most}, found {payload}");
            let span = entry.value.span;
            let label = "the stream runs over UDP";
            let code = &codes::PAYLOAD_TOO_LARGE;
            self.reader
                .report(Diagnostic::new(code, title, span, label));
        }
        Stream {
            period: self.interval(rate),
            payload,
            deadline,
        }
    }
}

/// Reads `substation:`.
pub(super) fn parameters(reader: &mut Reader<'_>, generate: &Fields<'_>) -> Option<Parameters> {
    let fields = reader.one(generate, "substation", &SUBSTATION)?;
    let mut values = Values { reader, fields };
    let bays = values.count("feeder_bays") + values.count("transformer_bays");
    let pisas = [
        ("ct", values.count("ct_vt")),
        ("de", values.count("distance_earth")),
        ("fe", values.count("fast_earth")),
        ("cb", values.count("circuit_breakers")),
    ];
    let stations = Stations {
        pisa: values.station("pisa_rate"),
        bay: values.station("bay_rate"),
        busbar: values.station("busbar_rate"),
        server: values.station("server_rate"),
    };
    let link_rate = if values.fields.has("link_rate") {
        lower::link_rate(values.reader, &values.fields, "link_rate")?
    } else {
        bits_per_second(values.quantity("link_rate", Quantity::BitRate))
    };
    let deadline = Some(values.time("deadline"));
    let samples = values.stream("sample_rate", "sample_size", deadline);
    let commands = values.stream("command_rate", "command_size", deadline);
    let exchange = values.stream("exchange_rate", "exchange_size", None);
    let phase = values.reader.word(&values.fields, "phase");
    let per_bay: u64 = pisas.iter().map(|(_, count)| count).sum();
    let files = files(&mut values, bays * (per_bay + 3));
    Some(Parameters {
        bays,
        pisas,
        stations,
        link_rate,
        switch_latency: values.time("switch_latency"),
        samples,
        commands,
        exchange,
        phase: match phase.map(|word| word.value) {
            Some("synchronised") => Phase::Fixed(Duration::ZERO),
            _ => Phase::Random,
        },
        files,
    })
}

fn files(values: &mut Values<'_, '_, '_>, downloads: u64) -> Option<Files> {
    let size = values.size("file_size");
    let share = values.quantity("upload_share", Quantity::Ratio);
    let volume = u128::from(size.get()) * u128::from(downloads) * u128::from(share);
    let by_share = Bytes::new(u64::try_from(volume / 1_000_000_000).unwrap_or(u64::MAX));
    let given = values.reader.size(&values.fields, "upload_size");
    let every = values.time("file_every");
    let tcp = TcpParameters {
        segment: values.size("segment"),
        window: values.size("window"),
        ..TcpParameters::default()
    };
    for (key, fits) in [
        ("file_size", size > Bytes::ZERO),
        ("file_every", every > Duration::ZERO),
        (
            "segment",
            tcp.segment > Bytes::ZERO && tcp.segment <= Encapsulation::Tcp.max_payload(),
        ),
        (
            "window",
            tcp.window >= tcp.segment && tcp.window <= Bytes::new(1 << 30),
        ),
    ] {
        let Some(entry) = values.fields.get(key).filter(|_| !fits) else {
            continue;
        };
        let (span, rule) = match key {
            "segment" => (entry.value.span, "1 B to 1460 B"),
            "window" => (entry.value.span, "from one segment to 1 GiB"),
            _ => (entry.value.span, "more than nothing"),
        };
        let title = format!("`{key}` must be {rule}");
        let label = "of the file transfers";
        let code = &codes::VALUE_OUT_OF_RANGE;
        values
            .reader
            .report(Diagnostic::new(code, title, span, label));
    }
    let files = Files {
        size,
        every,
        bay_at: values.time("bay_file_at"),
        upload_at: values.time("upload_at"),
        upload: given.map_or(by_share, |at| at.value),
        tcp,
    };
    let wanted = values.reader.flag(&values.fields, "files").unwrap_or(true);
    wanted.then_some(files)
}

/// Returns the name of a bay: `bay01`.
fn bay_name(bay: u64) -> String {
    format!("bay{bay:02}")
}

impl Parameters {
    /// Returns the PISAs of a bay: name and kind.
    fn pisas_of(&self, bay: u64) -> impl Iterator<Item = (String, &'static str)> + '_ {
        self.pisas.iter().flat_map(move |&(kind, count)| {
            (1..=count).map(move |n| (format!("{}.{kind}{n}", bay_name(bay)), kind))
        })
    }

    fn bay_nodes_of(bay: u64) -> [(String, &'static str); 3] {
        BAY_NODES.map(|(short, long)| (format!("{}.{short}", bay_name(bay)), long))
    }
}

/// Adds nodes and links to the plant.
pub(super) fn nodes(reader: &mut Reader<'_>, plant: &mut Plant, p: &Parameters, span: Span) {
    let mut build = Build {
        reader,
        plant,
        p,
        span,
    };
    let bays = usize::try_from(p.bays).unwrap_or(0);
    let Some(top) = build.switch("top", bays + 2) else {
        return;
    };
    build.attach("busbar", &p.stations.busbar, top, 0);
    // Without files nobody would talk to it.
    if p.files.is_some() {
        build.attach("server", &p.stations.server, top, 1);
    }
    for bay in 1..=p.bays {
        let pisas: Vec<String> = p.pisas_of(bay).map(|(name, _)| name).collect();
        let name = format!("{}.switch", bay_name(bay));
        let Some(switch) = build.switch(&name, pisas.len() + 4) else {
            return;
        };
        let own = pisas.iter().map(|name| (name.as_str(), &p.stations.pisa));
        let bay_nodes = Parameters::bay_nodes_of(bay);
        let others = bay_nodes
            .iter()
            .map(|(name, _)| (name.as_str(), &p.stations.bay));
        for (port, (name, station)) in (1u16..).zip(own.chain(others)) {
            if build.attach(name, station, switch, port).is_none() {
                return;
            }
        }
        let uplink = PortId {
            node: switch,
            port: 0,
        };
        let port = u16::try_from(bay + 1).unwrap_or(u16::MAX);
        build.link(uplink, PortId { node: top, port });
    }
}

struct Build<'b, 's> {
    reader: &'b mut Reader<'s>,
    plant: &'b mut Plant,
    p: &'b Parameters,
    span: Span,
}

impl Build<'_, '_> {
    fn switch(&mut self, name: &str, ports: usize) -> Option<NodeId> {
        let switch = lower::plain_switch(ports + SPARE_PORTS, self.p.switch_latency);
        let kind = NodeKind::Switch(switch);
        self.plant.add_node(self.reader, name, self.span, kind)
    }

    fn attach(&mut self, name: &str, station: &EndStation, to: NodeId, port: u16) -> Option<()> {
        let kind = NodeKind::EndStation(station.clone());
        let node = self.plant.add_node(self.reader, name, self.span, kind)?;
        self.link(PortId { node, port: 0 }, PortId { node: to, port });
        Some(())
    }

    fn link(&mut self, a: PortId, b: PortId) {
        let link = Link {
            ends: [a, b],
            rate: self.p.link_rate,
            propagation: Duration::ZERO,
            errors_per_billion: 0,
            standby: false,
        };
        self.plant.add_link(link, self.span);
    }

    /// Adds a stream of single packets.
    fn stream(&mut self, stream: Stream, class: &str, from: &str, to: &str) {
        let traffic = Traffic::Periodic {
            period: stream.period,
            phase: self.p.phase,
            release_jitter: Duration::ZERO,
        };
        let name = format!("{from} > {to}");
        let payload = stream.payload;
        self.flow(
            (name, class, from, to),
            Encapsulation::Udp,
            payload,
            traffic,
        );
        if let Some(flow) = self.plant.flows.last_mut() {
            flow.deadline = stream.deadline;
        }
    }

    /// Adds a file transfer if it begins within the run.
    fn file(
        &mut self,
        class: &str,
        from: &str,
        to: &str,
        at: Duration,
        size: Bytes,
        end: Duration,
    ) {
        let Some(files) = self
            .p
            .files
            .as_ref()
            .filter(|_| at < end && size > Bytes::ZERO)
        else {
            return;
        };
        let tcp = files.tcp;
        let traffic = Traffic::Bulk(Bulk {
            transfers: vec![Transfer {
                start: at,
                size: Some(size),
            }],
            rate: None,
            tcp,
        });
        let name = format!("file {from} > {to}");
        self.flow(
            (name, class, from, to),
            Encapsulation::Tcp,
            tcp.segment,
            traffic,
        );
    }

    fn flow(
        &mut self,
        (name, class, from, to): (String, &str, &str, &str),
        encapsulation: Encapsulation,
        payload: Bytes,
        traffic: Traffic,
    ) {
        let (Some(talker), Some(listener)) = (self.plant.find(from), self.plant.find(to)) else {
            return;
        };
        let start = match &traffic {
            Traffic::Bulk(bulk) => bulk.transfers[0].start,
            Traffic::Periodic { .. }
            | Traffic::Sporadic { .. }
            | Traffic::Poisson { .. }
            | Traffic::Flood { .. } => Duration::ZERO,
        };
        let reply: Option<Reply> = None;
        let flow = Flow {
            name,
            class: class.to_owned(),
            talker,
            listeners: vec![listener],
            delivery: Delivery::Unicast,
            encapsulation,
            payload,
            tag: None,
            dscp: 0,
            traffic,
            start,
            stop: None,
            reply,
            deadline: None,
        };
        self.plant.add_flow(self.reader, flow, self.span);
    }
}

/// Adds flows to the plant.
pub(super) fn flows(
    reader: &mut Reader<'_>,
    plant: &mut Plant,
    p: &Parameters,
    span: Span,
    run: &RunPlan,
) {
    let mut build = Build {
        reader,
        plant,
        p,
        span,
    };
    for bay in 1..=p.bays {
        streams(&mut build, bay);
    }
    let end = run.duration;
    let Some(files) = &p.files else { return };
    let mut number = 0i64;
    for bay in 1..=p.bays {
        for (pisa, _) in p.pisas_of(bay) {
            number += 1;
            // Beyond the run, and so beyond anything that could overflow.
            if number > end.as_ps() / files.every.as_ps().max(1) {
                break;
            }
            let at = files.every * number;
            build.file("file to pisa", "server", &pisa, at, files.size, end);
        }
        for (node, _) in Parameters::bay_nodes_of(bay) {
            build.file(
                "file to bay node",
                "server",
                &node,
                files.bay_at,
                files.size,
                end,
            );
        }
    }
    let uploader = format!("{}.ct2", bay_name(1));
    build.file(
        "file from pisa",
        &uploader,
        "server",
        files.upload_at,
        files.upload,
        end,
    );
}

/// Adds the streams of one bay.
fn streams(build: &mut Build<'_, '_>, bay: u64) {
    let p = build.p;
    let bay_nodes = Parameters::bay_nodes_of(bay);
    for (pisa, kind) in p.pisas_of(bay) {
        if kind == "ct" {
            for (node, long) in &bay_nodes {
                build.stream(p.samples, &format!("ct-vt to {long}"), &pisa, node);
            }
            build.stream(p.samples, "ct-vt to busbar", &pisa, "busbar");
        }
        if kind == "cb" {
            for (node, long) in &bay_nodes {
                let class = format!("{long} to circuit breaker");
                build.stream(p.commands, &class, node, &pisa);
            }
            build.stream(p.commands, "busbar to circuit breaker", "busbar", &pisa);
        }
    }
    for (pisa, _) in p.pisas_of(bay) {
        for (node, _) in &bay_nodes {
            exchange(build, &pisa, node);
            exchange(build, node, &pisa);
        }
    }
}

/// Adds one direction of the slow exchange; its name says so, as a faster stream may run beside it.
fn exchange(build: &mut Build<'_, '_>, from: &str, to: &str) {
    let stream = build.p.exchange;
    let traffic = Traffic::Periodic {
        period: stream.period,
        phase: build.p.phase,
        release_jitter: Duration::ZERO,
    };
    let name = format!("exchange {from} > {to}");
    let flow = (name, "exchange", from, to);
    build.flow(flow, Encapsulation::Udp, stream.payload, traffic);
}
