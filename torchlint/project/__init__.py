"""What a file imports from its own project: which file a name means, and what stands there, read on demand."""
