"""After each file of attacks: nothing was harmed that the attacks were not about."""

from conform import erl

from .attack import OLD, Attack

# Connections' processes come and go; what piles up is more than this.
SPARE = 40
SETTLE_S = 60
WATCHED = """lists:flatten(io_lib:format("~b ~b~n~s", [length(processes()),
    lists:max([0 | [L || P <- processes(),
                         {message_queue_len, L} <- [process_info(P, message_queue_len)]]]),
    [io_lib:format("~s ~w~n", [N, whereis(N)]) || N <- lists:sort(registered()),
                                                 lists:prefix("ringtail", atom_to_list(N))]]))"""


# What most processes do, and who has the longest queue.
MOST = """lists:flatten(io_lib:format("~p ~p", [
    lists:sublist(lists:reverse(lists:keysort(2, lists:foldl(fun(P, Found) ->
        case process_info(P, [current_function, initial_call, dictionary]) of
            [{_, {M, F, _}}, {_, {I, J, _}}, {_, D}] ->
                Key = {M, F, I, J, proplists:get_value('$initial_call', D)},
                orddict:update_counter(Key, 1, Found);
            undefined -> Found end end, [], processes()))), 4),
    lists:sublist(lists:reverse(lists:sort([{L, P} || P <- processes(),
        {message_queue_len, L} <- [process_info(P, message_queue_len)]])), 2)]))"""


class Vm:
    """A node, or the VM without Riak: how its processes are."""

    def __init__(self, name, url, rpc):
        self.name, self.url, self.rpc = name, url, rpc
        self.remember()

    def remember(self):
        """Now is how it was before."""
        self.processes, _, self.named = self.look()
        _, _, again = self.look()
        self.named = {name: pid for name, pid in self.named.items() if again.get(name) == pid}

    def look(self):
        counts, *named = erl.string(self.rpc(WATCHED)).splitlines()
        processes, longest = counts.split(" ")
        return int(processes), int(longest), dict(line.split(" ") for line in named)

    def piled_up(self):
        processes, longest, _ = self.look()
        return processes > self.processes + SPARE or longest > SPARE

    def told(self):
        processes, longest, _ = self.look()
        return "%d processes, %d before, a queue of %d: %s" % (
            processes,
            self.processes,
            longest,
            " ".join(erl.string(self.rpc(MOST)).split()),
        )

    def replaced(self):
        """The named processes that are others than before: somebody crashed them."""
        _, _, named = self.look()
        return sorted(name for name, pid in self.named.items() if named.get(name) != pid)


class Health(Attack):
    """The runner sets `vms`, `neighbour` and `sentinel`, an object that no attack is about."""

    vms, neighbour, sentinel, served = [], None, None, {}

    def __init__(self, topic):
        super().__init__("test_health")
        self.topic = topic

    def test_health(self):
        """afterwards all serve, nothing crashed or piled up, others were served meanwhile"""
        for vm in self.vms:
            with self.tried(vm.name):
                self.assertEqual([], vm.replaced(), "crashed: %s" % vm.replaced())
                self.eventually(lambda: not vm.piled_up(), vm.told, SETTLE_S)
                state = vm.rpc("proplists:get_value(state, ringtail:status())")
                self.assertEqual("serving", state, state)
        served, wrong = self.neighbour.take()
        with self.tried("others"):
            self.assertEqual([], wrong, "%d were not served: %s" % (len(wrong), wrong[:3]))
            idle = [way for way, count in served.items() if count <= Health.served.get(way, 0)]
            self.assertEqual([], idle, "nobody was served by %s" % idle)
        Health.served = served
        with self.tried("another object"):
            self.assertEqual(OLD, (self.stored(self.sentinel) or (0, None))[1], "it was harmed")
        self.alike("a proper request", self.by_every_way(lambda target: target.put()))
