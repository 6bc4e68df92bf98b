"""From a libcst tree to the value graph."""
