# make run and make test do everything, set-up included. make help lists the rest.

SWIFT  ?= swift
PREFIX ?= /usr/local
CACHE   := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/kiosk
# The functions that kiosk calls are next to one another if the linker can do that (Tools/function-order), and it exports no symbols: it loads no plug-ins.
# Changing these flags needs a make clean, as SwiftPM keeps what it has compiled
DENSE    = -Xswiftc -Xfrontend -Xswiftc -function-sections -Xcc -ffunction-sections $(shell Tools/function-order '$(SWIFT)') -Xlinker --no-export-dynamic
# The Swift runtime is linked in: the box that plays has no toolchain
# One build of the engine for the player, the bench, the client of the libraries and the examples, in a folder of its own
OPTIMIZED = $(SWIFT) build $(SWIFTPM) -c release --static-swift-stdlib $(DENSE) --scratch-path .build/optimized
# Three packages share that folder, and SwiftPM takes the plan of one for that of another
REPLAN = @rm -f .build/optimized/release/description.json
SWIFTPM := --cache-path $(CACHE)/swiftpm
SOURCES := Sources Tests Examples Package.swift
CLIPS   := demo/one.mp4 demo/two.mp4 demo/still.png
AT      = $(DESTDIR)$(PREFIX)

.PHONY: build run test test-all unit library docs documentation site bed-test stream-test machine-test browser-test bed kernel package sanitize sanitize-address \
	sanitize-thread fuzz arm64 fresh stress bench lint format setup prepare demo manual install uninstall deb release clean help build-tests runner proofs proofs-unit proofs-bed \
	proofs-machine proofs-streams
.DELETE_ON_ERROR:
# Parts follow one another in the order in which they are named
.NOTPARALLEL:

# Bed and bench refuse a binary older than the sources; where nothing in it changes the linker leaves the old one
build: setup
	$(REPLAN)
	$(OPTIMIZED) --product kiosk
	$(OPTIMIZED) --product kiosk-reader
	$(OPTIMIZED) --product kiosk-web
	@touch .build/optimized/release/kiosk
	@ln -sfn optimized/release .build/release

# Ctrl-C is the way out of kiosk: the shell lets it finish, and make has nothing to complain of
run: build demo
	@trap : INT; .build/release/kiosk --preview --config kiosk.conf || { status=$$?; [ $$status = 130 ] || exit $$status; }

# docs/testing.md says what is in which. Tests/prove has their phases in a table: builds beside each other, then all tests, one to a processor
test:
	@MAKE='$(MAKE)' Tests/prove test

# FROM=PHASE goes on where an earlier one has stopped
test-all:
	@MAKE='$(MAKE)' Tests/prove all $(FROM)

# What runs tests: a process for each suite, and once more for what has failed
PROVE = .build/debug/kiosk-tests
UNIT  := unit v4l2 shelf inside

build-tests: setup
	$(SWIFT) build $(SWIFTPM) --build-tests
runner: setup
	$(SWIFT) build $(SWIFTPM) --product kiosk-tests

unit: setup demo lint build-tests proofs-unit

# What applications have of the package: a client that uses the libraries and nothing else is built and run, and the examples are built. They are packages
# of their own
EXAMPLES := $(addprefix example-,loop picture-in-picture exhibit overlay) $(addprefix tutorial-,watch transport looper camera merge)
library: build demo
	$(REPLAN)
	for product in Client TwoDisplays; do $(OPTIMIZED) --package-path Tests/Client --product $$product || exit; done
	$(REPLAN)
	for product in $(EXAMPLES); do $(OPTIMIZED) --package-path Examples --product $$product || exit; done
	$(REPLAN)
	$(OPTIMIZED) --package-path Examples/Template --product sign
	$(REPLAN)
	.build/release/Client demo/one.mp4 demo/two.mp4
	Tests/tutorials .build/release

# By DocC, into .build/documentation; a warning is an error
docs: build-tests documentation
documentation:
	SWIFT='$(SWIFT)' Tools/documentation .build/documentation

# README, docs and kiosk.conf as a website, by mkdocs, into .build/site; with the libraries' documentation if make docs has made it
site:
	@Tools/setup mkdocs:-mkdocs mkdocs-material:/usr/share/doc/mkdocs-material/copyright
	Tools/site

bed-test: build library build-tests kernel proofs-bed

# The image of the machine is made by the first of its tests, beside other tests
machine-test: package build-tests proofs-machine

# Where there can be no bed or no machine, their tests say why
kernel: setup
	Tests/Bed/build >/dev/null || [ $$? = 69 ]

