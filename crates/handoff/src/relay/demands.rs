//! Settings that are beyond the law, and those that nobody could meet. They are told to the relay's author when it is
//! built: a run would blame its models.

use std::collections::BTreeSet;

use super::RelayBuilder;
use crate::own_guard::OwnGuard;
use crate::transform::Transform;
use crate::work::{About, ConstraintCheck};
use crate::{
    Budget, BuildError, Delegate, FieldFault, HandoffPackage, Measure, NameFault, PackageError,
    PackagePolicy, Place, Route, Section, law,
};

impl RelayBuilder {
    /// All that is set and may not be, or that nobody could meet.
    pub(super) fn check_demands(&self, errors: &mut Vec<BuildError>) {
        for route in &self.routes {
            let place = Place::Route { from: route.from.clone(), to: route.to.clone() };
            self.check_route(&place, route, errors);
        }
        for (asker, delegate) in &self.delegates {
            let place = Place::Delegate { asker: asker.clone(), tool: delegate.tool().to_owned() };
            self.check_delegate(&place, delegate, errors);
        }
        self.check_receivers(errors);
        check_transforms(&Place::Relay, &self.transforms, &[], errors);
        check_budget(&Place::Relay, &self.budget, errors);
        if self.max_branches == Some(0) && !self.delegates.is_empty() {
            errors.push(BuildError::NoBranches);
        }
        let checked = self.checks.iter().map(ConstraintCheck::about).filter_map(|about| match about {
            About::Text(text) => Some(text),
            About::Beginning(_) => None,
        });
        errors.extend(self.constraints.iter().chain(checked).filter_map(|text| unlawful(text)));
    }

    fn check_route(&self, place: &Place, route: &Route, errors: &mut Vec<BuildError>) {
        let is_changed = !(route.transforms.is_empty() && self.transforms.is_empty());
        if check_fields(place, &route.policy, errors) {
            let least = self.binding(route.policy.least(), is_changed);
            errors.extend(unmet(place, &route.policy, &least));
        }
        let of_receiver = self.guards_of.iter().filter(|(receiver, _)| *receiver == route.to);
        let of_receiver: Vec<&str> = of_receiver.map(|(_, guard)| guard.name()).collect();
        check_guards(place, route.guards.iter().map(OwnGuard::name), &of_receiver, errors);
        check_transforms(place, &route.transforms, &self.transforms, errors);
    }

    fn check_delegate(&self, place: &Place, delegate: &Delegate, errors: &mut Vec<BuildError>) {
        let policy = delegate.package_policy();
        if check_fields(place, policy, errors) {
            let is_changed = !self.transforms.is_empty();
            // A question has a context and, by code, constraints; the other sections only a transform could fill.
            let asked = match is_changed {
                true => policy.least(),
                false => PackagePolicy { required: asked(policy), ..policy.clone() }.least(),
            };
            let unmet = unmet(place, policy, &self.binding(asked, is_changed));
            errors.extend(unmet.map(BuildError::of_question));
        }
        check_guards(place, delegate.guard_names(), &[], errors);
        check_budget(place, delegate.own_budget(), errors);
    }

    /// The guards of receivers, each with its own; those that a route has besides are looked at with the route.
    fn check_receivers(&self, errors: &mut Vec<BuildError>) {
        let receivers: BTreeSet<&String> = self.guards_of.iter().map(|(receiver, _)| receiver).collect();
        for receiver in receivers {
            let place = Place::Receiver { agent: receiver.clone() };
            let own = self.guards_of.iter().filter(|(of, _)| of == receiver);
            check_guards(&place, own.map(|(_, guard)| guard.name()), &[], errors);
        }
    }

