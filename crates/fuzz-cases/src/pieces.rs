//! Bytes in the pieces in which they may come.

use std::io::{self, Read};

/// The bytes in pieces of 1 to 64, as the bytes themselves have it: a file of the corpus needs to say nothing of it.
pub(crate) fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut state = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let (mut rest, mut pieces) = (bytes, Vec::new());
    while !rest.is_empty() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let size = usize::try_from(state >> 58).unwrap_or_default() + 1;
        let (piece, others) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = others;
    }
    pieces
}

/// The three ways in which the bytes are given to a decoder: at once, a byte at a time, and in pieces.
pub(crate) fn ways(bytes: &[u8]) -> [Vec<&[u8]>; 3] {
    [vec![bytes], bytes.chunks(1).collect(), pieces(bytes)]
}

/// A connection that brings one piece after the other.
pub(crate) struct Arriving<'a>(pub(crate) std::vec::IntoIter<&'a [u8]>);

impl Read for Arriving<'_> {
    /// A piece is never longer than what the server asks for, since it asks for more than a file of a corpus has.
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        let piece = self.0.find(|piece| !piece.is_empty()).unwrap_or_default();
        let place = part.get_mut(..piece.len()).ok_or(io::ErrorKind::OutOfMemory)?;
        place.copy_from_slice(piece);
        Ok(piece.len())
    }
}