# ALL=--all: those that make test leaves to make test-all, too. PROOFS='--filter NAME': some of them
proofs:
	@Tools/setup python3:-python3
	$(PROVE) $(UNIT) bed machine $(ALL) $(PROOFS)
proofs-unit:
	@Tools/setup python3:-python3
	$(PROVE) $(UNIT) $(ALL) $(PROOFS) --name unit
proofs-bed:
	$(PROVE) bed $(ALL) $(PROOFS) --name bed
proofs-machine:
	$(PROVE) machine $(ALL) $(PROOFS) --name machine

# Cameras, lists and bad networks in real time, on a machine that does nothing else: docs/streams.md
stream-test: build-tests proofs-streams
proofs-streams:
	@Tools/setup python3:-python3
	$(PROVE) streams $(PROOFS) --name streams

# The page of kiosk-web in Chromium: docs/testing.md
browser-test: build demo
	@Tools/setup chromium:-chromium chromium-driver:-chromedriver
	Tests/Web/browser --kiosk .build/release/kiosk --web .build/release/kiosk-web || [ $$? = 69 ]

# Ready to be installed; a warning of lintian is an error
package: deb
	@Tools/setup lintian:-lintian
	lintian --allow-root --fail-on error,warning .build/kiosk_*.deb

# The kernel in which the player is run and watched: docs/testing-bed.md
bed: setup
	Tests/Bed/build

# The unit tests once more, with every access checked: for leaks and bounds, and for races; less the simulations, which are one thread's arithmetic,
# and the disks at fault: their library is preloaded into the symbolizer, too. What is one thread's work is left out of the second run
sanitize: sanitize-address sanitize-thread
sanitize-address: setup demo runner
	$(call sanitized,address)
sanitize-thread: setup demo runner
	$(call sanitized,thread,$(SINGLE))

SIMULATED := PublicSurfaceTests WeekTests SilentClockTests SimulationTests FaultyFilesTests HardwareTests
SINGLE    := FuzzTests GalleryTests GalleryReaderTests DamagedHeaderTests CheckTests CommandLineTests BedAnalysisTests BenchTests RunnerTests

define sanitized
	$(SWIFT) build $(SWIFTPM) --build-tests --scratch-path .build/$(1) --sanitize=$(1)
	LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.txt:print_suppressions=0 \
		$(PROVE) unit $(PROOFS) --name $(1) --program .build/$(1)/debug/kioskPackageTests.xctest \
		$(foreach suite,$(SIMULATED) $(2),--skip $(suite))
endef

# Damaged files as a player has them read, by processes; then the same files, lines for the control socket and hostile lists by the thousand, under AddressSanitizer: docs/testing.md. make fuzz FILES=1000 SEED=1
FILES ?= 20000
fuzz: setup
	$(SWIFT) build $(SWIFTPM) --product kiosk-reader
	$(SWIFT) build $(SWIFTPM) --product kiosk-fuzz
	.build/debug/kiosk-fuzz --readers --files $(FILES) $(if $(SEED),--seed $(SEED))
	$(SWIFT) build $(SWIFTPM) --product kiosk-fuzz --scratch-path .build/address --sanitize=address
	LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.txt:print_suppressions=0 \
		.build/address/debug/kiosk-fuzz --files $(FILES) $(if $(SEED),--seed $(SEED))
	LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.txt:print_suppressions=0 \
		.build/address/debug/kiosk-fuzz --lines $(FILES) $(if $(SEED),--seed $(SEED))
	LSAN_OPTIONS=suppressions=$(CURDIR)/Tests/leaks.txt:print_suppressions=0 \
		.build/address/debug/kiosk-fuzz --lists $(FILES) $(if $(SEED),--seed $(SEED))

# kiosk and mpv on the bed, in turn, on a machine that does nothing else; docs/testing-bench.md. BENCH='--quick' for one minute
bench: build
	@Tools/setup mpv:-mpv strace:-strace valgrind:-valgrind binutils:-strip
	$(REPLAN)
	$(OPTIMIZED) --product kiosk-bench
	Tests/Bed/build >/dev/null
	.build/release/kiosk-bench $(BENCH)

lint: setup
	@Tools/setup shellcheck:-shellcheck
	$(SWIFT) format lint --strict --parallel --recursive $(SOURCES)
	shellcheck $(SCRIPTS)
	"$$(dirname "$$(readlink -f "$$(command -v $(SWIFT))")")"/clang -fsyntax-only -Wall -Werror $$(pkg-config --cflags pangocairo) Tests/pango.c
	Tools/rooms --check
	Tools/web-page --check

