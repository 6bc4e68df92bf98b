"""What other frameworks promise that run the loop, or the backward."""

from __future__ import annotations

from torchlint.frameworks.row import Holds, Row

_SKORCH_CALLBACK = "https://skorch.readthedocs.io/en/stable/user/callbacks.html"
_SKORCH_NET = "https://skorch.readthedocs.io/en/stable/net.html"
_COMPOSER = "https://docs.mosaicml.com/projects/composer/en/stable/composer_model.html"
_COMPOSER_CALLBACK = "https://docs.mosaicml.com/projects/composer/en/stable/trainer/callbacks.html"
_OBSERVERS = "https://github.com/pytorch/pytorch/blob/v2.7.0/torch/ao/quantization/observer.py"
_LEARNERS = "https://github.com/learnables/learn2learn/blob/v0.2.0/learn2learn/algorithms"
_HOOK = "https://mmengine.readthedocs.io/en/latest/api/generated/mmengine.hooks.Hook.html"
_DETECTRON = "https://detectron2.readthedocs.io/en/latest/modules"
_MONAI = "https://docs.monai.io/en/stable/inferers.html"
_TORCH = "https://docs.pytorch.org/docs/stable"
_BRAIN = "https://speechbrain.readthedocs.io/en/latest/API/speechbrain.core.html"
_IGNITE_EVENTS = "https://docs.pytorch.org/ignite/concepts.html#events-and-handlers"
_IGNITE_TRAINER = "https://docs.pytorch.org/ignite/generated/ignite.engine.create_supervised_trainer.html"

