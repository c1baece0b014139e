# shellcheck shell=bash
# What an instance does at its first boot once the node program is installed: driver, machine settings, agent, services.
# The boot script in the user data reads this file; it brings AGENT_SOURCES, AGENT_FALLBACK if that is not the usual one,
# ASSET_REGION, LOG_GROUP if there is one, the variables of driver.env and the functions fleet_say, fleet_try and
# fleet_fetch. User data has 16 KB for a team's own script too, so what need not be in it is here. Whatever reloads systemd
# or installs a package is done when this is over, since a reload cuts running containers off from their GPU. No step stops
# those after it.
AGENT_CTL=/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl
CONFIG=/etc/accelerated-fleet
LOG_GROUP=${LOG_GROUP-}
# The configuration for the host alone, as every fleet has it that measures no more than usual.
AGENT_FALLBACK=${AGENT_FALLBACK:-/opt/accelerated-node/lib/accelerated_node/units/agent-fallback.json}
# shellcheck source=/dev/null
. /opt/accelerated-node/lib/accelerated_node/units/driver.sh

fleet_install_agent() {
  [ -x "$AGENT_CTL" ] && return 0
  if command -v dnf >/dev/null; then fleet_try 300 dnf install -y -q amazon-cloudwatch-agent && return 0; fi
  if command -v apt-get >/dev/null; then
    local package
    # dpkg would not wait for the lock; and nothing restarts services because of this one package.
    package="$(mktemp -d)/amazon-cloudwatch-agent.deb"
    fleet_try 120 curl -sSf -o "$package" \
      "https://amazoncloudwatch-agent.s3.amazonaws.com/ubuntu/$(dpkg --print-architecture)/latest/amazon-cloudwatch-agent.deb" &&
      DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 fleet_try 300 \
        apt-get -o DPkg::Lock::Timeout=240 install -y "$package" && return 0
  fi
  fleet_say "the agent cannot be installed"
  return 1
}

# A configuration in a bucket was written before the log group had a name.
fleet_fetch_configuration() {
  local configuration
  fleet_fetch "$1" "$2" && configuration=$(<"$2") || return 1
  printf '%s' "${configuration//@LOG_GROUP@/"$LOG_GROUP"}" >"$2"
}

# Loads a configuration; with -s the agent is started anew, and systemd reloaded with it.
fleet_load() {
  local source=$1
  if [[ $source == s3://* ]]; then
    fleet_fetch_configuration "$source" "$CONFIG/agent.json" || return 1
    source="file:$CONFIG/agent.json"
  fi
  fleet_try 120 "$AGENT_CTL" -a fetch-config -m ec2 "${@:2}" -c "$source" && return 0
  fleet_say "the agent refuses $1"
  return 1
}

# One section that the agent refuses is enough for it to report nothing at all, so the host's alone come last. And an
# agent that is started before the driver refuses the accelerator's section.
fleet_start_agent() {
  local source sources=("file:$AGENT_FALLBACK")
  [ "$ACCELERATOR_READY" = no ] || sources=("${AGENT_SOURCES[@]}" "${sources[@]}")
  # An image may bring what an instance of another fleet has left.
  rm -f "$CONFIG/late"
  fleet_install_agent || return 1
  # The Deep Learning images bring an agent service of their own, which would fight over the same configuration.
  systemctl disable --now dlami-cloudwatch-agent@{minimal,partial,all} >/dev/null 2>&1 || true
  for source in "${sources[@]}"; do
    if fleet_load "$source" -s; then
      date +%s >/run/accelerated-fleet/agent-ready
      # late-driver.sh loads the accelerator's once the driver answers.
      [ "$source" != "${sources[-1]}" ] ||
        (umask 077 && { declare -p PATH AGENT_CTL AGENT_FALLBACK AGENT_SOURCES ASSET_REGION CONFIG LOG_GROUP && declare -f; } >"$CONFIG/late")
      return 0
    fi
  done
  return 1
}

fleet_boot() {
  # Nobody waits for it, and the rest may take minutes, in which the instance can be told to go.
  systemctl --no-block start accelerated-drain.service || fleet_say "the drain service does not start; systemd tries on"
  export ACCELERATOR_READY=yes
  if fleet_wait_for_driver; then
    fleet_say "the driver answers"
  else
    ACCELERATOR_READY=no
    fleet_say "the accelerator cannot be read: '$DRIVER_PROBE' gave nothing within $DRIVER_TIMEOUT s"
  fi
  systemctl start accelerated-setup.service || fleet_say "the machine cannot be set up"
  # The boot script was started with the limit of before.
  [ ! -s /run/accelerated-fleet/open-files ] || ulimit -n "$(</run/accelerated-fleet/open-files)"
  fleet_start_agent
  timeout 60 systemctl start accelerated-node.service accelerated-fleet.target ||
    fleet_say "the node program does not start; systemd tries on"
}

fleet_boot
