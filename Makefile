# Works with GNU make and a POSIX shell. `make` alone lists what there is.

GO        ?= go
FUZZTIME  ?= 60s
PKG       ?= ./...
BENCH     ?= .
COUNT     ?= 6
OUT       ?= build/bench.txt
BASE      ?=
SOAK_TIME ?= 2m
SOAK_SEED ?=
SOAK_WORLDS ?=
DOCUMENTED ?=
CHECKS    ?= 100
ROUNDS    ?= 1
SEED      ?=
N         ?= 20000
BENCHTIME ?= 1s
COMPARE   ?= Placement|Decision
MUTATE    ?= ./...
SINCE     ?=
FOR       ?=
LEAST     ?=
COMPONENTS ?=
BUGS      ?=
RUNS      ?=
ONLY      ?=
PAIRS     ?=
MOST      ?=
WRITE     ?=
NODES     ?=
SCHEDULER ?=
ROLLOUT   ?=
VERSION   ?=

SEEDED    := github.com/daemonplan/daemonplan/internal/fixedseed

# Every module but those that pin tools, and what test clusters are built from: heavy examples have modules of their own.
MODULES := $(patsubst %/go.mod,%,$(sort $(shell find . -name go.mod -not -path './tools/*' -not -path './test/cluster/*/*' -not -path './.*' -not -path './build/*' -not -path '*/testdata/*')))
TOOL    := $(GO) tool -modfile=$(CURDIR)/tools/go.mod

# The race detector needs cgo and a C compiler; a machine that has only Go goes without it.
RACE := $(shell test "$$($(GO) env CGO_ENABLED)" = 1 && command -v $$($(GO) env CC | cut -d' ' -f1) >/dev/null && echo -race)

# What go test -v says, as it says it, without what only tells that a test has run. Failures and logs stay.
FINDINGS := awk '!/^=== |^ *--- PASS|^PASS$$|\[rapid\] OK, / { print; fflush() }'

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-12s %s\n", $$1, $$2 }'

.PHONY: demo
demo: ## plan a small fleet in the middle of a rollout, and print what is done now and what waits
	$(GO) run ./examples/plan

# All modules but the integration tests, which need a cluster and have a target of their own. Tests draw the same inputs in every
# run (internal/fixedseed), and go's cache knows what has not changed and need not run again. So nothing here may defeat that cache:
# no -count, no arguments for tests. vet is one of the linters. All is built as releases are, so that their test builds little anew;
# debuggers find nothing in it (-w), which saves a third of the time to link.
TESTED  := . $(patsubst ./%,%,$(filter-out . ./test/integration,$(MODULES)))
TESTENV := CGO_ENABLED=0 GOFLAGS="$(strip $(GOFLAGS) -trimpath -ldflags=-w)"

