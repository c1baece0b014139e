# Installs ffmpeg, unless the image brings one, and the worker as a service: SLOTS loops that each take one job at a
# time from QUEUE_URL.
mkdir -p /opt/transcode
cat >/opt/transcode/environment <<EOF
QUEUE_URL=$QUEUE_URL
INPUT_BUCKET=$INPUT_BUCKET
OUTPUT_BUCKET=$OUTPUT_BUCKET
AWS_DEFAULT_REGION=$AWS_DEFAULT_REGION
ENCODER=$ENCODER
SLOTS=$SLOTS
EOF

# The encoding itself: replace this file. With ENCODER it gets the number of the slot, the video and where to write.
cat >/opt/transcode/encode <<'EOF'
#!/bin/bash
slot=$1 from=$2 to=$3
quiet=(-nostdin -hide_banner -loglevel error -y)
to_mp4=(-b:v 5M -c:a aac -movflags +faststart -f mp4 "$to")
case $ENCODER in
# Decoded, and encoded, on the GPU: the pictures stay in its memory.
h264_nvenc) ffmpeg "${quiet[@]}" -hwaccel cuda -hwaccel_output_format cuda -i "$from" -c:v h264_nvenc "${to_mp4[@]}" ;;
# A card of a VT1 has two devices. They decode H.264 here; a video in another format fails.
mpsoc_vcu_h264)
  # shellcheck source=/dev/null
  . /opt/xilinx/xcdr/setup.sh >/dev/null
  ffmpeg "${quiet[@]}" -xlnx_hwdev $((slot % 2)) -c:v mpsoc_vcu_h264 -i "$from" -c:v mpsoc_vcu_h264 "${to_mp4[@]}"
  ;;
esac
EOF

# Whether this machine can encode at all. A second of work for the GPU: asked once, as to ask again and again would look
# like use.
cat >/opt/transcode/can-encode <<'EOF'
#!/bin/bash
case $ENCODER in
h264_nvenc)
  ffmpeg -nostdin -hide_banner -loglevel error -f lavfi -i testsrc=duration=1:size=640x360:rate=30 \
    -c:v h264_nvenc -f null -
  ;;
mpsoc_vcu_h264)
  # shellcheck source=/dev/null
  . /opt/xilinx/xcdr/setup.sh >/dev/null
  ffmpeg -hide_banner -loglevel error -encoders | grep -q mpsoc_vcu_h264
  ;;
esac
EOF

cat >/opt/transcode/worker <<'EOF'
#!/bin/bash
# Spot takes an instance back with two minutes' notice. From the notice on no job is begun; the one at hand may end for
# GRACE seconds more. Then it is stopped, and its message given back at once, for another instance to begin it anew:
# nothing of it is in the output bucket, as a video is uploaded whole or not at all. What nobody gives back, because the
# machine is gone, comes back by itself HIDDEN seconds after it was last hidden.
HIDDEN=120
GRACE=60
LIMIT=10800
DRAINING=/run/accelerated-fleet/draining

keep_hidden() {
  while sleep $((HIDDEN / 4)); do
    aws sqs change-message-visibility --queue-url "$QUEUE_URL" --receipt-handle "$1" --visibility-timeout $HIDDEN
  done
}

field() { python3 -c 'import json, sys; sys.stdout.write(json.load(sys.stdin)["Messages"][0][sys.argv[1]])' "$1"; }

# {"input": "films/a.mov"} becomes films/a.mp4 in the other bucket, unless "output" says otherwise.
key() {
  python3 -c 'import json, os, sys
job = json.load(sys.stdin)
output = job.get("output") or os.path.splitext(job["input"])[0] + ".mp4"
sys.stdout.write(job["input"] if sys.argv[1] == "input" else output)' "$1"
}

job() {
  local input output
  input=$(key input <<<"$2") && output=$(key output <<<"$2") &&
    aws s3 cp --only-show-errors "s3://$INPUT_BUCKET/$input" "$3/from" &&
    /opt/transcode/encode "$1" "$3/from" "$3/to" &&
    aws s3 cp --only-show-errors "$3/to" "s3://$OUTPUT_BUCKET/$output"
}

