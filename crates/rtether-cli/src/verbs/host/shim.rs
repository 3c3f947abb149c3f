//! `shim`: the end-node layer on a device of this host.

use std::env;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, Subcommand};
use rtether::scenario::render::Style;
use rtether_testbed::shim::config::{self, Loaded};
use rtether_testbed::shim::control::{AskError, Form, Request, ask};
use rtether_testbed::shim::down::{Down, DownError, down};
use rtether_testbed::shim::notify::{self, Notifier};
use rtether_testbed::shim::runtime_files::{RUNTIME, RuntimeFiles, RuntimeFilesError};
use rtether_testbed::shim::service::{self, Options, ServiceError};
use rtether_testbed::shim::watchdog::{Outcome, watch};
use rtether_testbed::shim::{ShimError, is_wrong_input, prepare};

use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::terminal::MessageFormat;
use crate::{files, terminal};

/// Arguments of `shim`.
#[derive(Args, Debug)]
#[command(after_help = SHIM_NOTES)]
pub(crate) struct ShimArgs {
    #[command(subcommand)]
    pub(crate) verb: ShimVerb,
}

const SHIM_NOTES: &str = "Example: rtether shim up eth0 --config shim.yaml\n\nA shim belongs to a device and the network namespace in which the command \
runs (`ip netns exec NAME rtether shim ...`). Its files are in /run/rtether, or in the folder that \
RUNTIME_DIRECTORY names.\n\nExit codes: 0 done, 2 wrong input or an option that the back end cannot \
do, 3 there is no shim, 4 the machine cannot do it.";

/// What to do with a shim.
#[derive(Debug, Subcommand)]
pub(crate) enum ShimVerb {
    /// Put a shim between the stack and a device, until Ctrl-C
    Up(UpArgs),
    /// Stop the shim of a device and restore the device, also after the shim has died
    #[command(after_help = "Example: rtether shim down eth0")]
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
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

const UP_NOTES: &str = "Example: rtether shim up eth0 --config shim.yaml\n\nSIGHUP makes it read the configuration file again, Ctrl-C and SIGTERM end \
it. With NOTIFY_SOCKET and WATCHDOG_USEC set it tells systemd how it is.";

/// Arguments of `shim status`.
#[derive(Args, Debug)]
#[command(after_help = "Example: rtether shim status eth0 --json")]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Print the text format of Prometheus
    #[arg(long, conflicts_with_all = ["format", "json", "csv"])]
    pub(crate) metrics: bool,
}

/// Arguments of `shim set`.
#[derive(Args, Debug)]
#[command(after_help = "Example: rtether shim set eth0 --config shim.yaml")]
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

/// Runs `shim`.
pub(crate) fn run(arguments: &ShimArgs) -> Exit {
    let done = match &arguments.verb {
        ShimVerb::Up(arguments) => up(arguments),
        ShimVerb::Down(arguments) => take_down(arguments),
        ShimVerb::Status(arguments) => status(arguments),
        ShimVerb::Set(arguments) => set(arguments),
        ShimVerb::Watch(arguments) => restore_when_dead(&arguments.device),
    };
    done.unwrap_or_else(|exit| exit)
}

/// Returns the folder of all shims: the first one given by the system's service manager, or the
/// default.
fn runtime() -> PathBuf {
    let given = env::var_os("RUNTIME_DIRECTORY").filter(|given| !given.is_empty());
    let first = given.and_then(|given| env::split_paths(&given).next());
    first.unwrap_or_else(|| PathBuf::from(RUNTIME))
}

fn place(arguments: &DeviceArgs) -> Result<RuntimeFiles, Exit> {
    RuntimeFiles::of(&runtime(), &arguments.device).map_err(|error| refuse_place(&error))
}

fn refuse_place(error: &RuntimeFilesError) -> Exit {
    terminal::complain(&error.to_string());
    match error {
        RuntimeFilesError::Name(_) | RuntimeFilesError::Path(_) => Exit::WrongInput,
        RuntimeFilesError::File { .. } => Exit::Unfit,
    }
}

