
import torch
from torch import nn
from trainer import Trainer
from callbacks import History

def main(loader):
    model = nn.Linear(4, 3)
    trainer = Trainer(model, torch.optim.Adam(model.parameters()), [History()])
    trainer.fit(loader, 10)
