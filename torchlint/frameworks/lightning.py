"""What Lightning promises: of its modules, their callbacks, its trainer, and Fabric."""

from __future__ import annotations

from torchlint.frameworks.row import Holds, Row

_LIGHTNING = "https://lightning.ai/docs/pytorch/stable/common/lightning_module.html"
_LIGHTNING_1 = "https://lightning.ai/docs/pytorch/1.9.0/common/lightning_module.html"
_LIGHTNING_CALLBACK = "https://lightning.ai/docs/pytorch/stable/extensions/callbacks.html"
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