/// Hint for a missing configuration.
const START: &str = "`docs/guides/shim.yaml` is one to start from";

/// Loads a configuration file; prints all mistakes at once.
fn load(arguments: &ConfigArgs) -> Result<Loaded, Exit> {
    terminal::choose_form(arguments.message_format);
    let text = files::read(&arguments.config, START).map_err(|message| {
        terminal::complain(&message);
        Exit::WrongInput
    })?;
    let loaded = config::load(&arguments.config.display().to_string(), &text);
    show(&loaded, arguments.message_format);
    if loaded.has_errors() {
        return Err(Exit::WrongInput);
    }
    Ok(loaded)
}

fn show(loaded: &Loaded, format: MessageFormat) {
    if loaded.diagnostics.is_empty() {
        return;
    }
    terminal::tell(&match format {
        MessageFormat::Text if terminal::errors_have_color() => loaded.text(Style::Colored),
        MessageFormat::Text => loaded.text(Style::Plain),
        MessageFormat::Json => loaded.json_lines(),
    });
}

fn up(arguments: &UpArgs) -> Result<Exit, Exit> {
    let place = place(&arguments.device)?;
    let loaded = load(&arguments.config)?;
    let Some(config) = loaded.config.clone() else {
        return Err(Exit::WrongInput);
    };
    if arguments.dry_run {
        return dry_run(arguments, loaded);
    }
    let path = std::path::absolute(&arguments.config.config);
    let path = path.unwrap_or_else(|_| arguments.config.config.clone());
    let options = Options {
        name: path.display().to_string(),
        reload: &|| reload(&path),
        watchdog: &|| watchdog(&arguments.device.device),
        manager: manager()?,
        say: &|line| terminal::tell(&format!("shim of {}: {line}", place.device())),
        config,
        place: place.clone(),
    };
    let ended = service::run(&options).map_err(|error| refuse(&error, loaded, arguments))?;
    let printed = arguments.format.print(&ended.report);
    match ended.failure {
        Some(failure) => Err(terminal::fail(&format!("the shim ended early: {failure}"))),
        None => Ok(printed),
    }
}

fn dry_run(arguments: &UpArgs, loaded: Loaded) -> Result<Exit, Exit> {
    let Some(config) = &loaded.config else {
        return Err(Exit::WrongInput);
    };
    let (device, backend) = (&arguments.device.device, config.backend);
    let commands = prepare(device, backend, &config.settings);
    let commands = commands.map_err(|error| refuse_shim(&error, loaded, arguments))?;
    let text = if arguments.format.format().is_json() {
        commands.json(device, backend)
    } else {
        format!("# up\n{}\n# down\n{}\n", commands.up.join("\n"), commands.down.join("\n"))
    };
    Ok(terminal::print(&text))
}

fn reload(path: &Path) -> Result<Loaded, String> {
    let text = files::read(path, START)?;
    Ok(config::load(&path.display().to_string(), &text))
}

/// Returns the command that restores the device if this process dies.
fn watchdog(device: &str) -> Command {
    // The running program itself, even if its path holds another one by now.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("rtether").args(["shim", "watch", device]);
    // The service manager must not be notified by this process.
    command.env_remove("NOTIFY_SOCKET").env_remove("WATCHDOG_USEC");
    command
}

/// Returns the connection to the system's service manager, if it wants notifications.
fn manager() -> Result<Option<(Notifier, Option<std::time::Duration>)>, Exit> {
    let Some(socket) = env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty()) else {
        return Ok(None);
    };
    let notifier = Notifier::new(&socket).map_err(|error| {
        let socket = socket.to_string_lossy();
        terminal::fail(&format!("NOTIFY_SOCKET is `{socket}`: {error}"))
    })?;
    let (usec, pid) = (env::var_os("WATCHDOG_USEC"), env::var_os("WATCHDOG_PID"));
    let own = std::process::id();
    let interval = notify::interval(usec.as_deref(), pid.as_deref(), own);
    Ok(Some((notifier, interval)))
}

