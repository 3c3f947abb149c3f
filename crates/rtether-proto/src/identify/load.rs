//! What a device does under load: its servers, their queue and its order.
//!
//! - Each silent packet ahead of a request makes its answer later by the time to receive one.
//! - A train of `N` requests takes one server `N (r + s)` until the last answer, whether it receives
//!   all before it sends or takes turns; one for each direction takes `r + s` and then `max(r, s)` for
//!   each further request.
//! - A request of high priority behind others is answered before them, or in its turn.
//! - Which request of a burst is lost first depends on the depth of the queue and on what was served
//!   meanwhile: [`super::replay`] tries all depths.

use alloc::vec::Vec;

use rtether_model::network::Servers;

use super::figure::{Figure, HALF, Unidentified, count};
use super::line::{Line, Point};
use super::order::Order;
use super::path::Path;
use super::replay::{Known, Loss, replay};
use super::volley::Observation;

/// Volleys that an estimate needs.
const NEEDED: usize = 8;
/// A cost less than so much above the time from packet to packet on the line cannot be told from it.
const ABOVE_LINE: f64 = 1.1;

/// A device under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Mean time to receive the smallest request, jitter included.
    pub receive: Result<Figure, Unidentified>,
    /// Whether one server receives and sends.
    pub servers: Result<Servers, Unidentified>,
    /// Order of service.
    pub order: Result<Order, Unidentified>,
    /// Packets that may wait, without the one in service.
    pub queue: Result<u32, Unidentified>,
}

impl Load {
    /// Estimates all of it from the volleys of [`super::Prober::load`].
    pub fn estimate(observations: &[Observation], path: &Path) -> Self {
        let receive = receive(observations);
        let single = single(observations, path);
        let servers = receive.and_then(|own| servers(observations, path, own, single?));
        let order = Order::estimate(observations);
        // Where the order cannot be seen, the queue is so short that it does not matter.
        let queue = is_lossy(observations).and(receive).and_then(|own| {
            let receive = own.value.as_ns_f64();
            let send = (single?.mean - receive).max(0.0);
            let order = order.unwrap_or(Order::Arrival);
            // A burst that fills the queue before anything is served does so with one server and two.
            let possible = servers.map_or([Servers::Shared, Servers::PerDirection], |own| [own; 2]);
            let [one, other] = possible
                .map(|servers| depth(observations, Known { receive, send, servers, order }));
            if one == other { one } else { Err(Unidentified::NeedsOther) }
        });
        Self { receive, servers, order, queue }
    }
}

/// Estimates the time to receive a packet from the silent ones ahead of a request.
fn receive(observations: &[Observation]) -> Result<Figure, Unidentified> {
    let alone = observations.iter().filter(|own| own.volley.requests == 1 && !own.volley.high);
    let rows = alone.filter_map(|own| {
        let silent = f64::from(own.volley.silent);
        Some(Point { x: [1.0, silent, 0.0], y: own.whole()?.as_ns_f64() })
    });
    let rows: Vec<Point> = rows.collect();
    let line = Line::fit(&rows).ok_or(Unidentified::QueueTooShort)?;
    let half = HALF * libm::sqrt(line.covariance[1][1]);
    let figure = Figure::around(line.slope[1], half, half);
    if figure.low.as_ns_f64() <= spacing(observations) * ABOVE_LINE {
        return Err(Unidentified::FasterThanLine);
    }
    Ok(figure)
}

/// Returns the mean time from packet to packet of a volley, in nanoseconds.
fn spacing(observations: &[Observation]) -> f64 {
    let gaps = observations.iter().flat_map(|own| own.packets.windows(2));
    let gaps: Vec<f64> = gaps.map(|pair| (pair[1].at - pair[0].at).as_ns_f64()).collect();
    Sample::of(&gaps).map_or(0.0, |own| own.mean)
}

