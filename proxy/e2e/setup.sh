#!/bin/sh
# Installs what the tests in clients/ need beside Go: redis-server and redis-cli,
# Debian's clients of several languages, and the npm packages of clients/node. It
# does nothing about what is there already. Run as root, or as a user who may use sudo.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/../../.ci/need" redis clients npm

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
