//! Commented starting scenarios that load without diagnostics.

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
    pub const ALL: [Self; 5] = [
        Self::Line,
        Self::Star,
        Self::Ring,
        Self::Substation,
        Self::Hub,
    ];

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
        if let Some(found) = Self::ALL
            .into_iter()
            .find(|template| template.name() == name)
        {
            return Ok(found);
        }
        let names: Vec<&str> = Self::ALL.iter().map(|template| template.name()).collect();
        Err(format!(
            "no template named `{name}`; there are {}",
            names.join(", ")
        ))
    }
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