/// A mean with the variance of its estimate.
#[derive(Clone, Copy, Debug)]
struct Sample {
    mean: f64,
    variance: f64,
}

impl Sample {
    fn of(values: &[f64]) -> Result<Self, Unidentified> {
        if values.len() < NEEDED {
            return Err(Unidentified::TooFew { answers: values.len(), needed: NEEDED });
        }
        let mean = values.iter().sum::<f64>() / count(values.len());
        let squares = values.iter().map(|own| (own - mean) * (own - mean)).sum::<f64>();
        Ok(Self { mean, variance: squares / count(values.len() - 1) / count(values.len()) })
    }
}

/// Returns the mean round trip of a request alone, less the network's share.
fn single(observations: &[Observation], path: &Path) -> Result<Sample, Unidentified> {
    let alone = observations.iter().filter_map(|own| Some((own, own.single()?)));
    let trips = alone.map(|(own, (at, to))| (to - at - path.of(own.sizes())).as_ns_f64());
    Sample::of(&trips.collect::<Vec<f64>>())
}

/// Tells one server from two by how much later the last answer of a train is than that of a request
/// alone, for each request more.
fn servers(
    observations: &[Observation],
    path: &Path,
    receive: Figure,
    single: Sample,
) -> Result<Servers, Unidentified> {
    let trains = observations.iter().filter(|own| {
        own.volley.requests > 1 && own.volley.silent == 0 && !own.volley.high && own.lost() == 0
    });
    let more = trains.filter_map(|own| {
        let whole = (own.whole()? - path.of(own.sizes())).as_ns_f64();
        Some((whole - single.mean) / f64::from(own.volley.requests - 1))
    });
    let more = Sample::of(&more.collect::<Vec<f64>>())?;
    let receive = receive.value.as_ns_f64();
    let [longer, shorter] = [f64::max, f64::min].map(|own| own(receive, single.mean - receive));
    // One server needs the shorter of both times, too.
    let beyond = more.mean - longer - shorter / 2.0;
    if beyond.abs() < HALF * libm::sqrt(more.variance + single.variance) {
        return Err(Unidentified::Ambiguous);
    }
    Ok(if beyond > 0.0 { Servers::Shared } else { Servers::PerDirection })
}

/// Returns the reason why the depth of the queue is not known if nothing was lost.
fn is_lossy(observations: &[Observation]) -> Result<(), Unidentified> {
    let longest = observations.iter().map(|own| own.packets.len()).max().unwrap_or(0);
    let is_lossy = observations.iter().any(|own| own.lost() > 0);
    if is_lossy { Ok(()) } else { Err(Unidentified::NoLoss { longest }) }
}

/// Looks for the depth with which bursts lose what they have lost.
fn depth(observations: &[Observation], known: Known) -> Result<u32, Unidentified> {
    let bursts = observations.iter().filter(|own| own.volley.silent == 0 && !own.volley.high);
    let longest = bursts.clone().map(|own| own.packets.len()).max().unwrap_or(0);
    let seen: Vec<(Vec<f64>, Loss)> = bursts
        .filter(|own| own.lost() > 0)
        .map(|own| {
            let start = own.packets[0].at;
            let times = own.packets.iter().map(|sent| (sent.at - start).as_ns_f64());
            let first = own.packets.iter().position(|sent| sent.answered.is_none());
            (times.collect(), Loss { first: first.unwrap_or(0), lost: own.lost() })
        })
        .collect();
    let distance = (0..longest).map(|queue| {
        let each = seen.iter().map(|(times, loss)| replay(known, queue, times).distance(*loss));
        each.sum::<usize>()
    });
    let distances: Vec<usize> = distance.collect();
    let least = distances.iter().min().copied().unwrap_or(0);
    let mut best = (0_u32..).zip(&distances).filter(|(_, own)| **own == least);
    match (best.next(), best.next()) {
        (Some((queue, _)), None) => Ok(queue),
        _ => Err(Unidentified::Ambiguous),
    }
}
