"""A small program for each row of the table of frameworks in which the row makes a difference.

``KNOWN`` stands for the class or function of the row and ``METHOD`` for one of its methods. A program is checked twice:
with the framework's own name, and with the same name of a package that nobody knows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torchlint.frameworks import Holds, Row


@dataclass(frozen=True)
class ContractProgram:
    """A program, and the code of the rule that tells of the difference.

    Attributes:
        source: the program, without its imports.
        code: which rule finds something in one of the two, and in the other one nothing.
        finds: True when the finding is there with the framework's own name.
        by_name: True where the method's name alone decides: then the row is taken away instead.
        notes: False where the row makes a note of the finding: then notes do not count.
    """

    source: str
    code: str
    finds: bool
    by_name: bool = False
    notes: bool = True


WATCHES_ACTIVATIONS = ContractProgram(
    """
class Lowest(KNOWN):
    def __init__(self):
        super().__init__()
        self.register_buffer("low", torch.zeros(1))

    def METHOD(self, x):
        self.low.copy_(torch.minimum(self.low, x.min()))
        return x
""",
    "TLK103",
    finds=True,
)

INFERS = ContractProgram(
    """
class Task(KNOWN):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    def METHOD(self, batch, *more):
        self.net.eval()
        print(self.net(batch).argmax())
""",
    "TLK201",
    finds=False,
)

ANSWERS_WITH_A_GRAPH = ContractProgram(
    """
def draw(guide, batch):
    seen = KNOWN(guide).METHOD(batch)
    return {name: site["value"].detach().numpy() for name, site in seen.nodes.items()}
""",
    "TLK201",
    finds=True,
)

SCORES_WITH_A_GRAPH = ContractProgram(
    """
def measure(model, guide, loader):
    bound = KNOWN()
    return sum(bound.METHOD(model, guide, batch) for batch in loader)
""",
    "TLK201",
    finds=True,
)

ASKS_ITS_SERVER = ContractProgram(
    """
import socketserver

class Tagger:
    def __init__(self, net: nn.Module):
        self.net = net.eval()

    @torch.no_grad()
    def tag(self, x):
        traced = torch.jit.trace(self.net, x)
        return int(traced(x).argmax())

class Handler(KNOWN):
    def handle(self):
        self.reply(self.METHOD.tagger.tag(torch.ones(1, 3)))

    def do_POST(self):
        self.reply(self.METHOD.tagger.tag(torch.ones(1, 3)))

class Daemon(socketserver.TCPServer):
    def __init__(self, address, tagger):
        super().__init__(address, Handler)
        self.tagger = tagger

Daemon(("", 9000), Tagger(nn.Linear(3, 3))).serve_forever()
""",
    "TLK305",
    finds=True,
)

SERVES_BY_ITS_MODEL = replace(
    ASKS_ITS_SERVER,
    source=ASKS_ITS_SERVER.source.replace("KNOWN", "socketserver.StreamRequestHandler")
    .replace("socketserver.TCPServer", "KNOWN")
    .replace("METHOD", "server"),
)

TRIED_BY_A_STUDY = ContractProgram(
    """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.body.register_forward_hook(lambda module, given, out: self.note(out))

    def note(self, out):
        self.last = float(out.abs().mean())

    def forward(self, x):
        return self.body(x)

