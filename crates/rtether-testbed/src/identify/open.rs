//! Finds out whether a device answers a protocol, and what it lets a prober choose.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::atomic::AtomicBool;

use rtether_live::identify::{Arps, Connects, Datagrams, Line, Pings, Quotes, Stream, ask};
use rtether_model::quantity::{Bytes, Duration};
use rtether_proto::identify::request::{
    Carrier, Channel, Dialect, Framing, Heard, Outcome, enip, modbus, opcua, snmp,
};
use rtether_proto::identify::{Packet, Path};

use super::tempo::Tempo;
use super::{Asked, IdentifyOptions, Protocol};
use crate::{LiveError, session};

/// A request without an answer after this time is lost, as the prober has it.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Largest frames of echoes: the extreme ones are load.
const MOST: Bytes = Bytes::new(1_024);
const MOST_WITH_LOAD: Bytes = Bytes::new(1_518);
/// Quantities of registers that are tried, the largest first.
const QUANTITIES: [u8; 4] = [modbus::QUANTITY_MAX, 64, 16, 1];

/// Where a device is, and how it is to be asked.
pub(super) struct Door<'a> {
    pub(super) address: Ipv4Addr,
    pub(super) options: &'a IdentifyOptions,
    /// What host and network take.
    pub(super) path: Path,
    pub(super) stop: &'a AtomicBool,
}

/// What asking has shown.
pub(super) enum Opened {
    /// It answers.
    Open(Open),
    /// It does not, with the reason.
    Silent(String),
}

/// A protocol that a device answers.
pub(super) struct Open {
    pub(super) asked: Asked,
    pub(super) dialect: Dialect,
    pub(super) line: Box<dyn Line>,
    pub(super) identity: Option<String>,
}

