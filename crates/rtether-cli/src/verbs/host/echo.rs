//! `echo`: the other end of `ping`.

use clap::Args;
use rtether_testbed::{self, Answers, Board, Duration, EchoOptions};

use super::awake;
use super::confine::{self, ConfineArgs};
use super::domain::{DomainArgs, end_trace};
use super::quantity::time;
use super::socket::{
    SocketArgs, Way, hex, marks, participant_of, profile, refuse, thread_of, trace,
};
use super::stop::Stop;
use crate::exit::Exit;
use crate::format::FormatArgs;
use crate::number;
use crate::stop::Care;
use crate::terminal;

/// Arguments of `echo`.
#[derive(Args, Debug)]
#[command(after_help = "Example: rtether echo --via raw --device eth0")]
pub(crate) struct EchoArgs {
    /// Address to listen on, with `:PORT` if not the default
    #[arg(default_value = "0.0.0.0")]
    pub(crate) listen: String,
    /// How payloads travel; ICMP is answered by every kernel
    #[arg(long, value_name = "WAY", default_value = "udp")]
    pub(crate) via: Way,
    #[command(flatten)]
    pub(crate) socket: SocketArgs,
    #[command(flatten)]
    pub(crate) domain: DomainArgs,
    /// CNDEP: time that the board takes between a request and its answer
    #[arg(long, value_name = "TIME", default_value = "0 s", value_parser = time)]
    pub(crate) delay: Duration,
    /// CNDEP parameter of the board, `ID=HEX`, or `ID:=HEX` if it can be set; repeatable
    #[arg(long, value_name = "PARAMETER")]
    pub(crate) parameter: Vec<String>,
    /// CNDEP packets carry a sequence octet
    #[arg(long)]
    pub(crate) numbered: bool,
    /// Have the kernel stamp packets, for `rtether ping --stamps` (udp and raw)
    #[arg(long)]
    pub(crate) stamps: bool,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
    /// TCP: connections from one address at a time; further ones are told that there is no room
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::within(1_u32..=16))]
    pub(crate) limit_peer: u32,
    /// TCP: close a connection idle for this long; a `ping` with a longer `--interval` or `--pause`
    /// needs more
    #[arg(long, value_name = "TIME", default_value = "10 s", value_parser = time)]
    pub(crate) limit_idle: Duration,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Runs `echo` until Ctrl-C, its normal end.
pub(crate) fn run(arguments: &EchoArgs) -> Exit {
    let board = match board(&arguments.parameter) {
        Ok(board) => board,
        Err(message) => {
            terminal::complain(&message);
            return Exit::WrongInput;
        }
    };
    let trace = match trace(&arguments.domain, arguments.via) {
        Ok(trace) => trace,
        Err(exit) => return exit,
    };
    let mut options = EchoOptions {
        listen: arguments.listen.clone(),
        via: arguments.via.into(),
        device: arguments.socket.device.clone(),
        participant: participant_of(&arguments.domain, &arguments.socket),
        marks: marks(&arguments.socket),
        thread: thread_of(&arguments.socket.thread),
        delay: arguments.delay,
        profile: profile(arguments.numbered),
        board,
        stamps: arguments.stamps,
        confinement: None,
        of_peer: usize::try_from(arguments.limit_peer).unwrap_or(1),
        idle: arguments.limit_idle,
    };
    options.participant.trace = trace;
    options.confinement = match confine::wished(&arguments.confine) {
        Ok(confinement) => confinement,
        Err(exit) => return exit,
    };
    options.participant.confinement.clone_from(&options.confinement);
    let stop = Stop::new(Care::None);
    awake::keep(arguments.socket.thread.awake);
    let answered = rtether_testbed::echo(&options, &stop, |at| {
        terminal::tell(&format!("answering at {at}; Ctrl-C ends it"));
    });
    end_trace(&options.participant);
    match answered {
        Ok(answered) => {
            let via = options.via;
            arguments.format.print(&Answers { answered, via })
        }
        Err(error) => refuse(&error),
    }
}

/// Parses parameters of a board: `ID=HEX`, or `ID:=HEX` if they can be set.
fn board(parameters: &[String]) -> Result<Board, String> {
    let mut board = Board::default();
    for text in parameters {
        let wrong =
            || format!("`{text}` is no parameter; write 7=0a1b, or 7:=0a1b to let it be set");
        let (id, value) = text.split_once('=').ok_or_else(wrong)?;
        let (id, is_writable) = id.strip_suffix(':').map_or((id, false), |id| (id, true));
        let id = id.parse().map_err(|_| wrong())?;
        board.define(id, &hex(value).ok_or_else(wrong)?, is_writable);
    }
    Ok(board)
}
