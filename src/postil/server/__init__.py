"""The HTTP server: an API for models and the page that shows them. Needs the extra ``serve``.

    guard       who asks, from where; headers and errors of every answer
    app         routes: bodies in, a job for a worker, its answer out
    batching    the worker thread that takes what waits as one batch
    answers     requests to answers, by the same code as the command line; lattice, flow: what the page draws
    requests    what may be asked, as JSON Schemas; schema checks by them, openapi shows them
    registry    the models, by name
    bodies      bodies of requests, checked
    annotating  the application of ``postil annotate``, on the same guard
    training    files of one folder to train on, for ``--allow-training``
    background  one training in a thread, its progress and its result
    running     the process: uvicorn, its patience, its end
    page/       HTML, CSS and scripts, as they are sent

``app.create_app(registry.Registry.of_files([…]))`` is an ASGI application for anybody's own server.
"""