impl Door<'_> {
    /// Asks a device in a protocol: a request or two, and in protocols whose answers can be chosen
    /// what the choices are.
    ///
    /// # Errors
    /// If this host cannot ask.
    pub(super) fn open(&self, asked: Asked, tempo: &mut Tempo) -> Result<Opened, LiveError> {
        let opened = self.knock(asked, tempo);
        let opened = opened.and_then(|opened| match opened {
            Opened::Open(mut open) => {
                self.explore(&mut open, tempo)?;
                Ok(Opened::Open(open))
            }
            silent @ Opened::Silent(_) => Ok(silent),
        });
        opened.or_else(|error| self.why(asked, error))
    }

    /// Asks once, and only whether there is an answer.
    pub(super) fn list(&self, asked: Asked, tempo: &mut Tempo) -> Result<Opened, LiveError> {
        self.knock(asked, tempo).or_else(|error| self.why(asked, error))
    }

    /// Tells errors of the device, which are an answer of a kind, from those of this host.
    fn why(&self, asked: Asked, error: io::Error) -> Result<Opened, LiveError> {
        let whys = [
            (io::ErrorKind::ConnectionRefused, "the port is closed"),
            (io::ErrorKind::TimedOut, "no answer"),
            (io::ErrorKind::WouldBlock, "no answer"),
            (io::ErrorKind::HostUnreachable, "no host has the address"),
            (io::ErrorKind::UnexpectedEof, "it closes the connection"),
            (io::ErrorKind::InvalidData, "what it sends is not of the protocol"),
            (io::ErrorKind::ConnectionReset, "it resets the connection"),
            (io::ErrorKind::BrokenPipe, "it closes the connection"),
            (io::ErrorKind::Unsupported, "the device is this host"),
            (io::ErrorKind::PermissionDenied, "not asked: needs root or CAP_NET_RAW"),
        ];
        let is_alone = self.options.asked.len() == 1;
        let known = whys.into_iter().find(|(kind, _)| *kind == error.kind());
        // Without rights others can be asked, if there are any.
        let known = known.filter(|(kind, _)| *kind != io::ErrorKind::PermissionDenied || !is_alone);
        if let Some((_, why)) = known {
            return Ok(Opened::Silent(why.to_owned()));
        }
        let doing = format!("asking {} by {}", self.address, asked.protocol.word());
        Err(LiveError::socket(doing, error))
    }

    /// Opens a line and asks for the first time.
    fn knock(&self, asked: Asked, tempo: &mut Tempo) -> io::Result<Opened> {
        let (dialect, line) = self.line(asked)?;
        let mut open = Open { asked, dialect, line, identity: None };
        if let Some(why) = self.shake_hands(&mut open, tempo)? {
            return Ok(Opened::Silent(why));
        }
        let message = first(&open.dialect);
        tempo.request(self.stop);
        let Some(heard) = self.ask(&mut open, &message)? else {
            return Ok(Opened::Silent("no answer".into()));
        };
        let is_refused = matches!(heard.outcome, Outcome::Refused(_));
        if asked.protocol == Protocol::Closed && !is_refused {
            return Ok(Opened::Silent("the port is open; name a closed one".into()));
        }
        if asked.protocol == Protocol::Syn && is_refused {
            return Ok(Opened::Silent("the port is closed".into()));
        }
        if let Dialect::OpcUa { answer, .. } = &mut open.dialect {
            *answer = heard.frame;
        }
        if let Outcome::Identity(text) = heard.outcome {
            open.identity = Some(text).filter(|text| !text.is_empty());
        }
        Ok(Opened::Open(open))
    }

    /// Opens a line in a protocol.
    fn line(&self, asked: Asked) -> io::Result<(Dialect, Box<dyn Line>)> {
        let port = asked.port.unwrap_or(0);
        let peer = SocketAddrV4::new(self.address, port);
        let [_, _, high, low] = session().to_be_bytes();
        let most = if self.options.load.is_some() { MOST_WITH_LOAD } else { MOST };
        let community = self.options.community.as_bytes().to_vec();
        Ok(match asked.protocol {
            Protocol::Echo => {
                let identifier = u16::from_be_bytes([high, low]);
                (Dialect::Echo { identifier, most }, Box::new(Pings::open(self.address)?))
            }
            Protocol::Message => {
                let dialect = Dialect::Message { session: session(), most };
                (dialect, Box::new(Datagrams::open(peer)?))
            }
            Protocol::Closed | Protocol::Syn => (Dialect::Connect, Box::new(Connects::new(peer))),
            Protocol::Unreachable => (Dialect::Unreachable { port }, Box::new(Quotes::open(peer)?)),
            Protocol::Arp => {
                let line = Arps::open(self.address)?;
                (Dialect::Arp { own: line.own(), device: self.address }, Box::new(line))
            }
            Protocol::Cndep => (Dialect::Cndep, Box::new(Datagrams::open(peer)?)),
            Protocol::OpcUa => {
                let stream = Stream::connect(peer, Framing::OpcUa)?;
                let carrier = stream.carrier();
                let url = format!("opc.tcp://{peer}").into_bytes();
                // How long answers are is seen when one has come.
                let (channel, answer) = (Channel::default(), carrier.frame(0));
                (Dialect::OpcUa { channel, url, answer, carrier }, Box::new(stream))
            }
            Protocol::Snmp => {
                let dialect = Dialect::Snmp { community, tried: Vec::new() };
                (dialect, Box::new(Datagrams::open(peer)?))
            }
            Protocol::Modbus => {
                let stream = Stream::connect(peer, Framing::Modbus)?;
                let (unit, first) = (self.options.unit, self.options.register);
                let carrier = stream.carrier();
                (Dialect::Modbus { unit, first, most: 0, carrier }, Box::new(stream))
            }
            Protocol::Enip => {
                let stream = Stream::connect(peer, Framing::Enip)?;
                let carrier = stream.carrier();
                (Dialect::Enip { session: 0, carrier }, Box::new(stream))
            }
        })
    }

    /// Opens a channel again, where a protocol has one: a server may close one that has no session.
    pub(super) fn renew(&self, open: &mut Open, tempo: &mut Tempo) -> io::Result<()> {
        let Dialect::OpcUa { answer, .. } = open.dialect else { return Ok(()) };
        (open.dialect, open.line) = self.line(open.asked)?;
        if let Dialect::OpcUa { answer: own, .. } = &mut open.dialect {
            *own = answer;
        }
        self.shake_hands(open, tempo)?.map_or(Ok(()), |why| Err(io::Error::other(why)))
    }

    /// Opens a channel, where a protocol has one; returns why it is refused.
    fn shake_hands(&self, open: &mut Open, tempo: &mut Tempo) -> io::Result<Option<String>> {
        let Dialect::OpcUa { url, .. } = &open.dialect else { return Ok(None) };
        for message in [opcua::hello(url), opcua::open()] {
            tempo.request(self.stop);
            match self.ask(open, &message)?.map(|heard| heard.outcome) {
                Some(Outcome::Done) => {}
                Some(Outcome::Channel(opened)) => {
                    if let Dialect::OpcUa { channel, .. } = &mut open.dialect {
                        *channel = opened;
                    }
                }
                Some(Outcome::Refused(status)) => {
                    let why = format!("it refuses a channel without security: {status:#010x}");
                    return Ok(Some(why));
                }
                Some(Outcome::Identity(_) | Outcome::Session(_)) | None => {
                    return Ok(Some("no answer".into()));
                }
            }
        }
        Ok(None)
    }

    fn ask(&self, open: &mut Open, message: &[u8]) -> io::Result<Option<Heard>> {
        ask(open.line.as_mut(), &open.dialect, message, TIMEOUT, self.stop)
    }

    /// Finds out what answers can be had.
    fn explore(&self, open: &mut Open, tempo: &mut Tempo) -> io::Result<()> {
        match open.dialect.clone() {
            Dialect::Snmp { community, .. } => {
                let tried = self.repetitions(open, &community, tempo)?;
                open.dialect = Dialect::Snmp { community, tried };
            }
            Dialect::Modbus { unit, first, carrier, .. } => {
                let most = self.quantity(open, unit, first, tempo)?;
                open.dialect = Dialect::Modbus { unit, first, most, carrier };
            }
            Dialect::Enip { carrier, .. } => {
                tempo.request(self.stop);
                let heard = self.ask(open, &enip::register_session(0))?;
                if let Some(Heard { outcome: Outcome::Session(session), .. }) = heard {
                    open.dialect = Dialect::Enip { session, carrier };
                }
            }
            Dialect::Echo { .. }
            | Dialect::Arp { .. }
            | Dialect::Cndep
            | Dialect::OpcUa { .. }
            | Dialect::Message { .. }
            | Dialect::Unreachable { .. }
            | Dialect::Connect => {}
        }
        Ok(())
    }

    /// Tries repetitions of getbulk that double while their answers grow and fit a frame.
    fn repetitions(
        &self,
        open: &mut Open,
        community: &[u8],
        tempo: &mut Tempo,
    ) -> io::Result<Vec<(u8, Bytes)>> {
        let mut tried: Vec<(u8, Bytes)> = Vec::new();
        for repetitions in [1, 2, 4, 8, 16, 32, 64] {
            let Some(message) = snmp::get_bulk(0, community, repetitions) else { break };
            tempo.request(self.stop);
            let Some(heard) = self.ask(open, &message)? else { break };
            let is_larger = tried.last().is_none_or(|(_, before)| heard.frame > *before);
            let is_whole = heard.frame < Carrier::Udp.frame(Carrier::Udp.room());
            let is_refused = matches!(heard.outcome, Outcome::Refused(_));
            if is_refused || !is_larger || !is_whole {
                break;
            }
            tried.push((repetitions, heard.frame));
        }
        Ok(tried)
    }

    /// Returns the most registers that a device lets be read, of some that are tried.
    fn quantity(&self, open: &mut Open, unit: u8, first: u16, tempo: &mut Tempo) -> io::Result<u8> {
        for quantity in QUANTITIES {
            let Some(message) = modbus::registers(0, unit, first, quantity) else { continue };
            tempo.request(self.stop);
            let heard = self.ask(open, &message)?;
            if heard.is_some_and(|heard| heard.outcome == Outcome::Done) {
                return Ok(quantity);
            }
        }
        Ok(0)
    }
}

/// Returns the first request: for the identity, where a protocol knows one.
fn first(dialect: &Dialect) -> Vec<u8> {
    match dialect {
        Dialect::Snmp { community, .. } => {
            let (version, variable) = (snmp::Version::V2c, snmp::Variable::Description);
            snmp::get(0, version, community, variable, 1).unwrap_or_default()
        }
        Dialect::Modbus { unit, .. } => modbus::identity(0, *unit).to_vec(),
        Dialect::Enip { .. } => enip::list_identity(0),
        Dialect::OpcUa { channel, url, .. } => opcua::find_servers(0, *channel, url, 0),
        Dialect::Echo { .. }
        | Dialect::Arp { .. }
        | Dialect::Cndep
        | Dialect::Message { .. }
        | Dialect::Unreachable { .. }
        | Dialect::Connect => {
            let sizes = dialect.sizes().smallest();
            let answer = Some(sizes.answer);
            let packet = Packet { id: 0, request: sizes.request, answer, high: false };
            dialect.request(&packet).map(|request| request.octets).unwrap_or_default()
        }
    }
}
