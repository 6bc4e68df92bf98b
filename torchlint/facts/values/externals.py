"""What functions outside torch mean for a graph: built-ins, the standard library, NumPy, model collections."""

from __future__ import annotations

import re
from enum import Enum
from functools import cache


class Meaning(Enum):
    """What a call of an imported or built-in function yields."""

    PLAIN = "a number, string, array or nothing"
    FIRST = "its first argument, or one just like it"
    REDUCES = "a value computed, differentiably, from the items of its arguments"
    CALLS = "what a module, its first argument, computes with the parameters and from the tensors that follow"
    ITEM = "an item of its first argument"
    CHOOSES = "one of its arguments as it is, or an item of the only one"
    COLLECTS = "a new container of what its arguments hold"
    MODULE = "a module with parameters"
    TRANSFORM = "a module without parameters, which only computes"
    LOADER = "something that yields batches"
    OPTIMIZER = "an optimizer"
    SCHEDULE = "a schedule of learning rates"
    SOUND = "a pair: a tensor that is read from a file, and a number"
    FILM = "three things that are read from a file: pictures and sound as tensors, and what is said of them"
    PICTURE = "a tensor without a graph, whatever it is made of"
    MODEL_FIRST = "a tuple of a module and what prepares its inputs"
    APPLIES = "a container of what its first argument gives for each item"
    BINDS = "its first argument with the others given"
    MEMOIZES = "a decorator that keeps results: all of them where it is told so"
    SUPER = "the instance, as its parent class"
    UNKNOWN = "anything"


FROM_KEYS = frozenset(["builtins.dict.fromkeys", "collections.OrderedDict.fromkeys"])
"""Those that make a dictionary with the same item, the second argument, under each key of the first."""

COUNTER = "collections.Counter"
"""A dictionary that is made of numbers, whatever is counted."""

QUEUES = frozenset(
    ["queue.Queue", "queue.SimpleQueue", "queue.LifoQueue", "queue.PriorityQueue", "asyncio.Queue",
     "asyncio.LifoQueue", "asyncio.PriorityQueue"]
)  # fmt: skip
"""What one part of a program puts into and another one takes out of; none of ``multiprocessing``, which copies."""

COLLECTIONS = FROM_KEYS | QUEUES | {COUNTER} | frozenset(
    ["builtins.dict", "builtins.list", "builtins.tuple", "builtins.set", "builtins.sorted", "builtins.reversed",
     "builtins.zip", "builtins.enumerate", "builtins.iter", "collections.deque", "collections.defaultdict",
     "collections.OrderedDict", "collections.namedtuple", "builtins.filter", "itertools.chain", "itertools.islice",
     "random.sample", "random.choices", "heapq.nlargest", "heapq.nsmallest", "types.SimpleNamespace"]
)  # fmt: skip

_OF_PATHS = frozenset(["absolute"])
"""Methods of paths that are named as one of tensors is."""

OF_PYTHON = _OF_PATHS.union(*(dir(kind) for kind in (str, bytes, int, float, list, dict, set, tuple)))
"""Attributes and methods that Python's own objects have: of a tensor they tell nothing."""

CHOOSING = {"random.sample": 0, "random.choices": 0, "heapq.nlargest": 1, "heapq.nsmallest": 1}
"""Those that take a part of one argument, and at which position that stands; the others say how much of it."""

KEYWORD_ITEMS = frozenset(["builtins.dict", "collections.OrderedDict", "types.SimpleNamespace"])
"""Those whose keyword arguments are items."""

EXTREMES = frozenset(["builtins.max", "builtins.min"])
"""Those that give one of several values as it is, and compute nothing: https://docs.python.org/3/library/functions.html"""

MAPPING = frozenset(["torch.vmap", "torch.func.vmap", "functorch.vmap"])
"""Functions that give the one that they are given, for many rows at once.

https://docs.pytorch.org/docs/stable/generated/torch.vmap.html
"""

