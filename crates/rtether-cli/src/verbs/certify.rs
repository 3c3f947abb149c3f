//! `--certificate`: claims that others can check.

use rtether::bound::Analysis;
use rtether::certificate::certificate;
use rtether::scenario::Scenario;

use crate::drafts::Draft;
use crate::exit::Exit;
use crate::terminal;

/// Writes a certificate, and says what checks it.
pub(super) fn certify(scenario: &Scenario, analysis: &Analysis, draft: Draft) -> Result<(), Exit> {
    let own = certificate(scenario, analysis).map_err(|beyond| {
        terminal::complain(&beyond.to_string());
        Exit::NoAnswer
    })?;
    let path = draft.path().display().to_string();
    draft.write(&own.text).map_err(|message| terminal::fail(&message))?;
    terminal::remark(&own.said(&path));
    Ok(())
}
