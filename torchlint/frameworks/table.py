"""The table: what frameworks promise, each row with the documentation that it comes from.

Where a framework's documentation does not say it, the source is the line of its code that does, at a release. A row is
true of the released framework; where it changed, ``framework`` names the versions. A program that is written for an
older version uses the names of that version, so that a row for old hooks is harmless in new programs.

``tests/contract_programs.py`` has a small program for each row in which it makes a difference.
"""

from __future__ import annotations

from torchlint.frameworks.row import Holds, Row

_LIGHTNING = "https://lightning.ai/docs/pytorch/stable/common/lightning_module.html"
_LIGHTNING_1 = "https://lightning.ai/docs/pytorch/1.9.0/common/lightning_module.html"
_LIGHTNING_CALLBACK = "https://lightning.ai/docs/pytorch/stable/extensions/callbacks.html"
_TRANSFORMERS_CALLBACK = "https://huggingface.co/docs/transformers/main_classes/callback"
_TRANSFORMERS_TRAINER = "https://huggingface.co/docs/transformers/main_classes/trainer"
_SKORCH_CALLBACK = "https://skorch.readthedocs.io/en/stable/user/callbacks.html"
_SKORCH_NET = "https://skorch.readthedocs.io/en/stable/net.html"
_COMPOSER = "https://docs.mosaicml.com/projects/composer/en/stable/composer_model.html"
_COMPOSER_CALLBACK = "https://docs.mosaicml.com/projects/composer/en/stable/trainer/callbacks.html"
_SB3_CALLBACK = "https://stable-baselines3.readthedocs.io/en/master/guide/callbacks.html"
_IGNITE_EVENTS = "https://docs.pytorch.org/ignite/concepts.html#events-and-handlers"
_IGNITE_TRAINER = "https://docs.pytorch.org/ignite/generated/ignite.engine.create_supervised_trainer.html"
_GRADIO = "https://www.gradio.app/docs/gradio"
_LITSERVE = "https://lightning.ai/docs/litserve/api-reference/litapi"
_FABRIC = "https://lightning.ai/docs/fabric/stable/api/fabric_methods.html"

MODULES = ("pytorch_lightning.LightningModule", "lightning.pytorch.LightningModule")
CALLBACKS = (
    "pytorch_lightning.Callback", "lightning.pytorch.Callback",
    "pytorch_lightning.callbacks.BasePredictionWriter", "lightning.pytorch.callbacks.BasePredictionWriter",
    "pytorch_lightning.callbacks.ModelCheckpoint", "lightning.pytorch.callbacks.ModelCheckpoint",
    "pytorch_lightning.callbacks.EarlyStopping", "lightning.pytorch.callbacks.EarlyStopping",
    "pytorch_lightning.callbacks.*ProgressBar", "lightning.pytorch.callbacks.*ProgressBar",
    "pytorch_lightning.callbacks.BaseFinetuning", "lightning.pytorch.callbacks.BaseFinetuning",
)  # fmt: skip
FABRICS = ("lightning.fabric.Fabric", "lightning_fabric.Fabric")
NETS = ("skorch.NeuralNet", "skorch.NeuralNet*")
SKORCH_CALLBACKS = ("skorch.callbacks.Callback",)
COMPOSER_MODELS = ("composer.ComposerModel", "composer.models.HuggingFaceModel", "composer.models.ComposerClassifier")
TRAINERS = ("transformers.Trainer", "transformers.*Trainer", "trl.*Trainer", "sentence_transformers.*Trainer")
DIFFUSERS_MODELS = (
    "diffusers.ModelMixin", "diffusers.UNet2D*Model", "diffusers.AutoencoderKL*", "diffusers.ControlNetModel",
    "diffusers.*Transformer2DModel",
)  # fmt: skip
TRANSFORMERS_ENCODERS = (
    "transformers.CLIPTextModel*", "transformers.CLIPVisionModel*", "transformers.T5EncoderModel",
)  # fmt: skip
TORCHMETRICS_LISTS = (
    "torchmetrics.CatMetric", "torchmetrics.SpearmanCorrCoef", "torchmetrics.KendallRankCorrCoef",
    "torchmetrics.CosineSimilarity", "torchmetrics.Retrieval*",
)  # fmt: skip
"""Metrics whose state is a list of all that they were given: ``update`` runs without gradients, and keeps the graph."""
CRITERIA = ("fairseq.criterions.FairseqCriterion", "fairseq.criterions.LegacyFairseqCriterion")
CATALYST = ("catalyst.dl.*Runner", "catalyst.core.*Runner", "catalyst.dl.Callback", "catalyst.core.Callback")
IGNITE_ENGINES = ("ignite.engine.Engine", "ignite.engine.create_supervised_trainer")
IGNITE_STEPS = ("ITERATION_*", "GET_BATCH_*")
IGNITE_METRICS = (
    "ignite.metrics.Metric", "ignite.metrics.EpochMetric", "ignite.contrib._BaseRegression",
    "ignite.contrib._BaseRegressionEpoch",
)  # fmt: skip
SERVERS = (
    "fastapi.*", "flask.*", "starlette.*", "sanic.*", "bottle.*", "aiohttp.*", "quart.*", "litestar.*", "robyn.*",
)  # fmt: skip
STARTING = ("fastapi.FastAPI", "fastapi.APIRouter", "starlette.applications.Starlette", "starlette.routing.Router")
PYTHON_SERVERS = ("lightning.app.components.PythonServer", "lightning_app.components.PythonServer")
GRADIO_COMPONENTS = ("gradio.*",)
GRADIO_EVENTS = ("click", "submit", "change", "input", "upload", "select", "release", "load")

