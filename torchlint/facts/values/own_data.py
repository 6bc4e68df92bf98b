"""What a function makes by itself of a text, a file or numbers: no tensor of its callers, whose graph may go on."""

from __future__ import annotations

from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.tensors import is_declared_plain

MAKING = frozenset(
    ["torch.tensor", "torch.as_tensor", "torch.from_numpy", "torch.Tensor", "torch.FloatTensor", "torch.LongTensor"]
)
"""What makes a tensor of numbers."""

READING = frozenset(
    ["torchaudio.load", "torch.load", "safetensors.torch.load_file", "torchvision.io.read_image",
     "torchvision.io.decode_image", "torchvision.io.read_video", "numpy.load", "PIL.Image.open", "cv2.imread",
     "imageio.imread", "imageio.v2.imread", "imageio.v3.imread", "skimage.io.imread", "tifffile.imread",
     "soundfile.read", "librosa.load", "scipy.io.wavfile.read", "scipy.io.loadmat", "nibabel.load"]
)  # fmt: skip
"""Functions that read all of a file, whose name they are given first."""

ASKING_FOR_TENSORS = "return_tensors"
"""The argument by which a tokenizer of Hugging Face is told to make tensors, which nothing else has."""

TOKENIZERS = frozenset(["clip.tokenize", "open_clip.tokenize"])


def is_own_data(given: Value) -> bool:
    """Whether nothing in a value comes from a parameter but through what makes data of it, or reads a file."""
    behind = reached([given], lambda value: () if _makes_data(value) else value.inputs)
    return all(one.op is not Op.PARAMETER or is_declared_plain(one) for one in behind)


def _makes_data(value: Value) -> bool:
    if value.op is not Op.CALL:
        return False
    return value.callee.name in MAKING | READING or is_tokenizer(value)


def is_tokenizer(call: Value) -> bool:
    """Whether a CALL makes tensors, or numbers, of texts."""
    return ASKING_FOR_TENSORS in call.keys or call.callee.name in TOKENIZERS
