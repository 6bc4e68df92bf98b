"""What metrics, meters and buffers promise of the tensors that they are given."""

from __future__ import annotations

from torchlint.frameworks.row import Holds, Row

_SB3_CALLBACK = "https://stable-baselines3.readthedocs.io/en/master/guide/callbacks.html"

TORCHMETRICS_LISTS = (
    "torchmetrics.CatMetric", "torchmetrics.SpearmanCorrCoef", "torchmetrics.KendallRankCorrCoef",
    "torchmetrics.CosineSimilarity", "torchmetrics.Retrieval*",
)  # fmt: skip
"""Metrics whose state is a list of all that they were given: ``update`` runs without gradients, and keeps the graph."""

IGNITE_METRICS = (
    "ignite.metrics.Metric", "ignite.metrics.EpochMetric", "ignite.contrib._BaseRegression",
    "ignite.contrib._BaseRegressionEpoch",
)  # fmt: skip

RECORDING = (
    Row("torchmetrics; Lightning < 1.3", ("torchmetrics.Metric", "pytorch_lightning.metrics.Metric"), Holds.NO_GRAD,
        "https://github.com/Lightning-AI/torchmetrics/blob/v1.0.0/src/torchmetrics/metric.py", ("update",)),
    Row("torchmetrics; Lightning < 1.3", ("torchmetrics.Metric", "pytorch_lightning.metrics.Metric"), Holds.EACH_STEP,
        "https://lightning.ai/docs/torchmetrics/stable/pages/implement.html", ("update",)),
    Row("torchmetrics", ("torchmetrics.[A-Z]*",), Holds.DETACHES,
        "https://github.com/Lightning-AI/torchmetrics/blob/v1.0.0/src/torchmetrics/metric.py",
        ("update", "add")),
    Row("torchmetrics", TORCHMETRICS_LISTS, Holds.KEEPS,
        "https://github.com/Lightning-AI/torchmetrics/blob/v1.9.0/src/torchmetrics/aggregation.py",
        ("update", "__call__"), (0, "preds")),
    Row("allennlp", ("allennlp.training.metrics.[A-Z]*",), Holds.DETACHES,
        "https://docs.allennlp.org/v1.2.0/api/training/metrics/metric/#detach_tensors", ("__call__",)),
    Row("torcheval", ("torcheval.metrics.[A-Z]*",), Holds.DETACHES,
        "https://github.com/pytorch/torcheval/blob/v0.0.7/torcheval/metrics/aggregation/mean.py", ("update",)),
    Row("ignite", IGNITE_METRICS, Holds.GIVEN_GRAPH,
        "https://docs.pytorch.org/ignite/metrics.html#how-to-create-a-custom-metric", ("update", "_update"),
        (0, "output")),
    Row("ignite", IGNITE_METRICS, Holds.EACH_STEP,
        "https://docs.pytorch.org/ignite/generated/ignite.metrics.metric.Metric.html",
        ("update", "_update", "iteration_completed")),
    Row("ignite >= 0.4", ("ignite.metrics.[A-Z]*",), Holds.DETACHES,
        "https://docs.pytorch.org/ignite/metrics.html", ("update",)),
    Row("timm", ("timm.utils.AverageMeter",), Holds.KEEPS,
        "https://github.com/huggingface/pytorch-image-models/blob/v1.0.9/timm/utils/metrics.py#L18", ("update",),
        (0, "val")),
    Row("fairseq", ("fairseq.logging.metrics.log_scalar", "fairseq.logging.metrics.log_scalar_sum",
        "fairseq.metrics.log_scalar"), Holds.KEEPS,
        "https://github.com/facebookresearch/fairseq/blob/v0.12.2/fairseq/logging/metrics.py#L111",
        argument=(1, "value")),
    Row("fairseq", ("fairseq.logging.meters.AverageMeter", "fairseq.logging.meters.SumMeter"), Holds.KEEPS,
        "https://github.com/facebookresearch/fairseq/blob/v0.12.2/fairseq/logging/meters.py#L77", ("update",),
        (0, "val")),
    Row("stable-baselines3", ("stable_baselines3.common.buffers.*Buffer",), Holds.DETACHES,
        "https://stable-baselines3.readthedocs.io/en/master/common/buffers.html", ("add", "extend")),
    Row("stable-baselines3", ("stable_baselines3.common.callbacks.BaseCallback",), Holds.EACH_STEP, _SB3_CALLBACK,
        ("_on_step",)),
    Row("stable-baselines3", ("stable_baselines3.common.callbacks.BaseCallback",), Holds.EACH_EPOCH, _SB3_CALLBACK,
        ("_on_rollout_start", "_on_rollout_end")),
    Row("stable-baselines3", ("stable_baselines3.common.callbacks.BaseCallback",), Holds.ONCE, _SB3_CALLBACK,
        ("_init_callback", "_on_training_start")),
    Row("stable-baselines3", ("stable_baselines3.common.callbacks.BaseCallback",), Holds.COUNTS, _SB3_CALLBACK,
        ("num_timesteps", "n_calls")),
    Row("tianshou < 2.0", ("tianshou.policy.BasePolicy",), Holds.EACH_STEP,
        "https://github.com/thu-ml/tianshou/blob/v0.4.11/docs/tutorials/concepts.rst",
        ("learn", "process_fn", "post_process_fn")),
    Row("tianshou < 2.0", ("tianshou.policy.BasePolicy",), Holds.MODULE,
        "https://github.com/thu-ml/tianshou/blob/v0.4.11/docs/tutorials/concepts.rst"),
)  # fmt: skip
"""Metrics, meters and buffers."""
