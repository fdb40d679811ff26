//! The NIF library: converts terms and calls `ringtail-core`, nothing else.
