"""How torch calls what registers hooks; rules screen files by these names before anything is parsed."""

from __future__ import annotations

OF_OBJECTS = frozenset(
    ["register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
     "register_full_backward_pre_hook", "register_backward_hook", "register_state_dict_pre_hook",
     "register_state_dict_post_hook", "register_load_state_dict_pre_hook", "register_load_state_dict_post_hook",
     "register_step_pre_hook", "register_step_post_hook", "_register_state_dict_hook",
     "_register_load_state_dict_pre_hook"]
)  # fmt: skip
"""Methods of modules and optimizers."""

OF_TENSORS = frozenset(["register_hook", "register_post_accumulate_grad_hook"])
"""Methods of tensors; those of ``grad_fn`` have the same name."""

OF_ALL = frozenset(
    ["register_module_forward_hook", "register_module_forward_pre_hook", "register_module_backward_hook",
     "register_module_full_backward_hook", "register_module_full_backward_pre_hook",
     "register_optimizer_step_pre_hook", "register_optimizer_step_post_hook"]
)  # fmt: skip
"""Functions of torch that register a hook for all modules or optimizers."""

OF_FORWARDS = {
    "register_forward_hook": (1, 2),
    "register_forward_pre_hook": (1,),
    "register_module_forward_hook": (1, 2),
    "register_module_forward_pre_hook": (1,),
}
"""Methods that register a forward hook, and which of the hook's parameters get tensors of the graph."""
