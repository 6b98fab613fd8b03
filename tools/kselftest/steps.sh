# What the selftests have the program do: sourced by their file `functions`. FG_REQUESTS has the two FIFOs.
# Its requests: run NAME [NICENESS], ping COUNT [NICENESS], chdir PATH, mark TEXT, modprobe NAME, rmmod NAME.
program() {
    (
        flock 9
        echo "$*" > "$FG_REQUESTS/requests"
        read answer < "$FG_REQUESTS/answers"
        test "$answer" = done
    ) 9> "$FG_REQUESTS/lock"
}
