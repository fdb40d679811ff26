# `make demo` and `make test` are all a newcomer needs; both install what is missing.
.PHONY: all setup build demo test check lint bench fuzz standin conformance bundle clean

all: build

setup:
	@scripts/setup

# The compile hook of rebar.config builds what is Rust.
build: setup
	rebar3 compile

demo: build
	@scripts/demo

test: build
	@scripts/test

# What can be said without running anything, then the tests.
check: lint
	@scripts/test

# Lengths, format, lints, unknown calls, types.
lint: build
	test/standin/build
	scripts/lines
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	ERL_FLAGS="-pa $(CURDIR)/_build/standin/ebin" rebar3 xref
	rebar3 dialyzer

bench: build
	@scripts/bench

bundle: build
	@scripts/bundle

# Every case, with either engine.
conformance: build
	@test/conformance/run.py --engine nif
	@test/conformance/run.py --engine port

fuzz: setup
	@scripts/fuzz

clean:
	cargo clean
	rm -rf _build priv dist
