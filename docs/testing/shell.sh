#!/bin/sh
# A client under test, with a shell and curl: pipx install FINAPI.whl; sh shell.sh
set -eu
work=$(mktemp -d)
mkfifo "$work/stdin"
${FIXTURE_COMMAND:-finapi} fixture --port 0 --ready json --exit-with-parent <"$work/stdin" >"$work/ready" &
# The server runs until this script closes its end of the pipe.
exec 3>"$work/stdin"
trap 'rm -rf "$work"' EXIT
while [ ! -s "$work/ready" ]; do sleep 0.05; done

ready_member() { sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p" "$work/ready"; }
key=$(sed -n 's/.*"data_dir": "[^"]*", "api_key": "\([0-9a-f]*\)".*/\1/p' "$work/ready")
url=$(sed -n 's/^{"ready": true, "url": "\([^"]*\)".*/\1/p' "$work/ready")
control() { curl -sf -X POST -H "X-Control-Token: $(ready_member control_token)" -d "$2" "$url/_control/$1"; }
status() { curl -s -o /dev/null -w '%{http_code}' -H "X-API-Key: $key" "$url/api/v1/account/balance"; }

[ "$(status)" = 200 ]
control faults '{"route": "*/account/balance", "status": 503, "times": 1}' >/dev/null
[ "$(status)" = 503 ]
[ "$(status)" = 200 ]
control clock '{"advance": 86400}' | grep -q '"happened"'
echo "all is well"
