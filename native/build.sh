#!/bin/sh
# Builds the NIF library and the companion and puts them where the Erlang side looks for them:
# priv/ringtail_nif-VERSION.so and priv/ringtail. Run by rebar3's compile hook. Copies are made
# beside their targets and moved over them: a library that a VM has open, or a program that runs,
# must never be written into.
set -eu
cd "$(dirname "$0")/.."
if ! command -v cargo >/dev/null 2>&1; then
    echo "cargo is not on the path: install Rust 1.91 or newer (https://rustup.rs)," \
        "or build with the archive's files in priv/" >&2
    exit 1
fi
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
cargo build --quiet --locked --profile nif -p ringtail-nif
cargo build --quiet --locked --release -p ringtail
case "$(uname -s)" in
    Darwin) library=libringtail_nif.dylib ;;
    *) library=libringtail_nif.so ;;
esac
install_to() {
    if ! cmp -s "$1" "$2"; then
        cp "$1" "$2.new"
        mv "$2.new" "$2"
    fi
}
target="${CARGO_TARGET_DIR:-target}"
mkdir -p priv
install_to "$target/nif/$library" "priv/ringtail_nif-$version.so"
install_to "$target/release/ringtail" priv/ringtail
