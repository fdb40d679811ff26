%% What the server side keeps about one request. How far its body has been
%% read is not here but with the process (webmachine_body), because resources
%% read the body through a copy of the request that they never hand back.
-record(wm_reqstate,
        {socket,
         metadata = [],          % orddict
         reqdata}).
