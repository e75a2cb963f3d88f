#!/usr/bin/env bash
# slurm_here.sh start|stop DIR: Slurm on this machine alone, as this user, for tests and for trying docs/cluster.md.
#
# All files are in DIR, all ports are of 127.0.0.1. Then: export SLURM_CONF=DIR/slurm.conf
# Needs slurmctld, slurmd, the clients and munge (Debian: slurmctld slurmd slurm-client munge). Exit code 77 and the
# reason where one of them is missing or does not start.
set -euo pipefail
say() { echo "slurm_here: $*" >&2; }
cannot() {
  say "$*"
  exit 77
}
[[ $# == 2 && $1 =~ ^(start|stop)$ ]] || { say "usage: slurm_here.sh start|stop DIR"; exit 2; }
PATH=$PATH:/usr/sbin
mkdir -p "$2"
dir=$(cd "$2" && pwd)

stop() {
  local name pid
  for name in slurmd slurmctld munged; do
    [[ -s $dir/$name.pid ]] || continue
    pid=$(<"$dir/$name.pid")
    # The number may be another process's by now.
    [[ $(ps -o comm= -p "$pid" || true) == "$name" ]] || continue
    kill "$pid" 2>/dev/null || true
    for _ in {1..100}; do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
  done
}
if [[ $1 == stop ]]; then
  stop
  exit
fi

for program in munged slurmctld slurmd sbatch scontrol python3; do
  command -v $program >/dev/null || cannot "no $program here"
done
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
host=$(hostname -s)
mkdir -p "$dir/state" "$dir/spool"
chmod 700 "$dir"
(umask 077 && head -c 1024 /dev/urandom >"$dir/munge.key")
cat >"$dir/slurm.conf" <<END
ClusterName=here
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket,cred_expire=5
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=here Nodes=ALL Default=YES State=UP
END
export SLURM_CONF=$dir/slurm.conf
trap 'stop' ERR
munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
  --log-file="$dir/munged.log" --seed-file="$dir/munged.seed" 2>"$dir/munged.err" ||
  { stop; cannot "munged does not start: $(tail -n 1 "$dir/munged.err")"; }
for daemon in slurmctld slurmd; do
  $daemon 2>"$dir/$daemon.err" >&2 || { stop; cannot "$daemon does not start: $(tail -n 1 "$dir/$daemon.err")"; }
done
for _ in {1..300}; do
  [[ $(sinfo -h -o %T 2>/dev/null) == idle ]] && { echo "export SLURM_CONF=$SLURM_CONF"; exit 0; }
  sleep 0.2
done
state=$(sinfo -h -o '%T %E' 2>&1 || true)
stop
cannot "the node is '$state', not idle; see $dir/slurmd.log"
