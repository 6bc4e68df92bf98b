
import torch
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, optimizer, callbacks):
        self.model, self.optimizer, self.callbacks = model, optimizer, callbacks

    def emit(self, event, *args):
        for cb in self.callbacks:
            getattr(cb, event)(*args)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            for step, (x, y) in enumerate(loader):
                loss = F.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.emit("on_batch_end", step, {"loss": loss})
            for cb in self.callbacks:
                cb.on_epoch_end(epoch)
