# in_sid.sh SID NUMBER FOLDER... COMMAND...: run a command in the folder SID, which has a Debian of its own.
# The current folder and NUMBER other folders of the machine are seen there at their own paths. tools/sid.py
# runs this in a mount namespace of its own: the mounts end with the command.
set -e
sid=$1 folders=$2 here=$PWD
shift 2
mount -t proc proc "$sid/proc"
mount --rbind /dev "$sid/dev"
mount -t tmpfs -o mode=1777 tmpfs "$sid/dev/shm" # recordings of the machine are not seen
while [ "$folders" -gt 0 ]; do
    mkdir -p "$1" "$sid$1"
    mount --bind "$1" "$sid$1"
    shift
    folders=$((folders - 1))
done
# The machine's compiler and what it is started by need not be there.
unset CC
if [ ! -x "$sid/usr/bin/${CMAKE_C_COMPILER_LAUNCHER-}" ] || [ ! -d "$sid${CCACHE_DIR-}" ]; then
    unset CMAKE_C_COMPILER_LAUNCHER
fi
export FG_IN_SID=1  # what is compiled here is not for the machine (tools/native.py)
exec chroot "$sid" env -C "$here" "$@"