.PHONY: test
test: ## test every module, and list at the end what failed; what has not changed is not run again
	@rm -rf build/test && mkdir -p build/test
	@$(TOOL) gotestsum --version >/dev/null
	@$(MAKE) --no-print-directory --keep-going --jobs 2 $(TESTED:%=tested-%) 2>build/test/make.txt; status=$$?; \
		$(TOOL) gotestsum --format none --hide-summary skipped --raw-command cat build/test/*.json || status=1; \
		test $$status = 0 || { cat build/test/make.txt; exit 1; }

.PHONY: $(TESTED:%=tested-%)
$(TESTED:%=tested-%):
	@cd $(@:tested-%=%) && $(TESTENV) $(TOOL) gotestsum --format pkgname --hide-summary all \
		--jsonfile $(CURDIR)/build/test/module-$(subst /,-,$(@:tested-%=%)).json -- -vet=off ./...

.PHONY: times
times: ## print the ten tests of the last make test that took longest
	@cat build/test/*.json | $(TOOL) gotestsum tool slowest --num 10

# Each run begins somewhere else, and says where, so that what it finds can be found again.
.PHONY: fresh
fresh: ## have all properties of PKG draw fresh inputs, CHECKS (100) each, ROUNDS (1) times; SEED=17 repeats a round
	@for round in $$(seq $(ROUNDS)); do \
		seed=$(or $(SEED),$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')); \
		echo "== fresh inputs; to repeat: make fresh SEED=$$seed CHECKS=$(CHECKS) PKG=$(PKG)"; \
		for module in $(TESTED); do \
			packages=$$(cd $$module && $(GO) list -f '{{range .TestImports}}{{if eq . "$(SEEDED)"}}{{$$.Dir}}{{end}}{{end}}{{range .XTestImports}}{{if eq . "$(SEEDED)"}}{{$$.Dir}}{{end}}{{end}}' $(PKG)); \
			test -z "$$packages" || (cd $$module && RAPID_SEED=$$seed RAPID_CHECKS=$(CHECKS) $(GO) test -count 1 $$packages) || \
				{ echo "in $$module; to repeat: make fresh SEED=$$seed CHECKS=$(CHECKS) PKG=$(PKG)"; exit 1; }; \
		done || exit 1; \
	done

# Planted bugs, generators that reach everything, entries that are needed.
.PHONY: teeth
teeth: ## run the tests of tests; SINCE=ref those that are about what has changed since then
	@$(GO) run ./internal/teeth $(if $(SINCE),-since $(SINCE))

# The library starts no goroutine, which internal/purity proves; what several may use has a test of that name. The example
# controller has goroutines all over. All of it is built for the race detector anew, so that CI runs this, and make test does not.
.PHONY: race
race: ## run what several goroutines may use under the race detector
ifeq ($(RACE),)
	@echo 'no cgo or no C compiler here: nothing is run under the race detector'
else
	$(GO) test -race -vet=off -run TestConcurrentUse ./placement ./rollout ./rollout/history
	$(GO) test -race -vet=off -run TestRun ./internal/soak
	cd internal/mutation && $(GO) test -race -vet=off -run "TestInParallel|TestOutcomes" .
	cd examples/controller && $(GO) test -race -vet=off ./...
	cd cmd/kubectl-daemonplan && $(GO) test -race -vet=off -run "TestTable|TestParallel|TestProgressBar" ./internal/simulation
endif

.PHONY: api
api: ## write what the packages export into the folder api, which a test holds them to
	$(GO) run ./internal/api

.PHONY: differential
differential: ## compare plans with what the real DaemonSet controller does on N (20000) generated snapshots, and on N/40 rollouts
	@mkdir -p build && rm -f build/differential.failed
	cd internal/differential && $(GO) test -vet=all ./ratios
	@cd internal/differential && { $(GO) test -vet=all -v -timeout 6h . -args -n $(N) 2>&1 || touch $(CURDIR)/build/differential.failed; } | \
		tee $(CURDIR)/build/differential.txt | $(FINDINGS)
	@test ! -e build/differential.failed

.PHONY: peersuite
peersuite: ## have the DaemonSet controller's own tests judge plans, and print the table; BUGS=1: see that they do; WRITE=1: into the document; RUNS=3: its benchmarks
	@$(GO) run ./internal/peersuite $(if $(BUGS),-bugs) $(if $(WRITE),-write) $(if $(RUNS),-bench $(RUNS))

# The package is copied from the module, with a test of ours in the place of its own.
.PHONY: kubelet
kubelet: ## ask the kubelet's own code which containers N (20000) drawn updates in place restart
	@$(GO) run ./internal/peersuite -kubelet $(N)

# Without VERSION it says which there are. CONTRIBUTING.md says what to do about what it finds.
.PHONY: peer
peer: ## take a copy of the project to VERSION (v1.38.0) of Kubernetes, and say what differs; WRITE=1: the checkout itself
	@$(GO) run ./internal/peer $(if $(VERSION),-version $(VERSION)) $(if $(WRITE),-write)

# The first build takes minutes. Without KUBEBUILDER_ASSETS the integration tests skip, and say so.
.PHONY: cluster
cluster: ## build etcd and kube-apiserver, and COMPONENTS, from their modules into a cache folder, and print where
	@cd test/cluster && $(GO) run . $(COMPONENTS)

.PHONY: integration
integration: ## run the example controllers and kubectl daemonplan against a real API server, with faults between it and controllers
	cd test/integration && \
		KUBEBUILDER_ASSETS="$$(cd ../cluster && $(GO) run . kube-scheduler kube-controller-manager kubectl kruise)" $(GO) test -count 1 -timeout 30m ./...

.PHONY: guards
guards: ## take what the example controller takes care of away, one thing at a time, and see an integration test fail
	cd test/integration && KUBEBUILDER_ASSETS="$$(cd ../cluster && $(GO) run . kube-scheduler kube-controller-manager)" \
		$(GO) test -count 1 -timeout 1h -v -run 'Removals$$' . -args -guards

# With COMPONENTS=kubectl there is a kubectl, too; with ROLLOUT=1 it is there anyway.
.PHONY: playground
playground: ## bring up a cluster of NODES (20) nodes that exist as objects only, and print how to use it; ROLLOUT=1: with a DaemonSet in a rollout
	@cd test/integration && \
		KUBEBUILDER_ASSETS="$$(cd ../cluster && $(GO) run . $(COMPONENTS) $(if $(ROLLOUT),kubectl kube-controller-manager))" \
		$(GO) run ./playground -nodes $(or $(NODES),20) $(if $(ROLLOUT),-rollout)

.PHONY: sidebyside
sidebyside: ## have the real DaemonSet controller and the example install and update NODES (300) nodes; SCHEDULER=1: with the real scheduler
	@cd test/integration && \
		KUBEBUILDER_ASSETS="$$(cd ../cluster && $(GO) run . kube-controller-manager $(if $(SCHEDULER),kube-scheduler))" \
		$(GO) run ./sidebyside -nodes $(or $(NODES),300) $(if $(SCHEDULER),-scheduler)

# Real components and KWOK; each case takes from a quarter of an hour to most of one. Results stay in build/forecast-check, so that cases
# may be run one by one, or side by side.
.PHONY: forecast-check
forecast-check: ## hold forecasts against rollouts on a real control plane, cases that match ONLY, RUNS (10) of each; WRITE=1: into docs
	@cd test/integration && \
		KUBEBUILDER_ASSETS="$$(cd ../cluster && $(GO) run . kube-scheduler kube-controller-manager kubectl kwok)" \
		$(GO) run ./forecastcheck $(if $(ONLY),-case '$(ONLY)') -runs $(or $(RUNS),10) \
		$(if $(WRITE),-write ../../docs/forecasts-against-reality.md)

.PHONY: lint
lint: ## check the formatting and run golangci-lint, go vet among its linters, on every module
	@unformatted=$$(find . -name '*.go' -not -path '*/testdata/*' -not -path './build/*' -exec gofmt -l {} +); \
		test -z "$$unformatted" || { echo 'not formatted, run gofmt -w on:'; echo "$$unformatted"; exit 1; }
	@cd examples/controller && generated() { cat config/crd/* api/*/zz_generated.* | cksum; } && before=$$(generated) && \
		$(GO) generate ./... && test "$$before" = "$$(generated)" || \
		{ echo 'examples/controller: go generate has written something new: commit it'; exit 1; }
	@for module in $(MODULES); do \
		echo "== $$module: golangci-lint"; \
		(cd $$module && $(TOOL) golangci-lint run --build-tags teeth) || exit 1; \
	done