# They have no suffix: whatever begins by naming a shell
SCRIPTS = $(shell find .ci Tools Tests deploy -type f -exec awk 'FNR == 1 && /^\#!.*sh$$/ { print FILENAME } { nextfile }' {} +)

format: setup
	$(SWIFT) format --in-place --parallel --recursive $(SOURCES)

setup:
	@SWIFT='$(SWIFT)' Tools/setup

# And what only tests need
prepare: setup demo
	@Tools/setup shellcheck:-shellcheck lintian:-lintian python3:-python3 libqrencode4:libqrencode.so.4 libass9:libass.so.9

# C on an emulated arm64, with the pages of 16 KiB that a Raspberry Pi 5 has: docs/testing.md
arm64: setup
	@Tools/setup gcc:-gcc g++-aarch64-linux-gnu:-aarch64-linux-gnu-g++ gcc-aarch64-linux-gnu:-aarch64-linux-gnu-gcc \
		qemu-user-static:-qemu-aarch64-static qemu-system-arm:-qemu-system-aarch64 cpio:-cpio
	SWIFT='$(SWIFT)' Tests/arm64 || [ $$? = 69 ]

# FRESH='-s trixie' for another Debian
fresh:
	Tests/fresh $(FRESH)

# What a busy machine makes of the unit tests: docs/testing.md
stress: build-tests
	Tests/stress

demo: $(CLIPS)

$(CLIPS) &: Tools/demo-clips | setup
	Tools/demo-clips demo

# kiosk(1) is what --help says, kiosk.conf(5) the sample file. Their date is that of the last commit, so that they are the same each time
manual: build
	$(OPTIMIZED) --product generate-manual
	@mkdir -p .build/manual
	.build/release/generate-manual .build/release/kiosk --date "$$(git log -1 --format=%cs 2>/dev/null || date +%F)" --output-directory .build/manual
	deploy/conf-manual kiosk.conf "$$(git log -1 --format=%cs 2>/dev/null || date +%F)" > .build/manual/kiosk.conf.5