    /// The package with the constraints of the house, which code puts into each. What is left of them after a transform
    /// nobody knows.
    fn binding(&self, package: HandoffPackage, is_changed: bool) -> HandoffPackage {
        if is_changed {
            return package;
        }
        let house = self.constraints.iter().filter(|text| unlawful(text).is_none());
        house.fold(package, |package, text| match package.constraints().contains(text) {
            true => package,
            false => package.constraint(text.clone()),
        })
    }
}

/// The sections that a question may have, of those that a policy demands.
fn asked(policy: &PackagePolicy) -> BTreeSet<Section> {
    let may_have = |section: &Section| matches!(section, Section::Context | Section::Constraints);
    policy.required.iter().copied().filter(may_have).collect()
}

/// What the least package still breaks in its policy.
fn unmet<'a>(
    place: &'a Place,
    policy: &PackagePolicy,
    least: &HandoffPackage,
) -> impl Iterator<Item = BuildError> + 'a {
    let errors = policy.check(least).into_iter();
    errors.map(|error| BuildError::Unmeetable { place: place.clone(), error })
}

/// Whether each field for itself can be met. The caps are held to the law besides.
fn check_fields(place: &Place, policy: &PackagePolicy, errors: &mut Vec<BuildError>) -> bool {
    errors.extend(
        policy.beyond_law().into_iter().map(|cap| BuildError::BeyondLaw { place: place.clone(), cap }),
    );
    let before = errors.len();
    let mut seen = BTreeSet::new();
    for field in &policy.fields {
        let twice = (!seen.insert(field.name())).then_some(FieldFault::Twice);
        errors.extend(twice.into_iter().chain(field.faults()).map(|fault| BuildError::Field {
            place: place.clone(),
            field: law::shortened(field.name()),
            fault,
        }));
    }
    errors.len() == before
}

/// What is wrong with the names of these, which stand beside `others`.
fn names<'a>(
    own: impl Iterator<Item = &'a str>,
    others: &[&str],
) -> impl Iterator<Item = (String, NameFault)> {
    let mut seen: BTreeSet<String> = others.iter().map(|name| (*name).to_owned()).collect();
    own.filter_map(move |name| {
        if law::is_blank(name) {
            return Some((law::shortened(name), NameFault::Blank));
        }
        (!seen.insert(name.to_owned())).then(|| (law::shortened(name), NameFault::Twice))
    })
}

fn check_guards<'a>(
    place: &Place,
    own: impl Iterator<Item = &'a str>,
    others: &[&str],
    errors: &mut Vec<BuildError>,
) {
    errors.extend(names(own, others).map(|(name, fault)| BuildError::Guard {
        place: place.clone(),
        name,
        fault,
    }));
}

fn check_transforms(place: &Place, own: &[Transform], others: &[Transform], errors: &mut Vec<BuildError>) {
    let others: Vec<&str> = others.iter().map(Transform::name).collect();
    let own = own.iter().map(Transform::name);
    errors.extend(names(own, &others).map(|(name, fault)| BuildError::Transform {
        place: place.clone(),
        name,
        fault,
    }));
}

/// What nobody could answer without.
fn check_budget(place: &Place, budget: &Budget, errors: &mut Vec<BuildError>) {
    let given = [
        (Measure::ModelCalls, Some(budget.model_calls.into())),
        (Measure::Tokens, budget.tokens),
        (Measure::Millis, budget.millis),
    ];
    let nothing = given.into_iter().filter(|(_, given)| *given == Some(0));
    errors.extend(nothing.map(|(measure, _)| BuildError::NoAllowance { place: place.clone(), measure }));
}

/// Why a constraint could not stand in a package, or would bind nobody there.
fn unlawful(text: &str) -> Option<BuildError> {
    let package = HandoffPackage::new("task").constraint(text);
    let blank = || PackageError::Blank { field: "constraints.0".to_owned() };
    let error = match law::is_blank(text) {
        true => blank(),
        false => package.validate(&PackagePolicy::minimal()).into_iter().next()?,
    };
    Some(BuildError::Constraint { text: law::shortened(text), error })
}
