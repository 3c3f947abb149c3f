//! Parameters of a substation, with defaults from the table of keys.

use rtether_model::flow::{Phase, TcpParameters};
use rtether_model::network::EndStation;
use rtether_model::quantity::{BitRate, Bytes, Duration};
use rtether_model::wire::Encapsulation;

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::keys::Presence;
use crate::keys::table::{PHASE, SUBSTATION};
use crate::lower;
use crate::reader::{Fields, Reader, bits_per_second, picoseconds};
use crate::units::{self, Quantity};

/// Values of the keys in the table.
pub(in crate::generate) struct Parameters {
    pub(super) bays: u64,
    /// Name prefix and number per bay of each kind of PISA.
    pub(super) pisas: [(&'static str, u64); 4],
    pub(super) stations: Stations,
    pub(super) link_rate: BitRate,
    pub(super) switch_latency: Duration,
    pub(super) samples: Contract,
    pub(super) commands: Contract,
    pub(super) exchange: Contract,
    pub(super) phase: Phase,
    pub(super) files: Option<Files>,
}

pub(super) struct Stations {
    pub(super) pisa: EndStation,
    pub(super) bay: EndStation,
    pub(super) busbar: EndStation,
    pub(super) server: EndStation,
}

#[derive(Clone, Copy)]
pub(super) struct Contract {
    pub(super) period: Duration,
    pub(super) payload: Bytes,
    pub(super) deadline: Option<Duration>,
}

pub(super) struct Files {
    pub(super) size: Bytes,
    pub(super) every: Duration,
    pub(super) bay_at: Duration,
    pub(super) upload_at: Duration,
    pub(super) upload: Bytes,
    pub(super) tcp: TcpParameters,
}

/// Reads values; missing ones get their defaults from the table.
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

    fn stream(&mut self, rate: &str, size: &str, deadline: Option<Duration>) -> Contract {
        let payload = self.size(size);
        let most = Encapsulation::Udp.max_payload();
        if payload > most
            && let Some(entry) = self.fields.get(size)
        {
            let title = format!("`{size}` must be at most {most}, found {payload}");
            let span = entry.value.span;
            let label = "the stream runs over UDP";
            let code = &codes::PAYLOAD_TOO_LARGE;
            self.reader.report(Diagnostic::new(code, title, span, label));
        }
        Contract { period: self.interval(rate), payload, deadline }
    }
}

/// Reads `substation:`.
pub(in crate::generate) fn parameters(
    reader: &mut Reader<'_>,
    generate: &Fields<'_>,
) -> Option<Parameters> {
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
    let phase = values.reader.meaning(&values.fields, &PHASE);
    let files = files(&mut values);
    Some(Parameters {
        bays,
        pisas,
        stations,
        link_rate,
        switch_latency: values.time("switch_latency"),
        samples,
        commands,
        exchange,
        phase,
        files,
    })
}

fn files(values: &mut Values<'_, '_, '_>) -> Option<Files> {
    let size = values.size("file_size");
    let upload = values.size("upload_size");
    let every = values.time("file_every");
    let tcp = TcpParameters {
        segment: values.size("segment"),
        window: values.size("window"),
        ..TcpParameters::default()
    };
    for (key, fits) in [
        ("file_size", size > Bytes::ZERO),
        ("file_every", every > Duration::ZERO),
        ("segment", tcp.segment > Bytes::ZERO && tcp.segment <= Encapsulation::Tcp.max_payload()),
        ("window", tcp.window >= tcp.segment && tcp.window <= Bytes::new(1 << 30)),
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
        values.reader.report(Diagnostic::new(code, title, span, label));
    }
    let files = Files {
        size,
        every,
        bay_at: values.time("bay_file_at"),
        upload_at: values.time("upload_at"),
        upload,
        tcp,
    };
    let wanted = values.reader.flag(&values.fields, "files").unwrap_or(true);
    wanted.then_some(files)
}
