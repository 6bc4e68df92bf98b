"""What servers promise: they call a handler for each request."""

from __future__ import annotations

from torchlint.frameworks.row import Holds, Row

_GRADIO = "https://www.gradio.app/docs/gradio"
_LITSERVE = "https://lightning.ai/docs/litserve/api-reference/litapi"

SERVERS = (
    "fastapi.*", "flask.*", "starlette.*", "sanic.*", "bottle.*", "aiohttp.*", "quart.*", "litestar.*", "robyn.*",
)  # fmt: skip
STARTING = ("fastapi.FastAPI", "fastapi.APIRouter", "starlette.applications.Starlette", "starlette.routing.Router")
PYTHON_SERVERS = ("lightning.app.components.PythonServer", "lightning_app.components.PythonServer")
GRADIO_COMPONENTS = ("gradio.*",)
AIOHTTP_ROUTES = ("add_get", "add_post", "add_put", "add_patch")
GRADIO_EVENTS = ("click", "submit", "change", "input", "upload", "select", "release", "load")

SERVING = (
    Row("http.server", ("http.server.*RequestHandler",), Holds.EACH_STEP,
        "https://docs.python.org/3/library/http.server.html", ("do_GET", "do_POST")),
    Row("tornado", ("tornado.web.RequestHandler",), Holds.EACH_STEP, "https://www.tornadoweb.org/en/stable/web.html",
        ("get", "post", "put")),
    Row("Flask", ("flask.views.MethodView", "flask_restful.Resource", "flask_restx.Resource"), Holds.EACH_STEP,
        "https://flask.palletsprojects.com/en/stable/views/", ("get", "post", "put")),
    Row("TorchServe", ("ts.torch_handler.base_handler.BaseHandler",), Holds.EACH_STEP,
        "https://pytorch.org/serve/custom_service.html", ("handle", "preprocess", "inference", "postprocess")),
    Row("Lightning apps < 1.9.1", PYTHON_SERVERS, Holds.WAS_NO_GRAD,
        "https://github.com/Lightning-AI/pytorch-lightning/pull/16453", ("predict",)),
    Row("Lightning apps", PYTHON_SERVERS, Holds.EACH_STEP,
        "https://github.com/Lightning-AI/pytorch-lightning/blob/095905ff87fa605eea624fddd9b5ccb460c5c649/src/lightning/app/components/serve/python_server.py",
        ("predict",)),
    Row("Cog", ("cog.BasePredictor",), Holds.EACH_STEP, "https://cog.run/python/", ("predict",)),
    Row("socketserver", ("socketserver.*RequestHandler",), Holds.EACH_STEP,
        "https://docs.python.org/3/library/socketserver.html", ("handle",)),
    Row("socketserver", ("socketserver.*RequestHandler", "http.server.*RequestHandler"), Holds.HAS_SERVER,
        "https://docs.python.org/3/library/socketserver.html#socketserver.BaseRequestHandler.server", ("server",)),
    Row("socketserver", ("socketserver.*Server", "http.server.*Server"), Holds.SERVES,
        "https://docs.python.org/3/library/socketserver.html#server-objects"),
    Row("LitServe", ("litserve.LitAPI",), Holds.EACH_STEP, _LITSERVE, ("decode_request", "predict", "encode_response")),
    Row("LitServe", ("litserve.LitAPI",), Holds.ONCE, _LITSERVE, ("setup",)),
    Row("KServe", ("kserve.Model",), Holds.EACH_STEP,
        "https://kserve.github.io/website/docs/model-serving/predictive-inference/frameworks/custom-predictor",
        ("preprocess", "predict", "postprocess")),
    Row("gRPC", ("*_pb2_grpc.*Servicer",), Holds.EACH_STEP, "https://grpc.io/docs/languages/python/generated-code/",
        receives=("", "context")),
    Row("Ray Serve", ("ray.serve.deployment",), Holds.DECORATES,
        "https://docs.ray.io/en/latest/serve/key-concepts.html", ("__call__",)),
    Row("BentoML", ("bentoml.api",), Holds.DECORATES,
        "https://docs.bentoml.com/en/latest/build-with-bentoml/services.html"),
    Row("BentoML < 1.2", ("bentoml.Service",), Holds.ROUTES,
        "https://docs.bentoml.com/en/1.1/concepts/service.html", ("api",)),
    Row("Celery", ("celery.shared_task",), Holds.DECORATES,
        "https://docs.celeryq.dev/en/stable/django/first-steps-with-django.html"),
    Row("Celery", ("celery.Celery",), Holds.ROUTES,
        "https://docs.celeryq.dev/en/stable/userguide/application.html", ("task",)),
    Row("Chainlit", ("chainlit.on_message",), Holds.DECORATES,
        "https://docs.chainlit.io/api-reference/lifecycle-hooks/on-message"),
    Row("Slack", ("slack_bolt.App",), Holds.ROUTES, "https://docs.slack.dev/tools/bolt-python/",
        ("message", "event", "command", "action")),
    Row("discord.py", ("discord.ext.commands.Bot",), Holds.ROUTES,
        "https://discordpy.readthedocs.io/en/stable/ext/commands/commands.html", ("command",)),
    Row("telebot", ("telebot.TeleBot",), Holds.ROUTES, "https://pytba.readthedocs.io/en/latest/quick_start.html",
        ("message_handler",)),
    Row("python-telegram-bot", ("telegram.ext.MessageHandler", "telegram.ext.CommandHandler"), Holds.HANDLERS,
        "https://docs.python-telegram-bot.org/en/stable/telegram.ext.messagehandler.html", argument=(1, "callback")),
    Row("Flask-SocketIO", ("flask_socketio.SocketIO",), Holds.ROUTES,
        "https://flask-socketio.readthedocs.io/en/latest/getting_started.html", ("on",)),
    Row("websockets", ("websockets.serve", "websockets.asyncio.server.serve", "websockets.sync.server.serve"),
        Holds.HANDLERS, "https://websockets.readthedocs.io/en/stable/reference/asyncio/server.html",
        argument=(0, "handler")),
    Row("asyncio", ("asyncio.start_server", "asyncio.start_unix_server"), Holds.HANDLERS,
        "https://docs.python.org/3/library/asyncio-stream.html", argument=(0, "client_connected_cb")),
    Row("Dash", ("dash.Dash",), Holds.ROUTES, "https://dash.plotly.com/basic-callbacks", ("callback",)),
    Row("Flask", ("flask.Flask", "flask.Blueprint"), Holds.HANDLERS,
        "https://flask.palletsprojects.com/en/stable/api/", ("add_url_rule",), (2, "view_func")),
    Row("FastAPI", ("fastapi.FastAPI", "fastapi.APIRouter"), Holds.HANDLERS,
        "https://fastapi.tiangolo.com/reference/fastapi/", ("add_api_route",), (1, "endpoint")),
    Row("Starlette", ("starlette.routing.Route", "starlette.routing.WebSocketRoute"), Holds.HANDLERS,
        "https://www.starlette.io/routing/", argument=(1, "endpoint")),
    Row("aiohttp", ("aiohttp.web.get", "aiohttp.web.post", "aiohttp.web.put"), Holds.HANDLERS,
        "https://docs.aiohttp.org/en/stable/web_quickstart.html", argument=(1, "handler")),
    Row("aiohttp", ("aiohttp.web.Application",), Holds.HANDLERS,
        "https://docs.aiohttp.org/en/stable/web_reference.html#router", AIOHTTP_ROUTES, (1, "handler")),
    Row("aiohttp", ("aiohttp.web.Application",), Holds.ITSELF,
        "https://docs.aiohttp.org/en/stable/web_reference.html#aiohttp.web.Application.router", ("router",)),
    Row("FastAPI", ("fastapi.FastAPI",), Holds.ITSELF, "https://fastapi.tiangolo.com/reference/fastapi/", ("router",)),
    Row("web frameworks", SERVERS, Holds.ROUTES, "https://fastapi.tiangolo.com/tutorial/first-steps/",
        ("route", "get", "post", "put", "patch", "websocket")),
    Row("FastAPI", STARTING, Holds.STARTS, "https://fastapi.tiangolo.com/advanced/events/",
        ("on_event", "add_event_handler"), (0, "event_type")),
    Row("FastAPI", STARTING, Holds.STARTS, "https://fastapi.tiangolo.com/advanced/events/", argument=(-1, "lifespan")),
    Row("gradio", ("gradio.Interface", "gradio.ChatInterface"), Holds.HANDLERS, f"{_GRADIO}/interface",
        argument=(0, "fn")),
    Row("gradio", GRADIO_COMPONENTS, Holds.HANDLERS, f"{_GRADIO}/button#event-listeners", GRADIO_EVENTS, (0, "fn")),
    Row("gradio", GRADIO_COMPONENTS, Holds.ROUTES, f"{_GRADIO}/button#event-listeners", GRADIO_EVENTS),
)  # fmt: skip
"""Servers, which call a handler for each request."""
