//! Parameters of a substation, with defaults from the table of keys.

use rtether_model::quantity::{Bytes, Duration};
use rtether_model::wire::Encapsulation;

use crate::codes;
use crate::diagnostic::{Diagnostic, Span};
use crate::generate::Pen;
use crate::keys::table::{PHASE, SUBSTATION};
use crate::keys::{Kind, Presence};
use crate::lower;
use crate::reader::{Fields, Reader, picoseconds};
use crate::tree::Value;
use crate::units::{self, Quantity};

/// Values of the keys in the table.
pub(super) struct Parameters<'t> {
    fields: Fields<'t>,
    /// Where `substation` is written.
    pub(super) span: Span,
    pub(super) bays: u64,
    /// Name prefix and number per bay of each kind of PISA.
    pub(super) pisas: [(&'static str, u64); 4],
    pub(super) files: Option<Files>,
}

/// When files are transferred.
pub(super) struct Files {
    pub(super) every: Duration,
    pub(super) bay_at: Duration,
    pub(super) upload_at: Duration,
    pub(super) uploads: bool,
}

impl Parameters<'_> {
    /// Returns the value of a key as it is written, or its default.
    pub(super) fn value(&self, key: &str) -> Value {
        let given = self.fields.get(key).map(|entry| entry.value.clone());
        given.unwrap_or_else(|| Pen(self.span).text(default_of(&self.fields, key)))
    }
}

fn default_of(fields: &Fields<'_>, key: &str) -> &'static str {
    match fields.section.find(key).map(|key| key.presence) {
        Some(Presence::Default(text)) => text,
        _ => unreachable!("`{key}` has a default"),
    }
}

/// Reads values; missing ones get their defaults from the table.
struct Values<'r, 's, 't> {
    reader: &'r mut Reader<'s>,
    fields: Fields<'t>,
}

impl Values<'_, '_, '_> {
    fn count(&mut self, key: &str) -> u64 {
        let given = self.reader.count(&self.fields, key);
        let default = default_of(&self.fields, key).parse().unwrap_or(0);
        given.map_or(default, |at| at.value)
    }

    fn quantity(&mut self, key: &str, quantity: Quantity) -> u64 {
        let given = self.reader.quantity(&self.fields, key, quantity);
        let default = units::read(default_of(&self.fields, key), quantity).unwrap_or(0);
        given.map_or(default, |at| at.value)
    }

    fn time(&mut self, key: &str) -> Duration {
        picoseconds(self.quantity(key, Quantity::Time))
    }

    fn size(&mut self, key: &str) -> Bytes {
        Bytes::new(self.quantity(key, Quantity::Size))
    }

    /// Reports what is wrong with values that are only passed on, once for all that they are for.
    fn check_others(&mut self) {
        for key in self.fields.section.keys {
            if matches!(key.kind, Kind::Quantity(Quantity::PacketRate)) {
                self.reader.interval(&self.fields, key.name);
            }
        }
        if self.fields.has("link_rate") {
            lower::link_rate(self.reader, &self.fields, "link_rate");
        }
        self.reader.meaning(&self.fields, &PHASE);
        self.time("switch_latency");
        self.time("deadline");
        for key in ["sample_size", "command_size", "exchange_size"] {
            self.payload(key);
        }
    }

    fn payload(&mut self, key: &str) {
        let (payload, most) = (self.size(key), Encapsulation::Udp.max_payload());
        if payload > most
            && let Some(entry) = self.fields.get(key)
        {
            let title = format!("`{key}` must be at most {most}, found {payload}");
            let span = entry.value.span;
            let label = "the stream runs over UDP";
            let code = &codes::PAYLOAD_TOO_LARGE;
            self.reader.report(Diagnostic::new(code, title, span, label));
        }
    }
}

/// Reads `substation:`.
pub(super) fn parameters<'t>(
    reader: &mut Reader<'_>,
    generate: &Fields<'t>,
) -> Option<Parameters<'t>> {
    let span = generate.key_span("substation")?;
    let fields = reader.one(generate, "substation", &SUBSTATION)?;
    let mut values = Values { reader, fields };
    let bays = values.count("feeder_bays") + values.count("transformer_bays");
    let pisas = [
        ("ct", values.count("ct_vt")),
        ("de", values.count("distance_earth")),
        ("fe", values.count("fast_earth")),
        ("cb", values.count("circuit_breakers")),
    ];
    values.check_others();
    let files = files(&mut values);
    Some(Parameters { fields: values.fields, span, bays, pisas, files })
}

fn files(values: &mut Values<'_, '_, '_>) -> Option<Files> {
    let size = values.size("file_size");
    let every = values.time("file_every");
    let segment = values.size("segment");
    let window = values.size("window");
    for (key, fits) in [
        ("file_size", size > Bytes::ZERO),
        ("file_every", every > Duration::ZERO),
        ("segment", segment > Bytes::ZERO && segment <= Encapsulation::Tcp.max_payload()),
        ("window", window >= segment && window <= Bytes::new(1 << 30)),
    ] {
        let Some(entry) = values.fields.get(key).filter(|_| !fits) else {
            continue;
        };
        let rule = match key {
            "segment" => "1 B to 1460 B",
            "window" => "from one segment to 1 GiB",
            _ => "more than nothing",
        };
        let title = format!("`{key}` must be {rule}");
        let label = "of the file transfers";
        let code = &codes::VALUE_OUT_OF_RANGE;
        values.reader.report(Diagnostic::new(code, title, entry.value.span, label));
    }
    let files = Files {
        every,
        bay_at: values.time("bay_file_at"),
        upload_at: values.time("upload_at"),
        uploads: values.size("upload_size") > Bytes::ZERO,
    };
    let wanted = values.reader.flag(&values.fields, "files").unwrap_or(true);
    wanted.then_some(files)
}