LIGHTNING = (
    Row(
        "Lightning", MODULES, Holds.NO_GRAD, f"{_LIGHTNING}#validation-loop", distinctive=True,
        methods=(
            "validation_step", "test_step", "predict_step",
            "on_validation_start", "on_validation_end", "on_validation_epoch_start", "on_validation_epoch_end",
            "on_validation_batch_start", "on_validation_batch_end",
            "on_test_start", "on_test_end", "on_test_epoch_start", "on_test_epoch_end", "on_test_batch_start",
            "on_test_batch_end", "on_predict_start", "on_predict_end", "on_predict_epoch_start",
            "on_predict_epoch_end", "on_predict_batch_start", "on_predict_batch_end",
        ),
    ),
    Row(
        "Lightning < 2.0", MODULES, Holds.NO_GRAD, f"{_LIGHTNING_1}#validation-epoch-level-metrics", distinctive=True,
        methods=("validation_step_end", "test_step_end", "validation_epoch_end", "test_epoch_end"),
    ),
    Row("Lightning", MODULES, Holds.TRAINED, f"{_LIGHTNING}#training-step", ("training_step",), distinctive=True),
    Row(
        "Lightning 1.0 to 1.3 and 1.6 to 1.9 (1.4 and 1.5 detach and warn)", MODULES, Holds.RESULT_KEPT,
        f"{_LIGHTNING_1}#train-epoch-level-operations", ("training_step",), besides=("loss", "hiddens"),
        taken_by=("training_epoch_end", "on_train_epoch_end"), distinctive=True,
    ),
    Row(
        "Lightning", MODULES, Holds.ONCE, f"{_LIGHTNING}#hooks", distinctive=True,
        methods=("setup", "configure_optimizers", "configure_model", "on_fit_start", "on_train_start"),
    ),
    Row(
        "Lightning", MODULES, Holds.EACH_EPOCH, f"{_LIGHTNING}#hooks", distinctive=True,
        methods=(
            "on_train_epoch_start", "on_train_epoch_end", "on_validation_epoch_start", "on_validation_epoch_end",
            "on_validation_start", "on_validation_end",
        ),
    ),
    Row(
        "Lightning < 2.0", MODULES, Holds.EACH_EPOCH, f"{_LIGHTNING_1}#train-epoch-level-operations", distinctive=True,
        methods=("training_epoch_end", "validation_epoch_end"),
    ),
    Row(
        "Lightning", MODULES, Holds.EACH_STEP, f"{_LIGHTNING}#hooks", distinctive=True,
        methods=(
            "on_train_batch_start", "on_train_batch_end", "on_before_zero_grad", "on_before_backward",
            "on_after_backward", "on_before_optimizer_step", "optimizer_step", "optimizer_zero_grad",
        ),
    ),
    Row(
        "Lightning", MODULES, Holds.BACKWARD, f"{_LIGHTNING}#manual-backward", ("manual_backward",), (0, "loss"),
        distinctive=True,
    ),
    Row("Lightning", MODULES, Holds.DETACHES, f"{_LIGHTNING}#log", ("log", "log_dict"), unless="enable_graph"),
    Row("Lightning", MODULES, Holds.MODULE, _LIGHTNING, distinctive=True),
    Row("Lightning", MODULES, Holds.COUNTS, f"{_LIGHTNING}#global-step", ("global_step", "current_epoch")),
    Row(
        "Lightning", CALLBACKS, Holds.NO_GRAD, f"{_LIGHTNING_CALLBACK}#hooks",
        (
            "on_validation_start", "on_validation_end", "on_validation_epoch_start", "on_validation_epoch_end",
            "on_validation_batch_start", "on_validation_batch_end", "on_test_start", "on_test_end",
            "on_test_epoch_start", "on_test_epoch_end", "on_test_batch_start", "on_test_batch_end",
            "on_predict_start", "on_predict_end", "on_predict_epoch_start", "on_predict_epoch_end",
            "on_predict_batch_start", "on_predict_batch_end", "write_on_batch_end", "write_on_epoch_end",
        ),
    ),
    Row(
        "Lightning", CALLBACKS, Holds.GIVEN_OUTPUT,
        "https://lightning.ai/docs/pytorch/stable/api/lightning.pytorch.callbacks.Callback.html",
        ("on_predict_batch_end", "write_on_batch_end"), (2, "outputs"),
    ),
    Row(
        "Lightning", CALLBACKS, Holds.GIVEN_BATCH, f"{_LIGHTNING}#transfer-batch-to-device",
        ("on_predict_batch_end", "on_test_batch_end", "on_validation_batch_end"), (3, "batch"),
    ),
    Row(
        "Lightning", CALLBACKS, Holds.GIVEN_MODEL, f"{_LIGHTNING_CALLBACK}#hooks",
        (
            "on_train_epoch_start", "on_train_epoch_end", "on_validation_epoch_start", "on_validation_epoch_end",
            "on_validation_start", "on_validation_end", "on_train_batch_start", "on_train_batch_end",
        ), (1, "pl_module"),
    ),
    Row(
        "Lightning", CALLBACKS, Holds.ONCE, f"{_LIGHTNING_CALLBACK}#hooks", ("setup", "on_fit_start", "on_train_start"),
    ),
    Row(
        "Lightning", CALLBACKS, Holds.EACH_EPOCH, f"{_LIGHTNING_CALLBACK}#hooks",
        (
            "on_train_epoch_start", "on_train_epoch_end", "on_validation_epoch_start", "on_validation_epoch_end",
            "on_validation_start", "on_validation_end",
        ),
    ),
    Row(
        "Lightning", CALLBACKS, Holds.EACH_STEP, f"{_LIGHTNING_CALLBACK}#hooks",
        (
            "on_train_batch_start", "on_train_batch_end", "on_before_zero_grad", "on_before_backward",
            "on_after_backward", "on_before_optimizer_step",
        ),
    ),
    Row(
        "Lightning", ("pytorch_lightning.Trainer", "lightning.pytorch.Trainer"), Holds.TRAINS,
        "https://lightning.ai/docs/pytorch/stable/common/trainer.html#fit", ("fit",),
    ),
    Row(
        "Lightning", ("pytorch_lightning.Trainer", "lightning.pytorch.Trainer"), Holds.ANOMALY,
        "https://lightning.ai/docs/pytorch/stable/common/trainer.html", argument=(-1, "detect_anomaly"),
    ),
    Row("Fabric", FABRICS, Holds.BACKWARD, f"{_FABRIC}#backward", ("backward",), (0, "tensor")),
    Row("Fabric", FABRICS, Holds.RETURNS, f"{_FABRIC}#setup", ("setup", "setup_module", "setup_dataloaders")),
)  # fmt: skip
"""Lightning: the module, its callbacks, its trainer, and Fabric."""

