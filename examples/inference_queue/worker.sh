# Installs the worker as a service: SLOTS loops that each take one job at a time from QUEUE_URL.
mkdir -p /opt/inference
cat >/opt/inference/environment <<EOF
QUEUE_URL=$QUEUE_URL
AWS_DEFAULT_REGION=$AWS_DEFAULT_REGION
SLOTS=$SLOTS
EOF

# The job itself: replace this file. The message's body comes on standard input; exit status 0 means done.
cat >/opt/inference/job <<'EOF'
#!/bin/bash
body=$(cat)
echo "job of ${#body} bytes on $(nvidia-smi --query-gpu=name,utilization.gpu --format=csv,noheader)"
EOF

cat >/opt/inference/worker <<'EOF'
#!/bin/bash
# A message is deleted only after its job succeeded; one that fails comes back after its visibility timeout and goes to
# the dead-letter queue after the third try. A job that takes long keeps its message hidden while it runs. On an instance
# that is to go the job at hand is finished, and no other begun.
HIDDEN=300
DRAINING=/run/accelerated-fleet/draining

keep_hidden() {
  while sleep $((HIDDEN / 4)); do
    aws sqs change-message-visibility --queue-url "$QUEUE_URL" --receipt-handle "$1" --visibility-timeout $HIDDEN
  done
}

field() { python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["Messages"][0][sys.argv[1]])' "$1"; }

slot() {
  local message receipt keeper body mark pause=5
  body=$(mktemp)
  while :; do
    [ ! -e "$DRAINING" ] || { sleep 5; continue; }
    # A node whose GPU stops answering would fail every job it takes, and empty the queue into the dead letters.
    nvidia-smi -L >/dev/null || { sleep 30; continue; }
    message=$(aws sqs receive-message --queue-url "$QUEUE_URL" --wait-time-seconds 20 \
      --visibility-timeout $HIDDEN --output json) || { sleep $pause; pause=60; continue; }
    pause=5
    [ -n "$message" ] || continue
    receipt=$(field ReceiptHandle <<<"$message")
    keep_hidden "$receipt" & keeper=$!
    # A busy mark, held for as long as the job runs: it may rest the GPU, to load data or to write results. A node
    # without a place for marks works on all the same.
    mark=$(mktemp /run/accelerated-fleet/busy/job-XXXXXX) || mark=$(mktemp)
    field Body <<<"$message" >"$body"
    # Looked at once more under the mark: so either the drain sees the mark, or this sees the drain. Its signal is for
    # programs that could save what they have; this one is waited for.
    (trap '' TERM && exec flock "$mark" bash -c "[ ! -e $DRAINING ] || exit 75; exec /opt/inference/job" <"$body")
    case $? in
    0) aws sqs delete-message --queue-url "$QUEUE_URL" --receipt-handle "$receipt" ;;
    75) aws sqs change-message-visibility --queue-url "$QUEUE_URL" --receipt-handle "$receipt" --visibility-timeout 0 ;;
    esac
    kill $keeper
    rm -f "$mark"
  done
}

for _ in $(seq "$SLOTS"); do slot & done
wait
EOF

chmod +x /opt/inference/job /opt/inference/worker
cat >/etc/systemd/system/inference-worker.service <<'EOF'
[Unit]
After=network-online.target
[Service]
EnvironmentFile=/opt/inference/environment
ExecStart=/opt/inference/worker
Restart=always
RestartSec=30
[Install]
WantedBy=multi-user.target
EOF
systemctl daemon-reload
systemctl enable --now inference-worker
