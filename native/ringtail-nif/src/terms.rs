//! How arguments are read from the VM's own terms.

use ringtail_core::question::{Argument, Word};
use rustler::types::list::ListIterator;
use rustler::{Atom, Binary, Term};

mod atoms {
    rustler::atoms! {
        std, bucketonly, all,
        cluster_preflist, ring_summary, ring_summary_owners,
        preflist, primaries,
    }
}

/// A term that was given as an argument.
pub struct Given<'a>(pub Term<'a>);

/// The elements of a proper list.
pub struct Elements<'a> {
    list: ListIterator<'a>,
    left: usize,
}

impl<'a> Argument<'a> for Given<'a> {
    type Elements = Elements<'a>;

    #[inline(always)]
    fn binary(&self) -> Option<&'a [u8]> {
        Some(Binary::from_term(self.0).ok()?.as_slice())
    }

    #[inline(always)]
    fn number(&self) -> Option<u32> {
        self.0.decode().ok()
    }

    #[inline(always)]
    fn is(&self, word: Word) -> bool {
        atom(word) == self.0
    }

    fn elements(&self) -> Option<Elements<'a>> {
        // The iterator alone would meet the end of an improper list with a panic.
        let left = self.0.list_length().ok()?;
        Some(Elements { list: self.0.into_list_iterator().ok()?, left })
    }

    #[inline(always)]
    fn triple(&self) -> Option<[Self; 3]> {
        let (first, second, third) = self.0.decode().ok()?;
        Some([Self(first), Self(second), Self(third)])
    }
}

#[inline(always)]
fn atom(word: Word) -> Atom {
    match word {
        Word::Std => atoms::std(),
        Word::BucketOnly => atoms::bucketonly(),
        Word::All => atoms::all(),
        Word::ClusterPreflist => atoms::cluster_preflist(),
        Word::RingSummary => atoms::ring_summary(),
        Word::RingSummaryOwners => atoms::ring_summary_owners(),
        Word::Preflist => atoms::preflist(),
        Word::Primaries => atoms::primaries(),
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Given<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Given<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.list.next().map(Given)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Elements<'_> {}
