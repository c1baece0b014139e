# Starts the CloudWatch agent once the accelerator's driver answers, or without the accelerator's section if it never does.
# An agent that is started before the driver refuses its whole configuration, and then nothing at all is reported.
accelerated_fleet_say() { echo "accelerated-fleet: $*"; logger -t accelerated-fleet -- "$*" || true; }

# Succeeds once the probe answers with at least one device; each try is limited, since a wedged driver hangs its tool.
accelerated_fleet_wait_for_driver() {
  local deadline=$((SECONDS + DRIVER_TIMEOUT)) devices
  while :; do
    # Exit status and output both count: the tool can be present and fail, or succeed and list nothing.
    devices=$(timeout 30 $DRIVER_PROBE 2>/dev/null) && [ -n "$devices" ] && return 0
    [ "$SECONDS" -ge "$deadline" ] && return 1
    sleep 5
  done
}

accelerated_fleet_install_agent() {
  [ -x "$AGENT_CTL" ] && return 0
  if command -v dnf >/dev/null; then dnf install -y -q amazon-cloudwatch-agent && return 0; fi
  if command -v dpkg >/dev/null; then
    local package="$(mktemp -d)/amazon-cloudwatch-agent.deb"
    curl -sSf --retry 5 -o "$package" \
      "https://amazoncloudwatch-agent.s3.amazonaws.com/ubuntu/$(dpkg --print-architecture)/latest/amazon-cloudwatch-agent.deb" &&
      dpkg -i -E "$package" && return 0
  fi
  return 1
}

accelerated_fleet_load() {
  local attempt
  for attempt in 1 2 3 4 5; do
    "$AGENT_CTL" -a fetch-config -m ec2 -s -c "$1" && return 0
    sleep $((attempt * 5))
  done
  accelerated_fleet_say "the CloudWatch agent refuses $1"
  return 1
}

accelerated_fleet_start_agent() {
  local source="$AGENT_CONFIG" fallback="file:$FALLBACK_CONFIG"
  export ACCELERATOR_READY=yes
  if accelerated_fleet_wait_for_driver; then
    accelerated_fleet_say "the driver answers"
  else
    ACCELERATOR_READY=no
    source="$fallback"
    accelerated_fleet_say "the accelerator cannot be read: '$DRIVER_PROBE' gave nothing within $DRIVER_TIMEOUT s; reporting the host only"
  fi
  accelerated_fleet_install_agent || { accelerated_fleet_say "the CloudWatch agent cannot be installed"; return 1; }
  # The Deep Learning images bring an agent service of their own, which would fight over the same configuration.
  systemctl disable --now dlami-cloudwatch-agent@minimal dlami-cloudwatch-agent@partial dlami-cloudwatch-agent@all >/dev/null 2>&1 || true
  # One section that the agent refuses is enough for it to report nothing at all, so the host's alone come last.
  accelerated_fleet_load "$source" || { [ "$source" != "$fallback" ] && accelerated_fleet_load "$fallback"; }
}

accelerated_fleet_start_agent
