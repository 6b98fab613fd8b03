# What the selftests have the program do: sourced by their file `functions`. FG_REQUESTS has the two FIFOs.
program() { # fork | ping COUNT | chdir
    (
        flock 9
        echo "$*" > "$FG_REQUESTS/requests"
        read answer < "$FG_REQUESTS/answers"
    ) 9> "$FG_REQUESTS/lock"
}
