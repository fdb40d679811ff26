//! Stand-in Riak nodes with the application in them, for tests and benches: real Erlang nodes,
//! driven from here. Needs what `make` has built or builds it: the application's beams with the
//! NIF, and the stand-in.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An Erlang shell in which `C` is a running cluster: one expression a line, its value as one line.
pub struct StandIn {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

const SHELL: &str = r#"
    {ok, C} = standin:start_cluster(#{nodes => 4, ring_size => 64,
        patches => [os:getenv("RINGTAIL_EBIN")], backend => riak_kv_eleveldb_backend,
        types => [{<<"n1">>, [{n_val, 1}]}, {<<"mult">>, [{allow_mult, true}]}]}),
    Loop = fun Loop() ->
        case io:get_line("") of
            eof -> standin:stop_cluster(C), halt(0);
            Line ->
                {ok, Tokens, _} = erl_scan:string(Line),
                {ok, Exprs} = erl_parse:parse_exprs(Tokens),
                Value = try element(2, erl_eval:exprs(Exprs, [{'C', C}]))
                        catch K:R:S -> {K, R, S} end,
                io:format("= ~0tp~n", [Value]),
                Loop()
        end
    end,
    io:format("= ready~n"), Loop()."#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn run(command: &mut Command) {
    let output =
        command.current_dir(root()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl StandIn {
    /// Starts four nodes without the application.
    ///
    /// # Panics
    /// Where Erlang is missing, or something does not build or start.
    pub fn start() -> Self {
        let given = |name: &str, usual: &str| {
            std::env::var_os(name).map_or_else(|| root().join(usual), PathBuf::from)
        };
        let ebin = given("RINGTAIL_EBIN", "_build/default/lib/ringtail/ebin");
        let standin = given("STANDIN_EBIN", "_build/standin/ebin");
        if !ebin.join("ringtail.beam").exists() {
            run(Command::new("rebar3").arg("compile"));
        }
        if !standin.join("standin.beam").exists() {
            run(&mut Command::new(root().join("test/standin/build")));
        }
        let mut child = Command::new("erl")
            .args(["-noshell", "+sbwt", "none", "-kernel", "logger_level", "error", "-pa"])
            .arg(&standin)
            .args(["-eval", SHELL])
            .env("RINGTAIL_EBIN", &ebin)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("erl is on the path: run scripts/setup");
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut this = Self { child, input, output };
        assert_eq!(this.line(), "ready");
        this
    }

    /// The next value; whatever else is said is passed on.
    fn line(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the shell has ended");
            match line.strip_prefix("= ") {
                Some(value) => return value.trim_end().to_owned(),
                None => eprint!("{line}"),
            }
        }
    }

    /// The value of an expression, as `~0tp` prints it.
    pub fn eval(&mut self, expression: &str) -> String {
        writeln!(self.input, "{}.", expression.replace('\n', " ")).unwrap();
        self.line()
    }

    /// An expression whose value must be `ok`.
    pub fn ok(&mut self, expression: &str) {
        let value = self.eval(expression);
        assert_eq!(value, "ok", "{expression}");
    }

    /// Names and URLs of the nodes.
    pub fn nodes(&mut self) -> Vec<(String, String)> {
        let text = self.eval(
            r#"lists:flatten(lists:join(",", [io_lib:format("~s ~s", [N, U])
                                              || {N, U} <- standin:urls(C)]))"#,
        );
        let pairs = text.trim_matches('"').split(',');
        pairs
            .map(|pair| pair.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap())
            .collect()
    }

    /// Starts the application on a node.
    pub fn begin(&mut self, node: &str) {
        self.ok(&format!("standin:rpc(C, '{node}', ringtail, start, [])"));
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        // The end of its input, too, ends the shell and with it the cluster, should this process be
        // killed.
        let _ = writeln!(self.input, "standin:stop_cluster(C), halt(0).");
        let _ = self.child.wait();
    }
}
