import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext

class quiet:
    def __init__(self, model):
        self.guard = torch.no_grad()

    def __enter__(self):
        self.guard.__enter__()

    def __exit__(self, *args):
        self.guard.__exit__(*args)