_SINGLE: dict[str, Meaning] = {
    **dict.fromkeys(COLLECTIONS, Meaning.COLLECTS),
    "builtins.sum": Meaning.REDUCES,
    **dict.fromkeys(EXTREMES, Meaning.CHOOSES),
    "torch.func.functional_call": Meaning.CALLS,
    "torch.nn.utils.stateless.functional_call": Meaning.CALLS,
    "builtins.abs": Meaning.REDUCES,
    "builtins.pow": Meaning.REDUCES,
    "builtins.round": Meaning.REDUCES,
    "functools.partial": Meaning.BINDS,
    "functools.lru_cache": Meaning.MEMOIZES,
    "functools.reduce": Meaning.UNKNOWN,
    "torch.utils._pytree.tree_map": Meaning.UNKNOWN,
    "torch.utils._pytree.tree_map_only": Meaning.UNKNOWN,
    "builtins.next": Meaning.ITEM,
    "random.choice": Meaning.ITEM,
    "builtins.super": Meaning.SUPER,
    "builtins.getattr": Meaning.UNKNOWN,
    "builtins.map": Meaning.APPLIES,
    "itertools.starmap": Meaning.APPLIES,
    "builtins.vars": Meaning.UNKNOWN,
    "builtins.eval": Meaning.UNKNOWN,
    "copy.copy": Meaning.FIRST,
    "copy.deepcopy": Meaning.FIRST,
    "torch.compile": Meaning.FIRST,
    **dict.fromkeys(MAPPING, Meaning.FIRST),
    "torch.jit.script": Meaning.FIRST,
    "torch.jit.trace": Meaning.FIRST,
    "torch.jit.freeze": Meaning.FIRST,
    "torch.jit.optimize_for_inference": Meaning.FIRST,
    "torch.export.export": Meaning.FIRST,
    "torch.jit.load": Meaning.MODULE,
    "torch.hub.load": Meaning.MODULE,
    "timm.create_model": Meaning.MODULE,
    "timm.models.create_model": Meaning.MODULE,
    "tqdm.tqdm": Meaning.FIRST,
    "tqdm.auto.tqdm": Meaning.FIRST,
    "tqdm.notebook.tqdm": Meaning.FIRST,
    "rich.progress.track": Meaning.FIRST,
    "peft.get_peft_model": Meaning.FIRST,
    "torchaudio.load": Meaning.SOUND,
    # https://docs.pytorch.org/vision/stable/io.html
    "torchvision.io.read_video": Meaning.FILM,
    **dict.fromkeys(
        ["torchvision.io.read_image", "torchvision.io.decode_image", "torchvision.io.decode_jpeg",
         "torchvision.io.decode_png", "torchvision.io.read_file"],
        Meaning.PICTURE,
    ),
    # https://github.com/mlfoundations/open_clip, https://github.com/openai/CLIP
    "clip.load": Meaning.MODEL_FIRST,
    "open_clip.create_model_and_transforms": Meaning.MODEL_FIRST,
    "open_clip.create_model_from_pretrained": Meaning.MODEL_FIRST,
    "open_clip.create_model": Meaning.MODULE,
    "einops.parse_shape": Meaning.PLAIN,
    **dict.fromkeys(
        ["einops.rearrange", "einops.reduce", "einops.repeat", "einops.einsum",
         # https://pytorch-scatter.readthedocs.io; scatter_max and scatter_min return pairs
         "torch_scatter.scatter", "torch_scatter.scatter_sum", "torch_scatter.scatter_add",
         "torch_scatter.scatter_mean", "torch_scatter.scatter_mul", "torch_scatter.scatter_softmax",
         "torch_scatter.scatter_log_softmax",
         "torch_scatter.scatter_logsumexp", "torch_scatter.scatter_std", "torch_scatter.segment_csr",
         # https://pytorch-geometric.readthedocs.io/en/latest/modules/utils.html
         "torch_geometric.utils.softmax", "torch_geometric.utils.scatter", "torch_geometric.utils.segment",
         "torch_geometric.utils.spmm", "torch_geometric.nn.global_add_pool", "torch_geometric.nn.global_mean_pool",
         "torch_geometric.nn.global_max_pool",
         # https://docs.pytorch.org/vision/stable/ops.html
         "torchvision.ops.sigmoid_focal_loss", "torchvision.ops.generalized_box_iou_loss",
         "torchvision.ops.complete_box_iou_loss", "torchvision.ops.distance_box_iou_loss",
         "torchvision.ops.generalized_box_iou", "torchvision.ops.box_iou", "torchvision.ops.roi_align",
         "xformers.ops.memory_efficient_attention", "flash_attn.flash_attn_func",
         "flash_attn.flash_attn_qkvpacked_func",
         "pytorch_msssim.ssim", "pytorch_msssim.ms_ssim"],
        Meaning.REDUCES,
    ),
}  # fmt: skip

TABULATED = frozenset(
    f"torchaudio.transforms.{name}"
    for name in ("Spectrogram", "InverseSpectrogram", "GriffinLim", "MelScale", "InverseMelScale", "MelSpectrogram",
                 "MFCC", "LFCC", "Resample", "TimeStretch", "PitchShift", "SpectralCentroid")
)  # fmt: skip
"""Transforms that compute tables when they are made: windows, banks of filters, kernels.

https://docs.pytorch.org/audio/stable/transforms.html
"""

_PREFIXES: tuple[tuple[str, Meaning], ...] = (
    ("torchvision.models.", Meaning.MODULE),
    ("torchvision.transforms.", Meaning.UNKNOWN),
    ("torchvision.utils.", Meaning.PICTURE),  # https://github.com/pytorch/vision/blob/v0.20.0/torchvision/utils.py
    ("torchaudio.functional.", Meaning.REDUCES),
    ("builtins.", Meaning.PLAIN),
    ("numpy.", Meaning.PLAIN),
    ("scipy.", Meaning.PLAIN),
    ("sklearn.", Meaning.PLAIN),
    ("pandas.", Meaning.PLAIN),
    ("math.", Meaning.PLAIN),
    ("statistics.", Meaning.PLAIN),
    ("time.", Meaning.PLAIN),
    ("random.", Meaning.PLAIN),
    ("os.", Meaning.PLAIN),
    ("sys.", Meaning.PLAIN),
    ("logging.", Meaning.PLAIN),
    ("json.", Meaning.PLAIN),
    ("datetime.", Meaning.PLAIN),
    ("argparse.", Meaning.PLAIN),
    ("matplotlib.", Meaning.PLAIN),
    ("wandb.", Meaning.PLAIN),
    ("torch.cuda.", Meaning.PLAIN),
    ("torch.distributed.", Meaning.PLAIN),
    ("torch.backends.", Meaning.PLAIN),
)

