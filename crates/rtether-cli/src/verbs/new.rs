//! `new`: writes a commented scenario.

use std::path::PathBuf;

use clap::Args;
use rtether::characters::is_unseen;
use rtether::scenario::template::{ROS2_NODES_MAX, Template, ros2, template};

use crate::exit::Exit;
use crate::{files, number, terminal};

/// Arguments of `new`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example: rtether new plant --template ring\n         rtether new plant --template ros2 --nodes 40"
)]
pub(crate) struct NewArgs {
    /// File to write; .yaml is added to a name without extension [default: the shape]
    pub(crate) name: Option<PathBuf>,
    /// Shape of the plant: line, star, ring, substation, hub or ros2
    #[arg(long, value_name = "SHAPE", default_value = "star")]
    pub(crate) template: String,
    /// With --template ros2: number of nodes [default: 20]
    #[arg(long, value_name = "N", value_parser = number::within(2..=ROS2_NODES_MAX))]
    pub(crate) nodes: Option<u16>,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

/// Name of the template that is made for a number of nodes, and the usual number.
const ROS2: &str = "ros2";
const NODES: u16 = 20;

/// Runs `new`.
pub(crate) fn run(arguments: &NewArgs) -> Exit {
    let shape = || PathBuf::from(&arguments.template);
    let mut path = arguments.name.clone().unwrap_or_else(shape);
    if path.to_string_lossy().chars().any(is_unseen) {
        terminal::complain("the file name contains invisible characters");
        return Exit::WrongInput;
    }
    if path.extension().is_none() {
        path.set_extension("yaml");
    }
    let title = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
    let is_ros = arguments.template == ROS2;
    if arguments.nodes.is_some() && !is_ros {
        terminal::complain("`--nodes` belongs to `--template ros2`");
        return Exit::WrongInput;
    }
    let text = match Template::parse(&arguments.template) {
        _ if is_ros => ros2(&title, arguments.nodes.unwrap_or(NODES)),
        Ok(shape) => template(shape, &title),
        Err(message) => {
            terminal::complain(&message);
            return Exit::WrongInput;
        }
    };
    if path.exists() && !arguments.force {
        let path = path.display();
        terminal::complain(&format!("`{path}` is already there; add --force to replace it"));
        return Exit::WrongInput;
    }
    match files::write(&path, &text) {
        Ok(()) => {
            let file = files::as_argument(&path);
            let command = if is_ros {
                format!("rtether sim {file} --discovery")
            } else {
                format!("rtether check {file}")
            };
            terminal::tell(&format!("{} written; try `{command}`", path.display()));
            Exit::Ok
        }
        Err(message) => terminal::fail(&message),
    }
}
