//! What code changes in a package on its way.

use serde::{Serialize, Serializer};
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::HandoffPackage;
use crate::own_guard::asked;
use crate::reference::references;

/// What came of changing a package: the package that crosses, or why there is none.
pub type Transformed = Result<HandoffPackage, Box<dyn Error + Send + Sync>>;

type Change = dyn Fn(HandoffPackage) -> Transformed + Send + Sync;

/// A change that the user's own code makes to packages: a pure function of the package. A saved handoff is held against
/// it when it is loaded, so one that gave another package each time would make every saved handoff a forged one.
///
/// It is known by its name, in refusals and in the fingerprint of the definition, as an own guard is.
#[derive(Clone)]
pub(crate) struct Transform {
    name: Box<str>,
    change: Arc<Change>,
}

/// A transform that gave no package that may cross.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) transform: String,
    pub(crate) causes: Vec<String>,
}

impl Transform {
    pub(crate) fn new(
        name: impl Into<Box<str>>,
        change: impl Fn(HandoffPackage) -> Transformed + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), change: Arc::new(change) }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The package as it is after the change. It is read as if a model had written it: the law binds code too.
    fn apply(&self, package: HandoffPackage) -> Result<HandoffPackage, Broken> {
        let broken = |causes| Broken { transform: self.name.to_string(), causes };
        let referred = references(&package);
        let changed = asked(|| (self.change)(package)).map_err(broken)?;
        let changed = HandoffPackage::read(&changed.to_json())
            .map_err(|errors| broken(errors.iter().map(ToString::to_string).collect()))?;
        match references(&changed).into_iter().find(|path| !referred.contains(path)) {
            Some(path) => Err(broken(vec![format!("`{path}` is a reference, which no code writes")])),
            None => Ok(changed),
        }
    }
}

/// The package after all of these, each with what the one before has made of it; `None` when there are none.
pub(crate) fn through<'a>(
    transforms: impl IntoIterator<Item = &'a Transform>,
    package: &HandoffPackage,
) -> Result<Option<HandoffPackage>, Broken> {
    transforms.into_iter().try_fold(None, |changed, transform| {
        transform.apply(changed.unwrap_or_else(|| package.clone())).map(Some)
    })
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Transform").field(&self.name).finish()
    }
}

impl PartialEq for Transform {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Transform {}

impl Serialize for Transform {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.name.serialize(serializer)
    }
}
