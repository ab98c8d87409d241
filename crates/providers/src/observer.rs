//! Who is told of a reply while it comes.

/// Hears the words of a reply as they come. The core sees whole messages all the same: what is told here changes
/// nothing of a run.
///
/// It is called from the thread that asks the model, which waits for it: a slow observer slows the stream down, and
/// nothing is dropped. A key that the service sends back is not told, also where it comes in pieces: the end of a piece that may
/// be the beginning of the key is kept back until the next one comes, or nothing more does.
pub trait Observer: Send + Sync {
    /// The reply that `caller` waits for has come this much further.
    fn hear(&self, caller: &str, heard: Heard<'_>);
}

/// What is told of a reply while it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Heard<'a> {
    /// More words of the text.
    Text(&'a str),
    /// The stream broke off and the model is asked again: what was told of this reply does not count.
    Again,
    /// The reply is whole. Told once, last.
    Whole,
}

/// Where a codec tells words: a function, so that it needs no thread and no lock.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(&str);
