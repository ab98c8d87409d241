//! The handoff of this project: a package crosses, and the conversation stays behind.

use sommelier_handoff::{HANDOFF_TO_SPECIALIST, HandoffPackage, Relay};
use sommelier_runner::{Outcome, Runner};
use sommelier_runtime::script;
use std::error::Error;

use crate::job::{LEGAL, REQUEST, SUPPORT, call_id, decisions, legal, rent_found, support};
use crate::way::{Ran, Way};

pub(crate) fn run(steps: u32) -> Result<Ran, Box<dyn Error>> {
    let relay =
        Relay::builder().agent(support(steps)).agent(legal()).entry(SUPPORT).route(SUPPORT, LEGAL).build()?;
    let model = decisions(steps, |request| {
        let package = format!(
            r#"{{"specialist":"{LEGAL}","task":"May the customer pass this contract on, and what does it cost?","context":{{"contract":"C-12","monthly_rent":{}}}}}"#,
            rent_found(request)
        );
        script::call(&call_id(request), HANDOFF_TO_SPECIALIST, &package)
    });
    Way::Package.measure(model, |model| {
        let runner = Runner::new(model).conversation(format!("package-{steps}"));
        let Outcome::Ended(report) = runner.run(&relay, REQUEST)? else {
            return Err("the run did not end".into());
        };
        let packages = report.hops().filter_map(|hop| hop.package.as_ref());
        let given = packages.map(HandoffPackage::to_json).collect();
        Ok((report.answer().to_owned(), report.hops().count(), given))
    })
}
