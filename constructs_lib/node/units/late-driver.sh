#!/bin/bash
# For an agent that measures the host alone, since the driver did not answer when the boot script started it: gives it
# the accelerator's configuration once the driver answers. With `wait` as its argument it waits for that. The boot script
# has left its functions and variables for this, since cloud-init runs user data only once.
#
# Containers may run by now, and a reload of systemd would cut them off from their GPU. So no package is installed, and
# the configuration is loaded without -s, with which the agent's own command reloads systemd before it starts the agent.

left=/etc/accelerated-fleet/late
[ -e "$left" ] || exit 0
# shellcheck source=/dev/null
. "$left" || exit 1
# shellcheck disable=SC2329  # the boot script's functions call it
fleet_install_aws() { command -v aws >/dev/null; }

until fleet_wait_for_driver; do
  [ "${1-}" = wait ] || exit 0
  # A probe that hangs in the driver cannot be killed: no second one is started beside it.
  wait "$!"
  sleep 30
done
for source in "${AGENT_SOURCES[@]}"; do
  if fleet_load "$source"; then
    rm -f "$left"
    fleet_say "the driver answers: the agent gets the accelerator's configuration"
    # Nothing is waited for, and an agent that does not run is not started: it may be about to start after this.
    systemctl --no-block try-restart amazon-cloudwatch-agent.service
    exit
  fi
done
# What was refused must not be what the agent finds when it starts the next time.
fleet_load "file:$AGENT_FALLBACK"
exit 1
