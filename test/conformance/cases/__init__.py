"""The cases, in the order of their files' names: the last ones stop nodes and stop Ringtail."""
