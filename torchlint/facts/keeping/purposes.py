"""What weights are loaded for, and which loads read what the program wrote from the host itself."""

from __future__ import annotations

from collections import defaultdict
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.keeping.external_names import external_name
from torchlint.facts.keeping.loaded_parts import Parts
from torchlint.facts.keeping.loading import Load
from torchlint.facts.values.domain import Instance, Module, Tool, is_optimizer
from torchlint.facts.values.frameworks import is_module_class, may_be_module
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.residence import Residence, Residences

if TYPE_CHECKING:
    from torchlint.facts import Facts

STATES = frozenset(["state_dict", "model_state_dict", "optimizer_state_dict", "optimizer_states"])
"""Keys under which checkpoints keep states.

https://docs.pytorch.org/tutorials/recipes/recipes/saving_and_loading_a_general_checkpoint.html,
https://lightning.ai/docs/pytorch/stable/common/checkpointing_basic.html
"""

OF_SCHEDULES = frozenset(["step", "state_dict", "load_state_dict", "get_last_lr", "get_lr", "last_epoch", "base_lrs"])
"""What https://docs.pytorch.org/docs/stable/optim.html says of schedules of learning rates."""


QUANTIZING = frozenset(
    f"torch.{package}.{name}" for package in ("quantization", "ao.quantization")
    for name in ("quantize_dynamic", "convert", "quantize")
)  # fmt: skip
"""Functions that make a model whose weights are on the host alone.

https://docs.pytorch.org/docs/stable/quantization.html
"""

MOVES = frozenset(["to", "cuda"])
"""Methods of a module that put it on a device."""

OF_MODELS = frozenset(["eval", "train", "parameters", "named_parameters", "state_dict", "modules"])
"""Methods that modules have, and tensors and containers do not.

https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
"""

OF_OPTIMIZERS = frozenset(["step", "zero_grad", "param_groups"])
"""What optimizers have, and modules do not, save ``zero_grad``: a model that is trained.

https://docs.pytorch.org/docs/stable/optim.html
"""


class Purpose(Enum):
    """What weights are loaded for."""

    COPIED = "to be copied into a model that is there"
    READ = "to be looked at, or written again"
    MOVED = "to be put on the device that the program names, whole"

    @property
    def only_reads(self) -> bool:
        """True where no model takes them."""
        return self is Purpose.READ

    @property
    def is_moved(self) -> bool:
        """True where they are a model that goes to another place at once."""
        return self is Purpose.MOVED