NETS = ("skorch.NeuralNet", "skorch.NeuralNet*")
SKORCH_CALLBACKS = ("skorch.callbacks.Callback",)
COMPOSER_MODELS = ("composer.ComposerModel", "composer.models.HuggingFaceModel", "composer.models.ComposerClassifier")
CRITERIA = ("fairseq.criterions.FairseqCriterion", "fairseq.criterions.LegacyFairseqCriterion")
HOOKS = ("mmengine.hooks.Hook", "mmengine.hooks.*Hook")
DETECTRON_HOOKS = ("detectron2.engine.HookBase", "detectron2.engine.train_loop.HookBase")
DETECTRON_TRAINERS = (
    "detectron2.engine.TrainerBase", "detectron2.engine.SimpleTrainer", "detectron2.engine.AMPTrainer",
    "detectron2.engine.DefaultTrainer",
)  # fmt: skip
EVALUATORS = ("detectron2.evaluation.DatasetEvaluator", "detectron2.evaluation.*Evaluator")
BRAINS = ("speechbrain.core.Brain",)
CATALYST = ("catalyst.dl.*Runner", "catalyst.core.*Runner", "catalyst.dl.Callback", "catalyst.core.Callback")
OBSERVERS = (
    "torch.ao.quantization.observer.*ObserverBase", "torch.ao.quantization.observer.MinMaxObserver",
    "torch.ao.quantization.observer.MovingAverage*MinMaxObserver", "torch.ao.quantization.observer.HistogramObserver",
    "torch.ao.quantization.observer.PerChannelMinMaxObserver",
)  # fmt: skip
LEARNERS = ("learn2learn.algorithms.MAML", "learn2learn.algorithms.MetaSGD", "learn2learn.algorithms.GBML")
IGNITE_ENGINES = ("ignite.engine.Engine", "ignite.engine.create_supervised_trainer")
IGNITE_STEPS = ("ITERATION_*", "GET_BATCH_*")
IGNITE_EPOCHS = ("EPOCH_*",)

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
    Row("ignite", IGNITE_ENGINES, Holds.EACH_EPOCH, _IGNITE_EVENTS, ("add_event_handler",), (1, "handler"),
        events=IGNITE_EPOCHS),
    Row("ignite", IGNITE_ENGINES, Holds.EACH_EPOCH, _IGNITE_EVENTS, ("on",), (-1, ""), events=IGNITE_EPOCHS),
    Row("ignite", IGNITE_ENGINES, Holds.BEGINS, _IGNITE_EVENTS, ("add_event_handler",), (1, "handler"),
        events=("STARTED",)),
    Row("ignite", IGNITE_ENGINES, Holds.BEGINS, _IGNITE_EVENTS, ("on",), (-1, ""), events=("STARTED",)),
    Row("ignite", ("ignite.engine.State",), Holds.COUNTS, "https://docs.pytorch.org/ignite/concepts.html#state",
        ("iteration", "epoch")),
    Row("skorch", NETS, Holds.TRAINED, f"{_SKORCH_NET}#skorch.net.NeuralNet.get_loss", ("get_loss",)),
    Row("skorch", NETS, Holds.INFERS, f"{_SKORCH_NET}#skorch.net.NeuralNet.validation_step", ("validation_step",)),
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
    Row("pytorch-pfn-extras", ("pytorch_pfn_extras.training.Extension",), Holds.EACH_EPOCH,
        "https://pytorch-pfn-extras.readthedocs.io/en/latest/user_guide/extensions.html", ("__call__",)),
    Row("SimulEval", ("simuleval.agents.*Agent",), Holds.EACH_STEP,
        "https://github.com/facebookresearch/SimulEval/blob/v0.1.0/simuleval/agents/agent.py",
        ("policy", "predict", "update_states_read", "update_states_write")),
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
    *(Row("composer", ("composer.Callback",), Holds.HAS_TRAINED,
          "https://docs.mosaicml.com/projects/composer/en/stable/api_reference/generated/composer.State.html",
          ("after_loss", "before_backward", "after_backward", "after_train_batch", "batch_end"), (0, path))
      for path in ("loss", "outputs")),
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
    Row("mmengine", HOOKS, Holds.HAS_TRAINED,
        "https://github.com/open-mmlab/mmengine/blob/v0.10.5/mmengine/model/base_model/base_model.py#L114",
        ("after_train_iter",), (3, "")),
    Row("mmengine", HOOKS, Holds.EACH_STEP, f"{_HOOK}#mmengine.hooks.Hook.after_train_iter",
        ("before_train_iter", "after_train_iter", "before_val_iter", "after_val_iter", "before_test_iter",
         "after_test_iter")),
    Row("mmengine", HOOKS, Holds.EACH_EPOCH, f"{_HOOK}#mmengine.hooks.Hook.after_train_epoch",
        ("before_train_epoch", "after_train_epoch", "before_val_epoch", "after_val_epoch")),
    Row("mmengine", HOOKS, Holds.ONCE, f"{_HOOK}#mmengine.hooks.Hook.before_run", ("before_run", "before_train")),
    Row("mmengine", HOOKS, Holds.HAS_MODEL, _HOOK,
        ("before_train_iter", "after_train_iter", "before_train_epoch", "after_train_epoch"), (0, "model")),
    Row("mmengine", HOOKS, Holds.NO_GRAD,
        "https://mmengine.readthedocs.io/en/latest/api/generated/mmengine.runner.ValLoop.html",
        ("before_val_iter", "after_val_iter", "before_test_iter", "after_test_iter")),
    Row("detectron2", DETECTRON_HOOKS, Holds.EACH_STEP, f"{_DETECTRON}/engine.html#detectron2.engine.HookBase",
        ("before_step", "after_step", "after_backward")),
    Row("detectron2", DETECTRON_HOOKS, Holds.ONCE, f"{_DETECTRON}/engine.html#detectron2.engine.HookBase",
        ("before_train",)),
    Row("detectron2", DETECTRON_TRAINERS, Holds.EACH_STEP, f"{_DETECTRON}/engine.html#detectron2.engine.TrainerBase",
        ("run_step",)),
    Row("detectron2", EVALUATORS, Holds.NO_GRAD, f"{_DETECTRON}/evaluation.html#detectron2.evaluation."
        "inference_on_dataset", ("process",)),
    Row("detectron2", EVALUATORS, Holds.EACH_STEP, f"{_DETECTRON}/evaluation.html#detectron2.evaluation."
        "DatasetEvaluator", ("process",)),
    Row("learn2learn", LEARNERS, Holds.DIFFERENTIATES, f"{_LEARNERS}/maml.py", ("adapt",), (0, "loss")),
    Row("learn2learn", LEARNERS, Holds.MODULE, _LEARNERS),
    Row("speechbrain", BRAINS, Holds.TRAINED, f"{_BRAIN}#speechbrain.core.Brain.compute_objectives",
        ("compute_objectives",)),
    Row("speechbrain", BRAINS, Holds.NO_GRAD, f"{_BRAIN}#speechbrain.core.Brain.evaluate_batch", ("evaluate_batch",)),
    Row("speechbrain", BRAINS, Holds.EACH_STEP, f"{_BRAIN}#speechbrain.core.Brain.fit_batch",
        ("compute_forward", "fit_batch", "on_fit_batch_start", "on_fit_batch_end")),
    Row("speechbrain", BRAINS, Holds.EACH_EPOCH, f"{_BRAIN}#speechbrain.core.Brain.on_stage_start",
        ("on_stage_start", "on_stage_end")),
    Row("speechbrain", BRAINS, Holds.ONCE, f"{_BRAIN}#speechbrain.core.Brain.on_fit_start",
        ("on_fit_start", "on_evaluate_start", "init_optimizers")),
    Row("speechbrain", BRAINS, Holds.TRAINS, f"{_BRAIN}#speechbrain.core.Brain.fit", ("fit",)),
    Row("torch", ("torch.utils.checkpoint.checkpoint",), Holds.RUNS,
        f"{_TORCH}/checkpoint.html#torch.utils.checkpoint.checkpoint", argument=(0, "function")),
    Row("torch", ("torch.utils.checkpoint.checkpoint_sequential",), Holds.RUNS,
        f"{_TORCH}/checkpoint.html#torch.utils.checkpoint.checkpoint_sequential", argument=(0, "functions"),
        handed=((2, "input"),)),
    Row("torch", ("torch.nn.parallel.data_parallel",), Holds.RUNS,
        f"{_TORCH}/generated/torch.nn.functional.torch.nn.parallel.data_parallel.html", argument=(0, "module"),
        handed=((1, "inputs"),)),
    Row("deepspeed", ("deepspeed.checkpointing.checkpoint",), Holds.RUNS,
        "https://deepspeed.readthedocs.io/en/latest/activation-checkpointing.html#using-activation-checkpointing",
        argument=(0, "function")),
    Row("monai", ("monai.inferers.sliding_window_inference",), Holds.RUNS,
        f"{_MONAI}#sliding-window-inference-function", argument=(3, "predictor")),
    Row("monai", ("monai.inferers.*Inferer",), Holds.RUNS, f"{_MONAI}#module-monai.inferers", ("__call__",),
        (1, "network")),
    Row("torchdiffeq", ("torchdiffeq.odeint",), Holds.RUNS,
        "https://github.com/rtqichen/torchdiffeq#basic-usage", argument=(0, "func"), handed=((2, "t"), (1, "y0"))),
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
    Row("pyro", ("pyro.poutine.trace",), Holds.ANSWERS,
        "https://docs.pyro.ai/en/stable/poutine.html#pyro.poutine.trace_messenger.TraceHandler.get_trace",
        ("get_trace",)),
    Row("pyro", ("pyro.infer.*ELBO",), Holds.SCORES,
        "https://docs.pyro.ai/en/stable/inference_algos.html#pyro.infer.trace_elbo.Trace_ELBO.loss", ("loss",)),
    Row("torch", OBSERVERS, Holds.WATCHES, f"{_OBSERVERS}#L538", ("forward",)),
    Row("torch", ("torch.nn.Module", "torch.jit.ScriptModule", "torch.fx.GraphModule"), Holds.MODULE,
        "https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html", distinctive=True),
)  # fmt: skip
"""Other frameworks that run the loop, or the backward."""
