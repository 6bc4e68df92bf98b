import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

class quiet:
    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.was = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        return self.model

    def __exit__(self, *args):
        torch.set_grad_enabled(self.was)
from a import evaluate
def main(loader):
    model = nn.Linear(3, 3)
    with quiet(model):
        return evaluate(model, loader)
