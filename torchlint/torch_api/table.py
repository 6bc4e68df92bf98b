"""What torch's stubs and ``derivatives.yaml`` do not tell, by hand, each group with its reason.

``scripts/generate_torch_api.py`` lays this table over what it reads from torch and writes both to
``data.json``; ``tests/test_torch_api.py`` calls every entry on real torch. Keys are those of ``data.json``,
see ``reader.py``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """Names of one namespace that all return the same, and why it must be said by hand.

    ``home`` is a namespace (``"torch"``, ``"torch.nn.functional"``, ``"torch.Tensor"`` for methods,
    ``"attributes"``); ``names`` are separated by blanks; ``key`` is the key under which ``data.json`` files
    them.
    """

    home: str
    names: str
    key: str
    reason: str


TABLE: tuple[Entry, ...] = (
    # --- methods of Tensor ---
    Entry(
        "torch.Tensor",
        "detach_",
        "tensor detaches_self",
        "the one in-place method that ends its receiver's history",
    ),
    Entry("torch.Tensor", "share_memory_", "tensor self", "a Python method without annotation"),
    Entry(
        "torch.Tensor",
        "new_tensor",
        "tensor ends",
        "copies the values; the others named new_* make fresh ones",
    ),
    Entry("torch.Tensor", "backward __setitem__", "nothing ends", "no annotation that tells"),
    Entry("torch.Tensor", "is_shared __len__", "number ends", "Python methods without annotation"),
    Entry("torch.Tensor", "__array__", "array ends", "numpy's protocol; refuses a tensor that requires grad"),
    Entry(
        "torch.Tensor",
        "register_hook register_post_accumulate_grad_hook storage dim_order __dlpack__",
        "other ends",
        "Python methods without annotation: a handle, a storage, a tuple of ints, a capsule",
    ),
    Entry("torch.Tensor", "__iter__", "tensors keeps", "unbinds; no annotation"),
    Entry(
        "torch.Tensor",
        "__deepcopy__ as_subclass",
        "tensor keeps",
        "cannot be called with the generic arguments",
    ),
    Entry(
        "torch.Tensor",
        "cuda cpu xpu ipu mtia to type type_as pin_memory",
        "tensor keeps",
        "copies to a device or dtype are differentiable; a cast to an integer dtype by argument is the caller's to see",
    ),
    Entry(
        "torch.Tensor",
        "broadcast_to coalesce cross istft stft lu_solve orgqr prelu reshape smm sspaddmm take_along_dim unflatten",
        "tensor keeps",
        "composed of differentiable operations, but refuses the generic arguments",
    ),
    Entry("torch.Tensor", "values", "tensor keeps", "of a sparse tensor; needs one"),
    Entry("torch.Tensor", "lu", "tuple =keeps =ends", "Python method; a third element with get_infos=True"),
    Entry(
        "torch.Tensor",
        "unique unique_consecutive",
        "tensor keeps output=keeps inverse_indices=ends counts=ends",
        "Python methods; the tuple comes with return_inverse or return_counts",
    ),
    Entry(
        "torch.Tensor",
        "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm "
        "__rand__ __ror__ __rxor__ __rlshift__ __rrshift__ __invert__ bitwise_not bincount int_repr "
        "nonzero_static",
        "tensor ends",
        "defined for integers and booleans only, or returns integers",
    ),
    Entry(
        "torch.Tensor",
        "dequantize",
        "tensor unknown",
        "a quantized tensor has no graph, and so what is made of it; any other one comes back with its own",
    ),
    # --- attributes of Tensor ---
    Entry("attributes", "data", "tensor ends", "an alias outside the graph"),
    Entry("attributes", "grad", "tensor ends", "has no graph unless backward ran with create_graph=True"),
    Entry("attributes", "T mT H mH real imag", "tensor keeps", "views; the stubs do not say so of attributes"),
    Entry("attributes", "name is_xla", "other ends", "not in the stubs"),
    # --- torch ---
    Entry(
        "torch",
        "atleast_1d atleast_2d atleast_3d",
        "tensor keeps",
        "one tensor for one argument; several arguments give a tuple that keeps as well",
    ),
    Entry(
        "torch",
        "unique unique_consecutive",
        "tensor keeps output=keeps inverse_indices=ends counts=ends",
        "the tuple comes with return_inverse or return_counts",
    ),
    Entry("torch", "lu", "tuple =keeps =ends", "Python function; a third element with get_infos=True"),
    Entry("torch", "gradient meshgrid", "tensors keeps", "the number of results follows the arguments"),
    Entry(
        "torch",
        "alpha_dropout batch_norm bilinear broadcast_to cartesian_prod combinations conv1d conv2d conv3d "
        "conv_transpose1d "
        "conv_transpose2d conv_transpose3d cosine_embedding_loss cross ctc_loss dropout "
        "feature_alpha_dropout "
        "feature_dropout grid_sampler gru_cell instance_norm istft layer_norm lu_solve max_pool3d "
        "native_channel_shuffle orgqr poisson_nll_loss prelu reshape rms_norm rnn_relu_cell rnn_tanh_cell "
        "smm "
        "sspaddmm stft take_along_dim unflatten fake_quantize_per_tensor_affine "
        "fake_quantize_per_channel_affine",
        "tensor keeps",
        "composed of differentiable operations, but refuses the generic arguments",
    ),
    Entry(
        "torch",
        "asarray as_tensor",
        "tensor keeps",
        "returns a tensor that it is given as it is, graph included",
    ),
    Entry("torch", "tensor", "tensor ends", "copies the values"),
    Entry(
        "torch",
        "linspace logspace",
        "tensor fresh",
        "reads the bounds as numbers, also where they are tensors",
    ),
    Entry(
        "torch",
        "Tensor FloatTensor",
        "tensor keeps",
        "the old constructors return an alias with the graph when they are given a tensor",
    ),
    Entry(
        "torch",
        "DoubleTensor HalfTensor BFloat16Tensor",
        "tensor fresh",
        "old constructors; take their own dtype only",
    ),
    Entry(
        "torch",
        "LongTensor IntTensor ShortTensor CharTensor ByteTensor BoolTensor",
        "tensor ends",
        "integer dtypes",
    ),
    Entry("torch", "sparse_csr_tensor sparse_csc_tensor", "tensor keeps", "differentiable in the values"),
    Entry("torch", "lstm", "tuple =keeps =keeps =keeps", "output, hidden state, cell state"),
    Entry("torch", "gru rnn_tanh rnn_relu lstm_cell", "tuple =keeps =keeps", "the hidden state has history too"),
    Entry("torch", "embedding_bag", "tuple =keeps =ends =ends =ends", "bags, then offsets, sizes and indices"),
    Entry(
        "torch",
        "bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift gcd lcm "
        "bincount int_repr "
        "nonzero_static from_dlpack from_numpy frombuffer get_rng_state",
        "tensor ends",
        "integers, booleans or memory that is not torch's",
    ),
    Entry(
        "torch",
        "is_tensor is_storage is_autocast_enabled is_anomaly_enabled sym_int sym_float sym_max sym_min sym_not",
        "number ends",
        "no annotation that tells",
    ),
    Entry("torch", "unravel_index", "tensors ends", "a tuple of integer tensors, one for each dimension"),
    Entry("torch", "view_copy", "tensor keeps", "the overload with a dtype, which ends, stands before it"),
    Entry(
        "torch",
        "split_copy split_with_sizes_copy unbind_copy",
        "tensors keeps",
        "the stubs show the out= form only",
    ),
    Entry("torch", "get_autocast_dtype broadcast_shapes", "other ends", "no annotation; a dtype, a Size"),
    Entry("torch", "set_printoptions", "nothing ends", "no annotation"),
    Entry("torch", "load cond", "other unknown", "whatever the file or the function gives"),
    Entry("torch", "compile", "module unknown", "returns what it was given, compiled: a module or a function"),
    # --- torch.nn.functional ---
    Entry(
        "torch.nn.functional",
        "affine_grid batch_norm bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
        "conv_transpose3d "
        "cosine_embedding_loss ctc_loss embedding_bag fold grid_sample layer_norm lp_pool1d lp_pool2d "
        "lp_pool3d "
        "max_unpool1d multilabel_margin_loss native_channel_shuffle nll_loss prelu rms_norm",
        "tensor keeps",
        "composed of differentiable operations, but refuses the generic arguments",
    ),
    Entry("torch.nn.functional", "one_hot", "tensor ends", "takes and returns integers"),
    Entry(
        "torch.nn.functional",
        "max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d "
        "fractional_max_pool2d fractional_max_pool3d",
        "tensor keeps output=keeps indices=ends",
        "the tuple comes with return_indices=True",
    ),
    Entry(
        "torch.nn.functional",
        "fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices",
        "tuple output=keeps indices=ends",
        "the branch that the functions above choose",
    ),
    Entry(
        "torch.nn.functional",
        "multi_head_attention_forward",
        "tuple =keeps =keeps",
        "output and weights; None in place of the weights with need_weights=False",
    ),
    # --- further namespaces ---
    Entry(
        "torch.linalg",
        "tensorsolve ldl_solve",
        "tensor keeps",
        "differentiable, but refuses the generic arguments",
    ),
    Entry("torch.special", "polygamma", "tensor keeps", "its first argument is a number"),
    Entry(
        "torch.sparse",
        "softmax log_softmax sum spdiags",
        "tensor keeps",
        "needs a sparse tensor or its shape",
    ),
    Entry(
        "torch.signal.windows",
        "bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming hann kaiser nuttall",
        "tensor fresh",
        "made from numbers",
    ),
    Entry(
        "torch.autograd",
        "Variable",
        "tensor ends",
        "returns a detached alias; a leaf with requires_grad=True",
    ),
    Entry("torch.autograd", "grad", "tensors ends", "gradients have no graph unless create_graph=True"),
    Entry("torch.autograd", "gradcheck gradgradcheck", "number ends", "True, or an error"),
    Entry(
        "torch.autograd.functional",
        "jacobian hessian",
        "tensor ends",
        "no graph unless create_graph=True; nested tuples where the function takes or gives several tensors",
    ),
    Entry(
        "torch.autograd.functional",
        "vjp jvp hvp vhp",
        "tuple =ends =ends",
        "no graph unless create_graph=True",
    ),
    Entry(
        "torch.nn.init",
        "constant dirac eye kaiming_normal kaiming_uniform normal orthogonal sparse uniform xavier_normal "
        "xavier_uniform",
        "tensor self",
        "the deprecated names of the functions that end in an underscore, made at run time",
    ),
    Entry(
        "torch.nn.utils",
        "clip_grad_norm_ clip_grad_norm",
        "tensor ends",
        "returns the norm, taken of gradients",
    ),
    Entry(
        "torch.nn.utils",
        "weight_norm spectral_norm remove_weight_norm remove_spectral_norm fuse_conv_bn_eval "
        "fuse_linear_bn_eval "
        "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
        "module ends",
        "return the module that they are given, or one made of it",
    ),
    Entry("torch.nn.utils.parametrizations", "weight_norm spectral_norm orthogonal", "module ends", "as above"),
    Entry("torch.nn.utils.rnn", "pad_packed_sequence", "tuple =keeps =ends", "padded batch and lengths"),
    Entry(
        "torch.nn.utils.rnn",
        "pack_padded_sequence pack_sequence",
        "other keeps",
        "a PackedSequence holds its data",
    ),
    Entry(
        "torch.nn.utils.rnn",
        "unpack_sequence unpad_sequence",
        "tensors keeps",
        "annotated as List, by quotation",
    ),
    Entry(
        "torch.utils.checkpoint",
        "checkpoint checkpoint_sequential",
        "other unknown",
        "return what the function or the modules that are passed in return",
    ),
    Entry(
        "torch.jit",
        "script trace freeze",
        "module unknown",
        "a module for a module, a function for a function",
    ),
)

INTEGER_FIELDS = frozenset(
    {"indices", "inverse_indices", "counts", "info", "infos", "pivots", "LU_pivots", "exponent", "rank"}
)
"""Outputs of integer dtype by their field names: autograd skips them at run time, so the formulas do not
mark them.
"""

WRAPPERS = frozenset(
    {
        "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Container",
        "DataParallel", "DistributedDataParallel", "DistributedDataParallelCPU",
        "FullyShardedDataParallel", "AveragedModel",
    }
)  # fmt: skip
"""Modules that own nothing but what they are given."""

CLASS_ARGUMENTS: dict[str, str] = {
    "AdaptiveLogSoftmaxWithLoss": "(4, 8, [2, 4])",
    "FractionalMaxPool2d": "(2, 2)",
    "FractionalMaxPool3d": "(2, 2)",
    "GRU": "(4, 4)",
    "LSTM": "(4, 4)",
    "RNN": "(4, 4)",
    "RNNBase": "('LSTM', 4, 4)",
    "Transformer": "(4, 2, 1, 1, 4)",
    "TransformerDecoder": "(nn.TransformerDecoderLayer(4, 2, 4), 1)",
    "TransformerDecoderLayer": "(4, 2, 4)",
    "TransformerEncoder": "(nn.TransformerEncoderLayer(4, 2, 4), 1)",
    "TransformerEncoderLayer": "(4, 2, 4)",
    "Unflatten": "(1, (2, 2))",
}
"""Arguments to make a class with once, where 4 for each required one will not do."""
