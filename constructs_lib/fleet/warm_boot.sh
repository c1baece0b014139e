# shellcheck shell=bash
# What an instance of a fleet with a warm pool does at each boot, when its boot is over: it says that it is prepared while
# the group wants it in the pool, and starts the workload once the group wants it in service. A service of its own runs it,
# since user data runs at the first boot alone, which is in the pool.
PATH=$PATH:/snap/bin
CONFIG=/etc/accelerated-fleet
# shellcheck source=/dev/null
. "$CONFIG/driver.env"

fleet_metadata() {
  local token
  token=$(curl -sf -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token) &&
    curl -sf -m 5 -H "X-aws-ec2-metadata-token: $token" "http://169.254.169.254/latest/meta-data/$1"
}

fleet_complete() {
  local id region group
  id=$(fleet_metadata instance-id) && region=$(fleet_metadata placement/region) &&
    group=$(timeout 30 aws --region "$region" ec2 describe-tags --output text --query 'Tags[0].Value' \
      --filters "Name=resource-id,Values=$id" Name=key,Values=aws:autoscaling:groupName) &&
    timeout 30 aws --region "$region" autoscaling complete-lifecycle-action --lifecycle-hook-name "$READY_HOOK" \
      --auto-scaling-group-name "$group" --instance-id "$id" --lifecycle-action-result CONTINUE
}

prepared=no
until target=$(fleet_metadata autoscaling/target-lifecycle-state) && [ "$target" = InService ]; do
  case $target in
    Warmed:Stopped | Warmed:Running | Warmed:Hibernated) [ "$prepared" = yes ] || { fleet_complete && prepared=yes; } ;;
  esac
  sleep 5
done

# The hook may have ended by itself meanwhile: the workload waits for nobody.
for attempt in 1 2 3 4 5; do
  fleet_complete && break
  sleep "$attempt"
done
[ -x "$CONFIG/workload" ] || exit 0
export ACCELERATOR_READY=yes deadline=$((SECONDS + DRIVER_TIMEOUT))
until devices=$(timeout -k 5 30 bash -c "$DRIVER_PROBE") && [ -n "$devices" ]; do
  [ $SECONDS -lt $deadline ] || { ACCELERATOR_READY=no && break; }
  sleep 5
done
exec "$CONFIG/workload"