.PHONY: fuzz
fuzz: ## run every fuzz target of PKG for FUZZTIME (60s) each
	@for module in $(MODULES); do (cd $$module && \
		for package in $$($(GO) list $(PKG)); do \
			targets=$$($(GO) test -list '^Fuzz' $$package) || { echo "$$targets"; exit 1; }; \
			for target in $$(echo "$$targets" | grep '^Fuzz'); do \
				echo "== $$package $$target"; \
				$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 100x $$package || exit 1; \
			done; \
		done) || exit 1; \
	done

.PHONY: corpus
corpus: ## fuzz every target of PKG for FUZZTIME (60s), and keep the inputs that together reach all that was reached
	$(GO) run ./internal/corpus -for $(FUZZTIME) $(PKG)

# Without SOAK_SEED each run begins somewhere else.
.PHONY: soak
soak: ## have the judge watch random worlds for SOAK_TIME (2m), or SOAK_WORLDS of them, from the seed SOAK_SEED (random) on; DOCUMENTED=1: the documented policies in trouble
	$(GO) run ./internal/soak $(if $(DOCUMENTED),-documented) $(if $(SOAK_WORLDS),-for 0 -count $(SOAK_WORLDS),-for $(SOAK_TIME)) $(if $(SOAK_SEED),-from $(SOAK_SEED))

