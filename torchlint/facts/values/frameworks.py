"""What frameworks do around the code that they call: which methods run without gradients, which results they train on.

Each row of the tables names the documentation that it comes from.
"""

from __future__ import annotations

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.domain import NO_GRAPH, PLAIN, Abstract, Module, Tool
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.tree import dotted

MODULE_BASES = frozenset(
    ["Module", "LightningModule", "PreTrainedModel", "GraphModule", "ScriptModule", "FairseqEncoder"]
)

WITHOUT_GRADIENTS: dict[str, frozenset[str]] = {
    # https://lightning.ai/docs/pytorch/stable/common/lightning_module.html#validation-loop
    "LightningModule": frozenset(
        ["validation_step", "test_step", "predict_step", "on_validation_epoch_end", "on_test_epoch_end",
         "validation_epoch_end", "test_epoch_end", "on_validation_batch_end", "on_validation_epoch_start",
         "on_predict_epoch_end", "validation_step_end", "test_step_end", "sanity_check"]
    ),
    "Callback": frozenset(
        ["on_validation_epoch_end", "on_validation_batch_end", "on_validation_end", "on_test_epoch_end",
         "on_test_batch_end", "on_predict_batch_end", "on_validation_epoch_start", "on_validation_start"]
    ),
    # https://lightning.ai/docs/torchmetrics/stable/pages/implement.html: `update` is wrapped in no_grad unless the
    # metric is differentiable and its result is asked for; `compute` runs on detached states.
    "Metric": frozenset(["update", "compute"]),
}  # fmt: skip

TRAINS_ON_RESULT: dict[str, frozenset[str]] = {
    # https://lightning.ai/docs/pytorch/stable/common/lightning_module.html#training-step
    "LightningModule": frozenset(["training_step"]),
}


AT_THE_START: dict[str, frozenset[str]] = {
    # https://lightning.ai/docs/pytorch/stable/common/lightning_module.html#hooks
    "LightningModule": frozenset(["setup", "configure_optimizers", "on_fit_start", "on_train_start"]),
    "Callback": frozenset(["setup", "on_fit_start", "on_train_start"]),
    # https://huggingface.co/docs/transformers/main_classes/callback
    "TrainerCallback": frozenset(["on_init_end", "on_train_begin"]),
}
"""Methods that a framework calls once, before a training."""

EACH_EPOCH: dict[str, frozenset[str]] = {
    # https://lightning.ai/docs/pytorch/stable/common/lightning_module.html#hooks
    "LightningModule": frozenset(
        ["on_train_epoch_start", "on_train_epoch_end", "on_validation_epoch_start", "on_validation_epoch_end",
         "validation_epoch_end", "training_epoch_end"]
    ),
    "Callback": frozenset(
        ["on_train_epoch_start", "on_train_epoch_end", "on_validation_epoch_start", "on_validation_epoch_end",
         "on_validation_end"]
    ),
    # https://huggingface.co/docs/transformers/main_classes/callback
    "TrainerCallback": frozenset(["on_epoch_begin", "on_epoch_end", "on_evaluate", "on_log", "on_save"]),
}  # fmt: skip
"""Methods that a framework calls again and again, but not in every step."""

RECEIVES_OUTPUTS = frozenset(["Metric", "_BaseRegression"])
"""Bases whose ``update`` is given the engine's output as it is; https://docs.pytorch.org/ignite/metrics.html says to
detach it there."""

KEEPS_OUTPUTS = frozenset(["training_epoch_end", "on_train_epoch_end"])
"""Methods for whose sake Lightning 1.x keeps what each ``training_step`` returned, if they take it as an argument;
https://lightning.ai/docs/pytorch/1.9.0/common/lightning_module.html#train-epoch-level-operations"""

CRITERION = "FairseqCriterion"
"""https://fairseq.readthedocs.io/en/latest/criterions.html: returns the loss, the sample size and logging outputs."""

