"""Repairs: what a rule asks for, as edits of a tree; the replacements they make in a text; how a text takes them."""
