#!/bin/sh
# Installs what the tests in clients/ need beside Go: redis-server and redis-cli,
# Debian's python3-redis, and the npm packages of clients/node. It does nothing
# about what is there already. Run as root, or as a user who may use sudo.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

missing=""
command -v redis-server >/dev/null || missing="$missing redis-server"
command -v redis-cli >/dev/null || missing="$missing redis-tools"
/usr/bin/python3 -c 'import redis' 2>/dev/null || missing="$missing python3-redis"
command -v npm >/dev/null || missing="$missing nodejs npm"

if [ -n "$missing" ]; then
	if ! command -v apt-get >/dev/null; then
		echo "setup.sh: install these and try again:$missing" >&2
		exit 1
	fi
	as_root=""
	if [ "$(id -u)" -ne 0 ]; then
		if ! command -v sudo >/dev/null; then
			echo "setup.sh: run as root: apt-get install$missing" >&2
			exit 1
		fi
		as_root=sudo
	fi
	# Debian starts a redis-server at once when it is installed; the tests don't
	# need it, and it would sit on port 6379.
	$as_root apt-get update -q
	# shellcheck disable=SC2086 # a list of packages
	$as_root env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
fi

if ! node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'; then
	echo "setup.sh: the newest clients of clients/node need Node.js 20 or later, not $(node --version)" >&2
	exit 1
fi

# npm writes its own copy of the lock file when an install is complete.
cd "$here/clients/node"
if [ -z "$(find node_modules/.package-lock.json -newer package-lock.json 2>/dev/null)" ]; then
	npm install --omit=dev --ignore-scripts --no-audit --no-fund
	touch node_modules/.package-lock.json
fi