HUGGING_FACE = (
    Row("transformers", TRAINERS, Holds.TRAINED, f"{_TRANSFORMERS_TRAINER}#transformers.Trainer.compute_loss",
        ("compute_loss",)),
    Row("transformers", TRAINERS, Holds.EACH_STEP, _TRANSFORMERS_TRAINER,
        ("compute_loss", "training_step", "prediction_step")),
    Row("transformers", TRAINERS, Holds.TRAINS, f"{_TRANSFORMERS_TRAINER}#transformers.Trainer.train", ("train",)),
    Row("transformers", ("transformers.TrainerCallback",), Holds.ONCE, _TRANSFORMERS_CALLBACK,
        ("on_init_end", "on_train_begin")),
    Row("transformers", ("transformers.TrainerCallback",), Holds.EACH_EPOCH, _TRANSFORMERS_CALLBACK,
        ("on_epoch_begin", "on_epoch_end", "on_evaluate", "on_log", "on_save")),
    Row("transformers", ("transformers.TrainerCallback",), Holds.EACH_STEP, _TRANSFORMERS_CALLBACK,
        ("on_step_begin", "on_step_end", "on_substep_end", "on_prediction_step")),
    Row("transformers", ("transformers.TrainerCallback",), Holds.GIVEN_MODEL, _TRANSFORMERS_CALLBACK,
        ("on_epoch_begin", "on_epoch_end", "on_evaluate", "on_log", "on_save", "on_step_begin", "on_step_end",
         "on_substep_end"), (-1, "model")),
    Row("transformers", ("transformers.TrainerState",), Holds.COUNTS, _TRANSFORMERS_CALLBACK,
        ("global_step", "epoch")),
    Row("transformers", ("transformers.PreTrainedModel",), Holds.MODULE,
        "https://huggingface.co/docs/transformers/main_classes/model", distinctive=True),
    Row("transformers", ("transformers.PreTrainedModel",), Holds.OF_MODULES,
        "https://huggingface.co/docs/transformers/main_classes/model",
        ("resize_token_embeddings", "get_input_embeddings", "tie_weights", "gradient_checkpointing_enable",
         "gradient_checkpointing_disable", "enable_input_require_grads")),
    Row("transformers", ("transformers.GenerationMixin",), Holds.GUARDED,
        "https://github.com/huggingface/transformers/blob/v4.44.0/src/transformers/generation/utils.py",
        ("generate",)),
    Row("diffusers", ("diffusers.*Pipeline*",), Holds.GUARDED,
        "https://github.com/huggingface/diffusers/blob/v0.30.0/src/diffusers/pipelines/stable_diffusion/pipeline_stable_diffusion.py",
        ("__call__",)),
    Row("diffusers", ("diffusers.DiffusionPipeline",), Holds.INFERS,
        "https://huggingface.co/docs/diffusers/api/pipelines/overview", ("__call__",), distinctive=True),
    Row("diffusers", ("diffusers.DiffusionPipeline",), Holds.REGISTERS,
        "https://github.com/huggingface/diffusers/blob/v0.30.0/src/diffusers/pipelines/pipeline_utils.py",
        ("register_modules",), distinctive=True),
    Row("diffusers", DIFFUSERS_MODELS, Holds.MODULE, "https://huggingface.co/docs/diffusers/api/models/overview",
        distinctive=True),
    Row("transformers", TRANSFORMERS_ENCODERS, Holds.MODULE, "https://huggingface.co/docs/transformers/model_doc/clip",
        distinctive=True),
    Row("accelerate", ("accelerate.Accelerator",), Holds.BACKWARD,
        "https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.backward",
        ("backward",), (0, "loss")),
    Row("accelerate", ("accelerate.Accelerator",), Holds.RETURNS,
        "https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.prepare",
        ("prepare",)),
)  # fmt: skip
"""transformers, diffusers and accelerate."""