def objective(trial):
    net, x = Net(), torch.ones(2, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(100):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
    return net.last

KNOWN().METHOD(objective)
""",
    "TLK407",
    finds=True,
)

TRIED_BY_A_SEARCH = replace(
    TRIED_BY_A_STUDY, source=TRIED_BY_A_STUDY.source.replace("KNOWN().METHOD(objective)", "KNOWN(ARGUMENT=objective)")
)

INFERS_IN_DOUBT = replace(INFERS, notes=False)

LOSS_KEPT = ContractProgram(
    """
class Task(KNOWN):
    def __init__(self):
        super().__init__()
        self.losses = []

    def METHOD(self, model, batch, *more):
        loss = model(batch)
        self.losses.append(loss)
        return loss
""",
    "TLK102",
    finds=True,
)

LOSS_KEPT_FROM_TUPLE = ContractProgram(LOSS_KEPT.source.replace("return loss", "return loss, 1, {}"), "TLK102", True)

RESULT_KEPT_FOR_EPOCH = ContractProgram(
    """
class Task(KNOWN):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    def METHOD(self, batch, batch_idx):
        out = self.net(batch)
        return {"loss": out.sum(), "norm": out.norm()}

    def training_epoch_end(self, outputs):
        print(len(outputs))
""",
    "TLK105",
    finds=True,
)

LOGS_KEPT = ContractProgram(
    """
class Masked(KNOWN):
    def METHOD(self, model, sample, reduce=True):
        loss = F.nll_loss(model(sample), sample["target"])
        return loss, 1, {"loss": loss}
""",
    "TLK105",
    finds=True,
)

OUTPUT_KEPT = ContractProgram(
    """
class Scores(KNOWN):
    def reset(self):
        self.scores = []

    def METHOD(self, output):
        scores, labels = output
        self.scores.append(scores)
""",
    "TLK105",
    finds=True,
)

OUTPUTS_COLLECTED = ContractProgram(
    """
class Collect(KNOWN):
    def __init__(self):
        super().__init__()
        self.predictions = []

    def METHOD(self, trainer, module, outputs, *more):
        self.predictions.append(outputs)

    def joined(self):
        return torch.cat(self.predictions)
""",
    "TLK401",
    finds=True,
)

MODELS_COLLECTED = ContractProgram(
    """
import copy

class Keep(KNOWN):
    def __init__(self):
        super().__init__()
        self.kept = []

    def METHOD(self, first, ARGUMENT, *more, **named):
        self.kept.append(copy.deepcopy(ARGUMENT))
""",
    "TLK405",
    finds=True,
)

OWN_MODELS_COLLECTED = ContractProgram(
    """
import copy

class Keep(KNOWN):
    def __init__(self):
        super().__init__()
        self.kept = []

    def METHOD(self, owner, *more, **named):
        self.kept.append(copy.deepcopy(owner.ARGUMENT))
""",
    "TLK405",
    finds=True,
)

TRAINED_COLLECTED = ContractProgram(
    """
class Trace(KNOWN):
    def __init__(self):
        super().__init__()
        self.kept = []

    def METHOD(self, *more):
        self.kept.append(self.ARGUMENT)
""",
    "TLK102",
    finds=True,
)

TRAINED_OF_STATE_COLLECTED = replace(
    TRAINED_COLLECTED,
    source=TRAINED_COLLECTED.source.replace("*more", "state, *more").replace("self.ARGUMENT", "state.ARGUMENT"),
)

TRAINED_GIVEN_COLLECTED = replace(
    TRAINED_COLLECTED,
    source=TRAINED_COLLECTED.source.replace("*more", "runner, at, batch=None, outputs=None").replace(
        "self.ARGUMENT", 'outputs["loss"]'
    ),
)

BATCHES_COLLECTED = ContractProgram(
    """
class Collect(KNOWN):
    def __init__(self):
        super().__init__()
        self.targets = []

    def METHOD(self, trainer, module, outputs, batch, *more):
        self.targets.append(batch["target"])

    def joined(self):
        return torch.cat(self.targets)
""",
    "TLK401",
    finds=True,
)

SWITCHES_ONCE = ContractProgram(
    """
class Watch(KNOWN):
    def METHOD(self, *given):
        torch.autograd.set_detect_anomaly(True)
""",
    "TLK505",
    finds=True,
)

DRAWS_EACH_EPOCH = ContractProgram(
    """
import matplotlib.pyplot as plt

class Curves(KNOWN):
    def METHOD(self, *given):
        plt.figure()
        plt.plot(self.values)
        plt.savefig("curves.png")
""",
    "TLK503",
    finds=True,
)

HOOKS_EACH_STEP = ContractProgram(
    """
class Probe(KNOWN):
    def METHOD(self, *given):
        self.layer.register_forward_hook(show)

def show(module, inputs, output):
    print(output.shape)
""",
    "TLK303",
    finds=True,
)

HOOKS_EACH_CALL = replace(
    HOOKS_EACH_STEP, source=HOOKS_EACH_STEP.source.replace("METHOD(self, *given)", "Classify(self, request, context)")
)

GIVEN_A_STEP = ContractProgram(
    """
net = nn.Linear(3, 3)
kept = []

def step(engine, batch):
    kept.append(net(batch))

evaluator = KNOWN(step)
""",
    "TLK102",
    finds=True,
)

SUMMED_BY_A_METER = ContractProgram(
    """
net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
meter = KNOWN()

def train(loader):
    for x in loader:
        loss = net(x).sum()
        loss.backward()
        optimizer.step()
        meter.METHOD(n=len(x), ARGUMENT=loss)
""",
    "TLK105",
    finds=True,
)

SUMMED_BY_A_FUNCTION = ContractProgram(
    SUMMED_BY_A_METER.source.replace("meter = KNOWN()\n", "").replace(
        "meter.METHOD(n=len(x), ARGUMENT=loss)", 'KNOWN("loss", loss)'
    ),
    "TLK105",
    finds=True,
)

KEPT_WITHOUT_GRAPH = ContractProgram(
    """
net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
holder = KNOWN()

def train(loader):
    for x in loader:
        loss = net(x).sum()
        loss.backward()
        optimizer.step()
        holder.METHOD(loss)
""",
    "TLK102",
    finds=False,
)

LOGGED_AND_DROPPED = ContractProgram(
    """
class Task(KNOWN):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    def watch(self, batch):
        self.METHOD("norm", self.net(batch).norm())
""",
    "TLK201",
    finds=True,
)

MEASURED_AND_DROPPED = ContractProgram(
    """
net = nn.Linear(3, 3)
metric = KNOWN()

def watch(loader):
    for x in loader:
        metric(net(x), None)
""",
    "TLK201",
    finds=True,
)

BACKWARD_OF_AN_ITEM = ContractProgram(
    """
def train(model, loader):
    worker, kept = KNOWN(), []
    for x in loader:
        out = model(x)
        worker.METHOD(out[0])
        kept.append(out[0])
""",
    "TLK102",
    finds=True,
)

BACKWARD_BY_A_CALL = ContractProgram(
    BACKWARD_OF_AN_ITEM.source.replace("worker.METHOD(out[0])", "worker(out[0], None)"), "TLK102", finds=True
)

BACKWARD_IN_A_STEP = ContractProgram(
    """
class Task(KNOWN):
    def training_step(self, batch, batch_idx):
        out = self.model(batch)
        self.METHOD(out[0])
        self.losses.append(out[0])
""",
    "TLK102",
    finds=True,
    by_name=True,
)

ENGINE = ContractProgram(
    """
def train(loader):
    kept = []
    engine, optimizer, _, _ = KNOWN(config="zero.json")
    for x in loader:
        kept.append(engine(x))
""",
    "TLK102",
    finds=True,
)

BACKWARD_OF_AN_ENGINE = ContractProgram(
    """
import deepspeed

def train(args, loader, model):
    kept = []
    engine, optimizer, _, _ = deepspeed.initialize(args)
    for x in loader:
        out = model(x)
        engine.METHOD(out[0])
        kept.append(out[0])
""",
    "TLK102",
    finds=True,
    by_name=True,
)

GIVEN_BACK = ContractProgram(
    """
worker = KNOWN()

def predict(loader):
    net = worker.METHOD(nn.Linear(3, 3))
    kept = []
    for x in loader:
        kept.append(net(x))
""",
    "TLK102",
    finds=True,
)

TRAINS_WITH_A_CHECKPOINT = ContractProgram(
    """
def run(model, path):
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    trainer = KNOWN(model)
    trainer.METHOD(model)
""",
    "TLK403",
    finds=True,
)

DETECTS = ContractProgram(
    """
def run(model):
    trainer = KNOWN(ARGUMENT=True)
    trainer.fit(model)
""",
    "TLK505",
    finds=True,
)

MODULE = ContractProgram(
    """
class Net(KNOWN):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

net = Net()

def predict(loader):
    kept = []
    for x in loader:
        kept.append(net(x))
""",
    "TLK102",
    finds=True,
)

GUARDS_ITSELF = ContractProgram(
    """
def answer(model, x):
    model.eval()
    out = model.METHOD(x)
    return out.detach().cpu()
""",
    "TLK201",
    finds=False,
    by_name=True,
)

DRAWS_PICTURES = ContractProgram(
    """
pipe = KNOWN.from_pretrained("words-to-pictures").to("cuda")
pipe.to("cuda")

def draw(words):
    return len(pipe(words).images)
""",
    "TLK201",
    finds=False,
)

ENCODES_AHEAD = ContractProgram(
    """
pipe = KNOWN.from_pretrained("words-to-pictures").to("cuda")

def draw(words):
    coded, pooled = pipe.METHOD(words)
    return pipe(coded=coded.to("cuda"), pooled=pooled).images[0]
""",
    "TLK201",
    finds=True,
)

HANDLES_REQUESTS = ContractProgram(
    """
app = KNOWN()

@app.METHOD("/predict")
def predict(x):
    model = torch.load("model.pt")
    return model(x).tolist()
""",
    "TLK302",
    finds=True,
)

HANDLES_CLICKS = ContractProgram(
    """
def predict(x):
    model = torch.load("model.pt")
    return model(x).tolist()

KNOWN().METHOD(ARGUMENT=predict)
""",
    "TLK302",
    finds=True,
)

HANDLES_BY_A_PART = ContractProgram(
    """
def predict(x):
    model = torch.load("model.pt")
    return model(x).tolist()

application = KNOWN()
application.METHOD.add_get("/", handler=predict)
application.METHOD.add_api_route("/", endpoint=predict)
""",
    "TLK302",
    finds=True,
)

HANDLES_ALL = ContractProgram(
    """
def predict(x):
    model = torch.load("model.pt")
    return model(x).tolist()

KNOWN(ARGUMENT=predict)
""",
    "TLK302",
    finds=True,
)

DECORATED_TO_ANSWER = ContractProgram(
    """
@KNOWN
def predict(x):
    model = torch.load("model.pt")
    return model(x).tolist()
""",
    "TLK302",
    finds=True,
)

DECORATED_TO_BE_DEPLOYED = ContractProgram(
    """
@KNOWN(num_replicas=2)
class Answers:
    async def METHOD(self, request):
        model = torch.load("model.pt")
        return model(request.x).tolist()
""",
    "TLK302",
    finds=True,
)

STARTS_RECORDING = ContractProgram(
    """
app = KNOWN()

def record():
    torch.cuda.memory._record_memory_history()

app.add_event_handler("startup", record)
""",
    "TLK504",
    finds=True,
)

STARTS_RECORDING_FOR_LIFE = ContractProgram(
    """
async def life(app):
    torch.cuda.memory._record_memory_history()
    yield

app = KNOWN(ARGUMENT=life)
""",
    "TLK504",
    finds=True,
)

RUN_BY_AN_ENGINE = """
from ignite.engine import Events

net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
losses = []

def step(engine, batch):
    optimizer.zero_grad()
    loss = net(batch).sum()
    loss.backward()
    optimizer.step()
    return {"loss": loss}

def transform(x, y, y_pred, loss):
    return {"loss": loss}

trainer = KNOWN(step, optimizer, F.mse_loss, output_transform=transform)
"""

DECORATED_HANDLER = """
@trainer.METHOD(Events.ITERATION_COMPLETED)
def remember(engine):
    losses.append(engine.state.output["loss"])
"""

GIVEN_HANDLER = """
def remember(engine):
    losses.append(engine.state.output["loss"])

trainer.METHOD(Events.ITERATION_COMPLETED, remember)
"""

OUTPUT_OF_A_STEP = ContractProgram(
    RUN_BY_AN_ENGINE + DECORATED_HANDLER.replace("METHOD", "on").replace("state.output", "METHOD"), "TLK102", finds=True
)
TRANSFORMED_OUTPUT = ContractProgram(
    RUN_BY_AN_ENGINE.replace("output_transform=", "ARGUMENT=") + DECORATED_HANDLER.replace("METHOD", "on"),
    "TLK102",
    finds=True,
)
HANDED_TO_A_HANDLER = {
    "on": ContractProgram(RUN_BY_AN_ENGINE + DECORATED_HANDLER, "TLK102", finds=True),
    "add_event_handler": ContractProgram(RUN_BY_AN_ENGINE + GIVEN_HANDLER, "TLK102", finds=True),
}

BEGUN = """
profiler = torch.profiler.profile()

@trainer.METHOD(Events.STARTED)
def begin(engine):
    profiler.start()
"""

GIVEN_TO_BEGIN = """
profiler = torch.profiler.profile()

trainer.METHOD(Events.STARTED, lambda engine: profiler.start())
"""

BEGINS_BY_A_HANDLER = {
    "on": ContractProgram(RUN_BY_AN_ENGINE + BEGUN, "TLK502", finds=True),
    "add_event_handler": ContractProgram(RUN_BY_AN_ENGINE + GIVEN_TO_BEGIN, "TLK502", finds=True),
}

DRAWS_AT_EACH_END = """
import matplotlib.pyplot as plt

@trainer.METHOD(Events.EPOCH_COMPLETED)
def draw(engine):
    plt.figure()
    plt.plot(losses)
    plt.savefig("losses.png")
"""

GIVEN_TO_DRAW = """
import matplotlib.pyplot as plt

def draw(engine):
    plt.figure()
    plt.plot(losses)
    plt.savefig("losses.png")

trainer.METHOD(Events.EPOCH_COMPLETED, draw)
"""

DRAWS_BY_A_HANDLER = {
    "on": ContractProgram(RUN_BY_AN_ENGINE + DRAWS_AT_EACH_END, "TLK503", finds=True),
    "add_event_handler": ContractProgram(RUN_BY_AN_ENGINE + GIVEN_TO_DRAW, "TLK503", finds=True),
}

CALLED_FOR_INFERENCE = ContractProgram(
    """
class Painter(KNOWN):
    def __init__(self, unet: nn.Module):
        super().__init__()
        self.unet = unet

    def METHOD(self, noise):
        return self.unet(noise)
""",
    "TLK201",
    finds=True,
)

REGISTERS_A_MODEL = ContractProgram(
    """
class Painter(KNOWN):
    def __init__(self, painter: nn.Module):
        super().__init__()
        self.METHOD(painter=painter)

    def __call__(self, noise):
        return self.painter(noise)
""",
    "TLK201",
    finds=True,
    by_name=True,
)

MOVED_AND_ASKED = ContractProgram(
    """
def vectors(model, loader):
    model.to("cuda")
    model.METHOD()
    for x in loader:
        print(model(x).detach().cpu())
""",
    "TLK201",
    finds=True,
    by_name=True,
)

KEPT_BY_STEP = ContractProgram(
    """
net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
kept = {}

def remember(state: KNOWN, loss):
    kept[state.METHOD] = loss

def train(loader, state):
    for x in loader:
        loss = net(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        remember(state, loss)
""",
    "TLK102",
    finds=True,
)

RUNS_A_NETWORK_FOR_ITS_OBJECT = ContractProgram(
    """
def judge(net, loader):
    run = KNOWN(4)
    net.eval()
    for x in loader:
        print(run(x, net).argmax())
""",
    "TLK201",
    finds=True,
)

RUNS_A_NETWORK = ContractProgram(
    """
def judge(net, loader):
    net.eval()
    for x in loader:
        print(KNOWN(x, 4, 2, net).argmax())
""",
    "TLK201",
    finds=True,
)

RUNS_A_FIELD = ContractProgram(
    """
def judge(net, loader, times):
    net.eval()
    for x in loader:
        print(KNOWN(net, x, times).argmax())
""",
    "TLK201",
    finds=True,
)

_BY_KIND = {
    Holds.RUNS: RUNS_A_NETWORK_FOR_ITS_OBJECT,
    Holds.COUNTS: KEPT_BY_STEP,
    Holds.SCORES: SCORES_WITH_A_GRAPH,
    Holds.NO_GRAD: INFERS,
    Holds.WAS_NO_GRAD: INFERS_IN_DOUBT,
    Holds.TRAINED: LOSS_KEPT,
    Holds.RESULT_KEPT: RESULT_KEPT_FOR_EPOCH,
    Holds.GIVEN_GRAPH: OUTPUT_KEPT,
    Holds.GIVEN_OUTPUT: OUTPUTS_COLLECTED,
    Holds.GIVEN_BATCH: BATCHES_COLLECTED,
    Holds.GIVEN_MODEL: MODELS_COLLECTED,
    Holds.HAS_MODEL: OWN_MODELS_COLLECTED,
    Holds.HAS_TRAINED: TRAINED_COLLECTED,
    Holds.ONCE: SWITCHES_ONCE,
    Holds.EACH_EPOCH: DRAWS_EACH_EPOCH,
    Holds.EACH_STEP: HOOKS_EACH_STEP,
    Holds.KEEPS: SUMMED_BY_A_METER,
    Holds.DETACHES: KEPT_WITHOUT_GRAPH,
    Holds.BACKWARD: BACKWARD_OF_AN_ITEM,
    Holds.DIFFERENTIATES: BACKWARD_OF_AN_ITEM,
    Holds.WATCHES: WATCHES_ACTIVATIONS,
    Holds.RETURNS: GIVEN_BACK,
    Holds.MAKES_ENGINE: ENGINE,
    Holds.TRAINS: TRAINS_WITH_A_CHECKPOINT,
    Holds.ANOMALY: DETECTS,
    Holds.MODULE: MODULE,
    Holds.OF_MODULES: MOVED_AND_ASKED,
    Holds.GUARDED: GUARDS_ITSELF,
    Holds.ENCODES: ENCODES_AHEAD,
    Holds.HANDLERS: HANDLES_CLICKS,
    Holds.ITSELF: HANDLES_BY_A_PART,
    Holds.ROUTES: HANDLES_REQUESTS,
    Holds.DECORATES: DECORATED_TO_BE_DEPLOYED,
    Holds.STARTS: STARTS_RECORDING,
    Holds.HANDS_ON: OUTPUT_OF_A_STEP,
    Holds.ANSWERS: ANSWERS_WITH_A_GRAPH,
    Holds.INFERS: CALLED_FOR_INFERENCE,
    Holds.REGISTERS: REGISTERS_A_MODEL,
    Holds.GIVES_TRAINED: TRANSFORMED_OUTPUT,
    Holds.EACH_TRIAL: TRIED_BY_A_STUDY,
    Holds.HAS_SERVER: ASKS_ITS_SERVER,
}

_OF_FUNCTIONS = {
    Holds.RUNS: RUNS_A_NETWORK,
    Holds.SERVES: SERVES_BY_ITS_MODEL,
    Holds.EACH_TRIAL: TRIED_BY_A_SEARCH,
    Holds.KEEPS: SUMMED_BY_A_FUNCTION,
    Holds.EACH_STEP: GIVEN_A_STEP,
    Holds.HANDLERS: HANDLES_ALL,
    Holds.DECORATES: DECORATED_TO_ANSWER,
    Holds.STARTS: STARTS_RECORDING_FOR_LIFE,
    Holds.GIVES_TRAINED: TRANSFORMED_OUTPUT,
}

_SPECIAL = {
    ("composer", Holds.HAS_TRAINED): TRAINED_OF_STATE_COLLECTED,
    ("mmengine", Holds.HAS_TRAINED): TRAINED_GIVEN_COLLECTED,
    ("fairseq", Holds.TRAINED): LOSS_KEPT_FROM_TUPLE,
    ("fairseq", Holds.RESULT_KEPT): LOGS_KEPT,
    ("timm", Holds.BACKWARD): BACKWARD_BY_A_CALL,
    ("Lightning", Holds.BACKWARD): BACKWARD_IN_A_STEP,
    ("Lightning", Holds.DETACHES): LOGGED_AND_DROPPED,
    ("allennlp", Holds.DETACHES): MEASURED_AND_DROPPED,
    ("DeepSpeed", Holds.BACKWARD): BACKWARD_OF_AN_ENGINE,
    ("diffusers", Holds.GUARDED): DRAWS_PICTURES,
    ("gRPC", Holds.EACH_STEP): HOOKS_EACH_CALL,
}


def program_for(row: Row) -> ContractProgram:
    """The program of a row."""
    if row.holds is Holds.BEGINS:
        return BEGINS_BY_A_HANDLER[row.methods[0]]
    if row.holds is Holds.EACH_EPOCH and row.events:
        return DRAWS_BY_A_HANDLER[row.methods[0]]
    if row.holds is Holds.HANDS_ITSELF or row.events:
        return HANDED_TO_A_HANDLER[row.methods[0]]
    if row.holds is Holds.RUNS and row.argument[0] == 0:
        return RUNS_A_FIELD
    if not row.methods and not row.receives and row.holds in _OF_FUNCTIONS:
        return _OF_FUNCTIONS[row.holds]
    return _SPECIAL.get((row.framework, row.holds), _BY_KIND[row.holds])
