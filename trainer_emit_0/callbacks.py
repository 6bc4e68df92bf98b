
class Callback:
    def on_batch_end(self, trainer, loss):
        pass

    def on_epoch_end(self, epoch):
        pass

class History(Callback):
    def __init__(self):
        self.rows = []
        self.total = 0.0

    def on_batch_end(self, trainer, loss):
        self.rows.append(loss)
