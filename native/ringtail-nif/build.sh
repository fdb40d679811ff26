#!/bin/sh
# Builds the NIF library and puts it where the Erlang side looks for it: priv/ringtail_nif-VERSION.so. Run by rebar3's compile hook.
# The copy is made beside the target and moved over it: a library that a VM has open must never be written into.
set -eu
cd "$(dirname "$0")/../.."
if ! command -v cargo >/dev/null 2>&1; then
    echo "cargo is not on the path: install Rust 1.91 or newer (https://rustup.rs), or build with the archive's library in priv/" >&2
    exit 1
fi
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
cargo build --quiet --locked --release -p ringtail-nif
case "$(uname -s)" in
    Darwin) built=libringtail_nif.dylib ;;
    *) built=libringtail_nif.so ;;
esac
built="${CARGO_TARGET_DIR:-target}/release/$built"
target="priv/ringtail_nif-$version.so"
mkdir -p priv
if ! cmp -s "$built" "$target"; then
    cp "$built" "$target.new"
    mv "$target.new" "$target"
fi
