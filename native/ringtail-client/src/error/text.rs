//! Pieces of the texts of errors.

use std::fmt::{self, Display};
use std::time::Duration;

/// `a: why; b: why`
pub(super) struct Each<'a, E, D: Display>(pub(super) &'a [(String, E)], pub(super) fn(&'a E) -> D);

impl<E, D: Display> Display for Each<'_, E, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (name, error)) in self.0.iter().enumerate() {
            write!(f, "{}{name}: {}", if at == 0 { "" } else { "; " }, self.1(error))?;
        }
        Ok(())
    }
}

pub(super) struct Seconds<'a>(pub(super) &'a Duration);

impl Display for Seconds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.as_millis() < 1000 {
            write!(f, "{} ms", self.0.as_millis())
        } else {
            write!(f, "{} s", self.0.as_secs_f64())
        }
    }
}
