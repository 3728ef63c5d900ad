# Every target works on a fresh checkout. `make help` lists them.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Packages are tested one after the other: those that start real servers need the
# machine for themselves to keep time limits of a tenth of a second.
# How long `make fuzz` stays with each target.
FUZZTIME ?= 30s
# End-to-end tests, the clients of other languages, and rivals to compare with: a
# module of its own, so that none of what they import is a dependency of the proxy.
E2E := proxy/e2e

.PHONY: help build test lint bench clients fuzz clean

help:
	@echo 'make build    the static binary ./redlock-proxy'
	@echo 'make test     all tests with the race detector; installs redis-server where it is missing'
	@echo 'make lint     gofmt, go vet, staticcheck, shellcheck'
	@echo 'make clients  real Redis clients of several languages against the proxy'
	@echo 'make bench    the proxy against one Redis and against other libraries'
	@echo 'make fuzz     each fuzz target for FUZZTIME=$(FUZZTIME)'
	@echo 'make clean    remove what was built'

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o redlock-proxy .

test:
	.ci/need redis
	go test -race -p 1 -timeout 10m ./...
	@if [ -f $(E2E)/go.mod ]; then set -ex; \
		if [ -x $(E2E)/setup.sh ]; then $(E2E)/setup.sh; fi; \
		go -C $(E2E) test -race -timeout 10m ./...; \
	fi

lint:
	.ci/need shellcheck
	@unformatted=$$(find . -name node_modules -prune -o -name '*.go' -exec gofmt -l {} +); \
		if [ -n "$$unformatted" ]; then echo "not formatted; run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...
	@if [ -f $(E2E)/go.mod ]; then set -ex; go -C $(E2E) vet ./...; fi
	find . -name node_modules -prune -o -name .git -prune -o \
		-type f \( -name '*.sh' -o -path './.ci/*' \) -exec shellcheck {} +

clients:
	.ci/need redis
	@if [ -x $(E2E)/setup.sh ]; then set -x; $(E2E)/setup.sh; fi
	go -C $(E2E) test -v -run Client -count=1 -timeout 20m ./...

bench:
	.ci/need redis
	go -C $(E2E) test -run '^$$' -bench . -timeout 30m ./...

# One target at a time is all that `go test -fuzz` takes.
fuzz:
	@for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s $$package || exit 1; \
		done; \
	done

clean:
	rm -rf redlock-proxy dist
