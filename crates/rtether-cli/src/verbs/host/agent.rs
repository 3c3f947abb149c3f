//! `live-agent`: an end station on this host, for `live --backend ssh` on another.

use std::io;

use rtether_testbed::testbed::ssh::{self, AgentError};

use crate::exit::Exit;
use crate::terminal;

/// Runs `live-agent`.
pub(crate) fn run() -> Exit {
    match ssh::serve(io::stdin(), io::stdout()) {
        Ok(()) => Exit::Ok,
        Err(error) => {
            terminal::complain(&error.to_string());
            match error {
                AgentError::Refused { is_input: true, .. } | AgentError::Malformed(_) => {
                    Exit::WrongInput
                }
                AgentError::Refused { .. } | AgentError::Closed => Exit::Unfit,
            }
        }
    }
}
