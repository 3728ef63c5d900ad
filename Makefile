# Every target works on a fresh checkout. `make help` lists them.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# How long `make fuzz` stays with each target.
FUZZTIME ?= 30s
# How many commands `make compare` sends; `make test` sends 100,000.
COMPARE ?= 1000000
# Client libraries of several languages, and rivals to compare with: a module of its
# own, so that none of what they import is a dependency of the proxy.
CLIENTS := proxy/e2e/clients
# Likewise what the files for operators are tested with.
DEPLOY := deploy/checks
# What `make release` builds, and where to.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
DIST ?= dist

.PHONY: help build release reproducible test lint bench clients compare deploy faults simulate switches fuzz clean

help:
	@echo 'make build    the static binary ./redlock-proxy'
	@echo 'make release  binaries of VERSION for all platforms, their checksums and modules, in ./dist'
	@echo 'make reproducible  whether a release has the same bytes when it is built elsewhere'
	@echo 'make test     all tests with the race detector, make clients and make deploy too; installs redis-server, chromium, promtool and systemd where they are missing'
	@echo 'make lint     gofmt, go vet, staticcheck, shellcheck'
	@echo 'make clients  real Redis clients of several languages against the proxy; installs them'
	@echo 'make deploy   the files in deploy: schemas, alerts, dashboard, the commands in them'
	@echo 'make faults   the proxy while everything around it misbehaves, with the figures; four minutes'
	@echo 'make compare  COMPARE=$(COMPARE) random commands to the proxy and to one Redis; a few minutes'
	@echo 'make simulate random histories in virtual time, and small worlds searched to the end; five minutes on two cores'
	@echo 'make switches breaks each rule and shows which tests notice; five minutes'
	@echo 'make bench    the proxy against one Redis and against a Redlock library, as a table; two minutes'
	@echo 'make fuzz     each fuzz target for FUZZTIME=$(FUZZTIME)'
	@echo 'make clean    remove what was built'

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o redlock-proxy .

# The bytes are a matter of the sources, VERSION and the version of Go alone: not of the
# folder, the checkout's state, or what the machine's Go is set to. Which modules are in
# a binary stands in it (go version -m), for tools that make lists of parts of it.
release:
	@mkdir -p $(DIST)
	@for platform in $(PLATFORMS); do \
		export GOOS=$${platform%/*} GOARCH=$${platform#*/} GOAMD64=v1 GOARM64=v8.0 CGO_ENABLED=0 GOFLAGS= GOEXPERIMENT=; \
		binary=redlock-proxy-$(VERSION)-$$GOOS-$$GOARCH; echo "$(DIST)/$$binary"; \
		go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)' -o "$(DIST)/$$binary" . && \
		(cd $(DIST) && go version -m "$$binary" >"$$binary.modules.txt") || exit 1; \
	done
	@cd $(DIST) && sha256sum redlock-proxy-$(VERSION)-* >SHA256SUMS

reproducible:
	.ci/reproducible

# Packages are tested one after the other: those that start real servers need the
# machine for themselves to keep time limits of a tenth of a second. Nothing comes from
# Go's cache of results, here and below: it does not see the binary that a test builds
# and runs, nor files of other modules, and random tests draw new seeds.
test:
	.ci/need redis chromium promtool
	go test -race -count=1 -p 1 -timeout 10m ./...
	$(MAKE) clients
	$(MAKE) deploy

# Vet looks at what the tests are compiled to, race detector and all, so that it is
# compiled once.
lint:
	.ci/need shellcheck
	@unformatted=$$(find . -name node_modules -prune -o -name '*.go' -exec gofmt -l {} +); \
		if [ -n "$$unformatted" ]; then echo "not formatted; run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	go vet -race ./...
	go -C $(CLIENTS) vet -race ./...
	go -C $(DEPLOY) vet ./...
	staticcheck=$$(go tool -n staticcheck) && GOFLAGS=-race "$$staticcheck" ./... && \
		(cd $(CLIENTS) && GOFLAGS=-race "$$staticcheck" ./...) && cd $(DEPLOY) && "$$staticcheck" ./...
	find . -name node_modules -prune -o -name .git -prune -o \
		-type f \( -name '*.sh' -o -path './.ci/*' \) -exec shellcheck {} +

clients:
	.ci/need redis postgres
	proxy/e2e/setup.sh
	go -C $(CLIENTS) test -race -count=1 -p 1 -timeout 10m ./...

# Without the race detector: nothing here runs at the same time, and the types of
# Kubernetes take a minute to compile as it is.
deploy:
	.ci/need redis promtool systemd
	go -C $(DEPLOY) test -count=1 ./...

# HISTORIES is how many histories of real processes are played; each takes seconds.
HISTORIES ?= 40
# The figures are printed also when a test has failed.
faults:
	.ci/need redis postgres
	@figures=$$(mktemp) && trap 'rm -f "$$figures"' EXIT && failed=0; \
	go test -race -count=1 -timeout 20m ./proxy/faults -args -figures "$$figures" || failed=1; \
	go -C $(CLIENTS) test -race -count=1 -timeout 2h ./fences -args -figures "$$figures" || failed=1; \
	go -C $(CLIENTS) test -race -count=1 -timeout 2h ./histories -args -figures "$$figures" -histories $(HISTORIES) || failed=1; \
	echo; echo "Figures:"; cat "$$figures"; exit $$failed

compare:
	.ci/need redis
	go test -count=1 ./proxy -run RandomCommandsGetTheAnswersOfOneRedis -compare.commands=$(COMPARE) -timeout 60m -v

# SIMULATED is how many random histories of backends that forget are played, and a tenth
# as many of those that only fail; each takes some ten milliseconds.
# FROM is the seed of the first. One process a processor, each with one: the goroutines
# of a history hardly ever run at the same time, and would only wait for each other.
SIMULATED ?= 50000
FROM ?= 1
simulate:
	go test -count=1 -timeout 10m -run SmallWorld ./quorum/...
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && failed=0 && pids= && \
	go test -c -o "$$dir/test" ./quorum && \
	workers=$$(getconf _NPROCESSORS_ONLN) && each=$$((($(SIMULATED) + workers - 1) / workers)) && \
	for i in $$(seq 0 $$((workers - 1))); do \
		( play() { GOMAXPROCS=1 GOGC=400 "$$dir/test" -test.v -test.timeout 24h -test.run "$$1" \
			-quorum.from $$(($(FROM) + i * $$2)) -quorum.histories $$2; }; \
			play OfBackendsThatForget $$each && play '^TestSimulation(TwoGroups)?$$' $$((each / 20 + 1)) ) \
			> "$$dir/$$i" 2>&1 & pids="$$pids $$!"; \
	done; \
	for pid in $$pids; do wait $$pid || failed=1; done; \
	cat "$$dir"/[0-9]*; exit $$failed

# OF is the beginning of the path of the packages whose rules are broken: quorum for those
# in virtual time, proxy for those with real servers.
OF ?=
switches:
	.ci/need redis
	go test -count=1 -v -timeout 30m ./proxy/faults/switches -args -switches -of=$(OF)

bench:
	.ci/need redis
	go -C $(CLIENTS) test -run '^$$' -bench Table -benchtime 1x -timeout 10m ./bench

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
