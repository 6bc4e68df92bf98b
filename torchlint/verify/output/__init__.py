"""What was verified, for a reader: one module a form."""
