//! What a verdict rests on.

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// Nothing was fitted to the results the claim is about: a pass says something about the paper.
    Predicted,
    /// A value or reading was chosen in view of the claim's own numbers ([`super::fitted`]): a pass shows
    /// that such a value exists.
    Calibrated,
    /// Follows from the construction of the model: a pass shows that the program works as intended.
    ByConstruction,
    /// Measured on this host: a pass shows that the paper's claim holds here and now.
    Measured,
}

impl Basis {
    /// Every basis, strongest evidence first.
    pub const ALL: [Self; 4] =
        [Self::Predicted, Self::Calibrated, Self::ByConstruction, Self::Measured];

    /// Returns the words used in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Predicted => "predicted",
            Self::Calibrated => "calibrated",
            Self::ByConstruction => "by construction",
            Self::Measured => "measured",
        }
    }
}
