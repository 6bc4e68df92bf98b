import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

@contextmanager
def quiet(model):
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        stack.enter_context(torch.autocast("cuda"))
        yield
from a import evaluate
def main(loader):
    model = nn.Linear(3, 3)
    with quiet(model):
        return evaluate(model, loader)
