"""A file's text as a tree: by ``ast`` and by libcst, where its nodes stand, and what can be said without a tree."""
