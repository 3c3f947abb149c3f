//! Messages of ROS 2 from their files.

use std::env;
use std::path::{Path, PathBuf};

use rtether::scenario::Source;
use rtether_testbed::msg::{self, FILE_MAX, Name};
use rtether_testbed::topics::TopicType;

use super::read::{complain, read, wrong};
use crate::exit::Exit;

/// Folders of installed packages, separated by colons.
const INSTALLED: &str = "AMENT_PREFIX_PATH";

/// Returns the type of a message: of a file, or of the first folder that has it.
pub(super) fn kind(message: &str, folders: &[PathBuf]) -> Result<TopicType, Exit> {
    let mut folders = folders.to_vec();
    let (name, path) = if Path::new(message).extension().is_some_and(|it| it == "msg") {
        let path = PathBuf::from(message);
        let Some((name, around)) = of_path(&path) else {
            return Err(wrong(&format!(
                "the folder of {message} tells no package: a message is `PACKAGE/msg/NAME.msg`"
            )));
        };
        folders.insert(0, around);
        (name, path)
    } else {
        let Some(name) = Name::parse(message) else {
            return Err(wrong(&format!(
                "`{message}` is no message: write a file, or a name such as `std_msgs/msg/String`"
            )));
        };
        folders.extend(installed());
        let Some(path) = find(&name, &folders) else {
            return Err(wrong(&format!(
                "no folder has `{0}/msg/{1}.msg`; name the one that has `{0}` by `--msg-path`",
                name.package, name.message
            )));
        };
        (name, path)
    };
    folders.extend(installed());
    let source = load(&path)?;
    let mut failed = None;
    let structure = msg::structure(&name, source, &mut |other| {
        let loaded = load(&find(other, &folders)?);
        loaded.map_err(|exit| failed = Some(exit)).ok()
    });
    match (structure, failed) {
        (_, Some(exit)) => Err(exit),
        (Ok(structure), None) => Ok(TopicType::Described(structure)),
        (Err(mistake), None) => Err(complain(&mistake.diagnostic, &mistake.sources)),
    }
}

fn load(path: &Path) -> Result<Source, Exit> {
    Ok(Source { name: path.display().to_string(), text: read(path, FILE_MAX)? })
}

/// Returns the name of a message by the place of its file, and the folder of its package's folder.
fn of_path(path: &Path) -> Option<(Name, PathBuf)> {
    let path = std::path::absolute(path).ok()?;
    let folder = path.parent()?;
    let package = if folder.ends_with("msg") { folder.parent()? } else { folder };
    let package_name = package.file_name()?.to_str()?;
    let name = Name::parse(&format!("{package_name}/{}", path.file_stem()?.to_str()?))?;
    Some((name, package.parent()?.to_owned()))
}

fn installed() -> Vec<PathBuf> {
    let prefixes = env::var_os(INSTALLED).unwrap_or_default();
    let prefixes = env::split_paths(&prefixes).filter(|path| !path.as_os_str().is_empty());
    prefixes.map(|prefix| prefix.join("share")).collect()
}

/// Returns the file of a message, if a folder has it.
fn find(name: &Name, folders: &[PathBuf]) -> Option<PathBuf> {
    let file = format!("{}.msg", name.message);
    let places = folders.iter().flat_map(|folder| {
        let package = folder.join(&name.package);
        [package.join("msg").join(&file), package.join(&file)]
    });
    places.into_iter().find(|path| path.is_file())
}
