# docker build --build-arg VERSION="$(git describe --tags --always)" -t redlock-proxy .

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /redlock-proxy .

# Nothing but the binary, and the certificate authorities for rediss:// backends:
# no shell, no package manager, no user database.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /redlock-proxy /redlock-proxy

# By number, so that "must not run as root" can be checked without a user database.
USER 65532:65532

# Loopback is of no use in a container. An address that others reach needs a
# password or client certificates: without one of them the proxy refuses to start
# and says what to set (REDLOCK_PROXY_SERVER_PASSWORD_FILE, say). The admin address
# stays on loopback; REDLOCK_PROXY_SERVER_ADMIN=0.0.0.0:9121 opens it for probes.
ENV REDLOCK_PROXY_SERVER_LISTEN=0.0.0.0:6380
EXPOSE 6380 9121

# Sends PING to the address of the configuration, with its password and TLS. It
# sees what the environment and REDLOCK_PROXY_CONFIG say, not the flags of the
# command that is run: configure a container by those two.
HEALTHCHECK --interval=10s --timeout=2s --start-period=5s --retries=3 CMD ["/redlock-proxy", "check", "-ping"]

# The drain takes 5 s by default, half of what Docker waits before it kills.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/redlock-proxy"]