# Waits for the job's group of processes, for LIMIT seconds at most: one that hangs would keep its instance for ever.
# Ends it with 75 when the instance drains and the time of grace is over.
await() {
  local end=$((SECONDS + LIMIT)) status=1
  while kill -0 "$1" 2>/dev/null; do
    if [ $status = 1 ] && [ -e "$DRAINING" ]; then
      end=$((SECONDS + GRACE)) status=75
    fi
    if [ "$SECONDS" -ge $end ]; then
      # The group has its name only once setsid has run.
      kill -KILL -- "-$1" || kill -KILL "$1"
      wait "$1"
      return $status
    fi
    sleep 1
  done
  wait "$1"
}

# Fetches, encodes and sends. In a group of its own, so that all of it can be ended; without the mark, as ffmpeg would
# end at the drain's signal and leave half a video that looks whole.
work_on() {
  # Looked at once more under the mark: so either the drain sees the mark, or this sees the drain.
  [ ! -e "$DRAINING" ] || return 75
  setsid bash -c "$(declare -f key job)"$'\njob "$@"' job "$slot" "$1" "$2" {held}>&- &
  await $!
}

slot() {
  local slot=$1 can_encode=no message receipt keeper place mark held pause=5
  # The drain signals whoever holds a mark, for programs that could save what they have; this one looks for itself.
  trap '' TERM
  while :; do
    [ ! -e "$DRAINING" ] || { sleep 5; continue; }
    if [ $can_encode = no ]; then
      /opt/transcode/can-encode || { echo "it cannot encode with $ENCODER and takes no jobs" >&2; sleep 60; continue; }
      can_encode=yes
    fi
    message=$(aws sqs receive-message --queue-url "$QUEUE_URL" --wait-time-seconds 20 \
      --visibility-timeout $HIDDEN --output json) || { sleep $pause; pause=60; continue; }
    pause=5
    [ -n "$message" ] || continue
    receipt=$(field ReceiptHandle <<<"$message")
    keep_hidden "$receipt" & keeper=$!
    # A busy mark, held until the message is answered for: videos are fetched and sent while the GPU rests. A node
    # without a place for marks works on all the same.
    mark=$(mktemp /run/accelerated-fleet/busy/job-XXXXXX) || mark=$(mktemp)
    exec {held}>"$mark"
    flock "$held"
    place=$(mktemp -d)
    work_on "$(field Body <<<"$message")" "$place"
    case $? in
    0) aws sqs delete-message --queue-url "$QUEUE_URL" --receipt-handle "$receipt" ;;
    75) aws sqs change-message-visibility --queue-url "$QUEUE_URL" --receipt-handle "$receipt" --visibility-timeout 0 ;;
    # A GPU that fell off its bus fails every job, and would empty the queue into the dead letters.
    *) can_encode=no ;;
    esac
    { kill -KILL $keeper && wait $keeper; } 2>/dev/null
    rm -rf "$mark" "$place"
    exec {held}>&-
  done
}

for slot in $(seq 0 $((SLOTS - 1))); do slot "$slot" & done
wait
EOF

chmod +x /opt/transcode/encode /opt/transcode/can-encode /opt/transcode/worker
# The Ubuntu Deep Learning image mounts the instance store there. Videos are large, and the root volume slow.
scratch=/var/tmp
[ ! -d /opt/dlami/nvme ] || scratch=/opt/dlami/nvme
cat >/etc/systemd/system/transcode-worker.service <<EOF
[Unit]
After=network-online.target
[Service]
EnvironmentFile=/opt/transcode/environment
Environment=TMPDIR=$scratch
ExecStart=/opt/transcode/worker
Restart=always
RestartSec=30
TimeoutStopSec=10
[Install]
WantedBy=multi-user.target
EOF
# ffmpeg of Ubuntu can use NVENC; the image has the driver that it needs for this.
if [ "$ENCODER" = h264_nvenc ] && ! command -v ffmpeg >/dev/null; then
  for pause in 10 20 40 80 160; do
    apt-get update -q && DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
      apt-get -o DPkg::Lock::Timeout=240 install -y -q --no-install-recommends ffmpeg && break
    sleep $pause
  done
fi
systemctl daemon-reload
systemctl enable --now transcode-worker
