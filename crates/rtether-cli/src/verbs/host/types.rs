//! Types and values of topics, from the command line and from files.

use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Arc;

use rtether::scenario::Source;
use rtether_testbed::idl::{FILE_MAX, Library};
use rtether_testbed::topics::{TopicType, Values, lines_of, values_of};

use super::messages;
use super::read::{complain, read, wrong};
use super::topic::TopicArgs;
use crate::exit::Exit;

/// Largest file of values, in octets: the limit of the YAML reader.
const VALUES_MAX: usize = rtether::scenario::MAX_FILE_SIZE;

/// Returns the type of a topic.
pub(super) fn kind(topic: &TopicArgs) -> Result<TopicType, Exit> {
    if let Some(message) = &topic.msg {
        return messages::kind(message, &topic.msg_path);
    }
    let name = topic.kind.as_deref();
    let Some(path) = &topic.idl else {
        return match name {
            None | Some("shape") => Ok(TopicType::Shape),
            Some("octets") => Ok(TopicType::Octets),
            Some("ping") => Ok(TopicType::Ping),
            Some(other) => Err(wrong(&format!(
                "no type `{other}` is built in; write `shape`, `octets` or `ping`, or name the file \
                 that has it by `--idl FILE`"
            ))),
        };
    };
    let source = Source { name: path.display().to_string(), text: read(path, FILE_MAX)? };
    let library = Library::parse(&source)
        .map_err(|mistake| complain(&mistake, std::slice::from_ref(&source)))?;
    let name = name.or_else(|| library.names().last().map(String::as_str));
    let found = name.and_then(|name| library.structure(name));
    found.cloned().map(TopicType::Described).ok_or_else(|| {
        let path = path.display();
        let names = library.names().join(", ");
        wrong(&match name {
            Some(name) => format!("no structure `{name}` is in {path}; it has {names}"),
            None => format!("{path} has no structure"),
        })
    })
}

/// Returns the source of the values of a publication: one as text, or those of a file.
pub(super) fn values(
    text: Option<&str>,
    file: Option<&Path>,
    kind: &TopicType,
) -> Result<Values, Exit> {
    let TopicType::Described(structure) = kind else {
        return Ok(Values::Made);
    };
    let given = match (text, file) {
        (Some(text), _) => text.to_owned(),
        (None, Some(path)) if path.as_os_str() == "-" => {
            let structure = Arc::unwrap_or_clone(Arc::clone(structure));
            return Ok(lines_of(BufReader::new(io::stdin()), structure));
        }
        (None, Some(path)) => read(path, VALUES_MAX)?,
        (None, None) => return Ok(Values::Made),
    };
    let values = values_of(&given, structure).map_err(|error| wrong(&error.to_string()))?;
    Ok(Values::Given(values))
}
