# A slim image that serves models: the wheels of dist (`make wheels`), Python, NumPy and the server.
#
#   make wheels
#   docker build --tag postil .
#   docker run --rm --publish 8000:8000 --env POSTIL_TOKEN=at-least-sixteen-characters postil
#   docker run --rm --publish 8000:8000 --env POSTIL_TOKEN=… --volume "$PWD/models:/models:ro" postil /models/ner.postil

FROM python:3.13-slim AS build
COPY dist/*.whl /wheels/
RUN python -m venv /postil \
    && /postil/bin/pip install --no-cache-dir --no-index --no-deps --find-links /wheels postil postil-english \
    && /postil/bin/pip install --no-cache-dir "postil[serve]" \
    && /postil/bin/pip uninstall --yes pip \
    && POSTIL_KERNELS=compiled /postil/bin/postil --version

FROM python:3.13-slim
COPY --from=build /postil /postil
RUN useradd --system --no-create-home --uid 10001 postil
# A number: whoever runs the image can see that it is not root's.
USER 10001
ENV PATH=/postil/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 8000), 2).close()"]
# A server that others can reach needs a token: POSTIL_TOKEN, or --token-file with a mounted secret.
ENTRYPOINT ["postil", "serve", "--host", "0.0.0.0"]