TRAINING = (
    Row("DeepSpeed", ("deepspeed.initialize",), Holds.MAKES_ENGINE,
        "https://deepspeed.readthedocs.io/en/latest/initialize.html"),
    Row("DeepSpeed", ("deepspeed.DeepSpeedEngine",), Holds.BACKWARD,
        "https://deepspeed.readthedocs.io/en/latest/training.html#backward-propagation", ("backward",), (0, "loss")),
    Row("ignite", ("ignite.engine.Engine",), Holds.EACH_STEP,
        "https://docs.pytorch.org/ignite/generated/ignite.engine.engine.Engine.html",
        argument=(0, "process_function")),
    Row("ignite", ("ignite.engine.Engine",), Holds.HANDS_ON, "https://docs.pytorch.org/ignite/concepts.html#state",
        ("state.output",), (0, "process_function")),
    Row("ignite", ("ignite.engine.create_supervised_trainer",), Holds.HANDS_ON, _IGNITE_TRAINER, ("state.output",),
        (-1, "output_transform")),
    Row("ignite", ("ignite.engine.create_supervised_trainer",), Holds.GIVES_TRAINED, _IGNITE_TRAINER,
        argument=(-1, "output_transform"), trained=(2, 3)),
    Row("ignite", IGNITE_ENGINES, Holds.HANDS_ITSELF, _IGNITE_EVENTS, ("add_event_handler",), (1, "handler")),
    Row("ignite", IGNITE_ENGINES, Holds.HANDS_ITSELF, _IGNITE_EVENTS, ("on",), (-1, "")),
    Row("ignite", IGNITE_ENGINES, Holds.EACH_STEP, _IGNITE_EVENTS, ("add_event_handler",), (1, "handler"),
        events=IGNITE_STEPS),
    Row("ignite", IGNITE_ENGINES, Holds.EACH_STEP, _IGNITE_EVENTS, ("on",), (-1, ""), events=IGNITE_STEPS),
    Row("ignite", IGNITE_ENGINES, Holds.BEGINS, _IGNITE_EVENTS, ("add_event_handler",), (1, "handler"),
        events=("STARTED",)),
    Row("ignite", IGNITE_ENGINES, Holds.BEGINS, _IGNITE_EVENTS, ("on",), (-1, ""), events=("STARTED",)),
    Row("ignite", ("ignite.engine.State",), Holds.COUNTS, "https://docs.pytorch.org/ignite/concepts.html#state",
        ("iteration", "epoch")),
    Row("skorch", NETS, Holds.TRAINED, f"{_SKORCH_NET}#skorch.net.NeuralNet.get_loss", ("get_loss",)),
    Row("skorch", NETS, Holds.EACH_STEP, f"{_SKORCH_NET}#skorch.net.NeuralNet.train_step",
        ("train_step", "train_step_single", "validation_step", "evaluation_step", "on_batch_begin", "on_batch_end",
         "get_loss", "infer")),
    Row("skorch", NETS, Holds.EACH_EPOCH, f"{_SKORCH_NET}#skorch.net.NeuralNet.on_epoch_end",
        ("on_epoch_begin", "on_epoch_end", "run_single_epoch")),
    Row("skorch", NETS, Holds.ONCE, f"{_SKORCH_NET}#skorch.net.NeuralNet.on_train_begin",
        ("on_train_begin", "initialize_module", "initialize_criterion", "initialize_optimizer")),
    Row("skorch", SKORCH_CALLBACKS, Holds.EACH_STEP, _SKORCH_CALLBACK, ("on_batch_begin", "on_batch_end",
        "on_grad_computed")),
    Row("skorch", SKORCH_CALLBACKS, Holds.EACH_EPOCH, _SKORCH_CALLBACK, ("on_epoch_begin", "on_epoch_end")),
    Row("skorch", SKORCH_CALLBACKS, Holds.ONCE, _SKORCH_CALLBACK, ("initialize", "on_train_begin")),
    Row("skorch", SKORCH_CALLBACKS, Holds.COUNTS, "https://skorch.readthedocs.io/en/stable/user/history.html",
        ("epoch",)),
    Row("skorch", SKORCH_CALLBACKS, Holds.HAS_MODEL, _SKORCH_CALLBACK,
        ("on_batch_begin", "on_batch_end", "on_epoch_begin", "on_epoch_end"), (0, "module_")),
    Row("catalyst", CATALYST, Holds.EACH_STEP,
        "https://catalyst-team.github.io/catalyst/api/core.html", ("handle_batch", "on_batch_start",
        "on_batch_end")),
    Row("catalyst", CATALYST, Holds.EACH_EPOCH,
        "https://catalyst-team.github.io/catalyst/api/core.html",
        ("on_epoch_start", "on_epoch_end", "on_loader_start", "on_loader_end")),
    Row("composer", COMPOSER_MODELS, Holds.TRAINED, _COMPOSER, ("loss",)),
    Row("composer", COMPOSER_MODELS, Holds.NO_GRAD,
        "https://github.com/mosaicml/composer/blob/v0.32.1/composer/trainer/trainer.py#L3344",
        ("eval_forward", "update_metric")),
    Row("composer", COMPOSER_MODELS, Holds.MODULE, _COMPOSER),
    Row("composer", ("composer.Callback",), Holds.EACH_STEP, _COMPOSER_CALLBACK,
        ("batch_start", "before_train_batch", "before_forward", "after_forward", "before_loss", "after_loss",
         "before_backward", "after_backward", "after_train_batch", "batch_end")),
    Row("composer", ("composer.Callback",), Holds.EACH_EPOCH, _COMPOSER_CALLBACK,
        ("epoch_start", "epoch_end", "eval_start", "eval_end")),
    Row("composer", ("composer.Callback",), Holds.HAS_MODEL, _COMPOSER_CALLBACK,
        ("epoch_start", "epoch_end", "batch_start", "batch_end"), (0, "model")),
    Row("composer", ("composer.Callback",), Holds.ONCE, _COMPOSER_CALLBACK, ("init", "fit_start")),
    Row("composer", ("composer.Callback",), Holds.NO_GRAD,
        "https://github.com/mosaicml/composer/blob/v0.32.1/composer/trainer/trainer.py#L3344",
        ("eval_start", "eval_batch_start", "eval_before_forward", "eval_after_forward", "eval_batch_end", "eval_end")),
    Row("composer", ("composer.Trainer",), Holds.TRAINS,
        "https://docs.mosaicml.com/projects/composer/en/stable/api_reference/generated/composer.Trainer.html",
        ("fit",)),
    Row("mmengine", ("mmengine.model.BaseModel",), Holds.NO_GRAD,
        "https://mmengine.readthedocs.io/en/latest/api/generated/mmengine.runner.ValLoop.html",
        ("val_step", "test_step")),
    Row("timm", ("timm.utils.NativeScaler", "timm.utils.ApexScaler"), Holds.BACKWARD,
        "https://github.com/huggingface/pytorch-image-models/blob/v1.0.9/timm/utils/cuda.py#L52", ("__call__",),
        (0, "loss")),
    Row("fairseq", CRITERIA, Holds.TRAINED,
        "https://fairseq.readthedocs.io/en/latest/tasks.html#fairseq.tasks.FairseqTask.train_step", ("forward",),
        distinctive=True),
    Row("fairseq", CRITERIA, Holds.RESULT_KEPT,
        "https://fairseq.readthedocs.io/en/latest/criterions.html", ("forward",), besides=(0, 1), distinctive=True),
    Row("fairseq", ("fairseq.models.FairseqEncoder", "fairseq.models.FairseqDecoder",
        "fairseq.models.BaseFairseqModel"), Holds.MODULE,
        "https://fairseq.readthedocs.io/en/latest/models.html", distinctive=True),
    Row("torch", ("torch.nn.Module", "torch.jit.ScriptModule", "torch.fx.GraphModule"), Holds.MODULE,
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html", distinctive=True),
)  # fmt: skip
"""Other frameworks that run the loop, or the backward."""

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

SERVING = (
    Row("http.server", ("http.server.*RequestHandler",), Holds.EACH_STEP,
        "https://docs.python.org/3/library/http.server.html", ("do_GET", "do_POST")),
    Row("tornado", ("tornado.web.RequestHandler",), Holds.EACH_STEP, "https://www.tornadoweb.org/en/stable/web.html",
        ("get", "post", "put")),
    Row("Flask", ("flask.views.MethodView", "flask_restful.Resource", "flask_restx.Resource"), Holds.EACH_STEP,
        "https://flask.palletsprojects.com/en/stable/views/", ("get", "post", "put")),
    Row("TorchServe", ("ts.torch_handler.base_handler.BaseHandler",), Holds.EACH_STEP,
        "https://pytorch.org/serve/custom_service.html", ("handle", "preprocess", "inference", "postprocess")),
    Row("Lightning apps < 1.9.1", PYTHON_SERVERS, Holds.WAS_NO_GRAD,
        "https://github.com/Lightning-AI/pytorch-lightning/pull/16453", ("predict",)),
    Row("Lightning apps", PYTHON_SERVERS, Holds.EACH_STEP,
        "https://github.com/Lightning-AI/pytorch-lightning/blob/095905ff87fa605eea624fddd9b5ccb460c5c649/src/lightning/app/components/serve/python_server.py",
        ("predict",)),
    Row("Cog", ("cog.BasePredictor",), Holds.EACH_STEP, "https://cog.run/python/", ("predict",)),
    Row("socketserver", ("socketserver.*RequestHandler",), Holds.EACH_STEP,
        "https://docs.python.org/3/library/socketserver.html", ("handle",)),
    Row("LitServe", ("litserve.LitAPI",), Holds.EACH_STEP, _LITSERVE, ("decode_request", "predict", "encode_response")),
    Row("LitServe", ("litserve.LitAPI",), Holds.ONCE, _LITSERVE, ("setup",)),
    Row("KServe", ("kserve.Model",), Holds.EACH_STEP,
        "https://kserve.github.io/website/docs/model-serving/predictive-inference/frameworks/custom-predictor",
        ("preprocess", "predict", "postprocess")),
    Row("Ray Serve", ("ray.serve.deployment",), Holds.DECORATES,
        "https://docs.ray.io/en/latest/serve/key-concepts.html", ("__call__",)),
    Row("BentoML", ("bentoml.api",), Holds.DECORATES,
        "https://docs.bentoml.com/en/latest/build-with-bentoml/services.html"),
    Row("BentoML < 1.2", ("bentoml.Service",), Holds.ROUTES,
        "https://docs.bentoml.com/en/1.1/concepts/service.html", ("api",)),
    Row("Celery", ("celery.shared_task",), Holds.DECORATES,
        "https://docs.celeryq.dev/en/stable/django/first-steps-with-django.html"),
    Row("Celery", ("celery.Celery",), Holds.ROUTES,
        "https://docs.celeryq.dev/en/stable/userguide/application.html", ("task",)),
    Row("Chainlit", ("chainlit.on_message",), Holds.DECORATES,
        "https://docs.chainlit.io/api-reference/lifecycle-hooks/on-message"),
    Row("Slack", ("slack_bolt.App",), Holds.ROUTES, "https://docs.slack.dev/tools/bolt-python/",
        ("message", "event", "command", "action")),
    Row("discord.py", ("discord.ext.commands.Bot",), Holds.ROUTES,
        "https://discordpy.readthedocs.io/en/stable/ext/commands/commands.html", ("command",)),
    Row("telebot", ("telebot.TeleBot",), Holds.ROUTES, "https://pytba.readthedocs.io/en/latest/quick_start.html",
        ("message_handler",)),
    Row("python-telegram-bot", ("telegram.ext.MessageHandler", "telegram.ext.CommandHandler"), Holds.HANDLERS,
        "https://docs.python-telegram-bot.org/en/stable/telegram.ext.messagehandler.html", argument=(1, "callback")),
    Row("Flask-SocketIO", ("flask_socketio.SocketIO",), Holds.ROUTES,
        "https://flask-socketio.readthedocs.io/en/latest/getting_started.html", ("on",)),
    Row("websockets", ("websockets.serve", "websockets.asyncio.server.serve", "websockets.sync.server.serve"),
        Holds.HANDLERS, "https://websockets.readthedocs.io/en/stable/reference/asyncio/server.html",
        argument=(0, "handler")),
    Row("Dash", ("dash.Dash",), Holds.ROUTES, "https://dash.plotly.com/basic-callbacks", ("callback",)),
    Row("Flask", ("flask.Flask", "flask.Blueprint"), Holds.HANDLERS,
        "https://flask.palletsprojects.com/en/stable/api/", ("add_url_rule",), (2, "view_func")),
    Row("FastAPI", ("fastapi.FastAPI", "fastapi.APIRouter"), Holds.HANDLERS,
        "https://fastapi.tiangolo.com/reference/fastapi/", ("add_api_route",), (1, "endpoint")),
    Row("Starlette", ("starlette.routing.Route", "starlette.routing.WebSocketRoute"), Holds.HANDLERS,
        "https://www.starlette.io/routing/", argument=(1, "endpoint")),
    Row("aiohttp", ("aiohttp.web.get", "aiohttp.web.post", "aiohttp.web.put"), Holds.HANDLERS,
        "https://docs.aiohttp.org/en/stable/web_quickstart.html", argument=(1, "handler")),
    Row("web frameworks", SERVERS, Holds.ROUTES, "https://fastapi.tiangolo.com/tutorial/first-steps/",
        ("route", "get", "post", "put", "patch", "websocket")),
    Row("FastAPI", STARTING, Holds.STARTS, "https://fastapi.tiangolo.com/advanced/events/",
        ("on_event", "add_event_handler"), (0, "event_type")),
    Row("FastAPI", STARTING, Holds.STARTS, "https://fastapi.tiangolo.com/advanced/events/", argument=(-1, "lifespan")),
    Row("gradio", ("gradio.Interface", "gradio.ChatInterface"), Holds.HANDLERS, f"{_GRADIO}/interface",
        argument=(0, "fn")),
    Row("gradio", GRADIO_COMPONENTS, Holds.HANDLERS, f"{_GRADIO}/button#event-listeners", GRADIO_EVENTS, (0, "fn")),
    Row("gradio", GRADIO_COMPONENTS, Holds.ROUTES, f"{_GRADIO}/button#event-listeners", GRADIO_EVENTS),
)  # fmt: skip
"""Servers, which call a handler for each request."""

ROWS = (*LIGHTNING, *HUGGING_FACE, *TRAINING, *RECORDING, *SERVING)
