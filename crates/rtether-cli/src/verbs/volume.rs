//! `volume`: traffic of sampled values, by multiplication.

use clap::Args;
use rtether::volume::{Overhead, Shown, Volume};

use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::{number, terminal};

/// Arguments of `volume`.
#[derive(Args, Debug)]
#[command(after_help = "Example: rtether volume --points 12 --overhead udp")]
pub(crate) struct VolumeArgs {
    /// Measurement points
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = number::within(1..=10_000u64))]
    points: u64,
    /// Phases of each point, each with samples of its own
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = number::within(1..=100u64))]
    phases: u64,
    /// Samples of a phase in a second
    #[arg(long, value_name = "HZ", default_value_t = 1440, value_parser = number::within(1..=1_000_000u64))]
    samples: u64,
    /// Stations that need each sample
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::within(1..=1_000u64))]
    destinations: u64,
    /// Octets of a sample
    #[arg(long, value_name = "OCTETS", default_value_t = 32, value_parser = number::within(1..=1_500u64))]
    size: u64,
    /// What a packet has beside them: `udp` (46 octets), `raw` (18), or a number; the paper adds 60
    #[arg(long, value_name = "OCTETS", default_value = "60", value_parser = overhead)]
    overhead: Overhead,
    #[command(flatten)]
    format: FormatArgs,
}

fn overhead(text: &str) -> Result<Overhead, String> {
    match text {
        "udp" => Ok(Overhead::Udp),
        "raw" => Ok(Overhead::Raw),
        other => number::within(0..=1_500u64)(other)
            .map(Overhead::Octets)
            .map_err(|why| format!("{why}, `udp` or `raw`")),
    }
}

/// Runs `volume`.
pub(crate) fn run(arguments: &VolumeArgs) -> Exit {
    let volume = Volume {
        points: arguments.points,
        phases: arguments.phases,
        samples: arguments.samples,
        destinations: arguments.destinations,
        payload: arguments.size,
        overhead: arguments.overhead,
    };
    let Some(shown) = Shown::new(volume) else {
        let octets = arguments.size * arguments.phases;
        terminal::complain(&format!(
            "the {} phases of a point together have {octets} B, more than a frame carries: make \
             --size or --phases smaller",
            arguments.phases
        ));
        return Exit::WrongInput;
    };
    arguments.format.print(&shown)
}
