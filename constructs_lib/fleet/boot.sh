# shellcheck shell=bash
# What an instance does at its first boot, in this order: node program, and with it, by the program's own boot.sh, driver,
# machine settings and agent; only then, below this script, the workload. No step stops those after it. What is here is in
# every template and takes a workload's room: it is no more than what brings the rest.
fleet_say() { echo "accelerated-fleet: $*"; logger -t accelerated-fleet -- "$*" || true; }

# Five times, each within so many seconds: a network that is not up yet or a package lock that somebody holds goes by.
fleet_try() {
  local attempt limit=$1
  shift
  for attempt in 1 2 3 4 5; do
    timeout -k 5 "$limit" "$@" && return 0
    sleep $((attempt * 5))
  done
  return 1
}

fleet_install_aws() {
  command -v aws >/dev/null && return 0
  if command -v dnf >/dev/null; then fleet_try 300 dnf install -y -q awscli-2 && return 0; fi
  if command -v snap >/dev/null; then fleet_try 300 snap install aws-cli --classic && PATH="$PATH:/snap/bin" && return 0; fi
  fleet_say "the AWS command line cannot be installed"
  return 1
}

fleet_fetch() {
  fleet_install_aws || return 1
  fleet_try 60 aws --region "$ASSET_REGION" s3 cp --only-show-errors "$1" "$2" && return 0
  fleet_say "cannot fetch $1"
  return 1
}

fleet_install_node_program() {
  local place
  place=$(mktemp -d) &&
    fleet_fetch "$NODE_PROGRAM" "$place/program.zip" &&
    python3 -m zipfile -e "$place/program.zip" "$place/program" &&
    bash "$place/program/install.sh" && return 0
  fleet_say "the node program cannot be installed"
  return 1
}

# Without the node program the workload still learns whether there is an accelerator, and an agent that the image brings
# still gets a configuration that it can fetch by itself.
fleet_boot_alone() {
  local devices source deadline=$((SECONDS + DRIVER_TIMEOUT))
  export ACCELERATOR_READY=yes
  until devices=$(timeout -k 5 30 bash -c "$DRIVER_PROBE") && [ -n "$devices" ]; do
    [ $SECONDS -lt $deadline ] || { ACCELERATOR_READY=no AGENT_SOURCES=() && break; }
    sleep 5
  done
  for source in "${AGENT_SOURCES[@]}" ${AGENT_FALLBACK+"file:$AGENT_FALLBACK"}; do
    fleet_try 120 /opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl -a fetch-config -m ec2 -s -c "$source" && break
  done
}

if fleet_install_node_program; then
  # shellcheck source=/dev/null
  . /opt/accelerated-node/lib/accelerated_node/units/boot.sh
else
  fleet_boot_alone
fi
