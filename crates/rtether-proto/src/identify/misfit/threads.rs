//! Requests that are worked at side by side.
//!
//! Of a train, one server has answered a second request after twice the time of one, and one for each
//! direction after half as much more: what is answered before that has not waited for the first. If
//! all of the train is, nothing is kept busy by a request, and load tells nothing of the device.

use alloc::vec::Vec;

use super::Misfit;
use crate::identify::figure::count;
use crate::identify::path::Path;
use crate::identify::volley::Observation;

/// Trains and single requests that are needed.
const NEEDED: usize = 8;
/// Requests of the shortest train that tells.
const SHORTEST: usize = 3;
/// An answer by this many times that of a request alone has not waited; the model gives 1.5 at least.
const BESIDE: f64 = 1.3;

/// Looks for answers of trains that have not waited for others.
pub(super) fn find(observations: &[Observation], path: &Path) -> Option<Misfit> {
    let plain = observations.iter().filter(|own| {
        own.volley.silent == 0 && !own.volley.high && own.lost() == 0 && !own.packets.is_empty()
    });
    // Bursts that look for the end of the queue are few of each length.
    let train = plain.clone().map(|own| own.volley).filter(|own| {
        own.packets() >= SHORTEST
            && plain.clone().filter(|other| other.volley.requests == own.requests).count() >= NEEDED
    });
    let train = train.max_by_key(|own| own.requests)?;
    let length = train.packets();
    let (mut alone, mut trains) = (Vec::new(), Vec::new());
    // Requests of other sizes take another time.
    for own in plain.filter(|own| own.volley.sizes == train.sizes) {
        let answers = answers(own, path);
        match own.packets.len() {
            1 => alone.extend(answers.first().copied()),
            packets if packets == length => trains.push(answers),
            _ => {}
        }
    }
    if alone.len() < NEEDED {
        return None;
    }
    let one = alone.iter().sum::<f64>() / count(alone.len());
    let beside = (0..length).take_while(|&place| {
        let mean = trains.iter().map(|own| own[place]).sum::<f64>() / count(trains.len());
        mean < one * BESIDE
    });
    let threads = beside.count();
    (threads >= 2 && threads < length).then_some(Misfit::Threads { threads })
}

/// Returns when the answers of a volley came, in their order, in nanoseconds from its beginning and
/// less the network's share.
fn answers(own: &Observation, path: &Path) -> Vec<f64> {
    let start = own.packets[0].at;
    let times = own.packets.iter().filter_map(|sent| sent.answered);
    let mut times: Vec<f64> =
        times.map(|at| (at - start - path.of(own.sizes())).as_ns_f64()).collect();
    times.sort_unstable_by(f64::total_cmp);
    times
}
