//! Plants of RTPS 1.0: on each host an application, and a manager that knows the others by list.

use std::net::Ipv4Addr;

use rtether_rtps::discovery::v1::Ports;
use rtether_rtps::engine::{Config, Protocol};
use rtether_rtps::locator::Locator;
use rtether_rtps::wire::v1::{Role, Source};

use super::Plant;
use crate::net::address;

/// Port of the application of a host.
const PORT: u16 = 40_000;

/// What a participant has besides the usual.
pub(crate) struct Shape {
    of: Option<(Role, Ipv4Addr, u32, Vec<Ipv4Addr>)>,
}

impl Shape {
    /// Makes a participant one of RTPS 1.0, if it is one.
    pub(crate) fn adapt(self, config: &mut Config) {
        let Some((role, own, number, peers)) = self.of else {
            return;
        };
        let manager = Ports::new(0).unwrap().manager;
        config.protocol = Protocol::Rtps1(role);
        config.prefix = Source::new(own.to_bits(), number, role).prefix();
        let port = if role == Role::Manager { manager } else { PORT };
        config.metatraffic_unicast = vec![Locator::udp(own, port)];
        config.default_unicast.clear();
        if role == Role::Application {
            config.default_unicast.clone_from(&config.metatraffic_unicast);
        }
        let peers = peers.into_iter();
        config.announce_to = peers.map(|peer| Locator::udp(peer, manager)).collect();
    }
}

impl Plant {
    /// Returns what makes a host an application, if the plant is one of RTPS 1.0.
    pub(crate) fn application(&mut self, host: usize) -> Shape {
        self.net.places[host].1 = self.is_v1.then_some(PORT);
        let of = (Role::Application, address(host), self.net.lives, vec![Ipv4Addr::LOCALHOST]);
        Shape { of: self.is_v1.then_some(of) }
    }

    /// Starts the manager of a host, if the plant has managers.
    pub(crate) fn start_manager(&mut self, host: usize) {
        if !self.is_v1 {
            return;
        }
        let hosts = self.sides.len();
        let place = hosts + host;
        self.net.places[place] = (address(host), Some(Ports::new(0).unwrap().manager));
        let others = (0..hosts).filter(|other| *other != host);
        let shape = Shape {
            of: Some((Role::Manager, address(host), self.net.lives, others.map(address).collect())),
        };
        self.net.start(place, |config| shape.adapt(config));
    }
}