# Every state of small clusters, with the real planner. A finding comes with the shortest way to it.
.PHONY: explore
explore: ## visit every state of small clusters, one configuration for each feature; ONLY=surge: some; PAIRS=1: each two features, which takes an hour; MOST=100000: cut off there; WRITE=1: the table into the document
	$(GO) run ./internal/explore $(if $(PAIRS),-pairs) $(if $(ONLY),-only '$(ONLY)') $(if $(MOST),-most $(MOST)) $(if $(WRITE),-write $(if $(PAIRS),docs/explored-pairs.md,docs/what-is-proved.md))

.PHONY: bench
bench: ## run the benchmarks BENCH (.) of PKG COUNT (6) times into OUT; with BASE=file compare with an earlier OUT
	@mkdir -p $(dir $(OUT))
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(PKG) > $(OUT) || { cat $(OUT); exit 1; }
	$(TOOL) benchstat $(BASE) $(OUT)

# Ratios of one run on one machine, so that a busy machine slows both sides. With BENCHTIME=1x it only shows that it works.
.PHONY: compare
compare: ## race the real DaemonSet controller on the benchmarks COMPARE, COUNT (6) times for BENCHTIME (1s), and print the ratios; WRITE=1: into the documents
	@mkdir -p build
	cd internal/differential && $(GO) test -run '^$$' -bench '$(COMPARE)' -benchmem -benchtime $(BENCHTIME) -count $(COUNT) -timeout 3h . \
		> $(CURDIR)/build/compare.txt || { cat $(CURDIR)/build/compare.txt; exit 1; }
	$(TOOL) benchstat -col /impl -row '.name /scenario /nodes' build/compare.txt
	@$(TOOL) benchstat -format csv -col /impl -row '.name /scenario /nodes' build/compare.txt 2>/dev/null > build/compare.csv
	@cd internal/differential && $(GO) run ./ratios $(if $(WRITE),-write $(CURDIR)) < $(CURDIR)/build/compare.csv

# What nobody can do without who looks at the objects at all: each once, or each pointer in random order.
.PHONY: floor
floor: ## measure what it costs just to touch each object once, and to compare each pointer in random order, in ns/node
	cd internal/differential && $(GO) test -run '^$$' -bench 'Decision/.*/impl=(touch|compare)' -benchtime $(BENCHTIME) -timeout 1h .

.PHONY: mutate
mutate: ## mutate the packages MUTATE (those of the library), see whether the tests notice, and report in build/mutation.md; SINCE=ref only what changed, FOR=4m so long
	@mkdir -p build
	cd internal/mutation && { $(GO) run . $(if $(SINCE),-since $(SINCE)) $(if $(FOR),-for $(FOR)) $(if $(LEAST),-least $(LEAST)) $(MUTATE); \
		status=$$?; $(GO) run . -least 0 -report $(CURDIR)/build/mutation.md && exit $$status; }

.PHONY: rules
rules: ## take the code of each rule away, one at a time, and see a test fail that names it
	$(GO) test ./internal/proof -run TestRemovals -removals -v -timeout 3h

.PHONY: vuln
vuln: ## look up known vulnerabilities in what every module calls (needs the network)
	@for module in $(MODULES); do \
		echo "== $$module: govulncheck"; \
		(cd $$module && $(TOOL) govulncheck ./...) || exit 1; \
	done

# The commit that is checked out is built, so that it has to hold all changes. Nothing is uploaded, and no branch or tag changes.
.PHONY: release
release: ## make the release VERSION (v0.1.0) of both modules and of the programs in OUT (build/release), and the commit to tag
	@cd internal/release && $(GO) run . '$(VERSION)' '$(abspath $(if $(filter file,$(origin OUT)),build/release,$(OUT)))'

# Packages that have transcripts are those whose tests know the flag.
.PHONY: update
update: ## write the scenario transcripts anew; read the diff before you commit it
	@for module in $(MODULES); do (cd $$module && $(GO) vet ./... && \
		for package in $$($(GO) list ./...); do \
			if $(GO) test -run '^$$' $$package -update >/dev/null 2>&1; then $(GO) test $$package -update || exit 1; fi; \
		done) || exit 1; \
	done