PER_STEP: dict[str, frozenset[str]] = {
    # https://lightning.ai/docs/pytorch/stable/common/lightning_module.html#hooks
    "LightningModule": frozenset(
        ["on_train_batch_start", "on_train_batch_end", "on_before_zero_grad", "on_before_backward",
         "on_after_backward", "on_before_optimizer_step", "optimizer_step", "optimizer_zero_grad"]
    ),
    # https://lightning.ai/docs/pytorch/stable/extensions/callbacks.html#hooks
    "Callback": frozenset(
        ["on_train_batch_start", "on_train_batch_end", "on_before_zero_grad", "on_before_backward",
         "on_after_backward", "on_before_optimizer_step"]
    ),
    # https://huggingface.co/docs/transformers/main_classes/callback
    "TrainerCallback": frozenset(["on_step_begin", "on_step_end", "on_substep_end", "on_prediction_step"]),
    # https://huggingface.co/docs/transformers/main_classes/trainer
    "Trainer": frozenset(["compute_loss", "training_step", "prediction_step"]),
    "Seq2SeqTrainer": frozenset(["compute_loss", "training_step", "prediction_step"]),
    # https://docs.python.org/3/library/http.server.html
    "BaseHTTPRequestHandler": frozenset(["do_GET", "do_POST"]),
    # https://www.tornadoweb.org/en/stable/web.html, https://flask.palletsprojects.com/en/stable/views/
    "RequestHandler": frozenset(["get", "post", "put"]),
    "MethodView": frozenset(["get", "post", "put"]),
    "Resource": frozenset(["get", "post", "put"]),
    # https://pytorch.org/serve/custom_service.html
    "BaseHandler": frozenset(["handle", "preprocess", "inference", "postprocess"]),
    # https://cog.run/python/
    "BasePredictor": frozenset(["predict"]),
}  # fmt: skip
"""Methods that a framework calls once for each step or request, by the name of a base class."""

WEB = ("fastapi.", "flask.", "starlette.", "sanic.", "bottle.", "aiohttp.", "quart.", "litestar.", "robyn.")
"""Packages whose objects decorate request handlers: ``@app.post("/predict")``."""

ROUTES = frozenset(["route", "get", "post", "put", "patch", "websocket"])


def is_module_class(cls: Class) -> bool:
    """Whether instances of a class of the file are modules: by a base of torch or, unknown bases, by a ``forward``."""
    bases = cls.all_bases()
    for base in bases:
        known = torch_api.torch_class(base)
        if known is not None:
            return known.kind in ("module", "loss")
        if base.rpartition(".")[2] in MODULE_BASES:
            return True
        if base.startswith("torch.autograd"):
            return False
    return bool(bases) and cls.method("forward") is not None and bases != ("object",)


def _listed(function: Function, table: dict[str, frozenset[str]]) -> bool:
    if function.owner is None:
        return False
    names = {base.rpartition(".")[2] for base in function.owner.all_bases() if not base.startswith("ignite.")}
    return any(function.name in methods for base, methods in table.items() if base in names)


def receives_outputs(function: Function) -> bool:
    """Whether ignite gives this method what a step returned, with its graph if it has one."""
    if function.owner is None or function.name not in ("update", "_update") or len(function.parameters) < 2:
        return False
    bases = function.owner.all_bases()
    return any(b.startswith("ignite.") and b.rpartition(".")[2] in RECEIVES_OUTPUTS for b in bases)


def keeps_outputs(function: Function) -> bool:
    """Whether Lightning keeps what this method returns until the epoch ends, since another method asks for it."""
    owner = function.owner
    if owner is None or not trains_on_result(function):
        return False
    takers = (owner.method(name) for name in KEEPS_OUTPUTS)
    return any(taker is not None and len(taker.parameters) > 1 for taker in takers)


def returns_logs(function: Function) -> bool:
    """Whether fairseq keeps the third part of what this method returns, and trains on the first."""
    owner = function.owner
    return owner is not None and function.name == "forward" and any(b.endswith(CRITERION) for b in owner.all_bases())


def runs_without_gradients(function: Function) -> bool:
    """Whether a framework switches gradients off around this method."""
    return _listed(function, WITHOUT_GRADIENTS)


def is_start(function: Function) -> bool:
    """Whether a framework calls this method once, before a training."""
    return _listed(function, AT_THE_START)


def is_called_each_epoch(function: Function) -> bool:
    """Whether a framework calls this method once for each epoch."""
    return _listed(function, EACH_EPOCH)


def trains_on_result(function: Function) -> bool:
    """Whether a framework runs backward on what this method returns."""
    return _listed(function, TRAINS_ON_RESULT)


def annotated(annotation: cst.CSTNode) -> Abstract | None:
    """What a parameter's annotation says it is, None when it says nothing of use."""
    name = dotted(annotation)
    last = (name or "").rpartition(".")[2]
    if last == "Module":
        return frozenset([Module()])
    if last == "DataLoader":
        return frozenset([Tool("loader")])
    if last == "Optimizer":
        return frozenset([Tool("optimizer")])
    if last in ("LongTensor", "BoolTensor", "IntTensor"):
        return NO_GRAPH
    if name in ("int", "float", "str", "bool"):
        return PLAIN
    return None


def is_framework_training(call: Value) -> bool:
    """``Trainer(...).fit(model)`` of a trainer that is imported: a framework's object that runs the loop."""
    if call.callee.op is not Op.ATTRIBUTE or call.callee.name not in ("fit", "train"):
        return False
    trainer = call.callee.inputs[0]
    return trainer.op is Op.CALL and trainer.callee.op is Op.EXTERNAL and trainer.callee.name.endswith("Trainer")
