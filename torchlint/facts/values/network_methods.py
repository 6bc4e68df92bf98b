"""Methods of networks in code that is not seen: ``model.generate(x)``, ``self.critic.value(state)``."""

from __future__ import annotations

from torchlint import torch_api
from torchlint.facts.values.frameworks import may_be_module
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.solve import Solution


def is_method_of_module(solution: Solution, call: Value) -> bool:
    """Whether a CALL runs a method of a module that is not one of every module: ``model.generate(x)``."""
    if call.op is not Op.CALL or call.callee.op is not Op.ATTRIBUTE:
        return False
    if call.callee.name in torch_api.module_methods() or solution.functions_of(call):
        return False
    if stored_at(solution, call.callee):
        return False  # what is kept there is called, ``self.encoder(x)``
    return may_be_module(solution, call.callee.inputs[0])
