"""Whether a file trains at all."""

from __future__ import annotations

from torchlint.frameworks import Holds, Row, method_names, rows_holding

__all__ = ["may_train"]

BACKWARD = "backward"

INFERRING = frozenset(["forward"])
"""Methods over which a framework runs a backward, and which say nothing of a training."""


def may_train(text: str) -> bool:
    """Whether a file runs a backward, or leaves that to a framework, told from its text alone."""
    steps = method_names(Holds.TRAINED) - INFERRING
    if f"{BACKWARD}(" in text or any(f"def {step}(" in text for step in steps):
        return True
    return any(_runs_trainer(text, row) for row in rows_holding(Holds.TRAINS))


def _runs_trainer(text: str, row: Row) -> bool:
    """``Trainer(model=net, args=arguments)`` of a framework, and then ``trainer.train()``."""
    names = (name.split(".") for name in row.of)
    is_made = any(parts[0] in text and f"{parts[-1]}(" in text for parts in names)
    return is_made and any(f".{method}(" in text for method in row.methods)
