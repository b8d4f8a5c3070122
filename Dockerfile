# The service as an image: `docker compose up -d`, or see docs/containers.md.

# The full image has what compiles node-pty; nothing of it reaches the result.
FROM node:24-bookworm AS build
WORKDIR /src
COPY package.json package-lock.json ./
# Scripts wait for the sources: `prepare` builds the page.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN node scripts/buildPty.ts \
 && npm run build \
 && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
 && mkdir -p /opt/agent-service/bin \
 && cp -R dist node_modules package.json LICENSE /opt/agent-service/ \
 && cp bin/agent bin/agent.mjs /opt/agent-service/bin/

# No Node here: the package brings the one it was tested with.
FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 --shell /bin/bash agent \
 && install -d -o agent -g agent -m 0700 /data
COPY --from=build /opt/agent-service /opt/agent-service
RUN ln -s /opt/agent-service/bin/agent /usr/local/bin/agent \
 && ln -s /opt/agent-service/node_modules/node-linux-*/bin/node /usr/local/bin/node
ENV AGENT_HOME=/data
USER agent
WORKDIR /data
VOLUME /data
EXPOSE 9119
STOPSIGNAL SIGTERM
# 0: every wanted slot is ready.
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["agent", "status"]
# It puts tini above itself, which hands signals on and reaps what loses its parent, and keeps no secret of `docker run -e`.
ENTRYPOINT ["node", "/opt/agent-service/dist/bin/agentd.js"]
# Inside, the dashboard has to listen beyond loopback to be reachable at all; publish it on 127.0.0.1 alone (compose.yaml does).
CMD ["--host", "0.0.0.0", "--insecure"]
