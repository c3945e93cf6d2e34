# One image for web, worker, torch worker and beat; docker-compose.yml says which one a container is.
# Written and read by tests, not built where it was written: build it on your own machine first.
FROM python:3.13-slim AS build
ARG EXTRAS=""
ARG TORCH_INDEX=""
WORKDIR /app
COPY pyproject.toml README.md LICENSE ./
COPY synth synth
COPY judgments judgments
COPY reminders reminders
COPY gifts gifts
COPY growth growth
COPY decider decider
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} ".${EXTRAS}" \
    && /venv/bin/pip uninstall --yes synth

FROM python:3.13-slim
RUN groupadd --gid 10001 synth && useradd --uid 10001 --gid synth --no-create-home --home-dir /data synth \
    && mkdir -p /data && chown synth:synth /data
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 MALLOC_ARENA_MAX=2 SYNTH_HOME=/data BIND=0.0.0.0 PORT=8000
COPY --from=build /venv /venv
WORKDIR /app
COPY . .
USER synth
VOLUME /data
EXPOSE 8000
CMD ["python", "-m", "uvicorn", "synth.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--http", "synth.net.connections:Protocol", "--timeout-graceful-shutdown", "3", "--no-access-log"]
