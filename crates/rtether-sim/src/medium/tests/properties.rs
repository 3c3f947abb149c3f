//! Random segments and offers.

use proptest::prelude::*;
use std::vec::Vec;

use super::super::Backoff;
use super::{Offer, reference, run, segment, segment_of_paths, transmissions};

/// Offers with gaps that often coincide.
fn offers() -> impl Strategy<Value = Vec<Offer>> {
    let gap = prop_oneof![3 => Just(0), 3 => 0i64..30, 2 => 0i64..700, 1 => 0i64..4000];
    let one = (gap, 0u32..4, 64u64..130);
    proptest::collection::vec(one, 1..25).prop_map(|parts| {
        let mut at = 0;
        parts
            .into_iter()
            .map(|(gap, station, octets)| {
                at += gap;
                Offer { at, station, octets }
            })
            .collect()
    })
}

fn compare(
    backoff: Backoff,
    repeater: i64,
    stations: &[(i64, u64)],
    mut offers: Vec<Offer>,
    offers_first: bool,
) -> Result<(), TestCaseError> {
    for offer in &mut offers {
        offer.station %= u32::try_from(stations.len()).unwrap();
    }
    let until = 60_000;
    let mut medium = segment(backoff, repeater, stations);
    let events = run(&mut medium, &offers, until - 1, offers_first);
    let mut found = transmissions(&events);
    found.retain(|t| t.end < until);
    let expected = reference::run(backoff, repeater, stations, &offers, until);
    prop_assert_eq!(found, expected);
    // The same with a table of delays, and if nothing is known about them.
    for is_metric in [true, false] {
        let mut of_paths = segment_of_paths(backoff, repeater, stations);
        prop_assert!(of_paths.wire.cables.is_metric);
        of_paths.wire.cables.is_metric = is_metric;
        let found = run(&mut of_paths, &offers, until - 1, offers_first);
        prop_assert_eq!(&found, &events);
    }

    // Conservation: each offered frame has one outcome; the rest is in the queues.
    let totals: Vec<_> = (0..).take(stations.len()).map(|s| medium.station_statistics(s)).collect();
    let sent: u64 = totals.iter().map(|s| s.sent).sum();
    let dropped: u64 = totals.iter().map(super::super::StationStatistics::dropped).sum();
    if medium.poll_timeout().is_none() {
        prop_assert_eq!(sent + dropped, offers.len() as u64);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Oracle: the bit-by-bit model; the order of offers and timeouts of one instant must not
    /// matter.
    #[test]
    fn agrees_with_the_model_in_bits(
        stations in proptest::collection::vec((0i64..100, any::<u64>()), 2..=4),
        repeater in 0i64..50,
        variant in any::<bool>(),
        offers in offers(),
        offers_first in any::<bool>(),
    ) {
        let backoff = if variant { Backoff::UpperEndIncluded } else { Backoff::Standard };
        compare(backoff, repeater, &stations, offers, offers_first)?;
    }

    /// The same with zero propagation, where everything coincides.
    #[test]
    fn agrees_with_the_model_without_delay(
        seeds in proptest::collection::vec(0u64..3, 2..=4),
        offers in offers(),
        offers_first in any::<bool>(),
    ) {
        let stations: Vec<_> = seeds.into_iter().map(|seed| (0, seed)).collect();
        compare(Backoff::Standard, 0, &stations, offers, offers_first)?;
    }

    /// The same on a segment that is much too long: late collisions, holes in the carrier.
    #[test]
    fn agrees_with_the_model_when_the_segment_is_too_long(
        stations in proptest::collection::vec((0i64..230, any::<u64>()), 2..=4),
        repeater in 0i64..50,
        offers in offers(),
    ) {
        compare(Backoff::Standard, repeater, &stations, offers, false)?;
    }
}
