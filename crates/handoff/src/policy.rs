//! What a route asks of a package.

use serde::Serialize;
use std::collections::BTreeSet;

use crate::{Field, HandoffPackage, Json, PackageError, law};

/// A section of a package that a policy may demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Values for the task.
    Context,
    /// What binds whoever works on the task.
    Constraints,
    /// What is done.
    CompletedSteps,
    /// What is still to be done.
    OpenItems,
    /// Results so far.
    Artifacts,
}

impl Section {
    /// The member's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Constraints => "constraints",
            Self::CompletedSteps => "completed_steps",
            Self::OpenItems => "open_items",
            Self::Artifacts => "artifacts",
        }
    }
}

/// How large a package may be on a route, and which sections it must fill.
///
/// A package over a cap is refused with the cap and the size found; nothing is ever cut. A route may raise
/// the caps up to the [law](crate::law).
///
/// ```
/// use sommelier_handoff::{HandoffPackage, PackageError, PackagePolicy};
///
/// let package = HandoffPackage::new(" ");
/// assert_eq!(
///     package.validate(&PackagePolicy::strict()),
///     [PackageError::Blank { field: "task".into() }, PackageError::Missing { field: "open_items".into() }],
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackagePolicy {
    /// Bytes of the task.
    pub task_bytes: usize,
    /// Values of the context.
    pub context_keys: usize,
    /// Bytes of the whole package as compact JSON.
    pub package_bytes: usize,
    /// Bytes of compact JSON up to which an artifact that is passed by reference stands in the package as its value; see
    /// [`Route::references`](crate::Route::references).
    pub inline_bytes: usize,
    /// Lists and objects inside each other, the package itself included.
    pub depth: usize,
    /// Sections that must not be empty.
    pub required: BTreeSet<Section>,
    /// Values that the context must have, or may have.
    pub fields: Vec<Field>,
}

impl PackagePolicy {
    /// A task and what it needs: 500 bytes of task, 16 values, 2 KiB in all, depth 8. Of what is passed by reference up to
    /// 512 bytes stand inline.
    pub fn minimal() -> Self {
        Self {
            task_bytes: 500,
            context_keys: 16,
            package_bytes: 2048,
            inline_bytes: 512,
            depth: 8,
            required: BTreeSet::new(),
            fields: Vec::new(),
        }
    }

    /// A question to a delegate and what it needs: it may be longer than a task, since it may be somebody's own words or
    /// what another has found. 4 KiB of question, 16 values, 8 KiB in all, depth 8.
    pub fn question() -> Self {
        Self { task_bytes: 4096, package_bytes: 8192, ..Self::minimal() }
    }

    /// The minimal policy, and at least one open item: a handoff says what is still to be done.
    pub fn strict() -> Self {
        Self::minimal().require(Section::OpenItems)
    }

    /// Demands a section.
    pub fn require(mut self, section: Section) -> Self {
        self.required.insert(section);
        self
    }

    /// Asks for a value in the context.
    pub fn field(mut self, field: Field) -> Self {
        self.fields.push(field);
        self
    }

    /// Sets the most bytes of the whole package.
    pub fn package_bytes(mut self, most: usize) -> Self {
        self.package_bytes = most;
        self
    }

    /// A small package that meets the policy, for tests: every section and every value that is demanded is there.
    ///
    /// ```
    /// use sommelier_handoff::{Field, PackagePolicy};
    ///
    /// let policy = PackagePolicy::strict().field(Field::one_of("plan", "", ["basic", "pro"]));
    /// assert_eq!(policy.sample().to_json(), r#"{"task":"a task","context":{"plan":"basic"},"open_items":["a sample"]}"#);
    /// assert_eq!(policy.sample().validate(&policy), []);
    /// ```
    pub fn sample(&self) -> HandoffPackage {
        let sample = self.filled("a task", "a sample", ("sample", Json::Bool(true)), Field::sample);
        // Where the caps leave no room for words that tell what they are.
        if self.check(&sample).is_empty() { sample } else { self.least() }
    }

    /// The package of the fewest bytes that could meet the policy. If it does not, none does.
    pub(crate) fn least(&self) -> HandoffPackage {
        self.filled("x", "x", ("x", Json::Number("0".into())), Field::least)
    }

    fn filled(
        &self,
        task: &str,
        text: &str,
        (name, value): (&str, Json),
        of: impl Fn(&Field) -> Json,
    ) -> HandoffPackage {
        let demanded = self.fields.iter().filter(|field| !field.is_optional());
        let package = demanded
            .fold(HandoffPackage::new(task), |package, field| package.with_context(field.name(), of(field)));
        self.required.iter().fold(package, |package, section| match section {
            Section::Context if package.context_fields().is_empty() => {
                package.with_context(name, value.clone())
            }
            Section::Context => package,
            Section::Constraints => package.constraint(text),
            Section::CompletedSteps => package.completed_step(text),
            Section::OpenItems => package.open_item(text),
            Section::Artifacts => package.with_artifact(name, value.clone()),
        })
    }

    /// Sets the most bytes of an artifact that is passed by reference and stands in the package as its value.
    pub fn inline_bytes(mut self, most: usize) -> Self {
        self.inline_bytes = most;
        self
    }

    /// The caps that are higher than the law.
    pub(crate) fn beyond_law(&self) -> Vec<String> {
        let caps = [
            ("task_bytes", self.task_bytes, law::STRING_BYTES),
            ("context_keys", self.context_keys, law::KEYS),
            ("package_bytes", self.package_bytes, law::PACKAGE_BYTES),
            ("inline_bytes", self.inline_bytes, law::PACKAGE_BYTES),
            ("depth", self.depth, law::DEPTH),
        ];
        let beyond = caps.into_iter().filter(|(_, found, most)| found > most);
        beyond.map(|(cap, found, most)| format!("{cap} {found}, at most {most}")).collect()
    }

    pub(crate) fn check(&self, package: &HandoffPackage) -> Vec<PackageError> {
        let mut errors = Vec::new();
        if law::is_blank(package.task()) {
            errors.push(PackageError::Blank { field: "task".to_owned() });
        }
        let caps = [
            ("bytes of the task", package.task().len(), self.task_bytes),
            ("values of the context", package.context_fields().len(), self.context_keys),
            ("bytes of the package", package.bytes(), self.package_bytes),
            ("depth of the package", package.depth(), self.depth),
        ];
        errors.extend(
            caps.into_iter()
                .filter(|(_, found, most)| found > most)
                .map(|(cap, found, most)| PackageError::OverCap { cap: cap.to_owned(), found, most }),
        );
        errors.extend(package.find_history().map(|path| PackageError::HistoryInPackage { path }));
        let missing =
            package.sections().filter(|(section, len)| *len == 0 && self.required.contains(section));
        errors
            .extend(missing.map(|(section, _)| PackageError::Missing { field: section.as_str().to_owned() }));
        errors
            .extend(self.fields.iter().filter_map(|field| field.check(package.context_value(field.name()))));
        errors
    }
}

impl Default for PackagePolicy {
    fn default() -> Self {
        Self::minimal()
    }
}
