%% Test support: a certificate authority and a certificate for 127.0.0.1 and
%% localhost, made afresh, as PEM files for servers and clients of any kind.
-module(standin_tls).
-include_lib("public_key/include/public_key.hrl").
-export([files/1]).

%% #{certfile, keyfile, cacertfile} in Dir.
files(Dir) ->
    Names = #'Extension'{extnID = ?'id-ce-subjectAltName', critical = false,
                         extnValue = [{iPAddress, <<127, 0, 0, 1>>}, {dNSName, "localhost"}]},
    Key = {key, {namedCurve, secp256r1}},
    %% The default, SHA-1, is refused by clients of today.
    Digest = {digest, sha256},
    #{server_config := Server} = public_key:pkix_test_data(
        #{server_chain => #{root => [Key, Digest], intermediates => [],
                            peer => [Key, Digest, {extensions, [Names]}]},
          client_chain => #{root => [Key, Digest], intermediates => [], peer => [Key, Digest]}}),
    %% The server trusts the client's root and so on; the one that signed its
    %% own certificate is what clients need.
    Cert = proplists:get_value(cert, Server),
    {KeyType, KeyDer} = proplists:get_value(key, Server),
    Root = issuer(Cert, proplists:get_value(cacerts, Server)),
    #{certfile => pem(Dir, "cert.pem", [{'Certificate', Cert, not_encrypted}]),
      keyfile => pem(Dir, "key.pem", [{KeyType, KeyDer, not_encrypted}]),
      cacertfile => pem(Dir, "ca.pem", [{'Certificate', Root, not_encrypted}])}.

issuer(Cert, Candidates) ->
    hd([C || C <- Candidates, public_key:pkix_is_issuer(Cert, C)]).

pem(Dir, Name, Entries) ->
    File = filename:join(Dir, Name),
    ok = file:write_file(File, public_key:pem_encode(Entries)),
    File.
