# Installs the worker as a service: for each of the SLOTS FPGAs a loop that takes one job at a time from QUEUE_URL. The
# image brings the tools of the FPGA SDK, and the program that works with the loaded design: /opt/fpga-batch/host.
mkdir -p /opt/fpga-batch
cat >/opt/fpga-batch/environment <<EOF
QUEUE_URL=$QUEUE_URL
INPUT_BUCKET=$INPUT_BUCKET
RESULT_BUCKET=$RESULT_BUCKET
AWS_DEFAULT_REGION=$AWS_DEFAULT_REGION
SLOTS=$SLOTS
EOF

# Puts a design (AFI) into a slot, unless it is there already, and makes sure that it is.
cat >/opt/fpga-batch/load <<'EOF'
#!/bin/bash
slot=$1 agfi=$2

# "AFI  0  agfi-0123456789abcdef0  loaded  0  ok  0  0x10212415": with -R the PCI device is looked for anew, as another
# design may have another identity.
is_loaded() {
  fpga-describe-local-image -S "$slot" "$@" |
    awk -v agfi="$agfi" '$1 == "AFI" && $3 == agfi && $4 == "loaded" && $6 == "ok" { found = 1 } END { exit !found }'
}

# The tools of one FPGA are not for two programs at a time, and the fleet's own reading, once a minute, is another one.
for pause in 1 2 4 8; do
  is_loaded && exit 0
  fpga-load-local-image -S "$slot" -I "$agfi" >/dev/null && is_loaded -R && exit 0
  sleep $pause
done
echo "slot $slot: $agfi cannot be loaded" >&2
exit 1
EOF

cat >/opt/fpga-batch/worker <<'EOF'
#!/bin/bash
# A message is deleted only after its result is in the bucket; one that fails comes back after its visibility timeout
# and goes to the dead-letter queue after the third try. On an instance that is to go the job at hand is finished, and
# no other begun.
HIDDEN=300
# A job that hangs would hold its mark, and with it the instance, for ever.
LIMIT=3300
DRAINING=/run/accelerated-fleet/draining

keep_hidden() {
  while sleep $((HIDDEN / 4)); do
    aws sqs change-message-visibility --queue-url "$QUEUE_URL" --receipt-handle "$1" --visibility-timeout $HIDDEN
  done
}

field() { python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["Messages"][0][sys.argv[1]])' "$1"; }

# {"agfi": "agfi-...", "input": "a/b.bin"}: the result gets the key of the input, unless "output" names another.
part() {
  python3 -c 'import json, re, sys
job = json.load(sys.stdin)
re.fullmatch("agfi-[0-9a-f]{17}", job["agfi"]) or sys.exit("no design: " + job["agfi"])
sys.stdout.write(job.get("output") or job["input"] if sys.argv[1] == "output" else job[sys.argv[1]])' "$1"
}

job() {
  local agfi input output
  agfi=$(part agfi <<<"$1") && input=$(part input <<<"$1") && output=$(part output <<<"$1") &&
    aws s3 cp --only-show-errors "s3://$INPUT_BUCKET/$input" "$2/input" &&
    /opt/fpga-batch/load "$slot" "$agfi" &&
    timeout -k 10 $LIMIT /opt/fpga-batch/host "$slot" "$2/input" "$2/result" &&
    aws s3 cp --only-show-errors "$2/result" "s3://$RESULT_BUCKET/$output"
}

slot() {
  local slot=$1 works=no message receipt keeper place mark held pause=5
  # The drain signals whoever holds a mark, for programs that could save what they have; this one is waited for.
  trap '' TERM
  while :; do
    [ ! -e "$DRAINING" ] || { sleep 5; continue; }
    # A node that cannot work would fail every job that it takes, and empty the queue into the dead letters. Asked at
    # the beginning and after a failure, as to ask all the time would get in the way of the fleet's own readings.
    if [ $works = no ]; then
      if [ ! -x /opt/fpga-batch/host ] || ! fpga-describe-local-image -S "$slot" >/dev/null; then
        echo "slot $slot: no /opt/fpga-batch/host, or no FPGA that answers: no job is taken" >&2
        sleep 30
        continue
      fi
      works=yes
    fi
    message=$(aws sqs receive-message --queue-url "$QUEUE_URL" --wait-time-seconds 20 \
      --visibility-timeout $HIDDEN --output json) || { sleep $pause; pause=60; continue; }
    pause=5
    [ -n "$message" ] || continue
    receipt=$(field ReceiptHandle <<<"$message")
    keep_hidden "$receipt" & keeper=$!
    # A busy mark, held until the message is answered for: what an FPGA computes without moving data over its bus or its
    # memory ports cannot be seen, so without it the instance would look idle. A node without a place for marks works on
    # all the same.
    mark=$(mktemp /run/accelerated-fleet/busy/job-XXXXXX) || mark=$(mktemp)
    exec {held}>"$mark"
    flock "$held"
    place=$(mktemp -d)
    # Looked at once more under the mark: so either the drain sees the mark, or this sees the drain.
    if [ -e "$DRAINING" ]; then
      aws sqs change-message-visibility --queue-url "$QUEUE_URL" --receipt-handle "$receipt" --visibility-timeout 0
    elif job "$(field Body <<<"$message")" "$place"; then
      aws sqs delete-message --queue-url "$QUEUE_URL" --receipt-handle "$receipt"
    else
      works=no
    fi
    { kill -KILL $keeper && wait $keeper; } 2>/dev/null
    rm -rf "$mark" "$place"
    exec {held}>&-
  done
}

for slot in $(seq 0 $((SLOTS - 1))); do slot "$slot" & done
wait
EOF

chmod +x /opt/fpga-batch/load /opt/fpga-batch/worker
cat >/etc/systemd/system/fpga-worker.service <<'EOF'
[Unit]
After=network-online.target
[Service]
EnvironmentFile=/opt/fpga-batch/environment
ExecStart=/opt/fpga-batch/worker
Restart=always
RestartSec=30
TimeoutStopSec=10
[Install]
WantedBy=multi-user.target
EOF
systemctl daemon-reload
systemctl enable --now fpga-worker
