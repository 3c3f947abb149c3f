//! Commented starting scenarios that load without diagnostics.

use std::fmt::Write as _;

/// The plant shapes that [`template`] knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// Controller and devices along a line of switches.
    Line,
    /// Controller and devices around one switch.
    Star,
    /// Switches in a ring, one link on standby.
    Ring,
    /// Bays of a substation, made by the generator.
    Substation,
    /// PCs on a shared medium, with traffic smoothers.
    Hub,
}

impl Template {
    /// Every template.
    pub const ALL: [Self; 5] = [Self::Line, Self::Star, Self::Ring, Self::Substation, Self::Hub];

    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Star => "star",
            Self::Ring => "ring",
            Self::Substation => "substation",
            Self::Hub => "hub",
        }
    }

    /// Returns the template of this name, or an error message for the user.
    pub fn parse(name: &str) -> Result<Self, String> {
        if let Some(found) = Self::ALL.into_iter().find(|template| template.name() == name) {
            return Ok(found);
        }
        let names: Vec<&str> = Self::ALL.iter().map(|template| template.name()).collect();
        Err(format!("no template named `{name}`; there are {} and ros2", names.join(", ")))
    }
}

/// Largest number of nodes of [`ros2`].
pub const ROS2_NODES_MAX: u16 = 500;
/// Readers and writers that every node of ROS 2 has besides its own: of parameters and types.
const PLUMBING: u16 = 8;

/// Returns a scenario of nodes of ROS 2 at one switch, titled `name`, whose discovery is simulated.
pub fn ros2(name: &str, nodes: u16) -> String {
    let nodes = nodes.clamp(2, ROS2_NODES_MAX);
    let title = serde_json::Value::from(name);
    let mut text = format!(
        "# {nodes} nodes of ROS 2 at one switch, each a host and a participant of its own, all started\n\
         # at once. `rtether sim FILE --discovery` tells what it takes until they know each other.\n\
         #\n\
         # Each node publishes its state to the next one, and has {PLUMBING} writers and readers more\n\
         # that say nothing, as every node has for parameters, log and types: a node of rclpy of\n\
         # ROS 2 Kilted announces 17 endpoints without any topic of its own.\n\
         rtether: 1\nname: {title}\n\nnodes:\n"
    );
    for node in 1..=nodes {
        _ = writeln!(text, "  node{node}: {{ stack: zero }}");
    }
    _ = write!(text, "\nswitches:\n  sw: {{ ports: {nodes}, latency: 5 us }}\n\nlinks:\n");
    for node in 1..=nodes {
        _ = writeln!(text, "  - {{ ends: [node{node}, \"sw:{node}\"], rate: 1 Gbit/s }}");
    }
    text.push_str("\nflows:\n");
    for node in 1..=nodes {
        let next = node % nodes + 1;
        let ends = format!("from: node{node}, to: node{next}, over: rtps");
        // Apart from each other, and from announcements, which come at whole milliseconds.
        let phase = node * 37 % 100;
        _ = writeln!(
            text,
            "  - {{ name: state {node}, {ends}, period: 100 ms, phase: {phase}.5 ms, size: 200 B }}"
        );
        for part in 1..=PLUMBING {
            _ = writeln!(
                text,
                "  - {{ name: silent {node}.{part}, {ends}, period: 1000 s, phase: 999 s, size: 64 B }}"
            );
        }
    }
    text.push_str("\nrun: { for: 5 s, seeds: 1 }\n");
    text
}

/// Returns a scenario of this shape, titled `name`.
pub fn template(kind: Template, name: &str) -> String {
    let text = match kind {
        Template::Line => include_str!("templates/line.yaml"),
        Template::Star => include_str!("templates/star.yaml"),
        Template::Ring => include_str!("templates/ring.yaml"),
        Template::Substation => include_str!("templates/substation.yaml"),
        Template::Hub => include_str!("templates/hub.yaml"),
    };
    // Every JSON string is a YAML string, so any name is quoted safely.
    let title = serde_json::Value::from(name).to_string();
    text.replacen("\"TITLE\"", &title, 1)
}
