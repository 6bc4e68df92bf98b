
import torch
from torch import nn
from trainer import Trainer
from callbacks import History

def main(loader):
    model = nn.Linear(4, 3)
    history = History()
    callbacks = [history]
    trainer = Trainer(model, torch.optim.Adam(model.parameters()), callbacks)
    trainer.fit(loader, 10)
