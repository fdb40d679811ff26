"""What the attacks stand on: bytes on a socket, ways to an object, and who else is served."""