_CLASSES: tuple[tuple[str, Meaning], ...] = (
    ("segmentation_models_pytorch.losses.", Meaning.TRANSFORM),
    ("segmentation_models_pytorch.", Meaning.MODULE),
    ("monai.networks.nets.", Meaning.MODULE),
    ("monai.losses.", Meaning.TRANSFORM),
    ("lpips.", Meaning.MODULE),
    ("torchaudio.models.", Meaning.MODULE),
    ("torchaudio.transforms.", Meaning.TRANSFORM),
    ("kornia.losses.", Meaning.TRANSFORM),
    ("pytorch_msssim.", Meaning.TRANSFORM),
    ("monai.networks.", Meaning.MODULE),
    ("efficientnet_pytorch.", Meaning.MODULE),
    ("facenet_pytorch.", Meaning.MODULE),
    ("vit_pytorch.", Meaning.MODULE),
    ("x_transformers.", Meaning.MODULE),
    ("denoising_diffusion_pytorch.", Meaning.MODULE),
    ("sentence_transformers.SentenceTransformer", Meaning.MODULE),
    ("torch_geometric.loader.", Meaning.LOADER),
    ("einops.layers.torch.", Meaning.TRANSFORM),
    ("transformers.Ada", Meaning.OPTIMIZER),
    ("bitsandbytes.optim.", Meaning.OPTIMIZER),
    ("apex.optimizers.", Meaning.OPTIMIZER),
    ("deepspeed.ops.adam.", Meaning.OPTIMIZER),
    ("torch_optimizer.", Meaning.OPTIMIZER),
    ("timm.optim.", Meaning.OPTIMIZER),
)
"""What packages make by their classes; the functions beside them are no classes by their names."""

_MODEL_CLASS = re.compile(r"\.(?!DataCollator)[A-Z]\w*(Model|[a-z0-9]For[A-Z]\w*)$")
"""``GPT2LMHeadModel(config)``, ``BertForMaskedLM(config)``, ``UNet2DModel(sample_size=32)``.

https://huggingface.co/docs/transformers/main_classes/model, https://huggingface.co/docs/diffusers/api/models/overview
"""


_GRAPH_LAYER = re.compile(r"(torch_geometric\.nn|dgl\.nn|dgl\.nn\.pytorch)\.(\w+\.)*[A-Z]\w*Conv$")
"""``GCNConv(16, 7)``: what lies beside them may be a pool without weights, or a loader.

https://pytorch-geometric.readthedocs.io/en/latest/modules/nn.html, https://docs.dgl.ai/api/python/nn-pytorch.html
"""

_SCHEDULE = re.compile(r"(transformers|diffusers)\.(optimization\.)?get_(\w+_schedule(_with_\w+)?|scheduler)$")
"""``get_linear_schedule_with_warmup(optimizer, ...)``.

https://huggingface.co/docs/transformers/main_classes/optimizer_schedules
"""

_WEIGHTS = "_Weights"
"""How the enumerations of torchvision end that name weights, and have what prepares an image for them.

https://docs.pytorch.org/vision/stable/models.html
"""

_OTHER_BACKENDS = (".mxnet.", ".tensorflow.")


@cache
def meaning_of(name: str) -> Meaning:
    """What a call of the function with this full dotted name yields; UNKNOWN for all that is not listed."""
    known = _SINGLE.get(name)
    if known is not None:
        return known
    if name.startswith("transformers.") and name.endswith((".from_pretrained", ".from_config")):
        owner = name.split(".")[-2]
        return Meaning.MODULE if "Model" in owner or "For" in owner else Meaning.UNKNOWN
    if name.startswith(("transformers.", "diffusers.")) and _MODEL_CLASS.search(name):
        return Meaning.MODULE
    if _WEIGHTS in name:
        return Meaning.TRANSFORM if name.endswith(".transforms") else Meaning.UNKNOWN
    if _SCHEDULE.match(name):
        return Meaning.SCHEDULE
    if _GRAPH_LAYER.match(name) and not any(backend in name for backend in _OTHER_BACKENDS):
        return Meaning.MODULE
    for prefix, meaning in _PREFIXES:
        if name.startswith(prefix):
            return meaning
    is_class = name.rpartition(".")[2][:1].isupper()
    return next((meaning for prefix, meaning in _CLASSES if is_class and name.startswith(prefix)), Meaning.UNKNOWN)
