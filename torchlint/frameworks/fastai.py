"""What fastai promises: of its callbacks, and of its learner."""

from __future__ import annotations

from torchlint.frameworks.row import Holds, Row

_CALLBACK = "https://docs.fast.ai/callback.core.html"
_LEARNER = "https://docs.fast.ai/learner.html"

CALLBACKS = ("fastai.callback.core.Callback", "fastai.callback.core.TrainEvalCallback")
LEARNERS = ("fastai.learner.Learner", "fastai.vision.learner.vision_learner", "fastai.tabular.learner.tabular_learner")
AFTER_LOSS = (
    "after_loss", "before_backward", "after_backward", "before_step", "after_step", "after_cancel_step",
    "after_cancel_backward", "after_cancel_batch", "after_batch",
)  # fmt: skip

FASTAI = (
    Row("fastai", CALLBACKS, Holds.EACH_STEP, f"{_CALLBACK}#events", ("before_batch", "after_pred", *AFTER_LOSS)),
    Row("fastai", CALLBACKS, Holds.EACH_EPOCH, f"{_CALLBACK}#events",
        ("before_epoch", "before_train", "after_train", "before_validate", "after_validate", "after_epoch")),
    Row("fastai", CALLBACKS, Holds.ONCE, f"{_CALLBACK}#events", ("before_fit",)),
    *(Row("fastai", CALLBACKS, Holds.HAS_TRAINED, f"{_LEARNER}#learner.one_batch", AFTER_LOSS, (-1, path))
      for path in ("loss", "learn.loss", "pred", "learn.pred")),
    Row("fastai", LEARNERS, Holds.TRAINS, f"{_LEARNER}#learner.fit",
        ("fit", "fit_one_cycle", "fit_flat_cos", "fine_tune")),
)  # fmt: skip
"""fastai: the callbacks, which see the loss and the prediction of a step as attributes, and the learner."""
