"""Guards of the grad mode that guard nothing."""
