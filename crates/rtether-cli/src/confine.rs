//! What services give up once they run.

use rtether_testbed::{Confinement, User};

use crate::args::ConfineArgs;
use crate::exit::Exit;
use crate::terminal;

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
    Ok(Some(Confinement {
        user: Some(user),
        is_required: true,
    }))
}
