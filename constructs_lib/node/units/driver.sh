# shellcheck shell=bash
# The wait for the accelerator's driver: part of the boot script, and run again by accelerated-setup.service when the
# machine restarts, since cloud-init runs user data only once. DRIVER_PROBE and DRIVER_TIMEOUT say how, and how long.

# A probe that hangs in the driver cannot be killed, and `timeout` itself would wait for it; nobody waits for longer than
# this read. Exit status and output both count: the tool can be present and fail, or succeed and list nothing.
fleet_driver_answers() {
  local devices
  IFS= read -r -d '' -t 40 devices < <(timeout -k 5 30 bash -c "$DRIVER_PROBE" 2>/dev/null && printf '\0') &&
    [[ $devices == *[![:space:]]* ]]
}

fleet_wait_for_driver() {
  local state=/run/accelerated-fleet deadline=$((SECONDS + DRIVER_TIMEOUT))
  mkdir -p "$state"
  # Whoever has waited in vain since the machine started has waited for everybody.
  [ ! -e "$state/driver-given-up" ] || deadline=$SECONDS
  until fleet_driver_answers; do
    if [ "$SECONDS" -ge "$deadline" ]; then
      : >"$state/driver-given-up"
      return 1
    fi
    sleep 5
  done
  [ -s "$state/driver-ready" ] || date +%s >"$state/driver-ready"
}
