"""What the conformance cases stand on: HTTP, Erlang text, hashing, and the cluster under test."""
