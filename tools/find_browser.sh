#!/bin/sh
# Prints where Chromium is. Installs Debian's package where that is allowed, or says how to get one.
set -eu

find_it() {
	for each in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
		[ -n "$each" ] && command -v "$each" && return
	done
	return 1
}

find_it && exit
if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	echo "The tests need a browser: installing Debian's chromium" >&2
	{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >&2
	find_it && exit
fi
echo "The tests need Chromium. Install it (sudo apt-get install chromium), or name one in CHROMIUM." >&2
exit 1
