//! One rule of safety broken on purpose, to see that the simulation finds it.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Intervals count as in force when one member has them.
    UnconfirmedCounts,
    /// The target serves when the source has been asked, but has not confirmed, to serve no more.
    GrowsBeforeShrunk,
    /// The source's writes that still run when it is frozen are not waited for.
    SourceNotDrained,
    /// The target's imports that still run when they are closed are not waited for.
    TargetNotDrained,
    /// The source's reads that still run when its objects are deleted are not waited for.
    ReadersNotDrained,
    /// A member that has crashed counts its requests anew, without waiting for the old ones.
    RestartIsDrained,
    /// A member takes changes of a fenced plan or a former epoch.
    StaleChangesApply,
    /// A member takes imports and deletes of a fenced plan or a former epoch.
    StaleWorkAdmitted,
    /// The copy goes on when the target serves.
    CopiesAfterFlip,
    /// What changed while the first copy was made is not copied, and nothing is compared.
    RestNotCopied,
    /// A member that has just started serves by what its disk says.
    ServesBeforeConfirmed,
    /// The keeper takes a record that was made from a former version.
    KeeperOverwrites,
}

pub const FAULTS: [Fault; 12] = [
    Fault::UnconfirmedCounts,
    Fault::GrowsBeforeShrunk,
    Fault::SourceNotDrained,
    Fault::TargetNotDrained,
    Fault::ReadersNotDrained,
    Fault::RestartIsDrained,
    Fault::StaleChangesApply,
    Fault::StaleWorkAdmitted,
    Fault::CopiesAfterFlip,
    Fault::RestNotCopied,
    Fault::ServesBeforeConfirmed,
    Fault::KeeperOverwrites,
];
