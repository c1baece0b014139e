#!/bin/bash
# Installs the program from the directory that holds this script: its files, a command, and its units, which start with
# the machine from now on. Run as root; DESTDIR, if set, stands before every path. It can be run again, also for another
# version.
set -eu
umask 022

source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${DESTDIR:-}
library=$root/opt/accelerated-node/lib
units=$root/etc/systemd/system

# The new files take the place of the old ones as a whole: a program that runs sees either.
rm -rf "$library/accelerated_node.new"
mkdir -p "$library/accelerated_node.new" "$root/usr/local/bin" "$units/amazon-cloudwatch-agent.service.d"
cp -R "$source/." "$library/accelerated_node.new"
chmod -R a+rX "$library/accelerated_node.new"
rm -rf "$library/accelerated_node"
mv "$library/accelerated_node.new" "$library/accelerated_node"

cat >"$root/usr/local/bin/accelerated-node.new" <<'EOF_LAUNCHER'
#!/bin/sh
# Services start with a short PATH, on which the accelerators' own tools are not.
PATH="$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
export PATH="$PATH:/opt/aws/neuron/bin:/opt/qti-aic/tools:/opt/xilinx/xrt/bin:/opt/xilinx/xrm/bin:/opt/xilinx/xcdr/bin:/snap/bin"
# Isolated: no module of the directory that it is called in is taken for one of Python's own, and a program that it
# starts finds Python's variables as they were.
start='import runpy, sys
sys.path.insert(0, "/opt/accelerated-node/lib")
runpy.run_module("accelerated_node", run_name="__main__", alter_sys=True)'
for python in /usr/bin/python3 /usr/local/bin/python3 "$(command -v python3)"; do
  [ ! -x "$python" ] || exec "$python" -I -B -c "$start" "$@"
done
echo "accelerated-node: no python3 on this machine" >&2
exit 127
EOF_LAUNCHER
chmod 0755 "$root/usr/local/bin/accelerated-node.new"
mv "$root/usr/local/bin/accelerated-node.new" "$root/usr/local/bin/accelerated-node"

for unit in accelerated-{setup,node,late-driver,drain}.service accelerated-fleet.target; do
  cp "$source/units/$unit" "$units/$unit"
  chmod 0644 "$units/$unit"
done
busy='run-accelerated\x2dfleet-busy.mount'
cp "$source/units/busy.mount" "$units/$busy"
chmod 0644 "$units/$busy"
cp "$source/units/amazon-cloudwatch-agent.conf" "$units/amazon-cloudwatch-agent.service.d/accelerated-fleet.conf"
chmod 0644 "$units/amazon-cloudwatch-agent.service.d/accelerated-fleet.conf"

systemctl --no-reload enable "$busy" accelerated-{setup,node,drain}.service accelerated-fleet.target
# The only reload: one while containers run would cut them off from their GPU, so this comes before any workload.
systemctl daemon-reload
# Now: this boot is past the target that wants it, and marks can be held from here on. The program does not want it: it
# may be started again while marks are held in the plain directory that it makes without this.
systemctl start "$busy" || echo "accelerated-node: busy marks have no file system of their own" >&2
