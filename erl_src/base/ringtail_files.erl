%% @doc Where the files that come with the beams are looked for.
-module(ringtail_files).

-export([places/2]).

%% @doc The paths under which a file may be, the likeliest first: beside this module's beam, as in a
%% patches directory, and in the application's priv directory.
-spec places(module(), Name :: string()) -> [file:filename()].
places(Module, Name) ->
    Beside = case code:which(Module) of
                 Beam when is_list(Beam), Beam =/= [] -> [filename:dirname(filename:absname(Beam))];
                 _ -> []
             end,
    Priv = case code:priv_dir(ringtail) of
               Dir when is_list(Dir) -> [Dir];
               {error, bad_name} -> []
           end,
    [filename:join(Directory, Name) || Directory <- Beside ++ Priv].
