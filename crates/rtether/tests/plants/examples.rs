//! Plants: a line, a star, chains and rings, a substation, a workshop with hubs, and one with
//! hostile names.

use super::*;

/// Two switches and four stations, one late stream, one multicast, one without a deadline.
pub(crate) fn line() -> Builder {
    let mut plant = Builder::new("bottling line 3");
    let [plc, hmi, drive, io] = ["plc1", "hmi", "drive1", "io1"].map(|name| plant.station(name));
    let [sw1, sw2] = ["sw1", "sw2"].map(|name| plant.switch(name));
    for (a, b) in [(plc, sw1), (hmi, sw1), (sw1, sw2), (drive, sw2), (io, sw2)] {
        plant.link(a, b, 100);
    }
    let ms = Duration::from_ms;
    plant.flow("setpoint", "control", plc, &[drive], Some(ms(1)));
    plant.flow("feedback", "control", drive, &[plc], Some(ms(1)));
    plant.flow("poll io", "control", plc, &[io], Some(Duration::from_us(200)));
    plant.flow("emergency stop", "safety", io, &[plc, drive], Some(ms(2)));
    plant.flow("event log", "", plc, &[hmi], None);
    plant
}

/// One switch and 18 stations, all exchanging packets with the first.
pub(crate) fn star() -> Builder {
    let mut plant = Builder::new("star of 18");
    let switch = plant.switch("switch");
    let stations: Vec<NodeId> = (1..=18).map(|i| plant.station(&format!("device{i:02}"))).collect();
    for &station in &stations {
        plant.link(station, switch, 100);
    }
    for (number, &station) in stations.iter().enumerate().skip(1) {
        let deadline = Some(Duration::from_us(500));
        plant.flow(&format!("report{number:02}"), "report", station, &[stations[0]], deadline);
    }
    plant
}

/// Switches in a line, or in a ring with one link on standby; three stations each.
pub(crate) fn chain(switches: usize, is_ring: bool) -> Builder {
    let mut plant = Builder::new(if is_ring { "ring" } else { "line of switches" });
    let ids: Vec<NodeId> = (1..=switches).map(|i| plant.switch(&format!("sw{i}"))).collect();
    let mut stations = Vec::new();
    for (number, &switch) in ids.iter().enumerate() {
        for letter in ["a", "b", "c"] {
            let station = plant.station(&format!("cell{}{letter}", number + 1));
            plant.link(station, switch, 100);
            stations.push(station);
        }
    }
    for pair in ids.windows(2) {
        plant.link(pair[0], pair[1], 1_000);
    }
    if is_ring {
        plant.link(ids[switches - 1], ids[0], 1_000).standby = true;
    }
    let (first, last) = (stations[0], stations[stations.len() - 1]);
    plant.flow("end to end", "", first, &[last], Some(Duration::from_us(900)));
    plant.flow("back", "", last, &[first], Some(Duration::from_us(900)));
    plant
}

/// Bays of twelve devices, and a station level with eight; 64 streams for each bay, in 10 classes.
pub(crate) fn substation(bays: usize) -> Builder {
    let mut plant = Builder::new(&format!("substation, {bays} bays"));
    plant.packets = if bays > 10 { 50 } else { 250 };
    plant.scenario.run.bucket = Duration::from_ms(50);
    let core = plant.switch("station-level");
    let names = ["scada", "gateway", "hmi1", "hmi2", "recorder", "clock", "engineering", "archive"];
    let station_level = names.map(|name| plant.station(name));
    for station in station_level {
        plant.link(station, core, 1_000);
    }
    for bay in 1..=bays {
        substation_bay(&mut plant, bay, core, &station_level);
    }
    plant
}