class Purposes:
    """Answers for the loads of one file."""

    def __init__(self, facts: Facts) -> None:
        """Ask ``facts`` where what is loaded goes."""
        self.facts = facts
        self.solution = facts.solution

    def of(self, load: Load) -> Purpose | None:
        """What weights are loaded for, as far as their use tells; None for data, and for a model that is used itself.

        None as well where the program wrote the file itself, from the host: it comes back there.
        """
        call, parts, saves = load.call, self.facts.loads.parts(load.call), self.facts.saves
        path = call.argument(0, "f")
        if saves.wrote_from_host(path):
            return None
        if self.facts.unit_tests.has(call.function):
            return None  # a model of a few rows, and the test may well ask on which device it comes back
        if parts.keeps and not parts.copies:
            return None  # the tensors themselves become the model's, wherever they are
        if parts.copies and self._is_brief(call, parts) and all(map(self._is_moved_later, parts.copies)):
            return None
        if any(copy.callee.name == "load_state_dict" for copy in parts.copies):
            return None if all(map(self._needs_no_device, parts.copies)) else Purpose.COPIED
        if saves.wrote_data(path):
            return None
        if parts.copies:
            return Purpose.COPIED
        if any(name.endswith("Dataset") for name in _bases(call.function)):
            return None
        is_unpacked = any(user.op is Op.ELEMENT and user.keys[0] is not None for user in call.users)
        if is_unpacked:  # `audio, labels = torch.load(path)`, unless one of them is a model: `net, words = ...`
            return None if self.move_of(load) is None else Purpose.MOVED
        users = {user for part in parts.whole for user in part.users if user not in parts.whole}
        if any(self._gives_to_model(user, parts) for user in users):
            return Purpose.COPIED
        if self.move_of(load) is not None:
            return Purpose.MOVED
        return Purpose.READ if self._are_weights(parts, users) and not self._are_run(parts, users) else None

    def move_of(self, load: Load) -> Value | None:
        """The CALL that puts a model which was loaded whole where the program asks for it: ``net.to(device)``.

        A device that is written there is the one on which the model was saved, as often as not. Where an optimizer was
        loaded with it, the two belong on one device, and a training goes on.
        """
        whole = self.facts.loads.parts(load.call).whole
        if any(user.op is Op.ATTRIBUTE and user.name in OF_OPTIMIZERS for part in whole for user in part.users):
            return None
        receivers = {
            part.callee.inputs[0]: part
            for part in sorted(whole, key=lambda part: part.index)
            if part.op is Op.CALL and part.callee.op is Op.ATTRIBUTE and self._names_place(part)
        }
        return next((move for moved, move in receivers.items() if self._is_model(moved, whole)), None)

    def _names_place(self, call: Value) -> bool:
        """``x.to(device)``, ``x.cuda(rank)``, ``x.cpu()``."""
        if call.callee.name == "cpu":
            return True
        told = call.argument(0, "device")
        if call.callee.name not in MOVES or told is None or told.op is Op.CONSTANT:
            return False
        return self._residences.named(told) is Residence.DEVICE

    @cached_property
    def _residences(self) -> Residences:
        return Residences(self.facts.flows)

    def _is_model(self, moved: Value, whole: set[Value]) -> bool:
        """Whether what was loaded is a model by its use: it is put in a mode, or its parameters are asked for."""
        roots = self.facts.identity.roots(moved)
        same = {part for part in whole if not self.facts.identity.roots(part).isdisjoint(roots)} | {moved}
        asked = {user.name for part in same for user in part.users if user.op is Op.ATTRIBUTE}
        return may_be_module(self.solution, moved) or not asked.isdisjoint(OF_MODELS)

    def _needs_no_device(self, copy: Value) -> bool:
        """Whether a state is of numbers, is adopted and not copied, or was made on the host."""
        if copy.callee.op is not Op.ATTRIBUTE:
            return False
        return self._fills_schedule(copy) or fills_optimizer(self.facts, copy) or self._is_quantized(copy)

    def _is_brief(self, load: Value, parts: Parts) -> bool:
        """Whether nothing holds what was loaded once it is copied: no name, or one of a module's ``__init__``."""
        if _builds_module(load.function):
            return all(part.function is load.function for part in parts.whole)
        return all(user in parts.whole or user in parts.copies for part in parts.whole for user in part.users) and all(
            copy.statement is load.statement for copy in parts.copies
        )

    def _is_moved_later(self, copy: Value) -> bool:
        """Whether the model is on the host still when it is filled: it is being built, or is moved after that only.

        Then what was loaded is gone before the model is where that was.
        """
        if copy.callee.op is not Op.ATTRIBUTE:
            return False  # which models those are, is not looked for
        model = copy.callee.inputs[0]
        moves = [call for call in self.facts.steps.calls_in(copy.function) if self._moves(call, model)]
        is_first = all(move.index > copy.index for move in moves)
        return is_first and (bool(moves) or _builds_module(copy.function))

    def _moves(self, call: Value, model: Value) -> bool:
        """Whether a CALL puts ``model`` on a device."""
        if call.callee.op is not Op.ATTRIBUTE or call.callee.name not in MOVES:
            return False
        moved = call.callee.inputs[0]
        if not self.facts.identity.roots(moved).isdisjoint(self.facts.identity.roots(model)):
            return True
        return not set(self.solution.read_from(moved)).isdisjoint(self.solution.read_from(model))

    def _is_quantized(self, copy: Value) -> bool:
        """Whether the model has been quantized for the host, as far as its file tells of it."""
        receiver = copy.callee.inputs[0]
        stored = stored_at(self.solution, receiver)
        made = [part for value in (receiver, *stored) for part in value.computed_from()]
        return any(part.op is Op.CALL and part.callee.name in QUANTIZING for part in made)

    def _fills_schedule(self, copy: Value) -> bool:
        """Whether the state goes into a schedule, or into what only steps, as one does: it holds numbers.

        An optimizer that is not known as one empties the gradients as well, or has its groups read.
        """
        receiver = copy.callee.inputs[0]
        atoms = self.solution.final(receiver)
        if any(isinstance(atom, Tool) and atom.kind in ("scheduler", "scaler") for atom in atoms):
            return True
        if any(isinstance(atom, Module | Instance | Tool) for atom in atoms):
            return False
        itself = self.facts.identity.roots(receiver)
        used = {name for root in itself for name in self._used_of.get(root, ())}
        return "step" in used and used <= OF_SCHEDULES

    @cached_property
    def _used_of(self) -> dict[Value, set[str]]:
        """The attributes that the program reads of each object."""
        table: dict[Value, set[str]] = defaultdict(set)
        for value in self.facts.graph.of(Op.ATTRIBUTE):
            for root in self.facts.identity.roots(value.inputs[0]):
                table[root].add(value.name)
        return table

    def _gives_to_model(self, call: Value, parts: Parts) -> bool:
        """Whether code that is not seen is given what was loaded, and a model to put it into."""
        if call.op is not Op.CALL or self.solution.functions_of(call) or call.callee.op is Op.CLASS:
            return False
        if call.callee.name.endswith("from_pretrained"):
            return False  # the model is made of what it is given
        name = external_name(self.facts, call) or ""
        if name.startswith(("torch.", "builtins.", "copy.", "collections.")):
            return False
        given = list(call.arguments)
        if call.callee.op is Op.ATTRIBUTE and not name:
            given.append(call.callee.inputs[0])
        given += [held for value in given for _, held in self.solution.held.get(value, ())]  # `{"model": net}`
        return any(may_be_module(self.solution, value) for value in given if value not in parts.whole)

    def _are_weights(self, parts: Parts, users: set[Value]) -> bool:
        """Whether what was loaded is a model, or has what ``torch.nn`` works on, or lies where states are kept."""
        if any(user.op is Op.CALL and _is_of_modules(external_name(self.facts, user) or "") for user in users):
            return True
        taken = (part for part in parts.whole if part.op is Op.SUBSCRIPT)
        return any(part.keys[0] in STATES for part in taken) or any(
            may_be_module(self.solution, one) for one in parts.whole
        )

    def _are_run(self, parts: Parts, users: set[Value]) -> bool:
        """Whether what was loaded is called itself, or leaves as a model that somebody else may call."""
        if any(part.op is Op.CALL and part.callee in parts.whole for part in [*users, *parts.whole]):
            return True
        is_written = any(user.op is Op.CALL and user.callee.name == "torch.save" for user in users)
        return not is_written and any(may_be_module(self.solution, one) for one in parts.whole)


def fills_optimizer(facts: Facts, copy: Value) -> bool:
    """Whether the state goes into an optimizer: that takes the loaded tensors themselves where they are on its device.

    https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.load_state_dict.html
    """
    if copy.callee.name != "load_state_dict":
        return False
    atoms = facts.solution.final(copy.callee.inputs[0])
    if any(isinstance(atom, Module) for atom in atoms):
        return False  # one attribute after the other: ``getattr(self, name).load_state_dict(state[name])``
    return any(map(is_optimizer, atoms))


def _is_of_modules(name: str) -> bool:
    """Whether a function of ``torch.nn`` works on modules or states, and not on tensors."""
    return name.startswith("torch.nn.") and not name.startswith(("torch.nn.functional.", "torch.nn.Parameter"))


def _bases(function: Function) -> tuple[str, ...]:
    """The names of the classes from which that of a method comes, itself included."""
    if function.owner is None:
        return ()
    return (*function.owner.all_bases(), *(cls.name for cls in function.owner.lineage()))


def _builds_module(function: Function) -> bool:
    return function.name == "__init__" and function.owner is not None and is_module_class(function.owner)
