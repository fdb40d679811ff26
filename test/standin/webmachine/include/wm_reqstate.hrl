%% What the server side keeps about one request. A resource reads the body
%% through a copy of it; the state after that is in the process dictionary
%% (tmp_reqstate), from where the next callback's copy comes.
-record(wm_reqstate,
        {socket,
         metadata = [],          % orddict
         reqdata,
         bodyfetch,              % undefined | standard | stream
         reqbody}).
