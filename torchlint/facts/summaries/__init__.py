"""What one file has to know of another: summaries of definitions, made from one file and linked into another."""
