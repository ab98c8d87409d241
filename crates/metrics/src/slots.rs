//! One layer's state in a span's extensions.
//!
//! Extensions are keyed by type. The slots keep apart several layers of one type on the same registry, such as
//! a tree on standard error and another in a file.

use std::iter;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::span;
use tracing_subscriber::registry::{Extensions, ExtensionsMut, LookupSpan, SpanRef};

use crate::fields::Fields;

/// Tells one layer from another of the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LayerId(u64);

impl LayerId {
    /// An id which no other layer of this process has.
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn put<T: Send + Sync + 'static>(self, extensions: &mut ExtensionsMut<'_>, state: T) {
        let Some(slots) = extensions.get_mut::<Slots<T>>() else {
            return extensions.insert(Slots { first: Some((self, state)), more: Vec::new() });
        };
        slots.more.retain(|(id, _)| *id != self);
        match &mut slots.first {
            Some((id, _)) if *id != self => slots.more.push((self, state)),
            first => *first = Some((self, state)),
        }
    }

    pub(crate) fn get<'e, T: Send + Sync + 'static>(self, extensions: &'e Extensions<'_>) -> Option<&'e T> {
        let Slots { first, more } = extensions.get::<Slots<T>>()?;
        first.iter().chain(more).find(|(id, _)| *id == self).map(|(_, state)| state)
    }

    pub(crate) fn get_mut<'e, T: Send + Sync + 'static>(
        self,
        extensions: &'e mut ExtensionsMut<'_>,
    ) -> Option<&'e mut T> {
        extensions.get_mut::<Slots<T>>()?.of(self)
    }

    pub(crate) fn take<T: Send + Sync + 'static>(self, extensions: &mut ExtensionsMut<'_>) -> Option<T> {
        let Slots { first, more } = extensions.get_mut::<Slots<T>>()?;
        if let Some((_, state)) = first.take_if(|(id, _)| *id == self) {
            return Some(state);
        }
        let at = more.iter().position(|(id, _)| *id == self)?;
        Some(more.swap_remove(at).1)
    }

    /// Takes later values into the fields of a span's state, if it has one.
    ///
    /// The values are read before the state is touched, as a value's `Debug` is code of the caller: it may panic.
    pub(crate) fn record<'a, S, T>(
        self,
        span: &SpanRef<'a, S>,
        values: &span::Record<'_>,
        fields: impl FnOnce(&mut T) -> &mut Fields,
    ) where
        S: LookupSpan<'a>,
        T: Send + Sync + 'static,
    {
        let later = Fields::recorded(values);
        if let Some(state) = self.get_mut::<T>(&mut span.extensions_mut()) {
            fields(state).merge(later);
        }
    }

    /// Looks at the states of `span`'s ancestors, nearest first, until `look` answers.
    ///
    /// Spans in between that hold no state of this layer, those of other targets, are passed over.
    pub(crate) fn ancestor<'a, S, T, R>(
        self,
        span: &SpanRef<'a, S>,
        mut look: impl FnMut(&mut T) -> Option<R>,
    ) -> Option<R>
    where
        S: LookupSpan<'a>,
        T: Send + Sync + 'static,
    {
        iter::successors(span.parent(), SpanRef::parent)
            .find_map(|ancestor| self.get_mut::<T>(&mut ancestor.extensions_mut()).and_then(&mut look))
    }
}

/// One layer is what most registries have; no memory is asked for it alone.
struct Slots<T> {
    first: Option<(LayerId, T)>,
    more: Vec<(LayerId, T)>,
}

impl<T> Slots<T> {
    fn of(&mut self, layer: LayerId) -> Option<&mut T> {
        self.first.iter_mut().chain(&mut self.more).find(|(id, _)| *id == layer).map(|(_, state)| state)
    }
}
