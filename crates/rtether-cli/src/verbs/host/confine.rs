//! What services give up once they run.

use clap::Args;
use rtether_testbed::{Confinement, User};

use crate::exit::Exit;
use crate::terminal;

/// What to give up once sockets and files are open.
#[derive(Args, Debug)]
pub(crate) struct ConfineArgs {
    /// As root: user to become once sockets and files are open, by name or number [default: nobody]
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Keep user and rights, and bar neither files nor system calls
    #[arg(long, conflicts_with = "user")]
    pub(crate) unconfined: bool,
}

/// Returns what to give up by the arguments.
pub(crate) fn wished(arguments: &ConfineArgs) -> Result<Option<Confinement>, Exit> {
    confinement(arguments.user.as_deref(), arguments.unconfined)
}

/// The same by individual flags.
pub(crate) fn confinement(
    user: Option<&str>,
    is_unconfined: bool,
) -> Result<Option<Confinement>, Exit> {
    if is_unconfined {
        return Ok(None);
    }
    let Some(name) = user else {
        return Ok(Some(Confinement::default()));
    };
    let Some(user) = User::find(name) else {
        terminal::complain(&format!("there is no user `{name}`"));
        return Err(Exit::WrongInput);
    };
    Ok(Some(Confinement { user: Some(user), is_required: true }))
}