fn refuse(error: &ServiceError, loaded: Loaded, arguments: &UpArgs) -> Exit {
    match error {
        ServiceError::RuntimeFiles(error) => refuse_place(error),
        ServiceError::Shim(error) => refuse_shim(error, loaded, arguments),
        ServiceError::Running(_) | ServiceError::System { .. } => {
            terminal::fail(&error.to_string())
        }
    }
}

fn refuse_shim(error: &ShimError, mut loaded: Loaded, arguments: &UpArgs) -> Exit {
    let ShimError::Refused(refusal) = error else {
        return refuse_device(error);
    };
    loaded.diagnostics.clear();
    loaded.refuse(refusal.backend, refusal.option, refusal.reason);
    show(&loaded, arguments.config.message_format);
    Exit::WrongInput
}

fn refuse_device(error: &ShimError) -> Exit {
    terminal::complain(&error.to_string());
    if is_wrong_input(error) { Exit::WrongInput } else { Exit::Unfit }
}

fn take_down(arguments: &DeviceArgs) -> Result<Exit, Exit> {
    let place = place(arguments)?;
    let done = down(&place).map_err(|error| {
        match &error {
            DownError::RuntimeFiles(error) => return refuse_place(error),
            DownError::Shim(error) => return refuse_device(error),
            DownError::Ask(_)
            | DownError::Goes { .. }
            | DownError::Busy(_)
            | DownError::State(_) => {}
        }
        terminal::fail(&error.to_string())
    })?;
    let device = place.device();
    let text = match done {
        Down::Stopped => format!("the shim of {device} has ended"),
        Down::Killed => format!("the shim of {device} did not answer and was killed"),
        Down::Restored => format!("{device} is as it was before a shim that died"),
        Down::Nothing => format!("{device} has no shim"),
    };
    Ok(terminal::print(&format!("{text}\n")))
}

fn status(arguments: &StatusArgs) -> Result<Exit, Exit> {
    let place = place(&arguments.device)?;
    let form =
        if arguments.metrics { Form::Metrics } else { Form::Result(arguments.format.format()) };
    let answer = ask(&place, &Request::Status(form));
    let text = answer.map_err(|error| refuse_ask(&error))?;
    Ok(terminal::print(&text))
}

fn set(arguments: &SetArgs) -> Result<Exit, Exit> {
    let place = place(&arguments.device)?;
    let loaded = load(&arguments.config)?;
    let request = Request::Set {
        name: arguments.config.config.display().to_string(),
        text: loaded.source().to_owned(),
    };
    let text = ask(&place, &request).map_err(|error| refuse_ask(&error))?;
    Ok(terminal::print(&text))
}

fn refuse_ask(error: &AskError) -> Exit {
    let message = error.to_string();
    // Diagnostics start with their own prefix.
    if message.starts_with("error") {
        terminal::tell(&message);
    } else {
        terminal::complain(&message);
    }
    match error {
        AskError::NoShim { .. } => Exit::NoAnswer,
        AskError::Wrong(wrong) if wrong.is_input => Exit::WrongInput,
        AskError::Wrong(_) | AskError::NotAllowed { .. } | AskError::NoAnswer { .. } => Exit::Unfit,
    }
}

/// Restores the device once the process has died whose descriptor is standard input.
fn restore_when_dead(arguments: &DeviceArgs) -> Result<Exit, Exit> {
    let place = place(arguments)?;
    let (end, ready) = (io::stdin(), io::stdout());
    match watch(&place, end.as_fd(), ready) {
        Ok(Outcome::NothingToDo) => {}
        Ok(Outcome::Restored) => terminal::tell(&format!(
            "shim of {0}: it has died; {0} is as it was before",
            place.device()
        )),
        Err(error) => {
            return Err(terminal::fail(&format!("shim of {}: {error}", place.device())));
        }
    }
    Ok(Exit::Ok)
}
