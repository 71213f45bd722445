"""The HTTP server: an API for models and the page that shows them. Needs the extra ``serve``.

    guard       who asks, from where; headers, errors and counters of every answer
    app         routes: bodies in, a job for a worker, its answer out; the files of the page
    api         what may be asked and answered, as types; the OpenAPI description is made from them
    requests    one request: its body, its refusal
    batching    the worker thread that takes what waits as one batch, and how long its answers may take
    answers     requests to answers, by the same code as the command line; machinery: what the page draws
    registry    the models, by name
    annotating  the application of ``postil annotate``, on the same guard
    jobs        training in the background, for ``annotate`` and ``--allow-training``
    running     the process: uvicorn, its patience, its end; settings: address, access, limits
    page/       HTML, CSS and scripts, as they are sent

``create_app(Registry.of_files([…]))`` is an ASGI application for anybody's own server.
"""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.server.annotating import create_annotator
    from postil.server.app import create_app
    from postil.server.registry import Registry
    from postil.server.running import bound, run
    from postil.server.settings import ServerSettings
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            ".annotating": ["create_annotator"],
            ".app": ["create_app"],
            ".registry": ["Registry"],
            ".running": ["bound", "run"],
            ".settings": ["ServerSettings"],
        },
    )

__all__ = ["Registry", "ServerSettings", "bound", "create_annotator", "create_app", "run"]
