//! Names, types and hashes of one endpoint.

use rtether_rtps::discovery::EndpointData;

use super::super::text::clean;

/// What an endpoint belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A topic of ROS.
    Topic,
    /// A service of ROS.
    Service,
    /// An action of ROS, whose three services and two topics have the name of the action.
    Action,
    /// A topic that is not of ROS.
    Dds,
}

impl Kind {
    /// Returns its name in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Service => "service",
            Self::Action => "action",
            Self::Dds => "DDS topic",
        }
    }
}

/// Which topic of DDS an endpoint has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Samples of a topic (`rt/`).
    Samples,
    /// Requests of a service (`rq/`).
    Request,
    /// Replies of a service (`rr/`).
    Reply,
}

/// An endpoint in the words of ROS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What it belongs to.
    pub kind: Kind,
    /// Name of the topic, service or action; without prefix and suffix if it is of ROS.
    pub name: String,
    /// Type as ROS writes it, such as `std_msgs/msg/String`.
    pub type_name: String,
    /// Which topic of DDS it has.
    pub part: Part,
    /// Goal, result and the like of an action.
    pub member: Option<String>,
    /// Hash of its type, such as `RIHS01_` and 64 digits, if announced.
    pub hash: Option<String>,
    /// Whether it writes.
    pub is_writer: bool,
    /// Full name of its node, or name and place of its participant.
    pub who: String,
}

/// Where an action's services and topics are, below its name.
const OF_ACTION: &str = "/_action/";
/// Before the hash in the user data.
const HASH: &[u8] = b"typehash=";
/// Longest hash read, in octets.
const HASH_MAX: usize = 128;

impl Seen {
    /// Reads the names of an endpoint; `who` is its node or participant.
    pub fn of(endpoint: &EndpointData, is_writer: bool, who: String) -> Self {
        let (part, name) = split(&endpoint.topic);
        let mut seen = Self {
            kind: Kind::Dds,
            name: clean(&endpoint.topic),
            type_name: clean(&endpoint.type_name),
            part: Part::Samples,
            member: None,
            hash: hash(&endpoint.qos.user_data),
            is_writer,
            who,
        };
        let Some((part, name)) = part.zip(name) else {
            return seen;
        };
        (seen.kind, seen.part) = match part {
            Part::Samples => (Kind::Topic, part),
            Part::Request | Part::Reply => (Kind::Service, part),
        };
        seen.name = clean(name);
        seen.type_name = clean(&type_name(&endpoint.type_name, part));
        if let Some((action, member)) = name.rsplit_once(OF_ACTION) {
            seen.kind = Kind::Action;
            seen.name = clean(action);
            seen.member = Some(clean(member));
            let whole = endpoint.type_name.contains("::action::dds_::");
            seen.type_name = if whole { action_type(&seen.type_name) } else { String::new() };
        }
        seen
    }

    /// Returns its name, with what tells the topics of one service or action apart.
    pub fn named(&self) -> String {
        let part = match self.part {
            Part::Samples => "",
            Part::Request => " request",
            Part::Reply => " reply",
        };
        match &self.member {
            Some(member) => format!("{} {member}{part}", self.name),
            None => format!("{}{part}", self.name),
        }
    }

    /// Returns whether its node serves: writes replies and reads requests.
    pub const fn serves(&self) -> bool {
        matches!((self.part, self.is_writer), (Part::Request, false) | (Part::Reply, true))
    }

    /// Returns whether every node has it: parameters, the log, the description of types.
    pub fn is_plumbing(&self) -> bool {
        const TOPICS: [&str; 2] = ["/rosout", "/parameter_events"];
        const SERVICES: [&str; 7] = [
            "describe_parameters",
            "get_parameter_types",
            "get_parameters",
            "list_parameters",
            "set_parameters",
            "set_parameters_atomically",
            "get_type_description",
        ];
        match self.kind {
            Kind::Topic => TOPICS.contains(&self.name.as_str()),
            Kind::Service => {
                let last = self.name.rsplit('/').next();
                last.is_some_and(|last| SERVICES.contains(&last))
            }
            Kind::Action => false,
            Kind::Dds => self.name == super::nodes::TOPIC,
        }
    }
}

/// Returns which topic of ROS it is, and the name without prefix and suffix.
fn split(topic: &str) -> (Option<Part>, Option<&str>) {
    let (part, name) = if topic.starts_with("rt/") {
        (Part::Samples, topic.get(2..))
    } else if topic.starts_with("rq/") {
        let name = topic.get(2..).and_then(|it| it.strip_suffix("Request"));
        (Part::Request, name)
    } else if topic.starts_with("rr/") {
        let name = topic.get(2..).and_then(|it| it.strip_suffix("Reply"));
        (Part::Reply, name)
    } else {
        return (None, None);
    };
    (Some(part), name.filter(|name| name.len() > 1))
}

/// Returns a type as ROS writes it: `pkg::msg::dds_::T_` is `pkg/msg/T`.
fn type_name(name: &str, part: Part) -> String {
    let Some((space, last)) = name.rsplit_once("::dds_::") else {
        return name.to_owned();
    };
    let Some(last) = last.strip_suffix('_') else {
        return name.to_owned();
    };
    let last = match part {
        Part::Samples => last,
        Part::Request => last.strip_suffix("_Request").unwrap_or(last),
        Part::Reply => last.strip_suffix("_Response").unwrap_or(last),
    };
    format!("{}/{last}", space.replace("::", "/"))
}

/// Returns the type of an action, without the name of its goal, result or feedback.
fn action_type(name: &str) -> String {
    const ENDS: [&str; 3] = ["_SendGoal", "_GetResult", "_FeedbackMessage"];
    let found = ENDS.iter().find_map(|end| name.strip_suffix(end));
    found.unwrap_or(name).to_owned()
}

/// Returns the hash that user data announce as `typehash=...;`, among other values.
fn hash(data: &[u8]) -> Option<String> {
    let mut values = data.split(|octet| *octet == b';');
    let hash = values.find_map(|value| value.strip_prefix(HASH))?;
    let is_fit = !hash.is_empty() && hash.len() <= HASH_MAX && hash.iter().copied().all(is_of_hash);
    is_fit.then(|| String::from_utf8_lossy(hash).into_owned())
}

fn is_of_hash(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || octet == b'_'
}
