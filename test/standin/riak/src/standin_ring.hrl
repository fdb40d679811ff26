%% The ring exactly as a real node holds it: element order matters, because
%% term_to_binary of this tuple is what is read elsewhere.
-record(chstate_v2, {
    nodename,          % whose copy this is
    vclock = [],       % moves with every change
    chring,            % {Size, [{Index, Node}]}
    meta,              % dict of Key -> #meta_entry{}
    clustername,       % {FirstNode, os:timestamp()}
    next = [],         % [{Index, Owner, NextOwner, [Module], awaiting | complete}]
    members = [],      % orddict of Node -> {Status, VClock, orddict()}
    claimant,
    seen = [],         % orddict of Node -> VClock
    rvsn = []          % moves with ownership and membership only
}).

-record(meta_entry, {value, lastmod}).
