# Installs two services: one process for each NeuronCore that has the model loaded and answers, and the worker, which
# for each of these cores takes one job at a time from QUEUE_URL. The boot script has written serve.py already.
cat >/opt/neuron-inference/environment <<EOF
QUEUE_URL=$QUEUE_URL
BUCKET=$BUCKET
AWS_DEFAULT_REGION=$AWS_DEFAULT_REGION
CORES=$CORES
EOF

# Loads the model on one core. PyTorch for Neuron lies in a virtual environment whose name has its version in it.
cat >/opt/neuron-inference/model <<'EOF'
#!/bin/bash
core=$1 environment=
for packages in /opt/aws_neuronx_venv_pytorch_*/lib/python3*/site-packages/torch_neuronx; do
  [ ! -d "$packages" ] || environment=${packages%/lib/python3*}
done
[ -n "$environment" ] || { echo "this image has no torch_neuronx" >&2; exit 1; }
mkdir -p /run/neuron-inference
# Compiled models are large, and an instance that fetches one rests its cores.
accelerated-node busy --name "model-$core" -- \
  aws s3 cp --only-show-errors "s3://$BUCKET/model.pt" "/opt/neuron-inference/model-$core.pt" ||
  { echo "there is no model yet: upload it to s3://$BUCKET/model.pt" >&2; exit 1; }
NEURON_RT_VISIBLE_CORES=$core exec "$environment/bin/python" /opt/neuron-inference/serve.py \
  serve "/run/neuron-inference/$core.sock" "/opt/neuron-inference/model-$core.pt"
EOF

cat >/opt/neuron-inference/worker <<'EOF'
#!/bin/bash
# A message is deleted only after its answer is in the bucket; one that fails comes back after its visibility timeout
# and goes to the dead-letter queue after the third try. On an instance that is to go the job at hand is finished, and
# no other begun.
HIDDEN=300
DRAINING=/run/accelerated-fleet/draining

keep_hidden() {
  while sleep $((HIDDEN / 4)); do
    aws sqs change-message-visibility --queue-url "$QUEUE_URL" --receipt-handle "$1" --visibility-timeout $HIDDEN
  done
}

field() { python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["Messages"][0][sys.argv[1]])' "$1"; }

model() { timeout "$1" python3 /opt/neuron-inference/serve.py "$2" "/run/neuron-inference/$core.sock"; }

job() {
  local began
  began=$(date +%s%3N)
  model 240 ask <"$1" >"$1.answer" || return
  accelerated-node emit inference_latency $(($(date +%s%3N) - began)) --type timing
  aws s3 cp --only-show-errors "$1.answer" "s3://$BUCKET/answers/$2.json"
}

slot() {
  local core=$1 message receipt keeper body mark held pause=5
  body=$(mktemp)
  # The drain signals whoever holds a mark, for programs that could save what they have; this one is waited for.
  trap '' TERM
  while :; do
    [ ! -e "$DRAINING" ] || { sleep 5; continue; }
    # A core without its model, or a device that stops answering, would fail every job that it takes, and empty the
    # queue into the dead letters.
    if ! model 10 ping || ! /opt/aws/neuron/bin/neuron-ls >/dev/null; then
      sleep 30
      continue
    fi
    message=$(aws sqs receive-message --queue-url "$QUEUE_URL" --wait-time-seconds 20 \
      --visibility-timeout $HIDDEN --output json) || { sleep $pause; pause=60; continue; }
    pause=5
    [ -n "$message" ] || continue
    receipt=$(field ReceiptHandle <<<"$message")
    keep_hidden "$receipt" & keeper=$!
    # A busy mark, held until the message is answered for. A node without a place for marks works on all the same.
    mark=$(mktemp /run/accelerated-fleet/busy/job-XXXXXX) || mark=$(mktemp)
    exec {held}>"$mark"
    flock "$held"
    field Body <<<"$message" >"$body"
    # Looked at once more under the mark: so either the drain sees the mark, or this sees the drain.
    if [ -e "$DRAINING" ]; then
      aws sqs change-message-visibility --queue-url "$QUEUE_URL" --receipt-handle "$receipt" --visibility-timeout 0
    elif job "$body" "$(field MessageId <<<"$message")"; then
      aws sqs delete-message --queue-url "$QUEUE_URL" --receipt-handle "$receipt"
    fi
    { kill -KILL $keeper && wait $keeper; } 2>/dev/null
    rm -f "$mark"
    exec {held}>&-
  done
}

for core in $(seq 0 $((CORES - 1))); do slot "$core" & done
wait
EOF

chmod +x /opt/neuron-inference/model /opt/neuron-inference/worker
cat >/etc/systemd/system/neuron-model@.service <<'EOF'
[Unit]
After=network-online.target
[Service]
EnvironmentFile=/opt/neuron-inference/environment
ExecStart=/opt/neuron-inference/model %i
Restart=always
RestartSec=30
[Install]
WantedBy=multi-user.target
EOF
cat >/etc/systemd/system/neuron-worker.service <<'EOF'
[Unit]
After=network-online.target
[Service]
EnvironmentFile=/opt/neuron-inference/environment
ExecStart=/opt/neuron-inference/worker
Restart=always
RestartSec=30
TimeoutStopSec=10
[Install]
WantedBy=multi-user.target
EOF
systemctl daemon-reload
for core in $(seq 0 $((CORES - 1))); do systemctl enable --now "neuron-model@$core"; done
systemctl enable --now neuron-worker