fn substation_bay(plant: &mut Builder, bay: usize, core: NodeId, station_level: &[NodeId]) {
    let name = |device: &str| format!("bay{bay:02}.{device}");
    let switch = plant.switch(&name("sw"));
    plant.link(switch, core, 1_000);
    let mut add = |devices: &[&str]| -> Vec<NodeId> {
        let ids = devices.iter().map(|device| {
            let id = plant.station(&name(device));
            plant.link(id, switch, 100);
            id
        });
        ids.collect()
    };
    let sensors = add(&["ct1", "ct2", "ct3", "vt1"]);
    let users = add(&["pu", "bcu", "meter", "pmu"]);
    let breakers = add(&["cb", "ds1", "ds2", "es"]);
    let us = |us| Some(Duration::from_us(us));
    let classes = ["protection unit", "bay controller", "meter", "phasor unit"];
    let mut streams = Vec::new();
    for &sensor in &sensors {
        for (&user, class) in users.iter().zip(classes) {
            let limit = if class == "protection unit" { 450 } else { 1_000 };
            streams.push((sensor, user, format!("ct-vt to {class}"), us(limit)));
        }
    }
    for &breaker in &breakers {
        streams.push((users[0], breaker, "trip".into(), us(800)));
        streams.push((users[1], breaker, "command".into(), us(2_000)));
        streams.push((breaker, users[1], "position".into(), us(2_000)));
        streams.push((breaker, station_level[4], "position to recorder".into(), us(10_000)));
    }
    for &user in &users {
        streams.push((user, station_level[0], "report to scada".into(), us(20_000)));
        streams.push((station_level[0], user, "poll".into(), us(20_000)));
        streams.push((user, station_level[4], "disturbance".into(), us(50_000)));
    }
    for device in sensors.iter().chain(&users).chain(&breakers).chain(&users).chain(&sensors) {
        streams.push((*device, station_level[7], "log".into(), None));
    }
    for (from, to, class, deadline) in streams {
        let [a, b] = [from, to].map(|id| plant.scenario.network.node(id).name.clone());
        plant.flow(&format!("{a} > {b}"), &class, from, &[to], deadline);
    }
}

/// Two hubs that form one collision domain, a switch, and priority layers in two stations.
pub(crate) fn workshop() -> Builder {
    let mut plant = Builder::new("workshop with hubs");
    let [hub1, hub2] = ["hub1", "hub2"].map(|name| plant.hub(name));
    let switch = plant.switch("cell switch");
    if let NodeKind::Switch(switch) = &mut plant.scenario.network.nodes[switch.index()].kind {
        switch.ingress = vec![IngressRule::default()];
    }
    plant.link(hub1, hub2, 10);
    plant.link(hub1, switch, 10);
    let names = ["press", "saw", "lathe", "drill", "mill"];
    let stations = names.map(|name| plant.station(name));
    for (number, &station) in stations.iter().enumerate() {
        plant.link(station, if number < 3 { hub1 } else { hub2 }, 10);
    }
    let office = plant.station("office");
    plant.link(office, switch, 100);
    for station in [stations[0], office] {
        plant.layer(station);
    }
    let ms = Duration::from_ms;
    for (number, &station) in stations.iter().enumerate() {
        let next = stations[(number + 1) % stations.len()];
        let name = format!("token {}", number + 1);
        plant.flow(&name, "interlock", station, &[next], Some(ms(2)));
    }
    plant.flow("drawings", "", office, &[stations[0]], None);
    plant
}

/// Names meant to break the page.
pub(crate) fn hostile() -> Builder {
    let mut plant = Builder::new("<script>alert(1)</script> \"quoted\" & 'single' \u{202e}turned");
    let a = plant.station("</style><img src=x onerror=alert(2)>");
    let b = plant.station(&"very-long-name-".repeat(20));
    let switch = plant.switch("Schaltschrank-Übergabe 変電所 🏭]]>");
    plant.link(a, switch, 100);
    plant.link(b, switch, 100);
    plant.flow(
        "\" onload=\"alert(3)",
        "<b>class</b> | `x` \u{1b}[31m",
        a,
        &[b],
        Some(Duration::from_us(1)),
    );
    plant.flow("=1+1", "", b, &[a], None);
    plant
}
