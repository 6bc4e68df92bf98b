"""Hooks: what they do, how long they stay, what they hold."""
