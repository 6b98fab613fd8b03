# Prints the first CPython >= 3.11 that runs: on PATH, then in pyenv's versions folder. It runs tools/.
for python in python3 python3.13 python3.12 python3.11 python3.14 python3.15 python \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-5].*/bin/python; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        echo "$python"
        exit 0
    fi
done
