"""Networks among the components of a pipeline, which also has tokenizers, schedulers and processors.

https://huggingface.co/docs/diffusers/api/pipelines/overview: a pipeline keeps what it registers, models or not. Of its
components only models are both called and have an element type, and the models of a pipeline have the names by which
``from_pretrained`` finds them.
"""

from __future__ import annotations

from torchlint.facts.values.frameworks import is_of_framework
from torchlint.facts.values.graph import Op, Value, ValueGraph
from torchlint.facts.values.parameters import is_of_self
from torchlint.frameworks import Holds

NETWORKS = frozenset(
    ["unet", "vae", "vqvae", "transformer", "controlnet", "image_encoder", "text_encoder", "text_encoder_2",
     "text_encoder_3"]
)  # fmt: skip
"""Names of components that are models in all pipelines: https://github.com/huggingface/diffusers, their
``model_cpu_offload_seq``."""


def networks_of_pipelines(graph: ValueGraph) -> list[Value]:
    """The components, as attributes, that the methods of a pipeline call, and of which they read the ``dtype``.

    So are those that have the name of a model, whatever is done with them.
    """
    pipelines = {cls for cls in graph.classes if is_of_framework(cls, Holds.INFERS)}
    if not pipelines:
        return []  # the most
    typed = (value.inputs[0] for value in graph.of(Op.ATTRIBUTE) if value.name == "dtype")
    called = (call.callee for call in graph.of(Op.CALL))
    read = [component for component in typed if _owner(component) in pipelines]
    names = {(_owner(component), component.name) for component in called if _owner(component) in pipelines}
    named = (one for one in graph.of(Op.ATTRIBUTE) if one.name in NETWORKS and _owner(one) in pipelines)
    return [*(one for one in read if (_owner(one), one.name) in names), *named]


def _owner(component: Value) -> object:
    """The class in whose method an attribute of its object is read; None for all else."""
    component = component.unnarrowed()
    return component.function.owner if is_of_self(component, component.function) else None
