"""Calls that ask memory back: from the collector, and from the allocator's cache."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Drop, Function, Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

COLLECTING = frozenset(
    ["gc.collect", "torch.cuda.empty_cache", "torch.cuda.ipc_collect", "torch.mps.empty_cache", "torch.xpu.empty_cache",
     "torch.npu.empty_cache", "torch.accelerator.empty_cache",
     # https://huggingface.co/docs/accelerate/package_reference/utilities, https://github.com/huggingface/diffusers
     "diffusers.training_utils.free_memory", "accelerate.utils.clear_device_cache",
     "accelerate.utils.memory.clear_device_cache"]
)  # fmt: skip
"""Functions that are called to get memory back."""

NEUTRAL = COLLECTING | {
    "torch.cuda.synchronize",
    "torch.cuda.reset_peak_memory_stats",
    "torch.cuda.memory_allocated",
    "builtins.print",
}
"""Functions beside them that need no memory themselves."""

OF_WORDS = frozenset(["info", "debug", "warning", "log", "startswith", "endswith", "format", "lower"])
"""Methods of a logger, and of a text: ``device.startswith("cuda")``."""


class AskingBack:
    """Says where one file asks memory back."""

    def __init__(self, facts: Facts) -> None:
        """Ask ``facts`` what is called."""
        self.facts = facts

    @cached_property
    def _collectors(self) -> frozenset[Function]:
        """Functions of the file in which memory is asked back."""
        calls = self.facts.calls()
        return frozenset(c.function for c in calls if c.callee.op is Op.EXTERNAL and c.callee.name in COLLECTING)

    def is_asked_by(self, call: Value) -> bool:
        """Whether a call asks memory back, or a function of the file that it runs does."""
        if call.callee.op is Op.EXTERNAL and call.callee.name in COLLECTING:
            return True
        return any(function in self._collectors for function in self.facts.solution.functions_of(call))

    def is_asked_after(self, drop: Drop) -> bool:
        """Whether memory is asked back soon behind a statement: before anything else is called."""
        for call in self.facts.steps.calls_in(drop.function):
            if call.index >= drop.index:
                if self.is_asked_by(call):
                    return True
                if not self.is_neutral(call):
                    return False
        return False

    def is_neutral(self, call: Value) -> bool:
        """Whether a call needs no memory itself."""
        callee = call.callee
        if callee.op in (Op.EXTERNAL, Op.FUNCTION):
            name = callee.name.rpartition(".")[2]
            if name.startswith("is_") and name.endswith("_available"):
                return True  # which accelerator there is
        if callee.op is Op.EXTERNAL:
            return callee.name in NEUTRAL or callee.name.endswith(".empty_cache")
        return callee.op is Op.ATTRIBUTE and callee.name in OF_WORDS
