# Installs the training service. On each of NODES machines it agrees with the others on a leader and runs the job, with
# PROCESSES processes there. The job is the file input/job of the bucket.
mkdir -p /opt/training
cat >/opt/training/environment <<EOF
NODES=$NODES
PROCESSES=$PROCESSES
FI_PROVIDER=efa
EOF

cat >/opt/training/node <<'EOF'
#!/bin/bash
# The machines meet on the shared file system: whoever gets the lock there is the leader, for as long as its job runs. A
# machine that is to go begins nothing.
JOB=/fsx/input/job MEETING=/fsx/meeting
[ ! -e /run/accelerated-fleet/draining ] || exit 0
mountpoint -q /fsx || { echo "/fsx is not mounted: journalctl -u accelerated-setup says why" >&2; exit 1; }
[ -f "$JOB" ] || { echo "there is no job yet: upload it as input/job" >&2; exit 1; }
mkdir -p "$MEETING" || exit 1
exec {lock}>>"$MEETING/lock"
if flock --nonblock "$lock"; then
  read -r address _ < <(hostname -I)
  echo "$address" >"$MEETING/leader.new" && mv "$MEETING/leader.new" "$MEETING/leader" || exit 1
fi
# Whoever reads the leader of before fails to reach it, and comes again.
LEADER=$(<"$MEETING/leader") exec accelerated-node busy --name training -- bash "$JOB"
EOF

cat >/opt/training/checkpoint <<'EOF'
#!/bin/bash
# Asks the job for a checkpoint, and returns when one is there, whichever machine writes it. Its name ends in .partial
# until it is complete.
CHECKPOINTS=/fsx/checkpoints ASKED=/fsx/meeting/save
systemctl is-active --quiet training || exit 0
since=$(mktemp)
touch "$ASKED"
until [ -n "$(find "$CHECKPOINTS" -type f ! -name '*.partial' -newer "$since" -print -quit)" ]; do
  # A run that has ended meanwhile has saved what it had.
  systemctl is-active --quiet training || break
  sleep 2
done
rm -f "$since"
EOF

chmod +x /opt/training/node /opt/training/checkpoint
cat >/etc/systemd/system/training.service <<'EOF'
[Unit]
After=accelerated-fleet.target
# A job that fails again and again is given up: an idle machine is released, a busy one is paid for.
StartLimitIntervalSec=2h
StartLimitBurst=10
[Service]
EnvironmentFile=/opt/training/environment
ExecStart=/opt/training/node
# EFA registers the memory that it sends from.
LimitMEMLOCK=infinity
KillMode=mixed
Restart=on-failure
RestartSec=60
[Install]
WantedBy=multi-user.target
EOF
systemctl daemon-reload
systemctl enable --now training