# After make build demo manual, as root. DESTDIR and PREFIX as usual. What plays at first is the demo, from PREFIX/share.
install:
	@[ -x .build/release/kiosk ] && [ -e demo/still.png ] && [ -e .build/manual/kiosk.1 ] || \
		{ echo 'nothing to install yet: make build demo manual, then make install as root' >&2; exit 1; }
	install -D -m 755 -t $(AT)/bin .build/release/kiosk
	install -D -m 755 -t $(AT)/lib/kiosk .build/release/kiosk-reader .build/release/kiosk-web
	install -D -m 644 -t $(AT)/share/kiosk/demo $(CLIPS)
	install -D -m 644 -t $(AT)/share/man/man1 .build/manual/kiosk.1
	install -D -m 644 -t $(AT)/share/man/man5 .build/manual/kiosk.conf.5
	install -D -m 644 -t $(AT)/share/doc/kiosk README.md CHANGELOG.md SECURITY.md THIRD-PARTY.md
	install -D -m 644 -t $(AT)/share/doc/kiosk/docs $(filter-out docs/testing%,$(wildcard docs/*.md docs/*.jpg docs/*.gif))
	install -D -m 644 -t $(AT)/lib/udev/rules.d deploy/70-kiosk.rules
	install -D -m 644 deploy/kiosk.sysusers $(AT)/lib/sysusers.d/kiosk.conf
	install -D -m 644 -t $(AT)/lib/systemd/system deploy/kiosk.path
	for unit in kiosk.service kiosk-web.service kiosk-usb@.service; do \
		sed 's|/usr/local/bin/|$(PREFIX)/bin/|; s|/usr/local/lib/kiosk/|$(PREFIX)/lib/kiosk/|' deploy/$$unit | install -m 644 /dev/stdin $(AT)/lib/systemd/system/$$unit || exit; done
	install -d -m 755 $(DESTDIR)/etc/kiosk $(dir $(addprefix $(AT)/share/,$(COMPLETIONS)))
	.build/release/kiosk --generate-completion-script bash | install -m 644 /dev/stdin $(AT)/share/$(word 1,$(COMPLETIONS))
	.build/release/kiosk --generate-completion-script zsh | install -m 644 /dev/stdin $(AT)/share/$(word 2,$(COMPLETIONS))
	.build/release/kiosk --generate-completion-script fish | install -m 644 /dev/stdin $(AT)/share/$(word 3,$(COMPLETIONS))
	@$(RELOAD)
	[ -e $(DESTDIR)/etc/kiosk/kiosk.conf ] || sed 's|demo/|$(PREFIX)/share/kiosk/demo/|g' kiosk.conf | \
		install $$($(READERS)) /dev/stdin $(DESTDIR)/etc/kiosk/kiosk.conf
	@echo 'installed; docs/install.md says how to give it the screen: systemctl enable --now kiosk.service kiosk.path'

COMPLETIONS := bash-completion/completions/kiosk zsh/site-functions/_kiosk fish/vendor_completions.d/kiosk.fish

# The running system takes notice, unless this goes into a DESTDIR
RELOAD = [ -n '$(DESTDIR)' ] || [ ! -d /run/systemd/system ] || \
	{ systemd-sysusers && systemctl daemon-reload && udevadm control --reload && udevadm trigger --subsystem-match=usb; }

# Passwords may stand in kiosk.conf: root and the player read it. A DESTDIR does not know the number of the player's group
READERS = [ -z '$(DESTDIR)' ] && getent group kiosk >/dev/null && echo -m 640 -g kiosk || echo -m 644

# Leaves /etc/kiosk and the user kiosk: what they hold is not ours to throw away
uninstall:
	-[ -n '$(DESTDIR)' ] || [ ! -d /run/systemd/system ] || systemctl disable --now kiosk.path kiosk.service kiosk-web.service
	rm -f $(AT)/bin/kiosk $(addprefix $(AT)/lib/,systemd/system/kiosk.service systemd/system/kiosk-web.service systemd/system/kiosk.path systemd/system/kiosk-usb@.service sysusers.d/kiosk.conf udev/rules.d/70-kiosk.rules)
	rm -f $(addprefix $(AT)/share/,$(COMPLETIONS) man/man1/kiosk.1 man/man5/kiosk.conf.5)
	rm -rf $(AT)/share/kiosk $(AT)/share/doc/kiosk $(AT)/lib/kiosk
	@$(RELOAD)

# .build/kiosk_VERSION_ARCHITECTURE.deb; FFMPEG=lean for one with an FFmpeg of its own, .build/kiosk_VERSION+lean_ARCHITECTURE.deb: docs/install.md
deb: build demo manual
	rm -rf .build/deb .build/kiosk_*.deb
	$(MAKE) --no-print-directory install DESTDIR=.build/deb PREFIX=/usr
	$(if $(filter lean,$(FFMPEG)),deploy/lean-ffmpeg .build/deb)
	deploy/deb .build/deb .build

# .build/release-VERSION, of a clean checkout of the tag vVERSION; KEY=FINGERPRINT signs it, ADD=FOLDER takes packages of other machines in: docs/releasing.md
release:
	@deploy/release $(addprefix --add ,$(ADD)) '$(VERSION)'

clean:
	rm -rf .build demo

help:
	@echo 'make run        set up, build and play kiosk.conf: on the display if one is free, else in memory, with a status line'
	@echo 'make test       set up, build, and prove every promise: minutes        make unit bed-test machine-test library: parts of it'
	@echo 'make test-all   all there is: real time, streams, sanitizers, damaged files, a fresh Debian; FROM=PHASE goes on from there'
	@echo 'make library    the client and the examples of the libraries; make docs their documentation, in .build/documentation'
	@echo 'make site       README, docs and kiosk.conf as a website, in .build/site'
	@echo 'make sanitize   the unit tests under AddressSanitizer and ThreadSanitizer        make stress    beside busy loops'
	@echo 'make arm64      compiles the C for arm64 and tries it on an emulated one, with pages of 4, 16 and 64 KiB'
	@echo 'make fuzz       tries damaged files, lines for the control socket and hostile lists, under AddressSanitizer, 20000 of them; FILES= SEED='
	@echo 'make bench      measures kiosk beside mpv, on the test bed; make bed builds that'
	@echo 'make build      the release binary, .build/release/kiosk'
	@echo 'make install    as root, after make build demo manual: binary, units, udev rule, user, completions; PREFIX=/usr/local DESTDIR='
	@echo 'make uninstall  all of that away again, but for /etc/kiosk and the user'
	@echo 'make deb        a Debian package of it all, in .build; FFMPEG=lean gives it an FFmpeg of its own, which starts sooner'
	@echo 'make release    VERSION=1.0.0: packages for Debian 12 and 13, sources and a repository for apt, of the tag v1.0.0; KEY=FINGERPRINT signs them'
	@echo 'make format     formats the Swift sources        make lint    says what that would change, and what shellcheck finds'
	@echo 'make demo       draws the clips of kiosk.conf    make clean   removes .build and demo'
