//! Arguments of `shim`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::MessageFormat;

/// Arguments of `shim`.
#[derive(Args, Debug)]
#[command(after_help = SHIM_CODES)]
pub(crate) struct ShimArgs {
    #[command(subcommand)]
    pub(crate) verb: ShimVerb,
}

const SHIM_CODES: &str = "A shim belongs to a device and the network namespace in which the command \
runs (`ip netns exec NAME rtether shim ...`). Its files are in /run/rtether, or in the folder that \
RUNTIME_DIRECTORY names.\n\nExit codes: 0 done, 2 wrong input or an option that the back end cannot \
do, 3 there is no shim, 4 the machine cannot do it.";

/// What to do with a shim.
#[derive(Debug, Subcommand)]
pub(crate) enum ShimVerb {
    /// Put a shim between the stack and a device, until Ctrl-C
    Up(UpArgs),
    /// Stop the shim of a device and restore the device, also after the shim has died
    Down(DeviceArgs),
    /// Show queues, credits, rates, losses
    Status(StatusArgs),
    /// Change the configuration of a running shim, without losing a frame
    Set(SetArgs),
    /// Restore a device if the process of its shim has died; started by `up`
    #[command(hide = true)]
    Watch(WatchArgs),
}

/// A device.
#[derive(Args, Debug)]
pub(crate) struct DeviceArgs {
    /// Network device, as `ip link` names it
    #[arg(value_name = "DEV")]
    pub(crate) device: String,
}

/// A configuration.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    /// Configuration file; `rtether schema --shim` describes it
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Format of error messages
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(crate) message_format: MessageFormat,
}

/// Arguments of `shim up`.
#[derive(Args, Debug)]
#[command(after_help = UP_NOTES)]
pub(crate) struct UpArgs {
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print the commands that set the shim up and take it down, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON document: the commands with `--dry-run`, otherwise the final status
    #[arg(long)]
    pub(crate) json: bool,
}

const UP_NOTES: &str = "SIGHUP makes it read the configuration file again, Ctrl-C and SIGTERM end \
it. With NOTIFY_SOCKET and WATCHDOG_USEC set it tells systemd how it is.";

/// Arguments of `shim status`.
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the text format of Prometheus
    #[arg(long, conflicts_with = "json")]
    pub(crate) metrics: bool,
}

/// Arguments of `shim set`.
#[derive(Args, Debug)]
pub(crate) struct SetArgs {
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// Arguments of `shim watch`.
#[derive(Args, Debug)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}
